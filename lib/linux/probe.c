/* SPDX-License-Identifier: Apache-2.0
 * Finds out what the host can do by doing it once, in a child that shares the memory and never
 * returns to it: namespaces, a fresh /proc, a seccomp listener.  The host itself is not forked, and
 * nothing of it changes.  Any thread; the result is kept for the process. */
#include "linux/host.h"

#include "base/mem.h"
#include "linux/cgroup.h"
#include "linux/launch.h"
#include "linux/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define TRIAL_NAMESPACES (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)
#define LANDLOCK_VERSION 1u /* flag of landlock_create_ruleset(2) */
#define SECCOMP_WAIT_KILLABLE (1u << 5) /* since Linux 5.19 */
#define SECCOMP_SYNC_WAKE_UP 1u /* since Linux 6.6 */
#define SECCOMP_SET_FLAGS SECCOMP_IOW(4, uint64_t)
#define MEMFD_EXECUTABLE 0x0010u /* MFD_EXEC, since Linux 6.3 */

/* Written by the child, read after it is gone. */
struct trial {
    bool mounts, proc, fuse, notify, killable, sync_wake;
    int error; /* what could not be tried, since something lacks at the moment; else 0 */
};

/* ---- in the child: system calls only ---- */

IN_CHILD static bool
worked(struct trial *trial, bool is_good)
{
    if (!is_good && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EINTR)) {
        trial->error = errno;
    }
    return is_good;
}

IN_CHILD static bool
can_mount(struct trial *trial, const char *type)
{
    int context = fsopen(type, FSOPEN_CLOEXEC);

    return worked(trial, context >= 0 &&
                                 fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0 &&
                                 fsmount(context, FSMOUNT_CLOEXEC, 0) >= 0);
}

IN_CHILD static int
listen_to_nothing(unsigned flags)
{
    struct sock_filter allow = { .code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW };
    struct sock_fprog filter = { .len = 1, .filter = &allow };

    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
            SECCOMP_FILTER_FLAG_NEW_LISTENER | flags, &filter);
}

/* A process under another supervisor cannot get a second listener, which shows only here. */
IN_CHILD static void
try_notify(struct trial *trial)
{
    int listener;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return;
    }
    listener = listen_to_nothing(SECCOMP_WAIT_KILLABLE);
    trial->killable = worked(trial, listener >= 0);
    if (listener < 0) {
        listener = listen_to_nothing(0);
    }
    trial->notify = worked(trial, listener >= 0);
    trial->sync_wake =
            trial->notify && ioctl(listener, SECCOMP_SET_FLAGS, SECCOMP_SYNC_WAKE_UP) == 0;
}

IN_CHILD static int
run_trial(void *data)
{
    struct trial *trial = data;

    trial->mounts = can_mount(trial, "tmpfs");
    trial->proc = can_mount(trial, "proc");
    trial->fuse = worked(trial, fsopen("fuse", FSOPEN_CLOEXEC) >= 0);
    try_notify(trial);
    syscall(SYS_exit, 0);
    return 0;
}

/* ---- in the host ---- */

/* What was found, and why it may be less than there is. */
struct search {
    struct capabilities found;
    int error; /* of the kind that passes, or 0 */
};

static bool
found(struct search *search, bool is_there)
{
    if (!is_there && error_passes(errno)) {
        search->error = errno;
    }
    return is_there;
}

static bool
try_once(struct search *search, int flags, struct trial *trial)
{
    struct launched launched = { .pidfd = -1 };

    *trial = (struct trial){ 0 };
    errno = -launch_child(run_trial, trial, flags, &launched);
    if (!found(search, errno == 0)) {
        return false;
    }
    launch_end(&launched);
    errno = trial->error;
    return found(search, errno == 0);
}

static bool
opens_fuse(void)
{
    AUTO(closep) int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

    return fd >= 0;
}

static bool
makes_executable_memory(void)
{
    AUTO(closep) int fd = memfd_create("agentbox-probe", MFD_CLOEXEC | MEMFD_EXECUTABLE);

    if (fd < 0 && errno == EINVAL) {
        fd = memfd_create("agentbox-probe", MFD_CLOEXEC);
    }
    return fd >= 0;
}

static bool
is_nested(struct search *search)
{
    uint64_t seccomp = 0;
    uint64_t no_new_privs = 0;

    return (found(search, proc_status(getpid(), "Seccomp", 10, &seccomp)) && seccomp == 2) ||
           (found(search, proc_status(getpid(), "NoNewPrivs", 10, &no_new_privs)) &&
                   no_new_privs == 1);
}

static bool
delegates(void)
{
    int r = cgroup_delegated(CGROUP_ROOT);

    errno = r < 0 ? -r : 0;
    return r > 0;
}

/* By the version: what there is to try would, before it, change the pid_max of the whole machine.
 */
