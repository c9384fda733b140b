/* SPDX-License-Identifier: Apache-2.0
 * The names by which git finds its directories: ".git", and "commondir" in a worktree's part.  They
 * are looked at wherever the box may write: a directory called ".git" is bound read-only before its
 * maker goes on, so that everything in it is the broker's from its first name on; a file that leads
 * to one is written to a memory file, judged, and only then put in place. */
#include "linux/listen/calls_git.h"

#include "base/mem.h"
#include "linux/host.h"
#include "linux/listen/listeners.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LINK_MAX 8192 /* of a text that names a directory */
#define FIND_MAX 1000000u /* names in a directory that is moved */
#define WRITE_MS 250 /* git writes it at once */
#define PLACE_MS 1000 /* for which others wait for it at most */

/* A file that leads to a git directory, from when it is opened until it is in its place. */
struct git_link {
    int memory;
    struct git_link *next;
};

int
git_name_matters(struct call *call, struct resolved *resolved)
{
    int r;

    if (resolved->parent < 0 || (strcasecmp(resolved->name, ".git") != 0 &&
                                        strcasecmp(resolved->name, "commondir") != 0)) {
        return 0;
    }
    r = resolved_path(call, resolved);
    return r < 0 ? r : plan_is_git_link(call->boundary->plan, resolved->path);
}

int
git_name_is_guarded(struct call *call, struct resolved *resolved)
{
    const struct plan *plan = call->boundary->plan;
    int r = git_name_matters(call, resolved);

    if (r != 0 || plan->git_trees.count == 0) {
        return r;
    }
    r = resolved_path(call, resolved);
    if (r < 0) {
        return r == -ENOENT ? 0 : r; /* has no name yet */
    }
    return !plan_lets_write(plan, resolved->path) && plan_guards_git_file(plan, resolved->path);
}

int
git_guard(struct call *call, int parent, const char *name)
{
    AUTO(closep) int object = -1;

    if (!resolve_is_writable(call, parent)) {
        return 0;
    }
    object = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return object < 0 ? -errno : boundary_guard(call->boundary, object);
}

int
git_put_copy(struct call *call, int copy, struct resolved *to, int to_parent)
{
    int r = name_put_copy(call, copy, to, to_parent);

    if (r == 0 && git_name_matters(call, to) != 0) {
        r = git_guard(call, to->parent, to->name);
        if (r < 0) {
            unlinkat(to_parent, to->name, 0);
        }
    }
    return r;
}

/* ---- directories that are moved ---- */

static void
free_paths(struct vec *paths)
{
    for (size_t i = 0; i < paths->count; i++) {
        free(*vec_at(paths, char *, i));
    }
    vec_done(paths);
}

bool
git_is_in(const char *directory)
{
    struct vec paths = VEC(char *);
    bool found = host_real.find_git(NULL, directory, FIND_MAX, &paths) != 0 || paths.count > 0;

    free_paths(&paths);
    return found;
}

/* -EBUSY: it is a mount already. */
static int
guard_path(struct call *call, const char *path)
{
    struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS };
    AUTO(closep)
    int object = (int)syscall(SYS_openat2, call->boundary->root, path, &how, sizeof how);
    int r = object < 0 ? -errno : boundary_guard(call->boundary, object);

    return r == -EBUSY ? 0 : r;
}

bool
git_guard_moved(struct call *call, int parent, const char *directory)
{
    struct vec paths = VEC(char *);
    bool ok = host_real.find_git(NULL, directory, FIND_MAX, &paths) == 0;

    for (size_t i = 0; i < paths.count && ok; i++) {
        const char *path = *vec_at(&paths, char *, i);

        ok = guard_path(call, path) == 0;
        git_remember(call, parent, path);
    }
    free_paths(&paths);
    return ok;
}

/* ---- files that lead to a git directory ---- */

static void
begin_link(struct listeners *listeners, struct git_link *link)
{
    pthread_mutex_lock(&listeners->lock);
    link->next = listeners->links;
    listeners->links = link;
    pthread_mutex_unlock(&listeners->lock);
    atomic_fetch_add(&listeners->n_links, 1);
}

