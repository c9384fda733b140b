/* SPDX-License-Identifier: Apache-2.0
 * The operations of the mask: which answer each request of the kernel gets.  Loop thread, never
 * blocks.
 *
 * A node is the root (with the entries init binds), a fixed node of the tree, or a live one of an
 * askable place.  Names of fixed nodes may be kept by the kernel for ever, since something is
 * mounted on them; all other names come back each time, so that each attempt is seen. */
#include "linux/mask_private.h"

#include "base/mem.h"
#include "linux/mask_decoy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a request is about: exactly one of the three. */
struct target {
    bool is_root;
    size_t fixed; /* SIZE_MAX: none */
    const struct mask_live *live;
    const struct mask_node *node; /* of fixed */
};

static bool
find_target(const struct mask_request *request, struct target *ret_target)
{
    struct mask *mask = request->mask;
    struct target target = { .is_root = request->in.nodeid == FUSE_ROOT_ID, .fixed = SIZE_MAX };

    if (!target.is_root && request->in.nodeid < MASK_LIVE_FIRST) {
        target.fixed = (size_t)(request->in.nodeid - MASK_FIXED_FIRST);
        if (target.fixed >= mask->tree.nodes.count) {
            return false;
        }
        target.node = vec_at(&mask->tree.nodes, struct mask_node, target.fixed);
    } else if (!target.is_root) {
        target.live = mask_live_of(mask, request->in.nodeid);
        if (target.live == NULL) {
            return false;
        }
    }
    *ret_target = target;
    return true;
}

static bool
is_denied(const struct target *target)
{
    return target->node != NULL &&
           (target->node->kind == MASK_DENIED || target->node->kind == MASK_DEFAULT);
}

static const char *
path_of(const struct target *target)
{
    return target->node != NULL ? target->node->path : target->live->path;
}

static enum mask_outcome
fail_request(struct mask_request *request, int error)
{
    mask_reply(request, error, NULL, 0);
    return MASK_SERVED;
}

static bool
set_path(struct mask_request *request, const char *directory, const char *name)
{
    size_t size = strlen(directory) + 1 + (name == NULL ? 0 : strlen(name)) + 1;

    if (request->path != NULL) {
        return true;
    }
    request->path = calloc(1, size);
    if (request->path == NULL) {
        return false;
    }
    if (name == NULL) {
        snprintf(request->path, size, "%s", directory);
    } else {
        snprintf(request->path, size, "%s/%s", directory[1] == '\0' ? "" : directory, name);
    }
    return size <= PATH_MAX;
}

/* ---- asking ---- */

struct caller {
    struct subject subject;
    char program[PATH_MAX];
};

static void
identify(const struct mask_request *request, struct caller *caller)
{
    struct boundary *boundary = request->mask->boundary;

    caller->program[0] = '\0';
    caller->subject = (struct subject){
        .pid = pids_host(request->mask->pids, (int32_t)request->in.pid),
        .program = caller->program,
    };
    if (caller->subject.pid != 0) {
        caller->subject.command = boundary_command_of(boundary, caller->subject.pid);
        if (caller->subject.command != 0) {
            boundary_saw(boundary, caller->subject.pid, caller->subject.command);
        }
        boundary_program_of(caller->subject.pid, caller->program, sizeof caller->program);
    }
}

/* Asks once in the life of a request; DENY has made its event. */
static abx_verdict
decide(struct mask_request *request, uint32_t access, const char *verb)
{
    const struct broker *broker = request->mask->boundary->broker;
    struct caller caller;
    struct act act = { .request = ABX_REQUEST_PATH,
        .access = access,
        .target = request->path,
        .verb = verb,
        .content = -1 };

    if (request->in.pid == 0) {
        /* Not of the box: the listener looks a path up for a call, and that call has the event. */
        return ABX_VERDICT_DENY;
    }
    if (!request->has_verdict) {
        identify(request, &caller);
        request->verdict = broker->decide(broker->data, &caller.subject, &act, &request->ticket);
        request->has_verdict = true;
    }
    return request->verdict;
}

/* ---- names ---- */

