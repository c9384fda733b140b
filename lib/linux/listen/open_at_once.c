/* SPDX-License-Identifier: Apache-2.0
 * The common case of an open for reading where names decide: the file is opened first, and then the
 * kernel is asked for the path of what was opened.  That the path which was spelled is allowed is
 * known before, so nothing is opened that is not the caller's to open, unless somebody renames what
 * lies on the way in that moment; and then the kernel's answer is another path, and nothing is
 * handed in.  Whatever is not as common (a link, a device, a question, a place where an open may
 * block) is left to calls_read.c, which holds the object before it decides.  Loop's thread. */
#include "linux/listen/calls_open.h"

#include "base/mem.h"
#include "base/path.h"
#include "linux/listen/listeners.h"
#include "linux/listen/spelling.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether there is a box whose mounts have no devices, and none that may block has moved to where
 * nobody looks for it. */
static bool
may_be_at_once(const struct call *call, const struct open_request *request)
{
    const struct slow_devices *slow = &call->boundary->listeners->slow;

    return !call->on_worker && call->n_grants == 0 && request->resolve == 0 &&
           plan_has_mounts(call->boundary->plan) && !slow->all && !slow->has_moving;
}

/* Neither the box's own nor on a mount that takes more care. */
static bool
is_plain(const struct call *call, const char *path)
{
    const struct slow_devices *slow = &call->boundary->listeners->slow;

    for (size_t i = 0; i < slow->places.count; i++) {
        if (path_is_within(path, *vec_at(&slow->places, char *, i))) {
            return false;
        }
    }
    return !plan_is_private(call->boundary->plan, path);
}

static bool
is_allowed(const struct call *call, const char *path)
{
    const struct act act = {
        .request = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_READ,
        .target = path,
        .verb = "open",
        .content = -1,
    };

    return call_is_allowed(call, &act);
}

static int
open_spelled(const struct call *call, const char *path, const struct open_request *request)
{
    struct open_how how = {
        .flags = request->flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY,
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED,
    };
    int fd = (int)syscall(SYS_openat2, call->boundary->root, path, &how, sizeof how);

    return fd < 0 ? -errno : fd;
}

/* Whether that path is what was opened, as it is seen now: a file or a directory.  What ends in the
 * kernel's mark of a lost name may be of one. */
static bool
is_as_spelled(const struct call *call, int fd, const char *path)
{
    static const char mark[] = " (deleted)";
    const size_t length = strlen(path), marked = sizeof mark - 1;
    char found[PATH_MAX];
    struct stat stat;

    return resolve_path_of(call, fd, found, sizeof found) == 0 && strcmp(found, path) == 0 &&
           (length < marked || strcmp(path + length - marked, mark) != 0) &&
           fstat(fd, &stat) == 0 && (S_ISREG(stat.st_mode) || S_ISDIR(stat.st_mode));
}

bool
open_at_once(struct call *call, const char *asked, const struct open_request *request,
        enum call_result *ret_result)
{
    AUTO(closep) int fd = -1;
    char path[PATH_MAX], canonical[PATH_MAX];

    if (!may_be_at_once(call, request) ||
            spelling_absolute(call, request->dirfd, asked, path) < 0) {
        return false;
    }
    memcpy(canonical, path, strlen(path) + 1);
    spelling_remove_dots(canonical); /* right where no link is on the way */
    if (!is_plain(call, canonical) || !is_allowed(call, canonical)) {
        return false;
    }
    fd = open_spelled(call, path, request);
    if (fd == -ENOENT) {
        *ret_result = call_fail(call, ENOENT);
        return true;
    }
    if (fd < 0 || !is_as_spelled(call, fd, canonical)) {
        return false;
    }
    *ret_result = open_hand_in(call, fd, request);
    return true;
}
