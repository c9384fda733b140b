/* SPDX-License-Identifier: Apache-2.0
 * Unix sockets: a path is resolved once, and what was found there is what is connected to.  A
 * socket that the box made is the box's own; it is known because each bind() is done here, on the
 * caller's socket, like any making of a name.  All others are services of the host, and the
 * broker's.  Loop thread or worker. */
#include "base/mem.h"
#include "linux/listen/calls_name.h"
#include "linux/net/net_private.h"
#include "linux/net/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATH_OFFSET = offsetof(struct sockaddr_un, sun_path) };

/* The path of an address; false: unnamed or abstract. */
static bool
path_of(const struct address *address, char path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1])
{
    size_t room = sizeof(((struct sockaddr_un *)0)->sun_path);
    const char *bytes = ((const struct sockaddr_un *)&address->storage)->sun_path;
    size_t length = address->length <= PATH_OFFSET ? 0 : address->length - PATH_OFFSET;

    length = strnlen(bytes, length < room ? length : room);
    memcpy(path, bytes, length);
    path[length] = '\0';
    return length > 0;
}

static void
set_path(struct address *address, const char *path)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };

    snprintf(name.sun_path, sizeof name.sun_path, "%s", path);
    *address = (struct address){ .length = sizeof name };
    memcpy(&address->storage, &name, sizeof name);
}

/* A place of the box that may not be looked into hides its sockets too. */
static enum call_result
fail_path(struct call *call, int error, const struct resolved *resolved, const char *verb)
{
    struct act act = {
        .request = ABX_REQUEST_SOCKET, .target = resolved->path, .verb = verb, .content = -1
    };

    if (error == -EAGAIN) {
        return CALL_WORKER;
    }
    if (error == -EACCES) {
        call_report(call, ABX_EVENT_DENIAL, &act, "boundary:socket",
                "the place of this socket cannot be read in the box", NULL);
        return call_fail(call, EACCES);
    }
    return net_failed(call, error, verb);
}

static abx_verdict
decide(struct call *call, const char *path, const char *asked, int object, const char *verb)
{
    struct act act = { .request = ABX_REQUEST_SOCKET,
        .target = path,
        .asked = asked == NULL || strcmp(path, asked) == 0 ? NULL : asked,
        .verb = verb,
        .content = -1 };

    return call_decide(call, &act, object, -1);
}

/* ---- connect ---- */

/* Abstract names are of the network namespace: the box's, or the host's. */
static enum call_result
connect_abstract(struct call *call, const struct address *address)
{
    const char *bytes = ((const struct sockaddr_un *)&address->storage)->sun_path;
    char name[sizeof(((struct sockaddr_un *)0)->sun_path) + 1] = "@";
    size_t length = address->length <= PATH_OFFSET ? 0 : address->length - PATH_OFFSET;

    if (plan_has_network(call->boundary->plan) || length == 0) {
        return net_connect(call, address);
    }
    for (size_t i = 1; i < length && i < sizeof name - 1; i++) {
        name[i] = bytes[i] == '\0' ? '@' : bytes[i];
    }
    switch (decide(call, name, NULL, -1, "connect")) {
    case ABX_VERDICT_ALLOW:
        return net_connect(call, address);
    case ABX_VERDICT_ASK:
        return CALL_HOLD;
    default:
        return call_fail(call, EACCES);
    }
}

static bool
is_own(const struct call *call, const struct resolved *resolved)
{
    return call->boundary->sockets != NULL &&
           sockets_have(call->boundary->sockets, resolved->object);
}

