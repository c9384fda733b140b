/* SPDX-License-Identifier: Apache-2.0
 * See fake_sys.h.  Descriptors are small numbers with a flag each, so that one that is left or
 * closed twice is found. */
#include "fake_sys.h"

#include "linux/init/sys.h"

#include <linux/capability.h>
#include <linux/eventpoll.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/stat.h>

#include <stdlib.h>
#include <string.h>

#define FIRST_FD 10
#define BOX_DEVICE 7
#define GET_NAMESPACE 0x894c /* SIOCGSKNS */

struct fake fake;

void
fake_reset(void)
{
    memset(&fake, 0, sizeof fake);
    fake.fail_at = fake.failed = fake.refuse_request = -1;
    fake.pid = 1;
    fake.open[WIRE_CONTROL_FD] = true;
}

int
fake_done(int kept)
{
    int left = 0;

    for (size_t i = 0; i < sizeof fake.mappings / sizeof fake.mappings[0]; i++) {
        if (fake.mappings[i].is_own) {
            free((void *)(uintptr_t)fake.mappings[i].start);
        }
    }
    memset(fake.mappings, 0, sizeof fake.mappings);
    for (int i = FIRST_FD; i < FAKE_FDS; i++) {
        left += fake.open[i];
    }
    return left - kept;
}

void
fake_run(void (*fn)(void *data), void *data)
{
    fake.has_out = true;
    if (setjmp(fake.out) == 0) {
        fn(data);
    }
    fake.has_out = false;
}

long
fake_find(long number)
{
    for (long i = 0; i < fake.calls && i < FAKE_LOG; i++) {
        if (fake.log[i] == number) {
            return i;
        }
    }
    return -1;
}

static _Noreturn void
leave(int status)
{
    fake.exit_status = status;
    if (!fake.has_out) {
        abort();
    }
    longjmp(fake.out, 1);
}

static long
new_fd(void)
{
    for (int i = FIRST_FD; i < FAKE_FDS; i++) {
        if (!fake.open[i]) {
            fake.open[i] = true;
            fake.blocks[i] = NULL;
            return i;
        }
    }
    return -EMFILE;
}

static long
fake_close(long fd)
{
    if (fd < 0 || fd >= FAKE_FDS || !fake.open[fd]) {
        fake.closed_twice = true;
        return -EBADF;
    }
    fake.open[fd] = false;
    return 0;
}

/* The beginning of what comes over a stream; the rest is read. */
static long
fake_receive_part(const struct sys_iovec *iov, const struct fake_message *message)
{
    const size_t n = message->block_size < iov->size ? message->block_size : iov->size;

    if (fake.limit_set_meanwhile != 0) {
        fake.limits[fake.limit_set_meanwhile][0]++;
    }
    memcpy(iov->base, message->block, n);
    fake.pipe = (const char *)message->block + n;
    fake.pipe_size = message->block_size - n;
    return (long)n;
}

static long
fake_receive(struct sys_msghdr *header)
{
    const struct fake_message *message;
    struct sys_cmsg *cmsg = header->control;
    int *fds = (int *)(void *)(cmsg + 1);

    if (fake.inbox_at == fake.n_inbox) {
        return 0;
    }
    message = &fake.inbox[fake.inbox_at++];
    header->flags = message->flags;
    header->control_size = 0;
    if (message->n_fds > 0) {
        *cmsg = (struct sys_cmsg){ sizeof *cmsg + (size_t)message->n_fds * sizeof(int), SOL_SOCKET,
            SYS_SCM_RIGHTS };
        header->control_size = cmsg->size;
    }
    for (int i = 0; i < message->n_fds; i++) {
        fds[i] = (int)new_fd();
        if (i == 0 && fds[0] >= 0) {
            fake.blocks[fds[0]] = message->block;
            fake.block_sizes[fds[0]] = message->block_size;
        }
    }
    if (header->iov->size < sizeof message->wire) {
        return fake_receive_part(header->iov, message);
    }
    memcpy(header->iov->base, &message->wire, message->size);
    return (long)message->size;
}

