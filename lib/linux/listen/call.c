/* SPDX-License-Identifier: Apache-2.0
 * One notified system call: the caller's memory and descriptors, the answer, the broker's verdict.
 * Knows the notification interface of the kernel, no particular system call.  Any thread; a call
 * belongs to one thread at a time. */
#include "linux/listen/call.h"

#include "base/mem.h"
#include "linux/filter/calls.h"
#include "linux/listen/shown.h"
#include "linux/net/connecting.h"
#include "linux/net/dialling.h"
#include "linux/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096u /* the least page size: a read never crosses into a page it does not need */
#define SHORT_TEXT 256u /* nearly all of them: the first read copies no more */
#define PIDFD_OF_THREAD O_EXCL /* PIDFD_THREAD, Linux 6.9 */

int
call_tell_kernel(const struct call *call, unsigned long request, void *data)
{
    int r;

    do {
        r = ioctl(call->listener, request, data);
    } while (r < 0 && errno == EINTR);
    return r;
}

bool
call_is_valid(const struct call *call)
{
    uint64_t id = call->id;

    return call_tell_kernel(call, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* Up to `size` bytes; the count or -errno, -ESRCH: the caller is gone. */
static long
read_some(const struct call *call, uint64_t address, void *buffer, size_t size)
{
    struct iovec local = { .iov_base = buffer, .iov_len = size };
    struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = size }; /* NOLINT */
    ssize_t r = process_vm_readv(call->pid, &local, 1, &remote, 1, 0);

    if (r < 0) {
        return errno == EPERM ? -EACCES : -errno;
    }
    return r == 0 ? -EFAULT : r;
}

int
call_read(const struct call *call, uint64_t address, void *buffer, size_t size)
{
    long r = read_some(call, address, buffer, size);

    if (r < 0) {
        return (int)r;
    }
    return (size_t)r == size ? 0 : -EFAULT;
}

long
call_read_text(const struct call *call, uint64_t address, char *buffer, size_t room)
{
    size_t length = 0;

    while (length < room) {
        size_t size = PAGE - (address + length) % PAGE;
        const char *end;
        long r;

        size = size < room - length ? size : room - length;
        size = length == 0 && size > SHORT_TEXT ? SHORT_TEXT : size;
        r = read_some(call, address + length, buffer + length, size);
        if (r < 0) {
            return r;
        }
        end = memchr(buffer + length, 0, (size_t)r);
        if (end != NULL) {
            return end - buffer;
        }
        length += (size_t)r;
    }
    return -ENAMETOOLONG;
}

int
call_take_fd(const struct call *call, int number)
{
    AUTO(closep) int pidfd = -1;
    int fd;

    pidfd = (int)syscall(SYS_pidfd_open, call->pid, PIDFD_OF_THREAD);
    if (pidfd < 0 && errno == EINVAL) {
        uint64_t leader = 0;

        proc_status(call->pid, "Tgid", 10, &leader);
        pidfd = (int)syscall(SYS_pidfd_open, (pid_t)leader, 0);
    }
    if (pidfd < 0) {
        return -errno;
    }
    fd = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
    if (fd < 0) {
        return -errno;
    }
    if (!call_is_valid(call)) {
        close_fd(fd);
        return -ESRCH;
    }
    return fd;
}

enum call_result
call_fail(struct call *call, int error)
{
    call->error = error;
    return CALL_REPLY;
}

enum call_result
call_return(struct call *call, int64_t value)
{
    call->error = 0;
    call->value = value;
    return CALL_REPLY;
}

static int
add_fd(const struct call *call, int fd, bool cloexec, uint32_t flags)
{
    struct seccomp_notif_addfd addfd = {
        .id = call->id,
        .flags = flags,
        .srcfd = (uint32_t)fd,
        .newfd_flags = cloexec ? O_CLOEXEC : 0,
    };

    return call_tell_kernel(call, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd);
}

enum call_result
call_return_fd(struct call *call, int fd, bool cloexec)
{
    if (add_fd(call, fd, cloexec, SECCOMP_ADDFD_FLAG_SEND) >= 0 || errno == ENOENT) {
        return CALL_SENT;
    }
    return call_fail(call, errno); /* EMFILE of the caller, ... */
}

enum call_result
call_hand_over(struct call *call, int fd, bool cloexec)
{
    int number;

    if (!call->boundary->plan->capabilities.seccomp_killable) {
        return call_return_fd(call, fd, cloexec);
    }
    number = add_fd(call, fd, cloexec, 0);
    if (number < 0) {
        return errno == ENOENT ? CALL_SENT : call_fail(call, errno);
    }
    return call_return(call, number);
}

enum call_result
call_unreadable(struct call *call, const char *verb)
{
    struct act act = {
        .request = ABX_REQUEST_SYSCALL, .target = verb, .verb = verb, .content = -1
    };

    call_report(call, ABX_EVENT_DENIAL, &act, "boundary:unreadable",
            "the arguments of the call cannot be read",
            "make the program readable: it may be executed only");
    return call_fail(call, EACCES);
}

bool
call_is_starved(int error)
{
    return error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

static void
tell_starved(struct call *call, const char *path, uint32_t access)
{
    const struct call_rule *rule = call_rule_find(call->nr, call->args);
    const char *name = rule != NULL ? rule->name : "call";
    struct act act = {
        .request = path[0] == '/' ? ABX_REQUEST_PATH : ABX_REQUEST_SYSCALL,
        .access = path[0] == '/' ? access : 0,
        .target = path[0] == '/' ? path : name,
        .verb = name,
        .content = -1,
    };

    call_report(call, ABX_EVENT_DENIAL, &act, "boundary:resources",
            "the supervisor has no memory or descriptors left to do it", "try it again");
}

enum call_result
call_starved(struct call *call, const char *path, uint32_t access)
{
    tell_starved(call, path, access);
    return call_fail(call, EACCES);
}

void
call_done(struct call *call)
{
    for (uint32_t i = 0; i < call->n_grants; i++) {
        free(call->grants[i].target);
        free(call->grants[i].bound);
        close_fd(call->grants[i].object);
    }
    call->n_grants = 0;
    close_fd(steal_fd(&call->waiting_fd));
    dialling_leave(call->dialling);
    call->dialling = NULL;
    connecting_free(call->connecting);
    call->connecting = NULL;
}

static bool
is_same_object(int a, int b)
{
    struct stat sa, sb;

    if (a < 0 || b < 0) {
        return a < 0 && b < 0;
    }
    return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
           sa.st_ino == sb.st_ino;
}

static bool
is_file(int object)
{
    struct stat stat;

    return fstat(object, &stat) == 0 && S_ISREG(stat.st_mode);
}

/* Two calls may have been held for one new name: what the first made is what the other is for. */
static bool
is_as_asked(const struct call_grant *grant, int object, int directory)
{
    return grant->is_new
                   ? is_same_object(grant->object, directory) && (object < 0 || is_file(object))
                   : is_same_object(grant->object, object);
}

/* Whether it would be done as it was shown: another thread may have changed what is in memory. */
static bool
is_as_shown(const struct call_grant *grant, const struct call *call, const struct act *act)
{
    return grant->open_flags == call->open_flags &&
           (act->bound == NULL || grant->bound == NULL || strcmp(act->bound, grant->bound) == 0);
}

static void
tell_hidden(struct call *call, const struct act *act)
{
    call_report(call, ABX_EVENT_DENIAL, act, "boundary:masked",
            "what may not be read at all times cannot be written",
            "let the policy allow reading it, and ask about writing only");
}

/* What was asked before and allowed: true with the verdict. */
static bool
use_grant(struct call *call, const struct act *act, int object, int directory,
        abx_verdict *ret_verdict)
{
    const struct broker *broker = call->boundary->broker;
    const struct subject subject = { .command = call->command, .pid = call->pid };
    struct stat stat;

    for (uint32_t i = 0; i < call->n_grants; i++) {
        const struct call_grant *grant = &call->grants[i];

        if (!grant->granted || grant->request != act->request || grant->access != act->access ||
                grant->port != act->port || strcmp(grant->target, act->target) != 0) {
            continue;
        }
        *ret_verdict = ABX_VERDICT_ALLOW;
        if (!is_as_asked(grant, object, directory)) {
            if (object >= 0 && fstat(object, &stat) != 0) {
                tell_hidden(call, act);
            } else {
                call_report(call, ABX_EVENT_DENIAL, act, "boundary:changed",
                        "another object stands there than when it was asked about", NULL);
            }
            *ret_verdict = ABX_VERDICT_DENY;
        } else if (!is_as_shown(grant, call, act)) {
            call_report(call, ABX_EVENT_DENIAL, act, "boundary:changed",
                    "it would be done in another way than was asked about", NULL);
            *ret_verdict = ABX_VERDICT_DENY;
        } else if (!broker->holds(broker->data, &subject, act, grant->ticket)) {
            *ret_verdict = ABX_VERDICT_DENY;
        }
        return true;
    }
    return false;
}

/* Keeps what is asked about, or was allowed for this once; without memory, or with too many, false:
 * then it is refused. */
static bool
keep_grant(struct call *call, const struct act *act, int object, int directory, uint64_t ticket,
        bool granted)
{
    int shown = object >= 0 ? object : directory;
    struct call_grant grant = {
        .request = act->request,
        .access = act->access,
        .port = act->port,
        .object = -1,
        .is_new = object < 0 && directory >= 0,
        .open_flags = call->open_flags,
        .granted = granted,
        .ticket = ticket,
    };

    if (call->n_grants == CALL_GRANTS) {
        return false;
    }
    if (shown >= 0) {
        grant.object = fcntl(shown, F_DUPFD_CLOEXEC, 3);
        if (grant.object < 0) {
            return false;
        }
    }
    grant.target = strdup(act->target);
    grant.bound = act->bound == NULL ? NULL : strdup(act->bound);
    if (grant.target == NULL || (act->bound != NULL && grant.bound == NULL)) {
        free(grant.target);
        free(grant.bound);
        close_fd(grant.object);
        return false;
    }
    call->grants[call->n_grants++] = grant;
    return true;
}

abx_verdict
call_weigh(const struct call *call, const struct act *act, uint64_t *ret_counted)
{
    const struct broker *broker = call->boundary->broker;
    const struct subject subject = { .command = call->command, .pid = call->pid };
    struct act quiet = *act;
    uint64_t unused = 0;

    *ret_counted = 0;
    quiet.quiet = true;
    quiet.counted = ret_counted;
    return broker->decide(broker->data, &subject, &quiet, &unused);
}

bool
call_is_allowed(const struct call *call, const struct act *act)
{
    uint64_t counted;

    return call_weigh(call, act, &counted) == ABX_VERDICT_ALLOW && counted == 0;
}

/* Whether it is asked about, or takes a use of a grant: of these what they are for is shown. */
static bool
is_for_once(const struct call *call, const struct act *act)
{
    struct act named = *act;
    uint64_t counted;

    named.content = -1;
    return call_weigh(call, &named, &counted) == ABX_VERDICT_ASK || counted != 0;
}

/* What a yes is for, of a path; false, and told: it cannot be shown, so nobody is asked. */
static bool
show(struct call *call, const struct act *act, int object, int directory, struct str *shown)
{
    int r;

    if (act->request != ABX_REQUEST_PATH || (object < 0 && directory < 0) ||
            !is_for_once(call, act)) {
        return true;
    }
    r = shown_object(shown, call, act->verb, object, directory);
    if (call_is_starved(r)) {
        tell_starved(call, act->target, act->access);
    } else if (r < 0) {
        tell_hidden(call, act);
    }
    return r == 0;
}

/* A question of something that stands, whose yes would be for anything there: what allowed it when
 * it was looked at is gone. */
static bool
is_unbound(const struct act *act, int object, int directory)
{
    return act->bound == NULL &&
           ((act->request == ABX_REQUEST_PATH && (object >= 0 || directory >= 0)) ||
                   (act->request == ABX_REQUEST_EXEC && object >= 0));
}

/* Keeps the question, or takes it back and tells why. */
static abx_verdict
hold(struct call *call, const struct act *act, int object, int directory, uint64_t ticket)
{
    const struct broker *broker = call->boundary->broker;

    if (is_unbound(act, object, directory)) {
        call_report(call, ABX_EVENT_DENIAL, act, "boundary:changed",
                "what allowed it was taken back meanwhile", "try it again");
    } else if (keep_grant(call, act, object, directory, ticket, false)) {
        return ABX_VERDICT_ASK;
    } else {
        tell_starved(call, act->target, act->access);
    }
    broker->withdraw(broker->data, ticket);
    return ABX_VERDICT_DENY;
}

abx_verdict
call_decide(struct call *call, const struct act *act, int object, int directory)
{
    const struct broker *broker = call->boundary->broker;
    const struct subject subject = { .command = call->command, .pid = call->pid };
    const bool is_read = act->request == ABX_REQUEST_PATH && act->access == ABX_ACCESS_READ;
    struct act mine = *act;
    AUTO(str_done) struct str shown = { 0 };
    uint64_t counted = 0, ticket = 0;
    abx_verdict verdict;

    /* For nobody nothing is changed, and of nobody there is no event.  Who only reads is looked at
     * last: nearly all of that is allowed, and harmless for a caller that is gone. */
    if (!is_read && !call_is_valid(call)) {
        return ABX_VERDICT_DENY;
    }
    if (use_grant(call, act, object, directory, &verdict)) {
        return verdict;
    }
    if (is_read && call_is_allowed(call, act)) {
        return ABX_VERDICT_ALLOW;
    }
    if (is_read && !call_is_valid(call)) {
        return ABX_VERDICT_DENY;
    }
    mine.counted = &counted;
    if (!show(call, act, object, directory, &shown)) {
        return ABX_VERDICT_DENY;
    }
    mine.bound = act->bound == NULL ? shown.data : act->bound;
    verdict = broker->decide(broker->data, &subject, &mine, &ticket);
    if (verdict == ABX_VERDICT_ASK) {
        return hold(call, &mine, object, directory, ticket);
    }
    if (verdict == ABX_VERDICT_ALLOW && counted != 0) {
        /* When the handler runs again, on a worker, that is the same use. */
        (void)keep_grant(call, act, object, directory, counted, true);
    }
    return verdict;
}

bool
call_judge(struct call *call, const struct act *act)
{
    const struct broker *broker = call->boundary->broker;
    const struct subject subject = { .command = call->command, .pid = call->pid };
    uint64_t ticket = 0;
    abx_verdict verdict;

    verdict = broker->decide(broker->data, &subject, act, &ticket);
    if (verdict == ABX_VERDICT_ASK) {
        broker->withdraw(broker->data, ticket);
    }
    return verdict == ABX_VERDICT_ALLOW;
}

abx_verdict
call_look(struct call *call, uint32_t access, const char *path)
{
    const struct act act = {
        .request = ABX_REQUEST_PATH,
        .access = access,
        .target = path,
        .verb = "rename",
        .content = -1,
    };
    uint64_t unused;

    return call_weigh(call, &act, &unused);
}

void
call_report(const struct call *call, uint32_t type, const struct act *act, const char *rule,
        const char *reason, const char *alternative)
{
    const struct broker *broker = call->boundary->broker;
    const struct subject subject = { .command = call->command, .pid = call->pid };

    broker->report(broker->data, type, &subject, act, rule, reason, alternative);
}

enum call_result
call_refuse(struct call *call, const char *name, const char *reason, const char *alternative)
{
    struct act act = {
        .request = ABX_REQUEST_SYSCALL, .target = name, .verb = name, .content = -1
    };
    char rule[64];

    snprintf(rule, sizeof rule, "boundary:%s", name);
    call_report(call, ABX_EVENT_DENIAL, &act, rule, reason, alternative);
    return call_fail(call, EPERM);
}