static enum mask_outcome
reply_fixed(struct mask_request *request, size_t i)
{
    const struct mask_node *node = vec_at(&request->mask->tree.nodes, struct mask_node, i);
    struct fuse_entry_out out = { .nodeid = MASK_FIXED_FIRST + i,
        .generation = 1,
        .entry_valid = MASK_FOREVER,
        .attr_valid = node->kind == MASK_ASK ? 0 : MASK_FOREVER,
        .attr = request->mask->fixed[i].attr };

    mask_reply(request, 0, &out, sizeof out);
    return MASK_SERVED;
}

static enum mask_outcome
reply_live(struct mask_request *request)
{
    const struct mask_live *live = mask_live_get(request->mask, request->path, &request->seen);
    struct fuse_entry_out out = { 0 };

    if (live == NULL) {
        return fail_request(request, ENOMEM);
    }
    out.nodeid = live->node;
    out.generation = live->generation;
    mask_attr(&request->seen, &out.attr);
    mask_reply(request, 0, &out, sizeof out);
    return MASK_SERVED;
}

static enum mask_outcome
serve_lookup(struct mask_request *request, const struct target *target)
{
    struct mask *mask = request->mask;
    bool denied = is_denied(target);
    size_t i;

    if (target->is_root) {
        i = mask_tree_top(&mask->tree, mask->boundary->plan, request->name);
        return i == SIZE_MAX ? fail_request(request, ENOENT) : reply_fixed(request, i);
    }
    i = target->node == NULL ? SIZE_MAX
                             : mask_tree_child(&mask->tree, target->fixed, request->name);
    if (i != SIZE_MAX) {
        return reply_fixed(request, i);
    }
    if (target->node != NULL && !denied && target->node->kind != MASK_ASK) {
        return fail_request(request, ENOENT);
    }
    if (!set_path(request, path_of(target), request->name)) {
        return fail_request(request, ENAMETOOLONG);
    }
    if (target->node == NULL || target->node->kind != MASK_DENIED) {
        if (!mask_look(request)) {
            return MASK_AT_WORK;
        }
        if (request->error == ENOENT || request->error == ENOTDIR) {
            return fail_request(request, ENOENT);
        }
    }
    if (denied) {
        switch (decide(request, ABX_ACCESS_READ, "lookup")) {
        case ABX_VERDICT_ASK:
            return MASK_HELD;
        case ABX_VERDICT_ALLOW:
            break;
        default:
            return fail_request(request, EACCES);
        }
    }
    if (!mask_look(request)) {
        return MASK_AT_WORK;
    }
    return request->error != 0 ? fail_request(request, request->error) : reply_live(request);
}

/* ---- attributes ---- */

/* Looks at a node of an askable place; `ret_error` is 0 if it still stands there. */
static bool
look_again(struct mask_request *request, const struct target *target, int *ret_error)
{
    if (!set_path(request, path_of(target), NULL)) {
        *ret_error = ENOMEM;
        return true;
    }
    if (!mask_look(request)) {
        return false;
    }
    *ret_error = request->error;
    if (request->error == 0 && target->live != NULL &&
            !mask_is_same(target->live, &request->seen)) {
        *ret_error = ESTALE;
    }
    return true;
}

/* The open file of a request, or -1. */
static int
file_of(const struct mask_request *request)
{
    return request->file == 0 || request->file > MASK_FILES_MAX
                   ? -1
                   : request->mask->files[request->file - 1];
}

static enum mask_outcome
serve_getattr(struct mask_request *request, const struct target *target)
{
    struct fuse_attr_out out = { .attr_valid = MASK_FOREVER };
    int error = 0;

    if (file_of(request) >= 0) {
        /* Its name may lead elsewhere by now. */
        out.attr_valid = 0;
        if (statx(file_of(request), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS,
                    &request->seen) < 0) {
            return fail_request(request, errno);
        }
        mask_attr(&request->seen, &out.attr);
    } else if (target->is_root) {
        out.attr = (struct fuse_attr){ .ino = FUSE_ROOT_ID, .mode = S_IFDIR | 0555, .nlink = 2 };
    } else if (target->node != NULL && target->node->kind != MASK_ASK) {
        out.attr = request->mask->fixed[target->fixed].attr;
    } else {
        out.attr_valid = 0;
        if (!look_again(request, target, &error)) {
            return MASK_AT_WORK;
        }
        if (error != 0) {
            return fail_request(request, error);
        }
        mask_attr(&request->seen, &out.attr);
    }
    mask_reply(request, 0, &out, sizeof out);
    return MASK_SERVED;
}

