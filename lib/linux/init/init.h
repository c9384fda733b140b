/* SPDX-License-Identifier: Apache-2.0
 * The program in the box: what its files share.  One thread, no allocation, no libc; all it does
 * comes from the bytes of plan/wire.h.  Functions return 0 or more, or -errno. */
#ifndef ABX_LINUX_INIT_INIT_H
#define ABX_LINUX_INIT_INIT_H

#include "plan/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INIT_SEATS 4096
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

struct seat_slot {
    uint64_t id;
    int32_t pid; /* leader; also its session and process group; 0: free */
};

struct init {
    int control, host, epoll, signals;
    int32_t pid; /* 1, but on the rung without a pid namespace */

    const unsigned char *program; /* checked by init_check_program */
    const char *strings;
    struct wire_program header;
    uint32_t step; /* of the operation that runs: string offset */

    int old_root; /* O_PATH of the host's "/", until OP_PIVOT */
    int root; /* O_PATH of the box's "/" */
    int whole; /* clone of the host's tree, taken before the new root covered it; or -1 */
    int proc; /* the box's own proc, or -1 */
    int landlock; /* ruleset for commands, or -1 */
    bool landlock_self;
    int network, gateway; /* the box's and the one behind it, or -1 */
    uint64_t devices[INIT_DEVICES];
    uint32_t n_devices;
    uint32_t n_optional, n_sockets;
    uint32_t optional_failed;
    struct limit limits[INIT_LIMITS];

    struct seat_slot seats[INIT_SEATS];
    uint32_t n_seats; /* slots that were ever used */
    struct message message;
    struct marked marked[INIT_MARKED];
};

/* A child of init: prepared, then a command. */
struct seat {
    struct init *init;
    uint64_t id;
    bool has_terminal; /* made with one, which is its standard streams */
    int socket; /* to the host; -1 until it is announced */
    struct limit limits[INIT_LIMITS]; /* as they were when it was prepared */
};

/* What it is sent. */
struct incoming {
    struct wire_command header; /* checked */
    const unsigned char *block; /* all of it, header included */
    size_t size;
    int fds[3];
    int n_fds;
};

/* main.c */
/* Takes over the process, receives and runs the program: 0, or the errno that was reported. */
int init_run(struct init *init);
_Noreturn void init_exit(int status);

/* message.c */
/* 1, 0 when the socket was closed, -EBADMSG for what is malformed (its descriptors closed). */
int init_receive(int control, struct message *message);
void init_drop(struct message *message);
/* Up to MESSAGE_FDS descriptors. */
int init_send(int control, const struct wire_message *wire, const int *fds, int n_fds);
/* From a stream, whole: 1, or 0 if it ended before a command began. */
int init_receive_command(int socket, struct incoming *incoming);
/* Maps the sealed memfd: contents cannot change afterwards.  0 or -errno. */
int init_map_block(int fd, size_t max, const unsigned char **ret_bytes, size_t *ret_size);
int init_check_program(struct init *init, const unsigned char *bytes, size_t size);
/* Text at an offset of a checked block; "" if out of range. */
const char *init_block_text(const unsigned char *bytes, size_t size, uint32_t offset);

/* path.c */
int init_open_box(struct init *init, const char *path, uint64_t flags);
int init_open_linked(struct init *init, const char *path); /* O_PATH, links followed inside */
int init_open_host(struct init *init, const char *path, uint64_t flags);
/* The directory that will hold `path`, on a file system made for the box, else -EXDEV. */
int init_open_parent(struct init *init, const char *path, const char **ret_name);
int init_remember(struct init *init, int fd); /* a file system made for the box */

/* run.c */
const char *init_text(const struct init *init, uint32_t offset);
int op_run(struct init *init, const struct wire_op *op);

/* mount.c, make.c, setup.c, net.c, link.c: one function an operation. */
typedef int op_fn(struct init *init, const struct wire_op *op);
op_fn op_root_tmpfs, op_bind, op_tmpfs, op_proc, op_devpts, op_remount, op_fuse, op_pivot;
op_fn op_mkdir, op_file, op_symlink, op_stand_in, op_device, op_write;
op_fn op_write_maps, op_hostname, op_session, op_rlimit, op_drop_capabilities, op_landlock,
        op_landlock_path, op_landlock_self;
op_fn op_loopback_up, op_socket, op_watch, op_gateway;

int init_keep_capabilities(uint64_t mask);
int init_attach(struct init *init, int tree, const char *path);

/* net.c */
/* The TCP socket that WIRE_MAKE_SOCKET asks for, in *ret_fd; false: init is in the wrong network
 * and cannot go on. */
bool init_make_socket(struct init *init, const struct wire_message *request, int *ret_fd);

/* Reads "192.0.2.1:9". */
struct sockaddr_in;
bool init_read_endpoint(const char *text, struct sockaddr_in *ret_address);

/* link.c */
int init_enter_network(int network);

/* serve.c */
_Noreturn void init_serve(struct init *init);
int init_bind(struct init *init, const struct message *request);

/* seat.c: the child */
_Noreturn void init_seat(struct init *init, const struct wire_message *request);
/* Tells step and errno, and ends. */
_Noreturn void seat_fail(const struct seat *seat, int step, int error);
/* The result, unless it is an error: then as seat_fail. */
int seat_try(const struct seat *seat, int step, long r);
void seat_set_stdio(const struct seat *seat, const int fds[3]);
void seat_set_limit(const struct seat *seat, int resource, uint64_t soft, uint64_t hard);

/* command.c */
_Noreturn void seat_execute(const struct seat *seat, const struct incoming *incoming);

/* canary.c: tries samples, writes the results to descriptor 1 and exits. */
_Noreturn void init_canary(const char *const *samples);

/* kill.c */
void init_kill(struct init *init, const struct seat_slot *slot, int signal);
/* Where init is not the first of a pid namespace, so that its end would not be that of the box. */
void init_find_proc(struct init *init);
void init_kill_all(struct init *init);

#endif
