/* SPDX-License-Identifier: Apache-2.0
 * Opens what a command reads from and writes to.  Every descriptor is born close-on-exec. */
#include "supervise/streams.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

void
streams_close(struct streams *streams)
{
    for (int i = 0; i < 3; i++) {
        close_fd(steal_fd(&streams->command[i]));
        close_fd(steal_fd(&streams->host[i]));
        close_fd(steal_fd(&streams->capture[i]));
    }
}

/* A pipe whose command end is stream `i`; the other end goes to *ret_end. */
static int
open_pipe(struct streams *streams, int i, int *ret_end)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0) {
        return errno;
    }
    streams->command[i] = ends[i == 0 ? 0 : 1];
    *ret_end = ends[i == 0 ? 1 : 0];
    return 0;
}

/* A directory would let the command walk out of its view of the file system. */
static int
copy_handle(int64_t handle, int *ret_fd)
{
    struct stat status;
    int flags;

    if (handle < 0 || handle > INT_MAX) {
        return EBADF;
    }
    *ret_fd = fcntl((int)handle, F_DUPFD_CLOEXEC, 3);
    if (*ret_fd < 0 || fstat(*ret_fd, &status) < 0) {
        return errno;
    }
    flags = fcntl(*ret_fd, F_GETFL);
    return S_ISDIR(status.st_mode) || (flags & O_PATH) != 0 ? EISDIR : 0;
}

static abx_status
open_one(struct streams *streams, const abx_spawn_options *options, int i, struct fail *fail)
{
    int error = 0;

    switch (options->stdio[i]) {
    case ABX_STDIO_NULL:
        streams->command[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
        error = streams->command[i] < 0 ? errno : 0;
        break;
    case ABX_STDIO_PIPE:
        error = open_pipe(streams, i, &streams->host[i]);
        break;
    case ABX_STDIO_HANDLE:
        error = copy_handle(options->handle[i], &streams->command[i]);
        if (error == EBADF || error == EISDIR) {
            return fail_set(fail, ABX_ERR_INVALID, error, "stdio:handle",
                    "handle[%d] cannot be given to a command", i);
        }
        break;
    case ABX_STDIO_CAPTURE:
        if (i == 0) {
            return fail_set(fail, ABX_ERR_INVALID, 0, "stdio:capture", "stdin has no output");
        }
        error = open_pipe(streams, i, &streams->capture[i]);
        if (error == 0 && fcntl(streams->capture[i], F_SETFL, O_NONBLOCK) < 0) {
            error = errno;
        }
        break;
    default: /* PTY for some streams only, and unknown numbers */
        return fail_set(fail, ABX_ERR_INVALID, 0, "stdio:kind",
                "stdio[%d] is no kind of stream that can stand there", i);
    }
    return error == 0 ? ABX_OK
                      : fail_set(fail, ABX_ERR_IO, error, "stdio:open", "stream %d failed", i);
}

static bool
is_terminal(const abx_spawn_options *options)
{
    return options->stdio[0] == ABX_STDIO_PTY && options->stdio[1] == ABX_STDIO_PTY &&
           options->stdio[2] == ABX_STDIO_PTY;
}

abx_status
streams_open(struct streams *streams, const abx_spawn_options *options, struct fail *fail)
{
    abx_status r = ABX_OK;

    *streams = (struct streams){ { -1, -1, -1 }, { -1, -1, -1 }, { -1, -1, -1 } };
    for (int i = 0; i < 3 && r == ABX_OK && !is_terminal(options); i++) {
        r = open_one(streams, options, i, fail);
    }
    if (r < 0) {
        streams_close(streams);
    }
    return r;
}
