/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: what the kernel executes besides a program, to run it. */
#ifndef ABX_LINUX_EXEC_CHAIN_H
#define ABX_LINUX_EXEC_CHAIN_H

#include "base/vec.h"

#include <stdbool.h>

/* Adds (char *, the caller frees) the interpreters of a script and their interpreters, the program
 * that `env` would find for it, and the loader of a dynamic program.  What cannot be read adds
 * nothing.  False if memory ran out. */
bool exec_chain(const char *path, struct vec *paths);

#endif
