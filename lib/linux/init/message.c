/* SPDX-License-Identifier: Apache-2.0
 * What comes in: messages with descriptors, the program, the command block.  Everything is checked
 * here so far that the rest of init can only reach into bytes that are there; what the bytes mean
 * was verified by the library. */
#include "linux/init/init.h"

#include "linux/init/sys.h"

#define CONTROL_ROOM (sizeof(struct sys_cmsg) + MESSAGE_FDS * sizeof(int))
#define FILTER_MAX 4096u /* BPF_MAXINSNS */
#define FILTER_INSTRUCTION 8u /* sizeof(struct sock_filter) */

union control {
    struct sys_cmsg header;
    unsigned char bytes[CONTROL_ROOM];
};

/* As many as there is room for. */
static int
take_fds(const struct sys_msghdr *header, int *fds, int room)
{
    const union control *control = header->control;
    const size_t size = header->control_size;
    int count = 0;
    size_t n;

    if (size < sizeof control->header || control->header.level != SOL_SOCKET ||
            control->header.type != SYS_SCM_RIGHTS || control->header.size > size ||
            control->header.size < sizeof control->header) {
        return 0;
    }
    n = (control->header.size - sizeof control->header) / sizeof(int);
    for (size_t i = 0; i < n && count < room; i++) {
        memcpy(&fds[count++], control->bytes + sizeof control->header + i * sizeof(int),
                sizeof(int));
    }
    return count;
}

void
init_drop(struct message *message)
{
    for (int i = 0; i < message->n_fds; i++) {
        sys_close(message->fds[i]);
    }
    message->n_fds = 0;
}

int
init_receive(int control, struct message *message)
{
    struct wire_message *wire = &message->wire;
    union control ancillary = { 0 };
    struct sys_iovec iov = { wire, sizeof *wire };
    struct sys_msghdr header = {
        .iov = &iov, .iov_count = 1, .control = &ancillary, .control_size = sizeof ancillary
    };
    size_t used;
    long n;

    message->n_fds = 0;
    n = SYS(recvmsg, control, &header, SYS_MSG_CMSG_CLOEXEC, 0, 0, 0);
    if (n <= 0) {
        return (int)n;
    }
    message->n_fds = take_fds(&header, message->fds, MESSAGE_FDS);
    used = (size_t)n;
    if ((header.flags & (SYS_MSG_TRUNC | SYS_MSG_CTRUNC)) != 0 || used < WIRE_MESSAGE_BASE ||
            (used > WIRE_MESSAGE_BASE && ((const char *)wire)[used - 1] != '\0')) {
        init_drop(message);
        return -EBADMSG;
    }
    if (used == WIRE_MESSAGE_BASE) {
        wire->path[0] = '\0';
    }
    return 1;
}

int
init_send(int control, const struct wire_message *wire, const int *fds, int n_fds)
{
    const size_t size = (size_t)n_fds * sizeof *fds;
    union control ancillary = { .header = { sizeof ancillary.header + size, SOL_SOCKET,
                                        SYS_SCM_RIGHTS } };
    struct wire_message copy;
    struct sys_iovec iov = { &copy, WIRE_MESSAGE_BASE };
    struct sys_msghdr header = { .iov = &iov, .iov_count = 1 };
    long r;

    memcpy(&copy, wire, WIRE_MESSAGE_BASE);
    if (n_fds > 0) {
        memcpy(ancillary.bytes + sizeof ancillary.header, fds, size);
        header.control = &ancillary;
        header.control_size = sizeof ancillary.header + size;
    }
    do {
        r = SYS(sendmsg, control, &header, SYS_MSG_NOSIGNAL, 0, 0, 0);
    } while (r == -EINTR);
    return r < 0 ? (int)r : 0;
}

int
init_map_block(int fd, size_t max, const unsigned char **ret_bytes, size_t *ret_size)
{
    const int sealed = F_SEAL_SHRINK | F_SEAL_WRITE;
    int seals = sys_fcntl(fd, F_GET_SEALS, 0);
    const void *bytes;
    long size;

    if (seals < 0) {
        return seals;
    }
    if ((seals & sealed) != sealed) {
        return -EPERM;
    }
    size = SYS(lseek, fd, 0, SYS_SEEK_END, 0, 0, 0);
    if (size < 0) {
        return (int)size;
    }
    if (size == 0 || (size_t)size > max) {
        return -EBADMSG;
    }
    bytes = sys_map((size_t)size, PROT_READ, MAP_PRIVATE, fd);
    if (sys_is_error(bytes)) {
        return (int)(long)bytes;
    }
    *ret_bytes = bytes;
    *ret_size = (size_t)size;
    return 0;
}

