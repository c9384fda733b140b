/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: facts about a process, from /proc/PID. */
#ifndef ABX_LINUX_PROCESS_H
#define ABX_LINUX_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The number a text begins with, such as a name in /proc; 0 without one. */
int32_t proc_number(const char *text);
/* The last number of a field, "Tgid" or "NSpid". False: no such process or field. */
bool proc_status(int32_t pid, const char *field, int base, uint64_t *ret_number);
/* Whether it descends from `ancestor`; false where that cannot be told. */
bool proc_is_below(int32_t pid, int32_t ancestor);
/* The device of its controlling terminal, or 0. */
dev_t proc_terminal(int32_t pid);

#endif
