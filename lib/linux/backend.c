/* SPDX-License-Identifier: Apache-2.0
 * The table of functions by which the library uses Linux. */
#include "backend/backend.h"

#include "linux/host.h"
#include "linux/own.h"

const struct backend backend_native = {
    .name = "linux",
    .probe = host_probe,
    .host = &host_real,
    .open = boundary_open,
    .spawn = boundary_spawn,
    .program_of = boundary_program_of,
    .signal = boundary_signal,
    .answer = boundary_answer,
    .proxy = boundary_proxy,
    .receipt = boundary_receipt,
    .kill = boundary_kill,
    .close = boundary_close,
};