static enum mask_outcome
serve_readlink(struct mask_request *request, const struct target *target)
{
    char link[PATH_MAX];
    ssize_t length;
    int error = 0;

    if (target->node != NULL) {
        const char *fixed = request->mask->fixed[target->fixed].link;

        mask_reply(request, fixed == NULL ? EINVAL : 0, fixed, fixed == NULL ? 0 : strlen(fixed));
        return MASK_SERVED;
    }
    if (!look_again(request, target, &error)) {
        return MASK_AT_WORK;
    }
    length = error != 0 ? -1 : readlinkat(request->object, "", link, sizeof link);
    if (length < 0) {
        return fail_request(request, error != 0 ? error : errno);
    }
    mask_reply(request, 0, link, (size_t)length);
    return MASK_SERVED;
}

/* access(2) and chdir(2).  Of a place that would be asked about, it says what a yes would give. */
static enum mask_outcome
serve_access(struct mask_request *request, const struct target *target)
{
    const struct broker *broker = request->mask->boundary->broker;
    bool passes = target->node != NULL && target->node->has_nodes &&
                  (target->node->kind == MASK_DEFAULT || (request->flags & R_OK) == 0);

    if ((request->flags & W_OK) != 0) {
        return fail_request(request, EACCES);
    }
    if (request->flags == F_OK || !is_denied(target) || passes) {
        return fail_request(request, 0);
    }
    if (!set_path(request, path_of(target), NULL)) {
        return fail_request(request, ENOMEM);
    }
    switch (decide(request, ABX_ACCESS_READ, "access")) {
    case ABX_VERDICT_ASK:
        broker->withdraw(broker->data, request->ticket);
        return fail_request(request, 0);
    case ABX_VERDICT_ALLOW:
        return fail_request(request, 0);
    default:
        return fail_request(request, EACCES);
    }
}

/* ---- content ---- */

static enum mask_outcome
reply_opened(struct mask_request *request)
{
    struct fuse_open_out out = { 0 };

    for (size_t i = 0; i < MASK_FILES_MAX; i++) {
        if (request->mask->files[i] < 0) {
            request->mask->files[i] = steal_fd(&request->opened);
            out.fh = i + 1;
            mask_reply(request, 0, &out, sizeof out);
            return MASK_SERVED;
        }
    }
    return fail_request(request, ENFILE);
}

static enum mask_outcome
open_decoy(struct mask_request *request)
{
    const struct broker *broker = request->mask->boundary->broker;
    struct fuse_open_out out = { 0 };
    struct caller caller;
    struct act act = { .request = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_READ,
        .target = request->path,
        .verb = "open",
        .content = -1 };

    identify(request, &caller);
    broker->report(broker->data, ABX_EVENT_NOTICE, &caller.subject, &act, "decoy",
            "a decoy was opened: nothing but curiosity leads there", NULL);
    mask_reply(request, 0, &out, sizeof out);
    return MASK_SERVED;
}

/* A file or a directory: the object is held through the question, and it is that one that is
 * opened. */
static enum mask_outcome
open_asked(struct mask_request *request, const struct target *target, bool directory)
{
    const char *verb = directory ? "list" : "open";
    int error = 0;

    if (is_denied(target) && decide(request, ABX_ACCESS_READ, verb) == ABX_VERDICT_DENY) {
        return fail_request(request, EACCES);
    }
    if (!request->has_opened && !look_again(request, target, &error)) {
        return MASK_AT_WORK;
    }
    if (error != 0) {
        return fail_request(request, error);
    }
    if ((request->seen.stx_mode & S_IFMT) != (directory ? S_IFDIR : S_IFREG)) {
        return fail_request(request, EACCES);
    }
    switch (decide(request, ABX_ACCESS_READ, verb)) {
    case ABX_VERDICT_ASK:
        return MASK_HELD;
    case ABX_VERDICT_ALLOW:
        break;
    default:
        return fail_request(request, EACCES);
    }
    if (!mask_open(request)) {
        return MASK_AT_WORK;
    }
    return request->error != 0 ? fail_request(request, request->error) : reply_opened(request);
}

