/* SPDX-License-Identifier: Apache-2.0
 * Builds, checks and prints the flat program of wire.h. */
#ifndef ABX_PLAN_PROGRAM_H
#define ABX_PLAN_PROGRAM_H

#include "base/fail.h"
#include "base/str.h"
#include "base/vec.h"
#include "plan/wire.h"

#include <stdbool.h>

struct program { /* zero is empty */
    struct vec ops; /* struct wire_op; use program_init */
    struct str strings;
    struct vec filter; /* struct sock_filter */
    uint32_t filter_flags;
    bool failed; /* memory ran out somewhere; program_finish says so */
    struct wire_op spare; /* what program_op returns then */
};
void program_init(struct program *program);
void program_done(struct program *program);
/* Adds an operation; `a` and `b` texts may be NULL (then 0).  Returns it for numeric fields. */
struct wire_op *program_op(
        struct program *program, uint16_t code, const char *step, const char *a, const char *b);
/* An operation with content, which is copied; its `b` may be NULL. */
struct wire_op *program_op_bytes(struct program *program, uint16_t code, const char *step,
        const void *bytes, size_t length, const char *b);
/* The bytes, verified. Caller frees. */
abx_status program_finish(
        struct program *program, void **ret_bytes, size_t *ret_size, struct fail *fail);
/* Offsets, texts, counts, codes, flags, stage order, paths without "..": everything init
 * relies on.  Bytes may be hostile. */
abx_status program_verify(const void *bytes, size_t size, struct fail *fail);
/* One line an operation, for golden tests and people.  `bytes` were verified. */
char *program_dump(const void *bytes, size_t size);

#endif
