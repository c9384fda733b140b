/* SPDX-License-Identifier: Apache-2.0
 * What a program that asks a person opens.  Where its command has no terminal, somebody should know
 * why it fails: it will say something vague, or nothing. */
#include "linux/listen/terminal.h"

#include "base/mem.h"
#include "linux/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define TTY_MAJOR_ALL 5 /* with minor 0 */
#define PTS_MAJOR_FIRST 136
#define PTS_MAJOR_LAST 143

bool
terminal_is(const struct resolved *resolved)
{
    const struct statx *stat = &resolved->stat;

    return resolved->object >= 0 && S_ISCHR(stat->stx_mode) &&
           stat->stx_rdev_major == TTY_MAJOR_ALL && stat->stx_rdev_minor == 0;
}

static bool
is_pty(dev_t device)
{
    return major(device) >= PTS_MAJOR_FIRST && major(device) <= PTS_MAJOR_LAST;
}

static void
tell(const struct call *call, const struct open_request *request)
{
    const bool reads = (request->flags & O_ACCMODE) == O_RDONLY;
    const struct act act = {
        .request = ABX_REQUEST_PATH,
        .access = reads ? ABX_ACCESS_READ : ABX_ACCESS_WRITE,
        .layer = ABX_LAYER_TERMINAL,
        .target = "/dev/tty",
        .verb = "open",
        .content = -1,
    };

    /* Who does not want to wait for a person looks only: bash does each time it starts. */
    if ((request->flags & O_NONBLOCK) == 0) {
        call_report(call, ABX_EVENT_NOTICE, &act, "boundary:terminal",
                "the command has no controlling terminal",
                "use options with which it asks nobody, give what it asks for in another way, or "
                "start the command with a terminal");
    }
}

void
terminal_asked(const struct call *call, const struct open_request *request)
{
    if (!is_pty(proc_terminal(call->pid))) {
        tell(call, request);
    }
}

enum call_result
terminal_open(struct call *call, const struct open_request *request)
{
    AUTO(closep) int fd = -1;
    char path[64];
    dev_t device = proc_terminal(call->pid);

    if (!is_pty(device)) {
        tell(call, request);
        return call_fail(call, ENXIO);
    }
    snprintf(path, sizeof path, "dev/pts/%u",
            (major(device) - PTS_MAJOR_FIRST) * 256u + minor(device));
    fd = openat(call->boundary->root, path,
            (int)request->flags | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    return fd < 0 ? call_fail(call, errno) : open_hand_in(call, fd, request);
}
