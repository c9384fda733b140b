/* SPDX-License-Identifier: Apache-2.0
 * The bytes that the library and the program in the box exchange: the program (a flat list of
 * operations, run once), the command block (one per command) and the messages.  Included by both
 * sides, so only fixed-size types, no pointers, no libc.  Little or big endian as the machine.
 *
 * Control socket: SOCK_SEQPACKET, descriptor 3 of init; every message is one struct wire_message,
 * with descriptors by SCM_RIGHTS, in the order named at each message. */
#ifndef ABX_PLAN_WIRE_H
#define ABX_PLAN_WIRE_H

#include <stdint.h>

#define WIRE_MAGIC 0x58424131u /* "1ABX" */
#define WIRE_VERSION 4u
#define WIRE_CONTROL_FD 3
#define WIRE_PROGRAM_MAX (4u << 20)
#define WIRE_OPS_MAX 65536u
#define WIRE_COMMAND_MAX (8u << 20)
#define WIRE_PATH_MAX 4096u

/* ---- program ---- */
struct wire_program {
    uint32_t magic, version, size; /* size of all bytes */
    uint32_t n_ops, ops; /* offset of struct wire_op[n_ops] */
    uint32_t strings, strings_size; /* NUL-terminated texts, contents; offset 0 of them is "" */
    uint32_t filter, filter_count; /* struct sock_filter[filter_count] for every command */
    uint32_t filter_flags; /* WIRE_FILTER_* */
    uint32_t reserved[2];
};
enum {
    WIRE_FILTER_NOTIFY = 1,
    WIRE_FILTER_KILLABLE = 2,
    WIRE_FILTER_SENDMSG =
            4 /* sendmsg is notified too: the listener is sent by a task without the filter */
};

/* Strings are offsets into the string area.  `step` is a string, "<verb>:<object>". */
struct wire_op {
    uint16_t code, flags;
    uint32_t step;
    uint32_t a, b;
    uint64_t x, y;
};

/* Stages run in this order; program_verify (plan/program.h) refuses another one. */
enum wire_stage {
    STAGE_MAPS = 1,
    STAGE_MOUNTS,
    STAGE_PIVOT,
    STAGE_AFTER_PIVOT,
    STAGE_LIMITS,
    STAGE_NETWORK,
    STAGE_CAPABILITIES,
    STAGE_LANDLOCK,
    STAGE_READY
};

/* Paths named "box" are resolved below the new root with RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS |
 * RESOLVE_NO_SYMLINKS; paths named "host" below the old root with RESOLVE_NO_SYMLINKS |
 * RESOLVE_NO_MAGICLINKS.  A link that appeared since the plan was made fails the set-up. */
