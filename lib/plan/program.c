/* SPDX-License-Identifier: Apache-2.0
 * Builds the flat program of wire.h from operations.  Knows no plan and no kernel; what an
 * operation may hold is program_verify.c's.  Used by one thread at a time. */
#include "plan/program.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define FILTER_INSTRUCTION 8u /* sizeof(struct sock_filter) */

void
program_init(struct program *program)
{
    *program = (struct program){ .ops = VEC(struct wire_op) };
    program->filter.element = FILTER_INSTRUCTION;
    str_add_bytes(&program->strings, "", 1);
}

void
program_done(struct program *program)
{
    vec_done(&program->ops);
    str_done(&program->strings);
    vec_done(&program->filter);
}

static uint32_t
add_bytes(struct program *program, const char *bytes, size_t length)
{
    size_t offset = program->strings.length;

    if (offset > WIRE_PROGRAM_MAX) {
        program->failed = true;
        return 0;
    }
    str_add_bytes(&program->strings, bytes, length);
    return (uint32_t)offset;
}

static uint32_t
add_text(struct program *program, const char *text)
{
    return text == NULL ? 0 : add_bytes(program, text, strlen(text) + 1);
}

struct wire_op *
program_op(struct program *program, uint16_t code, const char *step, const char *a, const char *b)
{
    struct wire_op *op = vec_add(&program->ops);

    if (op == NULL) {
        program->failed = true;
        op = &program->spare;
        *op = (struct wire_op){ 0 };
    }
    op->code = code;
    op->step = add_text(program, step);
    op->a = add_text(program, a);
    op->b = add_text(program, b);
    return op;
}

struct wire_op *
program_op_bytes(struct program *program, uint16_t code, const char *step, const void *bytes,
        size_t length, const char *b)
{
    struct wire_op *op = program_op(program, code, step, NULL, b);

    op->a = add_bytes(program, bytes, length);
    op->y = length;
    add_bytes(program, "", 1); /* the strings end with NUL */
    return op;
}

static size_t
align(size_t offset)
{
    return (offset + 7) & ~(size_t)7;
}

abx_status
program_finish(struct program *program, void **ret_bytes, size_t *ret_size, struct fail *fail)
{
    const size_t ops_size = program->ops.count * sizeof(struct wire_op);
    const size_t filter_size = program->filter.count * FILTER_INSTRUCTION;
    struct wire_program header = { .magic = WIRE_MAGIC,
        .version = WIRE_VERSION,
        .n_ops = (uint32_t)program->ops.count,
        .ops = (uint32_t)align(sizeof header),
        .strings_size = (uint32_t)program->strings.length,
        .filter_count = (uint32_t)program->filter.count,
        .filter_flags = program->filter_flags };
    AUTO(freep) unsigned char *bytes = NULL;
    size_t size;
    abx_status r;

    if (program->failed || program->strings.failed) {
        return fail_nomem(fail);
    }
    if (program->ops.count > WIRE_OPS_MAX || program->strings.length > WIRE_PROGRAM_MAX ||
            filter_size > WIRE_PROGRAM_MAX) {
        return fail_set(fail, ABX_ERR_UNSUPPORTED, 0, "program:size",
                "the box needs more than %u operations or %u bytes", WIRE_OPS_MAX,
                WIRE_PROGRAM_MAX);
    }
    header.filter = (uint32_t)(header.ops + ops_size);
    header.strings = (uint32_t)(header.filter + filter_size);
    size = header.strings + program->strings.length;
    header.size = (uint32_t)size;
    bytes = calloc(1, size);
    if (bytes == NULL) {
        return fail_nomem(fail);
    }
    memcpy(bytes, &header, sizeof header);
    if (ops_size > 0) {
        memcpy(bytes + header.ops, program->ops.data, ops_size);
    }
    if (filter_size > 0) {
        memcpy(bytes + header.filter, program->filter.data, filter_size);
    }
    memcpy(bytes + header.strings, program->strings.data, program->strings.length);
    r = program_verify(bytes, size, fail);
    if (r < 0) {
        return r;
    }
    *ret_bytes = steal_ptr(&bytes);
    *ret_size = size;
    return ABX_OK;
}
