/* SPDX-License-Identifier: Apache-2.0
 * Inside the explanation only. */
#ifndef ABX_SUPERVISE_EXPLAIN_H
#define ABX_SUPERVISE_EXPLAIN_H

#include "supervise/process.h"

/* Appends what is of this ABX_CLASS_*, a line each, after the sentence for all of it; nothing where
 * there is none. */
void explain_class(
        struct str *out, const struct denials *denials, uint32_t failure, const char *lead);

#endif