static bool
is_inside(size_t size, uint32_t offset, uint32_t count, size_t element)
{
    return offset <= size && count <= (size - offset) / element;
}

int
init_check_program(struct init *init, const unsigned char *bytes, size_t size)
{
    struct wire_program header;

    if (size < sizeof header) {
        return -EBADMSG;
    }
    memcpy(&header, bytes, sizeof header);
    if (header.magic != WIRE_MAGIC || header.version != WIRE_VERSION || header.size != size ||
            header.n_ops > WIRE_OPS_MAX || header.ops % _Alignof(struct wire_op) != 0 ||
            !is_inside(size, header.ops, header.n_ops, sizeof(struct wire_op)) ||
            header.strings_size == 0 || !is_inside(size, header.strings, header.strings_size, 1) ||
            header.filter_count > FILTER_MAX || header.filter % FILTER_INSTRUCTION != 0 ||
            !is_inside(size, header.filter, header.filter_count, FILTER_INSTRUCTION)) {
        return -EBADMSG;
    }
    if (bytes[header.strings] != '\0' || bytes[header.strings + header.strings_size - 1] != '\0') {
        return -EBADMSG;
    }
    init->header = header;
    init->program = bytes;
    init->strings = (const char *)bytes + header.strings;
    return 0;
}

/* ---- the command ---- */

/* The descriptors come with the first byte. */
static int
receive_header(int socket, struct incoming *incoming)
{
    union control ancillary = { 0 };
    struct sys_iovec iov = { &incoming->header, sizeof incoming->header };
    struct sys_msghdr header = {
        .iov = &iov, .iov_count = 1, .control = &ancillary, .control_size = sizeof ancillary
    };
    long n;

    do {
        n = SYS(recvmsg, socket, &header, SYS_MSG_CMSG_CLOEXEC, 0, 0, 0);
    } while (n == -EINTR);
    if (n > 0) {
        incoming->n_fds = take_fds(&header, incoming->fds, 3);
    }
    return n == 0 ? 0 : n < 0 ? (int)n : n == sizeof incoming->header ? 1 : -EBADMSG;
}

static int
receive_rest(int socket, unsigned char *to, size_t size)
{
    while (size > 0) {
        long n = sys_read(socket, to, size);

        if (n == 0) {
            return -EBADMSG;
        }
        if (n < 0 && n != -EINTR) {
            return (int)n;
        }
        if (n > 0) {
            to += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

static bool
is_command(const struct wire_command *header)
{
    return header->magic == WIRE_MAGIC && header->version == WIRE_VERSION &&
           header->size > sizeof *header && header->size <= WIRE_COMMAND_MAX && header->argc > 0 &&
           header->argv % sizeof(uint32_t) == 0 && header->env % sizeof(uint32_t) == 0 &&
           is_inside(header->size, header->argv, header->argc, sizeof(uint32_t)) &&
           is_inside(header->size, header->env, header->envc, sizeof(uint32_t));
}

int
init_receive_command(int socket, struct incoming *incoming)
{
    const struct wire_command *header = &incoming->header;
    unsigned char *block;
    int r = receive_header(socket, incoming);

    if (r <= 0) {
        return r;
    }
    if (!is_command(header)) {
        return -EBADMSG;
    }
    block = sys_map(header->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (sys_is_error(block)) {
        return (int)(long)block;
    }
    memcpy(block, header, sizeof *header);
    r = receive_rest(socket, block + sizeof *header, header->size - sizeof *header);
    if (r == 0 && block[header->size - 1] != '\0') {
        r = -EBADMSG;
    }
    incoming->block = block;
    incoming->size = header->size;
    return r < 0 ? r : 1;
}

const char *
init_block_text(const unsigned char *bytes, size_t size, uint32_t offset)
{
    return offset == 0 || offset >= size ? "" : (const char *)bytes + offset;
}
