/* SPDX-License-Identifier: Apache-2.0
 * A bounded buffer that collects what a command writes to one stream.  The supervisor thread's. */
#ifndef ABX_SUPERVISE_CAPTURE_H
#define ABX_SUPERVISE_CAPTURE_H

#include "base/loop.h"

#include <stdbool.h>
#include <stddef.h>

struct capture;

/* Takes the descriptor (read end, non-blocking) on success.  NULL: errno says why. */
struct capture *capture_new(struct loop *loop, int fd, size_t limit);
/* Reads what is there now and gives the buffer away; what comes later is read and thrown away, so
 * that background processes can go on writing. */
void capture_take(struct capture *capture, char **ret_data, size_t *ret_length, uint64_t *ret_lost);
bool capture_is_over(const struct capture *capture); /* end of file */
void capture_free(struct capture *capture);

#endif