enum wire_code {
    /* STAGE_MAPS */
    /* execve takes the capabilities of a new user namespace from who is not its uid 0, so whoever
     * starts init makes them ambient first: init needs them here. */
    OP_WRITE_MAPS = 1, /* a: string for uid_map, b: string for gid_map; flags: OPF_DENY_SETGROUPS.
                          Not in a program whose maps the host writes. */
    /* STAGE_MOUNTS: start */
    OP_ROOT_TMPFS, /* an empty tmpfs, in which the root of the box is built */
    OP_BIND, /* a: host path, b: box path (must exist); x: attrs set, y: attrs cleared;
                flags: OPF_RECURSIVE, OPF_FROM_BOX (a is a box path), OPF_MAY_VANISH */
    OP_TMPFS, /* b: box path; x: mode; y: size in bytes, 0 is the kernel's default */
    OP_PROC, /* b: box path; flags: OPF_OPTIONAL */
    OP_DEVPTS, /* b: box path (newinstance, ptmxmode 0666, mode 0620) */
    OP_MKDIR, /* b: box path below a tmpfs of the box; x: mode; existing is fine */
    OP_FILE, /* a: content, y: its length, within the strings; b: box path below a tmpfs of the
                box; x: mode */
    OP_SYMLINK, /* a: string target, b: box path below a tmpfs of the box */
    OP_STAND_IN, /* b: box path below a tmpfs of the box: a socket that nobody listens at, where the
                    broker connects to the host's */
    OP_REMOUNT, /* b: box path; x: attrs set, y: cleared; flags: OPF_RECURSIVE */
    OP_FUSE, /* b: box path: mounts the mask, sends WIRE_FUSE with /dev/fuse's descriptor */
    OP_DEVICE, /* a: host path of a device node, b: box path below a tmpfs: makes a file,
                  binds the node over it */
    OP_WRITE, /* a: string content, b: box path, a file of the fresh proc's sys, before a mount
                 makes that read-only; flags: OPF_OPTIONAL */
    /* STAGE_PIVOT */
    OP_PIVOT, /* b: box path of the mount that becomes the root of the box.  What else stood in
                 the tmpfs is left behind, so that is also a place to build in, out of the box's
                 sight */
    /* STAGE_AFTER_PIVOT */
    OP_HOSTNAME, /* a: string */
    OP_SESSION, /* new session, new session keyring */
    /* STAGE_LIMITS */
    OP_RLIMIT, /* a: resource; x: soft; y: hard; for commands; a lower limit of the host stays */
    /* STAGE_NETWORK */
    OP_LOOPBACK_UP,
    OP_SOCKET, /* a: SOCK_STREAM or SOCK_DGRAM, b: string address (dotted or IPv6), x: port;
                  bound (and listening), sent as WIRE_SOCKET */
    OP_GATEWAY, /* a second network namespace, joined to the box's (plan/network.h); every other
                   address is local there */
    OP_WATCH, /* a packet socket in the gateway that shows what no listener of ours would: datagrams
                 and the like; sent as WIRE_SOCKET */
    /* STAGE_CAPABILITIES */
    OP_DROP_CAPABILITIES, /* x: mask that init keeps; commands get none; empties bounding set and
                             sets no_new_privs */
    /* STAGE_LANDLOCK */
    OP_LANDLOCK, /* x: handled file access, y: handled net access, a: scoped; for commands */
    OP_LANDLOCK_PATH, /* b: box path (links followed inside the box, unless OPF_MAY_VANISH), x:
                         allowed access */
    OP_LANDLOCK_SELF, /* init restricts itself too (no mounts to make later) */
    /* STAGE_READY */
    OP_READY /* sends WIRE_READY; init serves messages from now on */
};
enum {
    OPF_RECURSIVE = 1,
    OPF_FROM_BOX = 2,
    OPF_OPTIONAL = 4 /* failure is fine, and told in WIRE_READY.mask */,
    OPF_DENY_SETGROUPS = 8,
    OPF_MAY_VANISH =
            16 /* what is not there any more, or is a link, is not bound and gets no right */
};

/* ---- command block: what a seat is sent over its socket (a stream), with stdin, stdout and stderr
 * at its first byte unless pty.  The seat sends back {step, errno} as two int32_t if the command
 * cannot be started; else the end of the stream tells that execve succeeded, or that it was killed
 * before (WIRE_EXITED follows and says so). ---- */
struct wire_command {
    uint32_t magic, version, size;
    uint32_t flags; /* WIRE_COMMAND_* */
    uint32_t argc, argv; /* offset of uint32_t[argc], each an offset of a text */
    uint32_t envc, env; /* same */
    uint32_t path; /* offset: program to execute; if it has no slash it is looked for in
                      PATH of env, inside the box */
    uint32_t cwd; /* offset */
    uint32_t rows, columns; /* of its terminal, if it gets one */
    uint64_t cpu_seconds; /* RLIMIT_CPU, 0 none */
    uint32_t umask;
    uint32_t reserved;
};
enum {
    WIRE_COMMAND_CANARY =
            2 /* nothing is executed: each argument is a sample, which the child tries inside
                 the whole boundary; it writes an int32_t errno for each to stdout */
};
/* Fourth argument of a seat's own execve, which the kernel does not look at: where programs have no
 * rules, the filter lets that one through.  Who else gives it is not told of a set-id program. */
