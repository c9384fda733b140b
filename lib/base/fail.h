/* SPDX-License-Identifier: Apache-2.0
 * Why something failed.  Inside the library it is a struct on the stack, so that no path loses it
 * to a failing allocation; at the API it becomes an abx_error.  Internal functions return the
 * status and fill `fail` on failure only; `fail` is never NULL. */
#ifndef ABX_BASE_FAIL_H
#define ABX_BASE_FAIL_H

#include <agentbox/agentbox.h>

struct fail {
    abx_status status;
    int32_t os_code; /* errno, or 0 */
    char step[128]; /* `<verb>:<object>`, a machine word; "" if there is none */
    char text[512]; /* one line for people, no full stop */
    char remedy[256]; /* what to change, or "" */
};

/* Fills `fail` and returns its status, so that a caller can write `return fail_set(...)`.
 * `os_code` is an errno or 0; its text is appended to the message.  With ENOMEM the status is
 * ABX_ERR_NOMEM, whatever failed. */
abx_status fail_set(struct fail *fail, abx_status status, int os_code, const char *step,
        const char *format, ...) __attribute__((format(printf, 5, 6)));
void fail_remedy(struct fail *fail, const char *format, ...) __attribute__((format(printf, 2, 3)));
abx_status fail_nomem(struct fail *fail);

/* The door to the outside: writes *reterr (if wanted) and returns the status.  When there is no
 * memory for the error itself, *reterr is a static error of that status. */
abx_status fail_out(const struct fail *fail, abx_error **reterr);

#endif
