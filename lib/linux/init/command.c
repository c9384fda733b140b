/* SPDX-License-Identifier: Apache-2.0
 * The child that becomes a command: takes on what the command may be, step by step, and executes
 * it. It is a fork of init, so it is not dumpable and nobody in the box can touch it until execve.
 * A step that fails is told through the pipe, which execve closes. */
#include "linux/init/init.h"

#include "linux/init/sys.h"

#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/wait.h>

#define DEFAULT_PATH "/usr/bin:/bin"

struct child {
    struct init *init;
    const struct message *message;
    int pipe;
    const unsigned char *block;
    size_t size;
    struct wire_command command;
    const char **argv, **env;
};

static _Noreturn void
child_fail(const struct child *child, int step, int error)
{
    const int32_t failure[2] = { step, -error };

    sys_write(child->pipe, failure, sizeof failure);
    init_exit(127);
}

static int
child_try(const struct child *child, int step, long r)
{
    if (r < 0) {
        child_fail(child, step, (int)r);
    }
    return (int)r;
}

static const char *
child_text(const struct child *child, uint32_t offset)
{
    return init_block_text(child->block, child->size, offset);
}

/* ---- the block ---- */

static void
fill_texts(const struct child *child, const char **texts, uint32_t count, uint32_t offset)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t text;

        memcpy(&text, child->block + offset + i * sizeof text, sizeof text);
        texts[i] = child_text(child, text);
    }
    texts[count] = NULL;
}

