/* SPDX-License-Identifier: Apache-2.0
 * A seat becomes the command that it was sent: streams, place, what is the command's own, execve.
 * Every layer is on already.  The end of the seat's socket, which execve closes, tells that it
 * worked. */
#include "linux/init/init.h"

#include "linux/init/sys.h"

#include <linux/resource.h>
#include <linux/stat.h>

#define DEFAULT_PATH "/usr/bin:/bin"

struct command {
    const struct seat *seat;
    const struct incoming *incoming;
    const char **argv, **env;
};

static const char *
command_text(const struct command *command, uint32_t offset)
{
    return init_block_text(command->incoming->block, command->incoming->size, offset);
}

/* ---- the block ---- */

static void
fill_texts(const struct command *command, const char **texts, uint32_t count, uint32_t offset)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t text;

        memcpy(&text, command->incoming->block + offset + i * sizeof text, sizeof text);
        texts[i] = command_text(command, text);
    }
    texts[count] = NULL;
}

static void
read_texts(struct command *command)
{
    const struct wire_command *header = &command->incoming->header;
    const size_t room = ((size_t)header->argc + header->envc + 2) * sizeof(char *);
    void *pointers = sys_map(room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

    if (sys_is_error(pointers)) {
        seat_fail(command->seat, START_BLOCK, (int)(long)pointers);
    }
    command->argv = pointers;
    command->env = command->argv + header->argc + 1;
    fill_texts(command, command->argv, header->argc, header->argv);
    fill_texts(command, command->env, header->envc, header->env);
}

/* ---- what is its own ---- */

static void
set_streams(const struct command *command)
{
    const struct wire_command *header = &command->incoming->header;
    const struct winsize size = { .ws_row = (unsigned short)header->rows,
        .ws_col = (unsigned short)header->columns };

    if (command->seat->has_terminal) {
        seat_try(command->seat, START_TERMINAL, sys_ioctl(0, TIOCSWINSZ, &size));
    } else if (command->incoming->n_fds == 3) {
        seat_set_stdio(command->seat, command->incoming->fds);
    } else {
        seat_fail(command->seat, START_STDIO, -EBADMSG);
    }
}

/* SIGXCPU comes at the soft limit; who ignores it is killed a second later. */
static void
set_cpu_limit(const struct command *command)
{
    const uint64_t cpu = command->incoming->header.cpu_seconds;
    const struct limit *now = &command->seat->limits[RLIMIT_CPU];

    if (cpu != 0) {
        seat_set_limit(command->seat, RLIMIT_CPU, cpu < now->soft ? cpu : now->soft,
                cpu + 1 < now->hard ? cpu + 1 : now->hard);
    }
}

/* ---- execution ---- */

/* Somebody must be told of a program with a set-id bit, which has no effect here. */
static bool
is_worth_telling(const char *path)
{
    struct statx status = { 0 };

    return SYS(statx, AT_FDCWD, path, 0, STATX_MODE, &status, 0) < 0 ||
           (status.stx_mode & SYS_SET_ID) != 0;
}

static int
execute(const struct command *command, const char *path)
{
    const unsigned mark = is_worth_telling(path) ? 0 : WIRE_EXEC_MARK;

    return (int)SYS(execve, path, command->argv, command->env, mark, 0, 0);
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
search_path(const struct command *command)
{
    for (const char **variable = command->env; *variable != NULL; variable++) {
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
execute_in_path(const struct command *command, const char *name)
{
    const char *path = search_path(command);
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
            r = r < 0 ? r : execute(command, buffer);
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
seat_execute(const struct seat *seat, const struct incoming *incoming)
{
    struct command command = { .seat = seat, .incoming = incoming };
    const struct wire_command *header = &incoming->header;
    const uint64_t no_signals = 0;
    const char *path;
    int r;

    read_texts(&command);
    set_streams(&command);
    seat_try(seat, START_CWD, SYS(chdir, command_text(&command, header->cwd), 0, 0, 0, 0, 0));
    SYS(umask, header->umask & 0777, 0, 0, 0, 0, 0);
    set_cpu_limit(&command);
    if (seat->init->pid != 1) {
        /* The supervisor has no right over it but that of the same user, and must read its paths.
         */
        seat_try(seat, START_CAPABILITIES, sys_prctl(PR_SET_DUMPABLE, 1, 0));
    }
    SYS(rt_sigprocmask, 2 /* SIG_SETMASK */, &no_signals, 0, sizeof no_signals, 0, 0);
    if ((header->flags & WIRE_COMMAND_CANARY) != 0) {
        init_canary(command.argv);
    }
    path = command_text(&command, header->path);
    if (*path == '\0') {
        r = -ENOENT;
    } else {
        r = has_slash(path) ? execute(&command, path) : execute_in_path(&command, path);
    }
    seat_fail(seat, START_EXEC, r < 0 ? r : -EINVAL);
}