#define WIRE_EXEC_MARK 0x41425821u
/* First letter of a sample; its target follows.  None leaves a trace where it works. */
enum wire_sample {
    SAMPLE_READ = 'r', /* opens a file or directory */
    SAMPLE_WRITE = 'w', /* opens a file that exists */
    SAMPLE_CREATE = 't', /* makes a nameless file in a directory */
    SAMPLE_EXEC = 'x', /* asks whether a file could be executed (since Linux 6.14, else EINVAL) */
    SAMPLE_CONNECT = 'c', /* begins a TCP connection to an IPv4 address and port */
    SAMPLE_UNSHARE = 'u' /* a user namespace of its own */
};

/* ---- messages ---- */
enum wire_kind {
    /* host to init */
    WIRE_PROGRAM = 1, /* fds: memfd with the program, sealed (SHRINK, WRITE); a pidfd of the host */
    WIRE_PREPARE, /* id: number of the seat; mask: WIRE_SEAT_PTY.  A child of init takes on all that
                     does not depend on the command, and waits for it: see WIRE_SEAT */
    WIRE_BIND, /* id: cookie; path: box path of a directory that was just made below a read-only
                  (guarded) mount: binds it onto itself writable; answered by WIRE_BOUND.  fds:
                  maybe an O_PATH of it in the box, instead of the path.  mask: WIRE_BIND_READ_ONLY
                */
    WIRE_KILL, /* id: seat; value: signal, to the process group of the leader; 9: to every process
                  of its session and their descendants.  Nothing for a seat that exited */
    WIRE_END, /* init exits; the kernel ends the box */
    WIRE_MAKE_SOCKET, /* id: cookie; a TCP socket, answered by WIRE_MADE.  mask:
                         WIRE_SOCKET_GATEWAY: in the gateway, listening at port `value` of every
                         address; 0: in the box, of address family `value`, as it is */
    /* init to host */
    WIRE_FUSE = 32, /* fds: /dev/fuse */
    WIRE_SOCKET, /* value: index of the OP_SOCKET or OP_WATCH; fds: socket */
    WIRE_READY, /* fds: O_PATH of the box's root; mask: bit n: n-th
                   OPF_OPTIONAL op failed */
    WIRE_FAILED, /* step: string offset of the failed op (program), value: errno; box is dead */
    WIRE_SEAT, /* id; value: pid in the box; fds: the socket for the command; with WIRE_SEAT_PTY the
                  terminal's master; the seccomp listener, if the filter has one.  Sent by the seat,
                  complete */
    WIRE_NO_SEAT, /* id; value: errno; step: enum wire_start_step */
    WIRE_EXITED, /* id: seat; value: status as waitid's si_status, mask: si_code; cpu_us, peak */
    WIRE_BOUND, /* id: cookie; value: errno */
    WIRE_MADE /* id: cookie; value: errno; fds: the socket, if that is 0 */
};
enum { WIRE_SOCKET_GATEWAY = 1 };
enum {
    WIRE_BIND_READ_ONLY = 1, /* read-only onto itself; files too */
    WIRE_BIND_DETACH = 2 /* takes the mount away instead, of which the descriptor is the root */
};
enum { WIRE_SEAT_PTY = 1 }; /* with a terminal of its own */
enum wire_start_step {
    START_FORK = 1,
    START_SESSION,
    START_TERMINAL,
    START_STDIO,
    START_CWD,
    START_LIMITS,
    START_CAPABILITIES,
    START_LANDLOCK,
    START_SECCOMP,
    START_LISTENER,
    START_EXEC,
    START_BLOCK,
    START_STALE /* somebody changed the seat while it waited: take another */
};

struct wire_message {
    uint32_t kind;
    int32_t value;
    uint32_t step;
    uint32_t mask;
    uint64_t id;
    uint64_t cpu_us;
    uint64_t peak; /* bytes */
    char path[WIRE_PATH_MAX]; /* sent only as far as it is used: WIRE_MESSAGE_BASE + strlen + 1 */
};
#define WIRE_MESSAGE_BASE 40u

#endif
