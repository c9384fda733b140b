/* SPDX-License-Identifier: Apache-2.0
 * The person's terminal: raw while a command has a terminal of its own, and always given back. */
#include "cli.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios saved;
static bool is_raw;

void
terminal_restore(void)
{
    if (is_raw) {
        tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
        is_raw = false;
    }
}

bool
terminal_raw(void)
{
    static bool registered;
    struct termios raw;

    if (is_raw || tcgetattr(STDIN_FILENO, &saved) < 0) {
        return false;
    }
    if (!registered) {
        atexit(terminal_restore);
        registered = true;
    }
    raw = saved;
    cfmakeraw(&raw);
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0) {
        return false;
    }
    is_raw = true;
    return true;
}

bool
terminal_size(uint32_t *ret_rows, uint32_t *ret_columns)
{
    struct winsize size;

    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0) {
        return false;
    }
    *ret_rows = size.ws_row;
    *ret_columns = size.ws_col;
    return true;
}