static long
fake_send(const struct sys_msghdr *header)
{
    struct fake_message *message;

    if (fake.n_outbox == FAKE_QUEUE) {
        return -EPIPE;
    }
    message = &fake.outbox[fake.n_outbox++];
    memcpy(&message->wire, header->iov->base, header->iov->size);
    message->n_fds =
            header->control_size == 0
                    ? 0
                    : (int)((header->control_size - sizeof(struct sys_cmsg)) / sizeof(int));
    return (long)header->iov->size;
}

static long
fake_map(size_t size, int fd)
{
    for (size_t i = 0; i < sizeof fake.mappings / sizeof fake.mappings[0]; i++) {
        struct fake_mapping *mapping = &fake.mappings[i];

        if (mapping->start == NULL) {
            mapping->is_own = fd < 0;
            mapping->start = fd < 0 ? calloc(1, size) : fake.blocks[fd];
            return mapping->start == NULL ? -ENOMEM : (long)mapping->start;
        }
    }
    return -ENOMEM;
}

static long
fake_unmap(const void *start)
{
    for (size_t i = 0; i < sizeof fake.mappings / sizeof fake.mappings[0]; i++) {
        if (fake.mappings[i].start == start && !fake.mappings[i].is_own) {
            fake.mappings[i].start = NULL;
        }
    }
    return 0;
}

/* What was looked up just before is, where OP_DEVICE asks, a device node; elsewhere it does not
 * matter. */
static long
fake_statx(struct statx *status)
{
    bool is_looked_up = fake.previous == __NR_openat2;

    status->stx_mode = is_looked_up ? SYS_TYPE_CHARACTER : SYS_TYPE_DIRECTORY;
    status->stx_dev_minor = is_looked_up && fake.is_foreign ? BOX_DEVICE + 1 : BOX_DEVICE;
    status->stx_attributes = fake.is_mount ? STATX_ATTR_MOUNT_ROOT : 0;
    return 0;
}

static long
fake_read(void *buffer, size_t size)
{
    size_t n = fake.pipe_size < size ? fake.pipe_size : size;

    if (n > 0) {
        memcpy(buffer, fake.pipe, n);
    }
    fake.pipe_size = 0;
    return (long)n;
}

static long
fake_write(const void *buffer, size_t size)
{
    if (size == sizeof fake.report) {
        memcpy(fake.report, buffer, size);
        fake.has_report = true;
    }
    return (long)size;
}

static long
fake_request(const void *bytes, size_t size)
{
    if (fake.n_requests == FAKE_REQUESTS || size > FAKE_REQUEST) {
        return -ENOBUFS;
    }
    memcpy(fake.requests[fake.n_requests], bytes, size);
    fake.request_sizes[fake.n_requests++] = size;
    return (long)size;
}

static long
fake_acknowledge(void *buffer)
{
    const bool is_refused = fake.refuse_request == (long)fake.n_requests - 1;
    const struct nlmsghdr header = { .nlmsg_len = NLMSG_HDRLEN + sizeof(struct nlmsgerr),
        .nlmsg_type = NLMSG_ERROR };
    const struct nlmsgerr error = { .error = is_refused ? -fake.refusal : 0 };

    memcpy(buffer, &header, sizeof header);
    memcpy((char *)buffer + NLMSG_HDRLEN, &error, sizeof error);
    return (long)header.nlmsg_len;
}

static long
fake_wait(int *status)
{
    if (fake.children_at == fake.n_children) {
        return -ECHILD;
    }
    *status = fake.children[fake.children_at].status;
    return fake.children[fake.children_at++].pid;
}

static long
fake_events(struct epoll_event *events)
{
    if (fake.events_at == fake.n_events) {
        leave(-2);
    }
    events[0] = (struct epoll_event){ .events = EPOLLIN, .data = fake.events[fake.events_at++] };
    return 1;
}

static long
fake_clone(long flags, int *pidfd)
{
    if ((flags & CLONE_PIDFD) != 0) {
        *pidfd = (int)new_fd();
    }
    return fake.in_child ? 0 : 100;
}

static long
fake_execute(const char *path)
{
    fake.executed = path;
    if (fake.executes) {
        leave(-1);
    }
    return -ENOENT;
}