static void
end_link(struct listeners *listeners, const struct git_link *link)
{
    struct git_link **at = &listeners->links;

    pthread_mutex_lock(&listeners->lock);
    while (*at != link) {
        at = &(*at)->next;
    }
    *at = link->next;
    pthread_mutex_unlock(&listeners->lock);
    atomic_fetch_sub(&listeners->n_links, 1);
}

static bool
has_written_link(struct listeners *listeners)
{
    struct stat stat;
    bool has = false;

    if (atomic_load(&listeners->n_links) == 0) {
        return false;
    }
    pthread_mutex_lock(&listeners->lock);
    for (const struct git_link *link = listeners->links; link != NULL && !has; link = link->next) {
        has = fstat(link->memory, &stat) != 0 || stat.st_size > 0;
    }
    pthread_mutex_unlock(&listeners->lock);
    return has;
}

bool
git_wait_for_links(const struct call *call)
{
    const struct timespec moment = { .tv_nsec = 200000 };
    struct listeners *listeners = call->boundary->listeners;
    bool has = has_written_link(listeners);

    for (unsigned int i = 0; has && call->on_worker && i < 5 * PLACE_MS; i++) {
        nanosleep(&moment, NULL);
        has = has_written_link(listeners);
    }
    return !has || call->on_worker;
}

static enum call_result
hand_in(struct call *call, int memory, const struct open_request *request)
{
    AUTO(closep) int fd = -1;
    char link[32];

    snprintf(link, sizeof link, "/proc/self/fd/%d", memory);
    fd = open(link, (int)(request->flags & (O_ACCMODE | O_APPEND)) | O_CLOEXEC);
    return fd < 0 ? call_fail(call, errno)
                  : call_return_fd(call, fd, (request->flags & O_CLOEXEC) != 0);
}

/* Until there is a whole line, or nobody seems to write one. */
static ssize_t
wait_for_line(int memory, char text[LINK_MAX])
{
    const struct timespec moment = { .tv_nsec = 500000 };

    for (unsigned int i = 0;; i++) {
        ssize_t n = pread(memory, text, LINK_MAX, 0);

        if (n < 0 || n == LINK_MAX || (n > 0 && text[n - 1] == '\n') || i == 2 * WRITE_MS) {
            return n;
        }
        nanosleep(&moment, NULL);
    }
}

/* Judges a copy, which nobody else can write to, and gives it the name. */
static void
judge(struct call *call, struct resolved *resolved, int parent, uint32_t mode, const char *text,
        ssize_t length)
{
    AUTO(closep) int copy = -1;
    bool judged = false, is_ready;
    struct act act = {
        .request = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_WRITE,
        .target = resolved->path,
        .verb = "open",
        .judged = &judged,
    };

    copy = openat(parent, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode & 0777);
    act.content = copy;
    is_ready = copy >= 0 && length >= 0 && write(copy, text, (size_t)length) == length;
    if (is_ready && !call_judge(call, &act)) {
        return;
    }
    if (!is_ready || git_put_copy(call, copy, resolved, parent) < 0) {
        call_report(call, ABX_EVENT_DENIAL, &act, "boundary:resources",
                "what was written to it could not be put in its place", "try it again");
    }
}

enum call_result
git_open_link(struct call *call, struct resolved *resolved, const struct open_request *request)
{
    AUTO(closep) int parent = -1;
    AUTO(closep) int memory = -1;
    struct git_link link;
    char text[LINK_MAX];
    enum call_result result;

    if (!call->on_worker) {
        return CALL_WORKER;
    }
    parent = resolve_host_parent(call, resolved);
    if (parent < 0) {
        return course_lost(call, resolved, parent, "open");
    }
    if (!name_take_umask(call)) {
        return call_fail(call, errno);
    }
    memory = memfd_create("git", MFD_CLOEXEC);
    if (memory < 0) {
        return call_fail(call, errno);
    }
    link.memory = memory;
    begin_link(call->boundary->listeners, &link);
    result = hand_in(call, memory, request);
    if (result == CALL_SENT) {
        judge(call, resolved, parent, request->mode, text, wait_for_line(memory, text));
    }
    end_link(call->boundary->listeners, &link);
    return result;
}
