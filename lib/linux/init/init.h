/* SPDX-License-Identifier: Apache-2.0
 * The program in the box: what its files share.  One thread, no allocation, no libc; all it does
 * comes from the bytes of plan/wire.h.  Functions return 0 or more, or -errno. */
#ifndef ABX_LINUX_INIT_INIT_H
#define ABX_LINUX_INIT_INIT_H

#include "plan/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INIT_COMMANDS 4096
#define INIT_DEVICES 64 /* file systems made for the box */
#define INIT_LIMITS 16 /* RLIM_NLIMITS */
#define INIT_MARKED 4096 /* processes found in one round of killing */
#define MESSAGE_FDS 4

struct message {
    struct wire_message wire;
    int fds[MESSAGE_FDS];
    int n_fds;
};

struct limit {
    bool set;
    uint64_t soft, hard;
};

/* A process, also when its number is given out anew. */
struct marked {
    int32_t pid;
    uint64_t started;
};

enum command_state { COMMAND_FREE = 0, COMMAND_STARTING, COMMAND_RUNNING, COMMAND_FAILED };
struct command_slot {
    uint64_t id;
    int32_t pid; /* leader; also its session and process group */
    int32_t pidfd; /* while starting */
    int32_t pipe; /* while starting: its end tells that execve worked */
    uint32_t state;
};

struct init {
    int control, host, epoll, signals;
    bool is_pid1;

    const unsigned char *program; /* checked by program_check */
    const char *strings;
    struct wire_program header;
    uint32_t step; /* of the operation that runs: string offset */

    int old_root; /* O_PATH of the host's "/", until OP_PIVOT */
    int root; /* O_PATH of the box's "/" */
    int whole; /* clone of the host's tree, taken before the new root covered it; or -1 */
    int proc; /* the box's own proc, or -1 */
    int landlock; /* ruleset for commands, or -1 */
    bool landlock_self;
    int slots[WIRE_SLOTS];
    uint64_t devices[INIT_DEVICES];
    uint32_t n_devices;
    uint32_t n_optional, n_sockets;
    uint32_t optional_failed;
    struct limit limits[INIT_LIMITS];

    struct command_slot commands[INIT_COMMANDS];
    uint32_t n_commands; /* slots that were ever used */
    struct message message;
    struct marked marked[INIT_MARKED];
};

/* main.c */
void init_prepare(struct init *init);
/* Receives and runs the program: 0, or the errno that was reported. */
int init_run(struct init *init);
_Noreturn void init_exit(int status);

/* message.c */
/* 1, 0 when the socket was closed, -EBADMSG for what is malformed (its descriptors closed). */
int message_receive(int control, struct message *message);
void message_close(struct message *message);
/* fd -1: none. */
int message_send(int control, const struct wire_message *wire, int fd);
/* Maps the sealed memfd: contents cannot change afterwards.  0 or -errno. */
int block_map(int fd, size_t max, const unsigned char **ret_bytes, size_t *ret_size);
int program_check(struct init *init, const unsigned char *bytes, size_t size);
int command_check(const unsigned char *bytes, size_t size, struct wire_command *ret_command);
/* Text at an offset of a checked block; "" if out of range. */
const char *block_text(const unsigned char *bytes, size_t size, uint32_t offset);

/* path.c */
int box_open(struct init *init, const char *path, uint64_t flags);
int box_open_linked(struct init *init, const char *path); /* O_PATH, links followed inside */
int host_open(struct init *init, const char *path, uint64_t flags);
/* The directory that will hold `path`, on a file system made for the box, else -EXDEV. */
int box_parent(struct init *init, const char *path, const char **ret_name);
int box_remember(struct init *init, int fd); /* a file system made for the box */

/* run.c */
const char *init_text(const struct init *init, uint32_t offset);
int op_run(struct init *init, const struct wire_op *op);

/* mount.c, make.c, setup.c: one function an operation. */
typedef int op_fn(struct init *init, const struct wire_op *op);
op_fn op_root_clone, op_root_tmpfs, op_bind, op_tmpfs, op_proc, op_devpts, op_remount, op_umount,
        op_fuse, op_open_tree, op_attach, op_pivot;
op_fn op_mkdir, op_file, op_symlink, op_device, op_write;
op_fn op_write_maps, op_set_ids, op_hostname, op_session, op_rlimit, op_drop_capabilities,
        op_landlock, op_landlock_path, op_landlock_self;
op_fn op_loopback_up, op_socket;

int capabilities_keep(uint64_t mask);
int attach_at(struct init *init, int tree, const char *path);

/* serve.c */
_Noreturn void init_serve(struct init *init);
int bind_writable(struct init *init, const char *path);
struct command_slot *command_find(struct init *init, uint64_t id);

/* command.c: the child */
_Noreturn void command_run(struct init *init, const struct message *message, int pipe);

/* kill.c */
void command_kill(struct init *init, const struct command_slot *slot, int signal);

#endif