static long
fake_capabilities(struct __user_cap_data_struct *data)
{
    for (int i = 0; i < 2; i++) {
        data[i] = (struct __user_cap_data_struct){ UINT32_MAX, UINT32_MAX, UINT32_MAX };
    }
    return 0;
}

static long
fake_pipe(int *fds)
{
    fds[0] = (int)new_fd();
    fds[1] = (int)new_fd();
    return 0;
}

static long
fake_limit(long resource, const void *set, void *get)
{
    if (get != NULL) {
        memcpy(get, fake.limits[resource], sizeof fake.limits[0]);
    }
    if (set != NULL) {
        memcpy(fake.limits[resource], set, sizeof fake.limits[0]);
    }
    return 0;
}

static long
fake_result(long number, const long *a)
{
    switch (number) {
    case __NR_openat:
    case __NR_openat2:
    case __NR_open_tree:
    case __NR_fsopen:
    case __NR_fsmount:
    case __NR_socket:
    case __NR_epoll_create1:
    case __NR_signalfd4:
    case __NR_eventfd2:
    case __NR_pidfd_open:
    case __NR_landlock_create_ruleset:
        return new_fd();
    case __NR_seccomp:
        return a[1] != 0 ? new_fd() : 0;
    case __NR_ioctl:
        return a[1] == (long)TIOCGPTPEER || a[1] == GET_NAMESPACE ? new_fd() : 0;
    case __NR_pipe2:
        return fake_pipe((int *)a[0]);
    case __NR_socketpair:
        return fake_pipe((int *)a[3]);
    case __NR_prlimit64:
        return fake_limit(a[1], (const void *)a[2], (void *)a[3]);
    case __NR_close:
        return fake_close(a[0]);
    case __NR_recvmsg:
        return fake_receive((struct sys_msghdr *)a[1]);
    case __NR_sendmsg:
        return fake_send((const struct sys_msghdr *)a[1]);
    case __NR_fcntl:
        return a[1] == F_GET_SEALS ? F_SEAL_SHRINK | F_SEAL_WRITE : 0;
    case __NR_lseek:
        return (long)fake.block_sizes[a[0]];
    case __NR_mmap:
        return fake_map((size_t)a[1], (int)a[4]);
    case __NR_munmap:
        return fake_unmap((const void *)a[0]);
    case __NR_statx:
        return fake_statx((struct statx *)a[4]);
    case __NR_read:
        return fake_read((void *)a[1], (size_t)a[2]);
    case __NR_write:
        return fake_write((const void *)a[1], (size_t)a[2]);
    case __NR_sendto:
        return fake_request((const void *)a[1], (size_t)a[2]);
    case __NR_recvfrom:
        return fake_acknowledge((void *)a[1]);
    case __NR_wait4:
        return fake_wait((int *)a[1]);
    case __NR_epoll_pwait:
        return fake_events((struct epoll_event *)a[1]);
    case __NR_clone:
        return fake_clone(a[0], (int *)a[2]);
    case __NR_capget:
        return fake_capabilities((struct __user_cap_data_struct *)a[1]);
    case __NR_getpid:
        return fake.pid;
    case __NR_ppoll:
        return 1;
    case __NR_bind:
        memcpy(fake.address, (const void *)a[1], (size_t)a[2]);
        return 0;
    case __NR_faccessat:
        return fake.missing != NULL && strcmp((const char *)a[1], fake.missing) == 0 ? -ENOENT : 0;
    case __NR_execve:
        return fake_execute((const char *)a[0]);
    default:
        return 0;
    }
}

long
sys_call(long number, long a, long b, long c, long d, long e, long f)
{
    const long arguments[] = { a, b, c, d, e, f };
    long at = fake.calls++;
    long result;

    if (at < FAKE_LOG) {
        fake.log[at] = number;
    }
    if (number == __NR_exit_group) {
        leave((int)a);
    }
    if (at == fake.fail_at) {
        fake.failed = number;
        fake.failed_step = fake.watch == NULL ? 0 : *fake.watch;
        if (number == __NR_close) {
            fake_close(a); /* the kernel closes whatever it says */
        }
        return -fake.error;
    }
    result = fake_result(number, arguments);
    fake.previous = number;
    return result;
}