static enum mask_outcome
serve_open(struct mask_request *request, const struct target *target, bool directory)
{
    static const struct fuse_open_out plain;
    enum mask_kind kind = target->node == NULL ? MASK_ASK : target->node->kind;

    if (target->is_root || (!directory && kind == MASK_THROUGH) ||
            (request->flags & O_ACCMODE) != O_RDONLY) {
        return fail_request(request, EACCES);
    }
    if (!set_path(request, path_of(target), NULL)) {
        return fail_request(request, ENOMEM);
    }
    if (kind == MASK_DECOY) {
        return open_decoy(request);
    }
    if (kind == MASK_THROUGH || (kind == MASK_DEFAULT && directory && target->node->has_nodes)) {
        mask_reply(request, 0, &plain, sizeof plain);
        return MASK_SERVED;
    }
    return open_asked(request, target, directory);
}

/* Makes room for an answer and finds the file; false: answered. */
static bool
prepare_data(struct mask_request *request)
{
    if (request->size > MASK_READ_MAX) {
        request->size = MASK_READ_MAX;
    }
    if (request->file > MASK_FILES_MAX ||
            (request->file != 0 && request->mask->files[request->file - 1] < 0)) {
        fail_request(request, EBADF);
        return false;
    }
    if (request->data == NULL) {
        request->data = calloc(1, request->size + 1);
    }
    if (request->data == NULL) {
        fail_request(request, ENOMEM);
        return false;
    }
    request->opened = file_of(request);
    return true;
}

static enum mask_outcome
reply_data(struct mask_request *request)
{
    request->opened = -1; /* it is the file's */
    mask_reply(request, request->error, request->data, request->length);
    return MASK_SERVED;
}

static enum mask_outcome
serve_read(struct mask_request *request, const struct target *target)
{
    if (!prepare_data(request)) {
        return MASK_SERVED;
    }
    if (request->file == 0) {
        if (target->node == NULL || target->node->kind != MASK_DECOY) {
            return fail_request(request, EBADF);
        }
        request->length = decoy_read(request->mask->secret, target->node->path, request->offset,
                request->data, request->size);
        return reply_data(request);
    }
    return mask_read(request) ? reply_data(request) : MASK_AT_WORK;
}

/* Adds an entry; false if it does not fit. */
static bool
add_entry(struct mask_request *request, uint64_t next, uint64_t inode, uint32_t mode,
        const char *name)
{
    size_t length = strlen(name);
    size_t size = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + length);
    struct fuse_dirent *entry = (struct fuse_dirent *)(void *)(request->data + request->length);

    if (request->length + size > request->size) {
        return false;
    }
    entry->ino = inode;
    entry->off = next;
    entry->namelen = (uint32_t)length;
    entry->type = mode >> 12;
    memcpy(entry->name, name, length);
    request->length += size;
    return true;
}

static enum mask_outcome
serve_readdir(struct mask_request *request, const struct target *target)
{
    const struct mask *mask = request->mask;
    bool fits = true;

    if (!prepare_data(request)) {
        return MASK_SERVED;
    }
    if (request->file != 0) {
        return mask_list(request) ? reply_data(request) : MASK_AT_WORK;
    }
    if (target->node == NULL) {
        return reply_data(request);
    }
    for (uint64_t at = request->offset; fits && at < mask->tree.nodes.count + 2; at++) {
        size_t i = at < 2 ? target->fixed : (size_t)at - 2;
        const struct fuse_attr *attr = &mask->fixed[i].attr;

        if (at < 2) {
            fits = add_entry(request, at + 1, attr->ino, attr->mode, at == 0 ? "." : "..");
        } else if (mask_tree_is_child(&mask->tree, target->fixed, i)) {
            fits = add_entry(request, at + 1, attr->ino, attr->mode,
                    mask_name(vec_at(&mask->tree.nodes, struct mask_node, i)->path));
        }
    }
    return reply_data(request);
}

static enum mask_outcome
serve_release(struct mask_request *request)
{
    if (file_of(request) >= 0) {
        close_fd(file_of(request));
        request->mask->files[request->file - 1] = -1;
    }
    return fail_request(request, 0);
}

/* A change that came this far (the mount is read-only, so none should): refused like any other. */
static enum mask_outcome
serve_change(struct mask_request *request, const struct target *target)
{
    const struct broker *broker = request->mask->boundary->broker;

    if (!target->is_root && set_path(request, path_of(target), NULL) &&
            decide(request, ABX_ACCESS_WRITE, "write") == ABX_VERDICT_ASK) {
        broker->withdraw(broker->data, request->ticket);
    }
    return fail_request(request, EACCES);
}

