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

static void
take_fds(struct message *message, const union control *control, size_t size)
{
    size_t n;

    if (size < sizeof control->header || control->header.level != SOL_SOCKET ||
            control->header.type != SYS_SCM_RIGHTS || control->header.size > size ||
            control->header.size < sizeof control->header) {
        return;
    }
    n = (control->header.size - sizeof control->header) / sizeof(int);
    for (size_t i = 0; i < n && i < MESSAGE_FDS; i++) {
        memcpy(&message->fds[i], control->bytes + sizeof control->header + i * sizeof(int),
                sizeof(int));
        message->n_fds++;
    }
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
    take_fds(message, &ancillary, header.control_size);
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
init_send(int control, const struct wire_message *wire, int fd)
{
    union control ancillary = { .header = { sizeof ancillary.header + sizeof fd, SOL_SOCKET,
                                        SYS_SCM_RIGHTS } };
    struct wire_message copy;
    struct sys_iovec iov = { &copy, WIRE_MESSAGE_BASE };
    struct sys_msghdr header = { .iov = &iov, .iov_count = 1 };
    long r;

    memcpy(&copy, wire, WIRE_MESSAGE_BASE);
    if (fd >= 0) {
        memcpy(ancillary.bytes + sizeof ancillary.header, &fd, sizeof fd);
        header.control = &ancillary;
        header.control_size = sizeof ancillary.header + sizeof fd;
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

int
init_check_command(const unsigned char *bytes, size_t size, struct wire_command *ret_command)
{
    struct wire_command command;

    if (size < sizeof command) {
        return -EBADMSG;
    }
    memcpy(&command, bytes, sizeof command);
    if (command.magic != WIRE_MAGIC || command.version != WIRE_VERSION || command.size != size ||
            command.argc == 0 || command.argv % sizeof(uint32_t) != 0 ||
            command.env % sizeof(uint32_t) != 0 ||
            !is_inside(size, command.argv, command.argc, sizeof(uint32_t)) ||
            !is_inside(size, command.env, command.envc, sizeof(uint32_t)) ||
            bytes[size - 1] != '\0') {
        return -EBADMSG;
    }
    *ret_command = command;
    return 0;
}

const char *
init_block_text(const unsigned char *bytes, size_t size, uint32_t offset)
{
    return offset == 0 || offset >= size ? "" : (const char *)bytes + offset;
}
