/* SPDX-License-Identifier: Apache-2.0
 * Owns struct fail and abx_error, the same facts with a reference count. */
#include "base/fail.h"

#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct abx_error {
    atomic_uint references; /* 0: static, immortal */
    struct fail fail;
};

/* For each status one, where there is no memory to say more. */
static abx_error errors_without_memory[] = {
#define STATUS(name, number, since, text_, remedy_)                                                \
    { .fail = { .status = number, .text = text_, .remedy = remedy_ } },
#include "base/status.def"
#undef STATUS
};

abx_status
fail_set(struct fail *fail, abx_status status, int os_code, const char *step, const char *format,
        ...)
{
    size_t used;
    va_list arguments;

    fail->status = os_code == ENOMEM ? ABX_ERR_NOMEM : status;
    fail->os_code = os_code;
    fail->remedy[0] = '\0';
    snprintf(fail->step, sizeof fail->step, "%s", step);
    va_start(arguments, format);
    vsnprintf(fail->text, sizeof fail->text, format, arguments);
    va_end(arguments);
    if (os_code != 0) {
        char buffer[96];

        used = strlen(fail->text);
        snprintf(fail->text + used, sizeof fail->text - used, ": %s",
                strerror_r(os_code, buffer, sizeof buffer));
    }
    return fail->status;
}

void
fail_remedy(struct fail *fail, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(fail->remedy, sizeof fail->remedy, format, arguments);
    va_end(arguments);
}

abx_status
fail_nomem(struct fail *fail)
{
    return fail_set(fail, ABX_ERR_NOMEM, 0, "", "out of memory");
}

static abx_error *
error_without_memory(abx_status status)
{
    size_t i = 0;

    while (i < N_ELEMENTS(errors_without_memory) - 1 &&
            errors_without_memory[i].fail.status != status) {
        i++;
    }
    return &errors_without_memory[i];
}

abx_status
fail_out(const struct fail *fail, abx_error **reterr)
{
    abx_error *error;

    if (reterr == NULL) {
        return fail->status;
    }
    error = calloc(1, sizeof *error);
    if (error == NULL) {
        *reterr = error_without_memory(fail->status);
        return fail->status;
    }
    atomic_init(&error->references, 1);
    error->fail = *fail;
    *reterr = error;
    return fail->status;
}

abx_status
abx_error_get_status(abx_error *error)
{
    return error == NULL ? ABX_OK : error->fail.status;
}

int32_t
abx_error_get_os_code(abx_error *error)
{
    return error == NULL ? 0 : error->fail.os_code;
}

const char *
abx_error_get_step(abx_error *error)
{
    return error == NULL ? "" : error->fail.step;
}

const char *
abx_error_get_message(abx_error *error)
{
    return error == NULL ? "" : error->fail.text;
}

const char *
abx_error_get_remedy(abx_error *error)
{
    return error == NULL ? "" : error->fail.remedy;
}

abx_error *
abx_error_ref(abx_error *error)
{
    if (error != NULL && atomic_load(&error->references) != 0) {
        atomic_fetch_add_explicit(&error->references, 1, memory_order_relaxed);
    }
    return error;
}

void
abx_error_unref(abx_error *error)
{
    if (error != NULL && atomic_load(&error->references) != 0 &&
            atomic_fetch_sub_explicit(&error->references, 1, memory_order_acq_rel) == 1) {
        free(error);
    }
}
