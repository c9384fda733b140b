/* SPDX-License-Identifier: Apache-2.0
 * What a host was found able to do, by trying it once per context. */
#ifndef ABX_PLAN_CAPABILITIES_H
#define ABX_PLAN_CAPABILITIES_H

#include <stdbool.h>
#include <stdint.h>

/* From strong to weak; docs/internals/linux.md says what each has and lacks. */
enum rung {
    RUNG_NONE = 0,
    RUNG_C,
    RUNG_B_PRIME,
    RUNG_B,
    RUNG_A_NO_BROKER,
    RUNG_A_NO_LANDLOCK,
    RUNG_A,
    RUNG_SIMULATED /* no wall at all: nothing runs behind it */
};

const char *rung_name(enum rung rung); /* "A--" */
const char *rung_detail(enum rung rung); /* what it lacks, for people */

#define LANDLOCK_SCOPES 6u /* the first ABI that confines signals (Linux 6.12) */

struct capabilities {
    enum rung rung;
    bool user_namespace, mount_namespace, pid_namespace, net_namespace;
    bool fresh_proc;
    uint32_t landlock_abi; /* 0: none */
    bool seccomp_notify, seccomp_sync_wake, seccomp_killable;
    bool fuse; /* /dev/fuse opens and mounts in a user namespace */
    bool memfd_exec;
    bool nested; /* this process has a seccomp filter or no_new_privs: it is in a sandbox already */
    bool cgroup; /* a delegated cgroup v2 directory */
    bool own_pid_max; /* a pid namespace has a kernel.pid_max of its own */
    uint32_t uid, gid; /* of the host process; a root host maps every id, others map their own */
};

#endif