enum mask_outcome
mask_serve(struct mask_request *request)
{
    static const struct fuse_statfs_out empty = {
        .st = { .bsize = 4096, .frsize = 4096, .namelen = 255 }
    };
    struct target target = { 0 };

    if (!find_target(request, &target)) {
        return fail_request(request, ESTALE);
    }
    switch (request->in.opcode) {
    case FUSE_LOOKUP:
        return serve_lookup(request, &target);
    case FUSE_GETATTR:
        return serve_getattr(request, &target);
    case FUSE_READLINK:
        return serve_readlink(request, &target);
    case FUSE_ACCESS:
        return serve_access(request, &target);
    case FUSE_OPEN:
    case FUSE_OPENDIR:
        return serve_open(request, &target, request->in.opcode == FUSE_OPENDIR);
    case FUSE_READ:
        return serve_read(request, &target);
    case FUSE_READDIR:
        return serve_readdir(request, &target);
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
        return serve_release(request);
    case FUSE_STATFS:
        mask_reply(request, 0, &empty, sizeof empty);
        return MASK_SERVED;
    case FUSE_SETATTR:
    case FUSE_SYMLINK:
    case FUSE_MKNOD:
    case FUSE_MKDIR:
    case FUSE_UNLINK:
    case FUSE_RMDIR:
    case FUSE_RENAME:
    case FUSE_RENAME2:
    case FUSE_LINK:
    case FUSE_WRITE:
    case FUSE_CREATE:
    case FUSE_TMPFILE:
    case FUSE_SETXATTR:
    case FUSE_REMOVEXATTR:
    case FUSE_FALLOCATE:
        return serve_change(request, &target);
    default:
        return fail_request(request, ENOSYS);
    }
}

/* ---- fixed attributes ---- */

static void
fix(struct mask *mask, const struct mask_node *node, uint64_t i)
{
    struct mask_fixed *fixed = &mask->fixed[i];
    struct statx seen = { 0 };
    int host = mask->boundary->host_root;
    bool known =
            node->host != NULL && statx(host, node->host, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
                                          STATX_BASIC_STATS, &seen) == 0;
    bool is_link = known && S_ISLNK(seen.stx_mode) && !node->is_top &&
                   (node->kind == MASK_THROUGH || node->kind == MASK_ASK);
    bool directory = node->is_directory;
    char link[PATH_MAX];
    ssize_t length = is_link ? readlinkat(host, node->host, link, sizeof link - 1) : -1;

    if (known && node->kind == MASK_THROUGH) {
        directory = S_ISDIR(seen.stx_mode);
    }
    mask_attr(&seen, &fixed->attr);
    if (node->kind != MASK_ASK) {
        fixed->attr.size = 0;
        fixed->attr.blocks = 0;
    }
    fixed->attr.nlink = directory ? 2 : 1;
    fixed->attr.ino = known ? fixed->attr.ino : MASK_FIXED_FIRST + i;
    fixed->attr.mode = known ? seen.stx_mode & 0777 : (directory ? 0755u : 0644u);
    fixed->attr.mode |= directory ? S_IFDIR : S_IFREG;
    if (node->kind == MASK_DECOY) {
        fixed->attr.mode = S_IFREG | 0600;
        fixed->attr.size = decoy_read(mask->secret, node->path, 0, NULL, 0);
        fixed->attr.uid = known ? fixed->attr.uid : geteuid();
        fixed->attr.gid = known ? fixed->attr.gid : getegid();
    }
    if (length > 0) {
        link[length] = '\0';
        fixed->link = strdup(link);
        fixed->attr.mode = S_IFLNK | 0777;
        fixed->attr.size = (uint64_t)length;
    }
}

abx_status
mask_fixed_make(struct mask *mask, struct fail *fail)
{
    mask->fixed = calloc(mask->tree.nodes.count + 1, sizeof *mask->fixed);
    if (mask->fixed == NULL) {
        return fail_nomem(fail);
    }
    for (size_t i = 0; i < mask->tree.nodes.count; i++) {
        fix(mask, vec_at(&mask->tree.nodes, struct mask_node, i), i);
    }
    return ABX_OK;
}
