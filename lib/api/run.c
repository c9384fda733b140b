/* SPDX-License-Identifier: Apache-2.0 */
#include "api/door.h"

#include "supervise/process.h"

/* Output is captured unless a descriptor takes it; nobody could serve a pipe or terminal meanwhile.
 */
static abx_status
capture_by_default(abx_spawn_options *options, struct fail *fail)
{
    for (int i = 0; i < 3; i++) {
        if (options->stdio[i] == ABX_STDIO_PIPE || options->stdio[i] == ABX_STDIO_PTY) {
            return fail_set(fail, ABX_ERR_INVALID, 0, "run:stdio",
                    "the call returns after the command, so nobody would serve a pipe or terminal");
        }
        if (i > 0 && options->stdio[i] == ABX_STDIO_NULL) {
            options->stdio[i] = ABX_STDIO_CAPTURE;
        }
    }
    options->size = sizeof *options;
    return ABX_OK;
}

abx_status
abx_run(abx_context *context, abx_policy *policy, const char *const *argv,
        const abx_spawn_options *options, abx_process **ret_process, abx_error **reterr)
{
    AUTO(box_unrefp) abx_box *box = NULL;
    AUTO(process_unrefp) abx_process *process = NULL;
    abx_spawn_options mine;
    struct fail fail = { 0 };
    abx_status r;

    if (argv == NULL || ret_process == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL argument");
        return fail_out(&fail, reterr);
    }
    if (struct_in(&mine, sizeof mine, SPAWN_OPTIONS_V1, options, &fail) < 0 ||
            capture_by_default(&mine, &fail) < 0) {
        return fail_out(&fail, reterr);
    }
    r = abx_box_open(context, policy, NULL, &box, reterr);
    if (r == ABX_OK) {
        r = abx_box_spawn(box, argv, &mine, &process, reterr);
    }
    if (r == ABX_OK) {
        abx_process_wait(process, -1, NULL);
        *ret_process = steal_ptr(&process);
    }
    return r;
}
