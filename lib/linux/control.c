/* SPDX-License-Identifier: Apache-2.0
 * Owns the format of what goes over the control socket: messages with descriptors, sealed memfds,
 * the command block.  Knows no box.  No state; any thread. */
#include "linux/control.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define SEND_SECONDS 10
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

_Static_assert(offsetof(struct wire_message, path) == WIRE_MESSAGE_BASE, "as wire.h says");

/* Moves fd out of the way of descriptor 3, which the child takes for the socket. */
static int
raise_fd(int fd)
{
    int raised;

    if (fd < 0 || fd > WIRE_CONTROL_FD) {
        return fd;
    }
    raised = fcntl(fd, F_DUPFD_CLOEXEC, WIRE_CONTROL_FD + 1);
    close_fd(fd);
    return raised;
}

int
control_pair(int ret_fds[2])
{
    const struct timeval limit = { .tv_sec = SEND_SECONDS };
    int fds[2];
    int saved;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0) {
        return -errno;
    }
    for (int i = 0; i < 2; i++) {
        fds[i] = raise_fd(fds[i]);
    }
    if (fds[0] < 0 || fds[1] < 0 ||
            setsockopt(fds[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) < 0) {
        saved = errno;
        close_fd(fds[0]);
        close_fd(fds[1]);
        return -saved;
    }
    ret_fds[0] = fds[0];
    ret_fds[1] = fds[1];
    return 0;
}

void
control_put_fds(struct msghdr *header, char *room, const int *fds, size_t n_fds)
{
    struct cmsghdr *control;

    if (n_fds == 0) {
        return;
    }
    header->msg_control = room;
    header->msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
    control = CMSG_FIRSTHDR(header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
    memcpy(CMSG_DATA(control), fds, n_fds * sizeof(int));
}

int
control_send(int socket, const struct wire_message *message, const int *fds, size_t n_fds)
{
    char room[CMSG_SPACE(CONTROL_FDS * sizeof(int))] __attribute__((aligned(8))) = { 0 };
    const size_t length = strnlen(message->path, sizeof message->path - 1);
    struct iovec part = {
        .iov_base = (void *)(uintptr_t)message,
        .iov_len = WIRE_MESSAGE_BASE + length + 1,
    };
    struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

    control_put_fds(&header, room, fds, n_fds);
    while (sendmsg(socket, &header, MSG_NOSIGNAL) < 0) {
        if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

static bool
take_controls(struct msghdr *header, struct control_message *message)
{
    size_t n = 0;
    bool fits = true;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

            for (size_t i = 0; i < count; i++) {
                int fd;

                memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
                if (n < CONTROL_FDS) {
                    message->fds[n++] = fd;
                } else {
                    close_fd(fd);
                    fits = false;
                }
            }
        }
    }
    return fits;
}

int
control_receive(int socket, struct control_message *message)
{
    char room[CMSG_SPACE((CONTROL_FDS + 1) * sizeof(int))] __attribute__((aligned(8)));
    struct iovec part = { .iov_base = &message->wire, .iov_len = sizeof message->wire };
    struct msghdr header = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = room,
        .msg_controllen = sizeof room,
    };
    ssize_t n;
    bool fits;

    for (size_t i = 0; i < CONTROL_FDS; i++) {
        message->fds[i] = -1;
    }
    do {
        n = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return errno == ECONNRESET ? 0 : -errno;
    }
    fits = take_controls(&header, message);
    if (n == 0) {
        control_done(message);
        return 0;
    }
    message->is_cut = (header.msg_flags & MSG_CTRUNC) != 0;
    if (message->is_cut) {
        control_done(message);
    }
    if (!fits || n < (ssize_t)WIRE_MESSAGE_BASE || (header.msg_flags & MSG_TRUNC) != 0) {
        control_done(message);
        return -EBADMSG;
    }
    message->wire.path[n < (ssize_t)sizeof message->wire ? n - (ssize_t)WIRE_MESSAGE_BASE
                                                         : (ssize_t)WIRE_PATH_MAX - 1] = '\0';
    return 1;
}

void
control_done(struct control_message *message)
{
    for (size_t i = 0; i < CONTROL_FDS; i++) {
        close_fd(message->fds[i]);
        message->fds[i] = -1;
    }
}

int
control_seal(const char *name, const void *bytes, size_t size)
{
    AUTO(closep) int fd = raise_fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    size_t done = 0;

    if (fd < 0 || !file_may_have(size)) {
        return -errno;
    }
    while (done < size) {
        ssize_t n = write(fd, (const char *)bytes + done, size - done);

        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    if (fcntl(fd, F_ADD_SEALS, SEALS) < 0) {
        return -errno;
    }
    return steal_fd(&fd);
}

/* ---- the command block ---- */
struct block {
    char *bytes;
    size_t used, room;
};

static uint32_t
block_text(struct block *block, const char *text)
{
    const size_t size = strlen(text) + 1;
    const size_t at = block->used;

    memcpy(block->bytes + at, text, size);
    block->used += size;
    return (uint32_t)at;
}

/* Texts of a list and the array of their offsets, which stands at `array`. */
static void
block_list(struct block *block, uint32_t array, const char *const *texts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = block_text(block, texts[i]);

        memcpy(block->bytes + array + i * sizeof at, &at, sizeof at);
    }
}

/* Counts a list and adds the bytes it needs. */
static uint32_t
measure(const char *const *texts, size_t *size)
{
    uint32_t count = 0;

    while (texts != NULL && texts[count] != NULL && *size <= WIRE_COMMAND_MAX) {
        *size += sizeof(uint32_t) + strlen(texts[count]) + 1;
        count++;
    }
    return count;
}

void *
control_command(const struct command *command, size_t *ret_size)
{
    struct wire_command header = {
        .magic = WIRE_MAGIC,
        .version = WIRE_VERSION,
        .flags = command->canary ? WIRE_COMMAND_CANARY : 0,
        .argv = sizeof header,
        .rows = command->rows,
        .columns = command->columns,
        .cpu_seconds = (command->cpu_ms + 999) / 1000,
        .umask = 022,
    };
    const char *cwd = command->cwd == NULL ? "/" : command->cwd;
    size_t size = sizeof header + strlen(cwd) + 1;
    struct block block = { 0 };

    header.argc = measure(command->argv, &size);
    header.envc = measure(command->env, &size);
    if (size > WIRE_COMMAND_MAX || header.argc == 0) {
        errno = header.argc == 0 ? EINVAL : E2BIG;
        return NULL;
    }
    block.bytes = malloc(size);
    if (block.bytes == NULL) {
        return NULL;
    }
    header.env = header.argv + header.argc * (uint32_t)sizeof(uint32_t);
    block.used = header.env + header.envc * sizeof(uint32_t);
    block_list(&block, header.argv, command->argv, header.argc);
    block_list(&block, header.env, command->env, header.envc);
    memcpy(&header.path, block.bytes + header.argv, sizeof header.path);
    header.cwd = block_text(&block, cwd);
    header.size = (uint32_t)block.used;
    memcpy(block.bytes, &header, sizeof header);
    *ret_size = block.used;
    return block.bytes;
}
