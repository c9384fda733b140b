/* SPDX-License-Identifier: Apache-2.0
 * The operations of the mask: which answer each request of the kernel gets.  Mask thread, never
 * blocks.
 *
 * A node is the root (with the entries init binds), a fixed node of the tree, or a live one: of an
 * askable place, or a directory that is denied by default, which is there to be passed through, so
 * that the event names what was looked for behind it.  Names of fixed nodes may be kept by the
 * kernel for ever, since something is mounted on them; all other names come back each time, so that
 * each attempt is seen. */
#include "linux/mask/mask_private.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool
find_target(const struct mask_request *request, struct mask_target *ret_target)
{
    struct mask *mask = request->mask;
    struct mask_target target = { .is_root = request->in.nodeid == FUSE_ROOT_ID,
        .fixed = SIZE_MAX };

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

bool
mask_is_denied(const struct mask_target *target)
{
    return target->node == NULL
                   ? target->live != NULL && target->live->is_way
                   : target->node->kind == MASK_DENIED || target->node->kind == MASK_DEFAULT;
}

const char *
mask_path_of(const struct mask_target *target)
{
    return target->node != NULL ? target->node->path : target->live->path;
}

enum mask_outcome
mask_fail(struct mask_request *request, int error)
{
    mask_reply(request, error, NULL, 0);
    return MASK_SERVED;
}

bool
mask_set_path(struct mask_request *request, const char *directory, const char *name)
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

struct subject
mask_caller(const struct mask_request *request)
{
    struct boundary *boundary = request->mask->boundary;
    struct subject caller = { .pid = pids_host(request->mask->pids, (int32_t)request->in.pid) };

    if (caller.pid == 0) {
        caller.program = ""; /* nobody could tell */
        return caller;
    }
    caller.command = boundary_command_of(boundary, caller.pid);
    if (caller.command != 0) {
        boundary_saw(boundary, caller.pid, caller.command);
    }
    return caller;
}

/* Asks once in the life of a request; DENY has made its event. */
abx_verdict
mask_decide(struct mask_request *request, uint32_t access, const char *verb)
{
    const struct broker *broker = request->mask->boundary->broker;
    const bool opens = request->in.opcode == FUSE_OPEN || request->in.opcode == FUSE_OPENDIR;
    struct subject caller;
    struct act act = { .request = ABX_REQUEST_PATH,
        .access = access,
        .target = request->path,
        .verb = verb,
        .content = -1,
        .looks = !opens };

    if (request->in.pid == 0) {
        /* Not of the box, so the listener: it looks a path up for a call, and that call has the
         * event; and what it opens for one it has decided about. */
        return opens ? ABX_VERDICT_ALLOW : ABX_VERDICT_DENY;
    }
    if (!request->has_verdict) {
        caller = mask_caller(request);
        request->verdict = broker->decide(broker->data, &caller, &act, &request->ticket);
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

/* Whether a name is a directory that is denied, but not by a rule.  That it exists tells nothing
 * new: names that are missing are told. */
static bool
is_way(const struct mask_request *request)
{
    const struct boundary *boundary = request->mask->boundary;
    const struct place *place = plan_place_of(boundary->plan, request->path);
    const struct act act = { .request = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_READ,
        .target = request->path,
        .verb = "lookup",
        .content = -1,
        .quiet = true };
    struct subject caller;
    uint64_t unused = 0;

    if (request->error != 0 || !S_ISDIR(request->seen.stx_mode) || place == NULL ||
            place->read != ABX_VERDICT_DENY || !place->by_default) {
        return false;
    }
    if (request->in.pid == 0) {
        return true; /* see mask_decide */
    }
    caller = mask_caller(request);
    return boundary->broker->decide(boundary->broker->data, &caller, &act, &unused) ==
           ABX_VERDICT_DENY;
}

/* Of a directory that is only passed through nothing is shown but that it is one. */
static void
live_attr(const struct mask_live *live, const struct statx *seen, struct fuse_attr *ret_attr)
{
    mask_attr(seen, ret_attr);
    if (live != NULL && live->is_way) {
        *ret_attr = (struct fuse_attr){ .ino = seen->stx_ino,
            .mode = S_IFDIR | 0755,
            .nlink = 2,
            .uid = geteuid(),
            .gid = getegid(),
            .blksize = seen->stx_blksize };
    }
}

static enum mask_outcome
reply_live(struct mask_request *request, bool way)
{
    struct mask_live *live = mask_live_get(request->mask, request->path, &request->seen);
    struct fuse_entry_out out = { 0 };

    if (live == NULL) {
        return mask_fail(request, ENOMEM);
    }
    out.nodeid = live->node;
    out.generation = live->generation;
    live->is_way = way;
    live_attr(live, &request->seen, &out.attr);
    mask_reply(request, 0, &out, sizeof out);
    return MASK_SERVED;
}

static enum mask_outcome
serve_lookup(struct mask_request *request, const struct mask_target *target)
{
    struct mask *mask = request->mask;
    bool denied = mask_is_denied(target);
    size_t i;

    if (target->is_root) {
        i = mask_tree_top(&mask->tree, mask->boundary->plan, request->name);
        return i == SIZE_MAX ? mask_fail(request, ENOENT) : reply_fixed(request, i);
    }
    i = target->node == NULL ? SIZE_MAX
                             : mask_tree_child(&mask->tree, target->fixed, request->name);
    if (i != SIZE_MAX) {
        return reply_fixed(request, i);
    }
    if (target->node != NULL && !denied && target->node->kind != MASK_ASK) {
        return mask_fail(request, ENOENT);
    }
    if (!mask_set_path(request, mask_path_of(target), request->name)) {
        return mask_fail(request, ENAMETOOLONG);
    }
    if (target->node == NULL || target->node->kind != MASK_DENIED) {
        if (!mask_look(request)) {
            return MASK_AT_WORK;
        }
        if (request->error == ENOENT || request->error == ENOTDIR) {
            return mask_fail(request, ENOENT);
        }
    }
    if (denied && request->has_looked && !request->has_verdict && is_way(request)) {
        return reply_live(request, true);
    }
    if (denied) {
        switch (mask_decide(request, ABX_ACCESS_READ, "lookup")) {
        case ABX_VERDICT_ASK:
            return MASK_HELD;
        case ABX_VERDICT_ALLOW:
            break;
        default:
            return mask_fail(request, EACCES);
        }
    }
    if (!mask_look(request)) {
        return MASK_AT_WORK;
    }
    return request->error != 0 ? mask_fail(request, request->error) : reply_live(request, false);
}

/* ---- attributes ---- */

/* Looks at a node of an askable place; `ret_error` is 0 if it still stands there. */
bool
mask_look_again(struct mask_request *request, const struct mask_target *target, int *ret_error)
{
    if (!mask_set_path(request, mask_path_of(target), NULL)) {
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
int
mask_file_of(const struct mask_request *request)
{
    return request->file == 0 || request->file > MASK_FILES_MAX
                   ? -1
                   : request->mask->files[request->file - 1];
}

static enum mask_outcome
serve_getattr(struct mask_request *request, const struct mask_target *target)
{
    struct fuse_attr_out out = { .attr_valid = MASK_FOREVER };
    int error = 0;

    if (mask_file_of(request) >= 0) {
        /* Its name may lead elsewhere by now. */
        out.attr_valid = 0;
        if (statx(mask_file_of(request), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS,
                    &request->seen) < 0) {
            return mask_fail(request, errno);
        }
        mask_attr(&request->seen, &out.attr);
    } else if (target->is_root) {
        out.attr = (struct fuse_attr){ .ino = FUSE_ROOT_ID, .mode = S_IFDIR | 0555, .nlink = 2 };
    } else if (target->node != NULL && target->node->kind != MASK_ASK) {
        out.attr = request->mask->fixed[target->fixed].attr;
    } else {
        out.attr_valid = 0;
        if (!mask_look_again(request, target, &error)) {
            return MASK_AT_WORK;
        }
        if (error != 0) {
            return mask_fail(request, error);
        }
        live_attr(target->live, &request->seen, &out.attr);
    }
    mask_reply(request, 0, &out, sizeof out);
    return MASK_SERVED;
}

static enum mask_outcome
serve_readlink(struct mask_request *request, const struct mask_target *target)
{
    char link[PATH_MAX];
    ssize_t length;
    int error = 0;

    if (target->node != NULL) {
        const char *fixed = request->mask->fixed[target->fixed].link;

        mask_reply(request, fixed == NULL ? EINVAL : 0, fixed, fixed == NULL ? 0 : strlen(fixed));
        return MASK_SERVED;
    }
    if (!mask_look_again(request, target, &error)) {
        return MASK_AT_WORK;
    }
    length = error != 0 ? -1 : readlinkat(request->object, "", link, sizeof link);
    if (length < 0) {
        return mask_fail(request, error != 0 ? error : errno);
    }
    mask_reply(request, 0, link, (size_t)length);
    return MASK_SERVED;
}

/* access(2) and chdir(2).  Of a place that would be asked about, it says what a yes would give. */
static enum mask_outcome
serve_access(struct mask_request *request, const struct mask_target *target)
{
    const struct broker *broker = request->mask->boundary->broker;
    bool is_on_way = target->node != NULL ? target->node->has_nodes
                                          : target->live != NULL && target->live->is_way;
    bool passes = is_on_way && ((target->node != NULL && target->node->kind == MASK_DEFAULT) ||
                                       (request->flags & R_OK) == 0);

    if ((request->flags & W_OK) != 0) {
        return mask_fail(request, EACCES);
    }
    if (request->flags == F_OK || !mask_is_denied(target) || passes) {
        return mask_fail(request, 0);
    }
    if (!mask_set_path(request, mask_path_of(target), NULL)) {
        return mask_fail(request, ENOMEM);
    }
    switch (mask_decide(request, ABX_ACCESS_READ, "access")) {
    case ABX_VERDICT_ASK:
        broker->withdraw(broker->data, request->ticket);
        return mask_fail(request, 0);
    case ABX_VERDICT_ALLOW:
        return mask_fail(request, 0);
    default:
        return mask_fail(request, EACCES);
    }
}

/* A change that came this far (the mount is read-only, so none should): refused like any other. */
static enum mask_outcome
serve_change(struct mask_request *request, const struct mask_target *target)
{
    const struct broker *broker = request->mask->boundary->broker;

    if (!target->is_root && mask_set_path(request, mask_path_of(target), NULL) &&
            mask_decide(request, ABX_ACCESS_WRITE, "write") == ABX_VERDICT_ASK) {
        broker->withdraw(broker->data, request->ticket);
    }
    return mask_fail(request, EACCES);
}

enum mask_outcome
mask_serve(struct mask_request *request)
{
    static const struct fuse_statfs_out empty = {
        .st = { .bsize = 4096, .frsize = 4096, .namelen = 255 }
    };
    struct mask_target target = { 0 };

    if (!find_target(request, &target)) {
        return mask_fail(request, ESTALE);
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
        return mask_serve_open(request, &target, request->in.opcode == FUSE_OPENDIR);
    case FUSE_READ:
        return mask_serve_read(request, &target);
    case FUSE_READDIR:
        return mask_serve_readdir(request, &target);
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
        return mask_serve_release(request);
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
        return mask_fail(request, ENOSYS);
    }
}
