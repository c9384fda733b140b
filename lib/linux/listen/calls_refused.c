/* SPDX-License-Identifier: Apache-2.0
 * The system calls that no box may make, and what their events say; set-user-id files; and exec
 * rules.  Also the list of which handler answers which call. */
#include "linux/listen/listeners.h"

#include "base/mem.h"
#include "linux/filter/calls.h"
#include "linux/listen/course.h"
#include "linux/net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_open_tree_attr
#    define SYS_open_tree_attr 467
#endif

struct group {
    const char *reason, *alternative;
    int numbers[20]; /* SYS_*, ends with 0 */
};

/* What is in no group has a text of its own below. */
static const struct group groups[] = {
    { "a box cannot change what is mounted",
            "name the place as a writable root or an input in the policy",
            { SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree, SYS_open_tree_attr,
                    SYS_move_mount, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
                    SYS_mount_setattr, SYS_quotactl, SYS_quotactl_fd } },
    { "a box cannot make or enter namespaces", "run it without a sandbox of its own: it is in one",
            { SYS_clone, SYS_unshare, SYS_setns } },
    { "a process cannot be traced or read by another",
            "attach by starting the program under logging of its own",
            { SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd,
                    SYS_perf_event_open } },
    { "the limits of the box are the policy's", "set the limits of your own processes",
            { SYS_prlimit64 } },
    { "a box cannot reach into the kernel", "do it outside of the box",
            { SYS_bpf, SYS_userfaultfd, SYS_fanotify_init, SYS_kexec_load, SYS_init_module,
                    SYS_finit_module, SYS_delete_module, SYS_syslog } },
    { "shared memory, semaphores and queues of the box would be the host's", "use files or sockets",
            { SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl,
                    SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink } },
    { "the kernel's keyrings are not the box's", NULL,
            { SYS_keyctl, SYS_add_key, SYS_request_key } },
    { "a box cannot change the machine's settings", "do it outside of the box",
            { SYS_swapon, SYS_swapoff, SYS_reboot, SYS_acct, SYS_settimeofday, SYS_clock_settime,
                    SYS_sethostname, SYS_setdomainname, SYS_vhangup } },
    { "a lease would hold up whoever opens the file outside of the box", "lock it (flock, F_SETLK)",
            { SYS_fcntl } },
    { "files cannot be opened past the mounts of the box", "open it by its path",
            { SYS_open_by_handle_at } },
};

static const struct group terminal = {
    "characters cannot be put into the terminal of another program", NULL, { SYS_ioctl }
};
static const struct group makers = {
    "names are made by the ordinary calls only, where each is decided",
    "make a directory, or copy the file", { SYS_ioctl }
};
static const struct group flags = { "what chattr sets would hold for the host, too", "set its mode",
    { SYS_ioctl } };
static const struct group other = { "a box has no use of this call", NULL, { 0 } };

static const struct group *
group_of(int nr, const char *name)
{
    if (nr == SYS_ioctl) {
        return strncmp(name, "TIOC", 4) == 0     ? &terminal
               : strncmp(name, "FS_IOC", 6) == 0 ? &flags
                                                 : &makers;
    }
    for (size_t i = 0; i < N_ELEMENTS(groups); i++) {
        for (const int *number = groups[i].numbers; *number != 0; number++) {
            if (*number == nr) {
                return &groups[i];
            }
        }
    }
    return &other;
}

enum call_result
calls_refused(struct call *call)
{
    const struct call_rule *rule = call_rule_find(call->nr, call->args);
    const char *name = rule != NULL ? rule->name : "call";
    const struct group *group = group_of(call->nr, name);

    return call_refuse(call, name, group->reason, group->alternative);
}

bool
calls_refuse_mode(struct call *call, uint32_t mode, const char *verb)
{
    if ((mode & S_ISUID) == 0 && (mode & (S_ISGID | S_IXGRP)) != (S_ISGID | S_IXGRP)) {
        return false;
    }
    call_refuse(call, verb, "a set-user-id file would give its rights to everybody on the host",
            "leave the s bits away");
    return true;
}

/* ---- which handler answers which call ---- */

/* The filter tells of every socket; what is asked for is numbers, which nobody can change any more.
 */
static enum call_result
give_socket(struct call *call)
{
    return CALL_CONTINUE;
}

call_handler
calls_find(const struct call *call)
{
    static const call_handler handlers[] = {
        [CLASS_WRITE] = calls_open,
        [CLASS_READ] = calls_open,
        [CLASS_NAME] = calls_name,
        [CLASS_ATTRIBUTE] = calls_attribute,
        [CLASS_ACCESS] = calls_access,
        [CLASS_EXEC] = calls_exec,
        [CLASS_UMASK] = calls_umask,
        [CLASS_NETWORK] = net_handle,
        [CLASS_PROCESS] = calls_process,
        [CLASS_REFUSED] = calls_refused,
        [CLASS_ABSENT] = calls_refused,
    };
    const struct call_rule *rule = call_rule_find(call->nr, call->args);

    if (rule == NULL) {
        return call_gives_socket(call->nr, call->args) ? give_socket : calls_refused;
    }
    return handlers[rule->class];
}
