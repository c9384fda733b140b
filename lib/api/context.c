/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise/context.h"

#include "api/door.h"

#define CONTEXT_OPTIONS_V1 32u
#define STATS_V1 88u
#define AUDIT_BYTES_DEFAULT (64u << 20)
#define AUDIT_BYTES_MIN 4096u
#define EVENTS_MAX 1048576u

static abx_status
check(const abx_context_options *options, struct fail *fail)
{
    if (options->backend > ABX_BACKEND_SIMULATED || options->log_level > ABX_LOG_DEBUG ||
            options->events > EVENTS_MAX ||
            (options->flags & ~(uint32_t)ABX_CONTEXT_OBSERVE) != 0) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "", "an option has an unknown value");
    }
    if (options->log_level != 0) {
        return fail_set(
                fail, ABX_ERR_UNSUPPORTED, 0, "log:level", "this version has no log events");
    }
    if (options->audit_sync > ABX_AUDIT_SYNC_RECORD ||
            (options->audit_bytes != 0 && options->audit_bytes < AUDIT_BYTES_MIN)) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "audit:options",
                "an option of the audit log has an unknown value");
    }
    if (options->audit_path == NULL && (options->audit_sync != 0 || options->audit_bytes != 0)) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "audit:path",
                "an option of the audit log is set, and there is none");
    }
    return ABX_OK;
}

static abx_status
keep_audit(abx_context *context, const abx_context_options *options, struct fail *fail)
{
    const struct audit_options audit = {
        .most = options->audit_bytes == 0 ? AUDIT_BYTES_DEFAULT : options->audit_bytes,
        .syncs = options->audit_sync == ABX_AUDIT_SYNC_RECORD,
    };

    return options->audit_path == NULL
                   ? ABX_OK
                   : context_keep_audit(context, options->audit_path, &audit, fail);
}

abx_status
abx_context_new(const abx_context_options *options, abx_context **ret_context, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_ABI | MAY_NOMEM | MAY_UNSUPPORTED | MAY_IO;
    abx_context_options mine;
    struct fail fail = { 0 };
    AUTO(context_unrefp) abx_context *context = NULL;
    size_t events;

    if (ret_context == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL argument");
        return door_out(&fail, may, reterr);
    }
    if (struct_in(&mine, sizeof mine, CONTEXT_OPTIONS_V1, options, &fail) < 0 ||
            check(&mine, &fail) < 0) {
        return door_out(&fail, may, reterr);
    }
    events = mine.events == 0 ? QUEUE_EVENTS_DEFAULT : mine.events;
    if (context_new(backend_choose(mine.backend), mine.init_path, events, &context, &fail) < 0 ||
            keep_audit(context, &mine, &fail) < 0) {
        return door_out(&fail, may, reterr);
    }
    context->observes = (mine.flags & ABX_CONTEXT_OBSERVE) != 0;
    *ret_context = steal_ptr(&context);
    return ABX_OK;
}

abx_context *
abx_context_ref(abx_context *context)
{
    return context == NULL ? NULL : context_ref(context);
}

void
abx_context_unref(abx_context *context)
{
    context_unref(context);
}

int64_t
abx_context_take_wait_handle(abx_context *context)
{
    return context == NULL ? -1 : queue_handle(&context->queue);
}

abx_status
abx_context_next_event(abx_context *context, abx_event **ret_event)
{
    if (context == NULL || ret_event == NULL) {
        return ABX_ERR_INVALID;
    }
    return status_filter(queue_take(&context->queue, ret_event), MAY_NOMEM);
}

abx_status
abx_context_dispatch(abx_context *context, abx_event_fn fn, void *user_data)
{
    if (context == NULL || fn == NULL) {
        return ABX_ERR_INVALID;
    }
    return status_filter(context_dispatch(context, fn, user_data), MAY_NOMEM);
}

abx_status
abx_context_stats(abx_context *context, abx_stats *stats)
{
    abx_stats found = { .size = sizeof found };
    struct fail fail = { 0 };

    if (context == NULL || stats == NULL) {
        return ABX_ERR_INVALID;
    }
    stats_read(&context->stats, &found);
    return status_filter(struct_out(stats, STATS_V1, &found, sizeof found, &fail), MAY_ABI);
}
