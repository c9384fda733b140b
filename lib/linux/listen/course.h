/* SPDX-License-Identifier: Apache-2.0
 * Inside the listener only: what is to become of a call that would change something at a path, and
 * the handlers of the groups of calls. */
#ifndef ABX_LINUX_COURSE_H
#define ABX_LINUX_COURSE_H

#include "linux/listen/resolve.h"

enum course {
    COURSE_CONTINUE, /* the kernel may do it, whatever the path turns into */
    COURSE_BEHALF, /* policy allows it, the box's mounts do not: the caller of this does it */
    COURSE_ANSWERED /* *ret_result is the handler's result */
};

/* `where`: the descriptor (of resolved) whose mount must be writable: of the object, or of the
 * parent for a name. */
enum course course_of(struct call *call, struct resolved *resolved, int where, const char *verb,
        enum call_result *ret_result);
/* The same for a call that makes a name or opens for writing: the kernel does that only where the
 * plan lets it. */
enum course course_of_write(struct call *call, struct resolved *resolved, int where,
        const char *verb, enum call_result *ret_result);
/* What would stand at a name; `judged` is set where it decides. */
struct content {
    int fd;
    bool judged;
};
/* The same where the mount does not matter: only the verdict.  `content` may be NULL. */
enum course course_decide(struct call *call, struct resolved *resolved, uint32_t access,
        const char *verb, struct content *content, enum call_result *ret_result);
/* EACCES and an event: the host handed it in, and for less. */
enum call_result course_handed_in(
        struct call *call, const struct resolved *resolved, const char *verb);
/* What a handler returns when the look-up of `resolved` failed with `error` (negative). */
enum call_result course_failed(
        struct call *call, struct resolved *resolved, int error, const char *verb);
/* The same where the kernel is not asked: only the path could say what is to become of it, or the
 * kernel may find something by now that it has no right to make or to open. */
enum call_result course_untold(
        struct call *call, struct resolved *resolved, int error, const char *verb);
/* The same where the host's own object (resolve_host_*) was not to be had: with -EXDEV EACCES and
 * an event, since the place is not the same on the host and nothing can be done on behalf. */
enum call_result course_lost(
        struct call *call, struct resolved *resolved, int error, const char *verb);
/* Whether the plan says that the path may be written, without an event (patterns are not looked
 * at). */
bool course_plan_allows(const struct plan *plan, const char *path);
/* Whether it lies in a writable root, though it may be protected there. */
bool course_in_root(const struct plan *plan, const char *path);

enum call_result calls_open(struct call *call);
enum call_result calls_access(struct call *call);
enum call_result calls_name(struct call *call);
enum call_result calls_attribute(struct call *call);
enum call_result calls_exec(struct call *call);
enum call_result calls_umask(struct call *call);
enum call_result calls_process(struct call *call);
enum call_result calls_refused(struct call *call);
/* EPERM and an event for a mode that makes a set-user-id or set-group-id file; else false. */
bool calls_refuse_mode(struct call *call, uint32_t mode, const char *verb);

#endif