/* The host's own socket, for which something stands in the box; or -errno. */
static int
open_host_socket(const struct call *call, const char *path)
{
    const struct open_how how = { .flags = O_PATH | O_CLOEXEC,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
    AUTO(closep)
    int fd = (int)syscall(SYS_openat2, call->boundary->host_root, path + 1, &how, sizeof how);
    struct stat stat;

    if (fd < 0 || fstat(fd, &stat) < 0) {
        return -errno;
    }
    return S_ISSOCK(stat.st_mode) ? steal_fd(&fd) : -ECONNREFUSED;
}

/* What policy allows of the host. */
static enum call_result
connect_host(struct call *call, const struct resolved *resolved)
{
    AUTO(closep) int host = -1;

    if (!plan_is_host_socket(call->boundary->plan, resolved->path)) {
        return net_connect_object(call, resolved->object);
    }
    if (!call->on_worker) {
        return CALL_WORKER;
    }
    host = open_host_socket(call, resolved->path);
    return host < 0 ? call_fail(call, -host) : net_connect_object(call, host);
}

/* The host's cache of users and names, for which every C library looks before it does anything by
 * name, and without which it goes on.  In a box there is none, unless the policy lists it. */
static bool
is_absent_cache(const struct call *call, const char *path)
{
    static const char *const names[] = { "/var/run/nscd/socket", "/run/nscd/socket" };
    struct act act = { .request = ABX_REQUEST_SOCKET, .verb = "connect", .content = -1 };
    bool is_listed = false;

    if (strcmp(path, names[0]) != 0 && strcmp(path, names[1]) != 0) {
        return false;
    }
    for (size_t i = 0; i < N_ELEMENTS(names); i++) {
        act.target = names[i];
        is_listed |= call_is_allowed(call, &act);
    }
    return !is_listed;
}

enum call_result
net_connect_unix(struct call *call, const struct address *address)
{
    AUTO(resolved_done) struct resolved resolved;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];
    int r;

    resolved_init(&resolved);
    if (!path_of(address, path)) {
        return connect_abstract(call, address);
    }
    if (is_absent_cache(call, path)) {
        return call_fail(call, ENOENT);
    }
    r = resolve_text(call, AT_FDCWD, path, RESOLVE_FOLLOW, &resolved);
    r = r < 0 ? r : resolved_path(call, &resolved);
    if (r < 0) {
        return fail_path(call, r, &resolved, "connect");
    }
    if (resolved.object < 0) {
        return call_fail(call, ENOENT);
    }
    if (!S_ISSOCK(resolved.stat.stx_mode)) {
        return call_fail(call, ECONNREFUSED);
    }
    if (is_own(call, &resolved)) {
        return net_connect_object(call, resolved.object);
    }
    switch (decide(call, resolved.path, path, resolved.object, "connect")) {
    case ABX_VERDICT_ALLOW:
        return connect_host(call, &resolved);
    case ABX_VERDICT_ASK:
        return CALL_HOLD;
    default:
        return call_fail(call, EACCES);
    }
}

/* ---- bind ---- */

/* In the directory `parent`, under the caller's umask.  The worker's own cwd makes room for names
 * as long as an address can hold. */
static enum call_result
bind_in(struct call *call, int parent, const char *name)
{
    AUTO(closep) int fd = call_take_fd(call, (int)call->args[0]);
    struct address address;
    int error = 0;

    if (fd < 0) {
        return net_failed(call, fd, "bind");
    }
    if (!name_take_umask(call) || fchdir(parent) < 0) {
        return call_fail(call, errno);
    }
    set_path(&address, name);
    if (bind(fd, (const struct sockaddr *)&address.storage, address.length) < 0) {
        error = errno;
    } else if (call->boundary->sockets != NULL) {
        sockets_add(call->boundary->sockets, fd);
    }
    if (fchdir(call->boundary->host_root) < 0 && error == 0) {
        error = errno;
    }
    return error == 0 ? call_return(call, 0) : call_fail(call, error);
}

static enum call_result
bind_behalf(struct call *call, struct resolved *resolved)
{
    AUTO(closep) int parent = resolve_host_parent(call, resolved);

    if (parent < 0) {
        return course_lost(call, resolved, parent, "bind");
    }
    return bind_in(call, parent, resolved->name);
}

enum call_result
net_bind_unix(struct call *call, const struct address *address)
{
    AUTO(resolved_done) struct resolved resolved;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];
    enum call_result result = CALL_WORKER;
    enum course course;
    int r;

    resolved_init(&resolved);
    if (!path_of(address, path)) {
        return CALL_CONTINUE; /* abstract, or to be given a name: nothing in a file system */
    }
    snprintf(resolved.asked, sizeof resolved.asked, "%s", path);
    r = resolve_text(call, AT_FDCWD, path, RESOLVE_NAME, &resolved);
    if (r < 0) {
        return fail_path(call, r, &resolved, "bind");
    }
    if (resolved.object >= 0 || resolved.parent < 0) {
        return call_fail(call, EADDRINUSE);
    }
    course = course_of(call, &resolved, resolved.parent, "bind", &result);
    if (course == COURSE_ANSWERED || !call->on_worker) {
        return result;
    }
    return course == COURSE_BEHALF ? bind_behalf(call, &resolved)
                                   : bind_in(call, resolved.parent, resolved.name);
}
