/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: one notified system call, and what a handler may do with it.
 *
 * A handler runs on the loop's thread first.  It must not block there: where it might, it returns
 * CALL_WORKER and is run again, from its start, on a worker (call->on_worker).  Where the broker
 * says ASK it returns CALL_HOLD and is run again when the answer is ALLOW; call_decide then allows
 * exactly what was asked.  So a handler keeps nothing between its runs and reads the caller's
 * memory anew; but CALL_DIAL keeps what is dialled. */
#ifndef ABX_LINUX_CALL_H
#define ABX_LINUX_CALL_H

#include "linux/boundary.h"

enum call_result {
    CALL_CONTINUE, /* the kernel does it: only what the kernel layers confine */
    CALL_REPLY, /* answered with call->error (errno), or call->value if that is 0 */
    CALL_SENT, /* the handler answered it itself, or the caller is gone */
    CALL_HOLD, /* asked: call_decide said ASK */
    CALL_DIAL, /* wait until the gateway has answered call->dialling, then run the handler again */
    CALL_CONNECT, /* call->connecting is to be done, whose end is the answer */
    CALL_WORKER, /* would block: run the handler again on a worker */
    CALL_LATER /* busy (a leased file): run the handler again in a while */
};

/* What a kept call waits for. */
enum call_wait {
    WAIT_ANSWER, /* to its last question */
    WAIT_WHILE, /* a moment */
    WAIT_DIAL, /* the gateway */
    WAIT_LOOP, /* its turn on the loop's thread, since the gateway has answered */
    WAIT_CONNECT /* its connect */
};

#define CALL_GRANTS 3u /* questions one call can have: a link reads, writes and makes a name */

/* Something that was asked about, and the object it was asked for. */
struct call_grant {
    uint32_t request, access, port;
    char *target;
    int object; /* O_PATH of what was shown, so that its inode number is not given away; or -1 */
    bool is_new; /* nothing stood there yet: object is the directory that the name is for */
    char *bound; /* see struct act; or NULL */
    uint64_t open_flags; /* see struct call */
    uint64_t ticket; /* or, of what was allowed at once, the grant that a use was taken of */
    bool granted;
};

struct dialling;
struct connecting;

struct call {
    struct boundary *boundary;
    struct notify *notify;
    uint64_t command;
    int listener;
    uint64_t id; /* of the notification */
    int32_t pid; /* the calling thread, as the host sees it */
    int32_t nr; /* __NR_* */
    uint64_t args[6];
    bool on_worker; /* may block */
    uint64_t open_flags; /* of an open, as it was read last */
    int error; /* the answer, with CALL_REPLY */
    int64_t value;
    struct call_grant grants[CALL_GRANTS];
    uint32_t n_grants;
    int waiting_fd; /* what a handler that said CALL_LATER keeps open for its next run, or -1 */
    struct dialling *dialling; /* net/dialling.h; owned, or NULL */
    struct connecting *connecting; /* net/connecting.h; owned until it is started, or NULL */
    const struct connecting *waits_for; /* the one that was started, which may be gone; or NULL */
    bool is_kept; /* notify.c's: on the heap */
    enum call_wait wait; /* notify.c's and held.c's */
    struct call *next;
};

typedef enum call_result (*call_handler)(struct call *call);

/* ---- the caller's memory and descriptors ---- */
/* Whether the caller still waits for this very answer: after reading its memory or /proc, before
 * acting on what was read. */
bool call_is_valid(const struct call *call);
/* Copies exactly `size` bytes; 0, or -EFAULT (bad address) or -EACCES (memory of a program that may
 * not be read: a denial). */
int call_read(const struct call *call, uint64_t address, void *buffer, size_t size);
/* Copies a NUL-terminated text; its length, -ENAMETOOLONG if it does not fit, -EFAULT, -EACCES. */
long call_read_text(const struct call *call, uint64_t address, char *buffer, size_t room);
/* The caller's own descriptor `number`, duplicated; or -errno. */
int call_take_fd(const struct call *call, int number);

/* ---- answers ---- */
/* An ioctl of the listener.  A host that is stopped, frozen or traced meanwhile makes it fail with
 * EINTR, though every signal is blocked, and nothing was done: it is done again. */
int call_tell_kernel(const struct call *call, unsigned long request, void *data);
enum call_result call_fail(struct call *call, int error); /* positive errno */
enum call_result call_return(struct call *call, int64_t value);
/* Puts a copy of fd into the caller and returns its number there from the call. */
enum call_result call_return_fd(struct call *call, int fd, bool cloexec);
/* The same for one that may be written: the call is answered once the handler has closed its own
 * descriptor, since a file that any descriptor may write cannot be executed (ETXTBSY).  Without
 * SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (Linux 5.19) a signal would leave the caller a descriptor
 * that it does not know of, so there it is answered at once. */
enum call_result call_hand_over(struct call *call, int fd, bool cloexec);
/* EACCES and an event for arguments that cannot be read. */
enum call_result call_unreadable(struct call *call, const char *verb);
/* Whether a negative errno says that the supervisor itself lacks memory or descriptors. */
bool call_is_starved(int error);
/* EACCES and an event for that.  `path`: absolute, or the call is named instead. */
enum call_result call_starved(struct call *call, const char *path, uint32_t access);

void call_done(struct call *call); /* closes and frees what it owns */

/* ---- asking and telling ---- */
/* The broker's verdict.  `object`: an O_PATH descriptor of what the act is about (lent), or -1; on
 * ASK it is remembered, and an ALLOW counts for the same object only.  `directory`: the one that
 * holds its name, or -1; where nothing stands yet an ALLOW counts for that name in it, and for the
 * file that another call made there meanwhile. */
abx_verdict call_decide(struct call *call, const struct act *act, int object, int directory);
/* The broker's verdict without an event, a question or a use taken; *ret_counted: the grant that a
 * use would be taken of, 0: none. */
abx_verdict call_weigh(const struct call *call, const struct act *act, uint64_t *ret_counted);
/* Whether it is allowed at all times, as most acts are: asks, tells and counts nothing. */
bool call_is_allowed(const struct call *call, const struct act *act);
/* Whether policy allows what comes of a call that was answered already: nothing can be asked. */
bool call_judge(struct call *call, const struct act *act);
/* The verdict on a path, without an event or a question. */
abx_verdict call_look(struct call *call, uint32_t access, const char *path);
/* `type`: ABX_EVENT_DENIAL or ABX_EVENT_NOTICE. */
void call_report(const struct call *call, uint32_t type, const struct act *act, const char *rule,
        const char *reason, const char *alternative);
/* A system call that no box may make: EPERM and an event "boundary:NAME". */
enum call_result call_refuse(
        struct call *call, const char *name, const char *reason, const char *alternative);

#endif