static bool
has_own_pid_max(void)
{
    struct utsname name;
    unsigned int major = 0, minor = 0;

    return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
           (major > 6 || (major == 6 && minor >= 14));
}

static void
find_namespaces(struct search *search)
{
    struct capabilities *has = &search->found;
    struct trial trial;

    has->net_namespace = try_once(search, TRIAL_NAMESPACES | CLONE_NEWNET, &trial);
    if (has->net_namespace || try_once(search, TRIAL_NAMESPACES, &trial)) {
        has->user_namespace = trial.mounts;
        has->mount_namespace = trial.mounts;
        has->pid_namespace = trial.mounts;
        has->net_namespace = has->net_namespace && trial.mounts;
        has->fresh_proc = trial.mounts && trial.proc;
        has->fuse = trial.mounts && trial.fuse && found(search, opens_fuse());
    } else {
        try_once(search, 0, &trial);
    }
    has->seccomp_notify = trial.notify;
    has->seccomp_killable = trial.killable;
    has->seccomp_sync_wake = trial.sync_wake;
}

static struct search
find(void)
{
    const long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);
    struct search search = { .found = { .uid = geteuid(), .gid = getegid() } };
    struct capabilities *has = &search.found;

    find_namespaces(&search);
    has->own_pid_max = has->fresh_proc && has_own_pid_max();
    has->landlock_abi = abi > 0 ? (uint32_t)abi : 0;
    has->nested = is_nested(&search);
    has->memfd_exec = found(&search, makes_executable_memory());
    has->cgroup = found(&search, delegates());
    has->rung = has->memfd_exec ? host_rung(has) : RUNG_NONE;
    return search;
}

enum rung
host_rung(const struct capabilities *found)
{
    /* The weakest that something missing leads to. */
    const struct {
        bool has;
        enum rung without;
    } steps[] = {
        { found->net_namespace, RUNG_B_PRIME },
        { found->fresh_proc, RUNG_B },
        { found->seccomp_notify, RUNG_A_NO_BROKER },
        { found->landlock_abi > 0, RUNG_A_NO_LANDLOCK },
    };

    if (!found->user_namespace || !found->mount_namespace || !found->pid_namespace) {
        return found->landlock_abi >= LANDLOCK_SCOPES && found->seccomp_notify ? RUNG_C : RUNG_NONE;
    }
    for (size_t i = 0; i < N_ELEMENTS(steps); i++) {
        if (!steps[i].has) {
            return steps[i].without;
        }
    }
    return RUNG_A;
}

/* ---- lowered for tests ---- */

static void
forget_user_namespace(struct capabilities *found)
{
    found->user_namespace = false;
    found->mount_namespace = false;
    found->pid_namespace = false;
    found->net_namespace = false;
    found->fresh_proc = false;
    found->fuse = false;
    found->own_pid_max = false;
}

static void
lower_one(struct capabilities *found, const char *name, uint32_t value)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {
        { "notify", &found->seccomp_notify },
        { "killable", &found->seccomp_killable },
        { "sync", &found->seccomp_sync_wake },
        { "fuse", &found->fuse },
        { "netns", &found->net_namespace },
        { "proc", &found->fresh_proc },
        { "memfd", &found->memfd_exec },
        { "cgroup", &found->cgroup },
        { "pidmax", &found->own_pid_max },
    };

    if (strcmp(name, "landlock") == 0 && value < found->landlock_abi) {
        found->landlock_abi = value;
    }
    if (strcmp(name, "userns") == 0 && value == 0) {
        forget_user_namespace(found);
    }
    for (size_t i = 0; i < N_ELEMENTS(flags); i++) {
        if (strcmp(name, flags[i].name) == 0 && value == 0) {
            *flags[i].flag = false;
        }
    }
}

static void
lower_for_tests(struct capabilities *found)
{
    const char *text = secure_getenv("AGENTBOX_TEST_CAPS");

    while (text != NULL && *text != '\0') {
        char name[16] = "";
        unsigned value = 0;

        if (sscanf(text, "%15[a-z]=%u", name, &value) == 2) {
            lower_one(found, name, value);
        }
        text += strcspn(text, ",");
        text += *text == ',';
    }
}

/* What lacks nothing is kept; what lacks something is tried again for the next context. */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct capabilities kept;

int
host_probe(struct capabilities *ret_capabilities)
{
    struct search search = { 0 };

    pthread_mutex_lock(&kept_lock);
    if (kept.rung != RUNG_A || kept.uid != geteuid() || kept.gid != getegid()) {
        search = find();
        if (search.error == 0) {
            kept = search.found;
        }
    }
    *ret_capabilities = kept;
    pthread_mutex_unlock(&kept_lock);
    lower_for_tests(ret_capabilities);
    ret_capabilities->rung = host_rung(ret_capabilities);
    return -search.error;
}