static void
read_block(struct child *child)
{
    const struct wire_command *command = &child->command;
    size_t room;
    void *pointers;

    if (child->message->n_fds < 1) {
        child_fail(child, START_BLOCK, -EBADMSG);
    }
    child_try(child, START_BLOCK,
            init_map_block(child->message->fds[0], WIRE_COMMAND_MAX, &child->block, &child->size));
    child_try(child, START_BLOCK, init_check_command(child->block, child->size, &child->command));
    room = ((size_t)command->argc + command->envc + 2) * sizeof(char *);
    pointers = sys_map(room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (sys_is_error(pointers)) {
        child_fail(child, START_BLOCK, (int)(long)pointers);
    }
    child->argv = pointers;
    child->env = child->argv + command->argc + 1;
    fill_texts(child, child->argv, command->argc, command->argv);
    fill_texts(child, child->env, command->envc, command->env);
}

/* ---- terminal and streams ---- */

static void
set_stdio(const struct child *child, const int *fds)
{
    for (int i = 0; i < 3; i++) {
        child_try(child, START_STDIO, SYS(dup3, fds[i], i, 0, 0, 0, 0));
    }
}

static void
open_terminal(const struct child *child)
{
    const struct winsize size = { .ws_row = (unsigned short)child->command.rows,
        .ws_col = (unsigned short)child->command.columns };
    const struct wire_message message = { .kind = WIRE_PTY, .id = child->message->wire.id };
    const int unlocked = 0;
    int master = child_try(child, START_TERMINAL,
            sys_openat(AT_FDCWD, "/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC, 0));
    int slave;

    child_try(child, START_TERMINAL, sys_ioctl(master, TIOCSPTLCK, &unlocked));
    child_try(child, START_TERMINAL, sys_ioctl(master, TIOCSWINSZ, &size));
    slave = child_try(child, START_TERMINAL,
            SYS(ioctl, master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC, 0, 0, 0));
    child_try(child, START_TERMINAL, SYS(ioctl, slave, TIOCSCTTY, 0, 0, 0, 0));
    set_stdio(child, (const int[]){ slave, slave, slave });
    child_try(child, START_TERMINAL, init_send(child->init->control, &message, master));
}

static void
set_streams(const struct child *child)
{
    child_try(child, START_SESSION, SYS(setsid, 0, 0, 0, 0, 0, 0));
    if ((child->command.flags & WIRE_COMMAND_PTY) != 0) {
        open_terminal(child);
    } else if (child->message->n_fds == MESSAGE_FDS) {
        set_stdio(child, child->message->fds + 1);
    } else {
        child_fail(child, START_STDIO, -EBADMSG);
    }
    child_try(child, START_STDIO, SYS(close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC, 0, 0, 0));
}

/* ---- what it may ---- */

static void
set_limit(const struct child *child, int resource, uint64_t soft, uint64_t hard)
{
    const struct rlimit64 limit = { soft, hard };

    child_try(child, START_LIMITS, SYS(prlimit64, 0, resource, &limit, 0, 0, 0));
}

/* SIGXCPU comes at the soft limit; who ignores it is killed a second later. */
static void
set_limits(const struct child *child)
{
    const struct limit *limits = child->init->limits;
    uint64_t cpu = child->command.cpu_seconds;

    for (int i = 0; i < INIT_LIMITS; i++) {
        if (limits[i].set) {
            set_limit(child, i, limits[i].soft, limits[i].hard);
        }
    }
    if (cpu != 0) {
        struct rlimit64 now = { 0 };

        child_try(child, START_LIMITS, SYS(prlimit64, 0, RLIMIT_CPU, 0, &now, 0, 0));
        set_limit(child, RLIMIT_CPU, cpu < now.rlim_cur ? cpu : now.rlim_cur,
                cpu + 1 < now.rlim_max ? cpu + 1 : now.rlim_max);
    }
}

static void
drop_rights(const struct child *child)
{
    const struct init *init = child->init;

    child_try(child, START_CAPABILITIES, init_keep_capabilities(0));
    child_try(child, START_CAPABILITIES, sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0));
    if (init->pid != 1) {
        child_try(child, START_CAPABILITIES, sys_prctl(PR_SET_PDEATHSIG, SYS_SIGKILL, 0));
        /* The supervisor has no right over it but that of the same user, and must read its paths.
         */
        child_try(child, START_CAPABILITIES, sys_prctl(PR_SET_DUMPABLE, 1, 0));
    }
    if (init->landlock >= 0 && !init->landlock_self) {
        child_try(
                child, START_LANDLOCK, SYS(landlock_restrict_self, init->landlock, 0, 0, 0, 0, 0));
    }
}

/* A task that has the descriptors, and not the filter: it sends the listener whose number is
 * written to *ret_pipe. */
static int
start_messenger(const struct child *child, const struct wire_message *message, int *ret_pipe)
{
    int pipe[2];
    int listener = -1;
    int pid;

    child_try(child, START_LISTENER, SYS(pipe2, pipe, O_CLOEXEC, 0, 0, 0, 0));
    pid = child_try(child, START_LISTENER, SYS(clone, CLONE_FILES, 0, 0, 0, 0, 0));
    if (pid == 0) {
        sys_prctl(PR_SET_PDEATHSIG, SYS_SIGKILL, 0);
        init_exit(sys_read(pipe[0], &listener, sizeof listener) == sizeof listener &&
                                  listener >= 0 &&
                                  init_send(child->init->control, message, listener) == 0
                          ? 0
                          : 1);
    }
    *ret_pipe = pipe[1];
    return pid;
}

static int
wait_for_messenger(int pid)
{
    int status = 0;
    long r;

    do {
        r = SYS(wait4, pid, &status, __WALL, 0, 0, 0);
    } while (r == -EINTR);
    return r < 0 ? (int)r : status == 0 ? 0 : -EPIPE;
}

/* The listener must reach who answers before anything is asked, so where the filter asks about
 * sendmsg another task sends it. */
static void
set_filter(const struct child *child)
{
    const struct wire_program *header = &child->init->header;
    const struct wire_message message = { .kind = WIRE_LISTENER, .id = child->message->wire.id };
    const struct sock_fprog program = { .len = (unsigned short)header->filter_count,
        .filter = (struct sock_filter *)(unsigned long)(child->init->program + header->filter) };
    const bool needs_messenger = (header->filter_flags & WIRE_FILTER_SENDMSG) != 0;
    unsigned flags = 0;
    int messenger = -1;
    int pipe = -1;
    int listener;

    if (header->filter_count == 0) {
        return;
    }
    if ((header->filter_flags & WIRE_FILTER_NOTIFY) != 0) {
        flags |= SECCOMP_FILTER_FLAG_NEW_LISTENER;
    }
    if ((header->filter_flags & WIRE_FILTER_KILLABLE) != 0) {
        flags |= SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    }
    if (needs_messenger) {
        messenger = start_messenger(child, &message, &pipe);
    }
    listener = (int)SYS(seccomp, SECCOMP_SET_MODE_FILTER, flags, &program, 0, 0, 0);
    if (needs_messenger) {
        sys_write(pipe, &listener, sizeof listener);
    }
    child_try(child, START_SECCOMP, listener);
    if ((flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0) {
        child_try(child, START_LISTENER,
                needs_messenger ? wait_for_messenger(messenger)
                                : init_send(child->init->control, &message, listener));
        sys_close(listener);
    }
}

/* ---- execution ---- */

static int
execute(const struct child *child, const char *path)
{
    return (int)SYS(execve, path, child->argv, child->env, 0, 0, 0);
}

static bool
starts_with(const char *text, const char *prefix)
{
    while (*prefix != '\0') {
        if (*text++ != *prefix++) {
            return false;
        }
    }
    return true;
}

static const char *
search_path(const struct child *child)
{
    for (const char **variable = child->env; *variable != NULL; variable++) {
        if (starts_with(*variable, "PATH=")) {
            return *variable + strlen("PATH=");
        }
    }
    return DEFAULT_PATH;
}

/* `directory/name`, an empty directory being the current one; false if it is too long. */
static bool
join(char *buffer, const char *directory, size_t length, const char *name)
{
    size_t name_length = strlen(name);

    if (length == 0) {
        directory = ".";
        length = 1;
    }
    if (length > WIRE_PATH_MAX || name_length > WIRE_PATH_MAX - 2 ||
            length + name_length > WIRE_PATH_MAX - 2) {
        return false;
    }
    memcpy(buffer, directory, length);
    buffer[length] = '/';
    memcpy(buffer + length + 1, name, name_length + 1);
    return true;
}

/* As execvp(3), but what is not there is not executed, so that it is no event either. */
static int
execute_in_path(const struct child *child, const char *name)
{
    const char *path = search_path(child);
    char buffer[WIRE_PATH_MAX];
    int result = -ENOENT;

    for (;;) {
        size_t length = 0;
        int r = -ENAMETOOLONG;

        while (path[length] != '\0' && path[length] != ':') {
            length++;
        }
        if (join(buffer, path, length, name)) {
            r = (int)SYS(faccessat, AT_FDCWD, buffer, 0 /* F_OK */, 0, 0, 0);
            r = r < 0 ? r : execute(child, buffer);
        }
        if (r == -EACCES) {
            result = r;
        } else if (r != -ENOENT && r != -ENOTDIR && r != -ENAMETOOLONG) {
            return r;
        }
        if (path[length] == '\0') {
            return result;
        }
        path += length + 1;
    }
}

static bool
has_slash(const char *text)
{
    while (*text != '\0' && *text != '/') {
        text++;
    }
    return *text == '/';
}

_Noreturn void
init_command(struct init *init, const struct message *message, int pipe)
{
    struct child child = { .init = init, .message = message, .pipe = pipe };
    const uint64_t no_signals = 0;
    const char *path;
    int r;

    read_block(&child);
    set_streams(&child);
    child_try(&child, START_CWD, SYS(chdir, child_text(&child, child.command.cwd), 0, 0, 0, 0, 0));
    SYS(umask, child.command.umask & 0777, 0, 0, 0, 0, 0);
    set_limits(&child);
    drop_rights(&child);
    SYS(rt_sigprocmask, 2 /* SIG_SETMASK */, &no_signals, 0, sizeof no_signals, 0, 0);
    set_filter(&child);
    if ((child.command.flags & WIRE_COMMAND_CANARY) != 0) {
        init_canary(child.argv);
    }
    path = child_text(&child, child.command.path);
    if (*path == '\0') {
        r = -ENOENT;
    } else {
        r = has_slash(path) ? execute(&child, path) : execute_in_path(&child, path);
    }
    child_fail(&child, START_EXEC, r < 0 ? r : -EINVAL);
}
