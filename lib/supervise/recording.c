/* SPDX-License-Identifier: Apache-2.0
 * Owns what is recorded beside events.  Takes no lock but the outlet's. */
#include "supervise/recording.h"

#include "audit/files.h"
#include "supervise/telling.h"

#include "base/digest.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* ---- where the log is ---- */
static abx_status
refuse_reach(const char *path, const char *what, struct fail *fail)
{
    fail_set(fail, ABX_ERR_POLICY, 0, "open:audit",
            "the policy lets commands %s the audit log '%.200s'", what, path);
    fail_remedy(fail, "deny reading and writing '%.200s*', or keep the log elsewhere", path);
    return fail->status;
}

static bool
may(abx_box *box, uint32_t access, const char *path)
{
    abx_request request = {
        .size = sizeof request, .kind = ABX_REQUEST_PATH, .access = access, .target = path
    };
    struct ruling ruling;

    return policy_decide(box->resolved, &request, &ruling) != ABX_VERDICT_DENY;
}

static abx_status
check_reach(abx_box *box, const char *log, const char *path, struct fail *fail)
{
    return may(box, ABX_ACCESS_READ, path)    ? refuse_reach(log, "read", fail)
           : may(box, ABX_ACCESS_WRITE, path) ? refuse_reach(log, "write", fail)
                                              : ABX_OK;
}

/* Who may read the file can lock it, and so keep everybody from writing; full files have what
 * others did as well, and a name beside it that could be taken beforehand would be what the log
 * goes on in. */
abx_status
recording_is_safe(abx_box *box, struct fail *fail)
{
    const struct host_view *host = box->context->backend->host;
    AUTO(freep) char *path = NULL;
    abx_status r = ABX_OK;

    if (box->context->audit == NULL) {
        return ABX_OK;
    }
    path = host->real_path(host->data, box->context->audit_path);
    if (path == NULL) {
        return fail_nomem(fail);
    }
    for (size_t i = 0; r == ABX_OK && files_endings[i] != NULL; i++) {
        AUTO(str_done) struct str name = { 0 };

        str_printf(&name, "%s%s", path, files_endings[i]);
        r = name.failed ? fail_nomem(fail) : check_reach(box, path, name.data, fail);
    }
    return r;
}

/* ---- boxes ---- */
abx_status
record_opened(abx_box *box, struct fail *fail)
{
    struct event_draft draft;
    abx_status r;

    tell_begin(&draft, box, RECORD_OPENED, 0, NULL);
    draft_text(&draft, ABX_FIELD_SOURCE, policy_source(box->policy));
    draft_text(&draft, FIELD_DIGEST, abx_policy_get_digest(box->policy));
    r = outlet_record(&box->outlet, &draft, fail);
    box->opened = r == ABX_OK;
    return r;
}

void
record_refused(abx_box *box)
{
    const struct grounds grounds = identity_grounds(box);
    struct event_draft draft;
    struct fail untold; /* it does not open in any case */

    tell_begin(&draft, box, RECORD_REFUSED, 0, NULL);
    draft_number(&draft, ABX_FIELD_LAYER, grounds.layer);
    draft_text(&draft, ABX_FIELD_RULE, grounds.rule);
    draft_text(&draft, ABX_FIELD_REASON, grounds.reason);
    draft_text(&draft, ABX_FIELD_SOURCE, policy_source(box->policy));
    draft_text(&draft, FIELD_DIGEST, abx_policy_get_digest(box->policy));
    outlet_record(&box->outlet, &draft, &untold);
}

void
record_closed(abx_box *box)
{
    struct event_draft draft;
    struct fail untold; /* it closes in any case */

    if (box->opened) {
        tell_begin(&draft, box, RECORD_CLOSED, 0, NULL);
        outlet_record(&box->outlet, &draft, &untold);
    }
}

/* ---- commands ---- */

/* Each argument with its end, so that no two lists are the same text. */
static bool
digest_arguments(const char *const *argv, char ret_digest[DIGEST_HEX_SIZE])
{
    AUTO(str_done) struct str text = { 0 };

    for (size_t i = 0; argv[i] != NULL; i++) {
        str_add_bytes(&text, argv[i], strlen(argv[i]) + 1);
    }
    if (text.failed) {
        return false;
    }
    digest_hex(text.data, text.length, ret_digest);
    return true;
}

abx_status
record_spawn(
        abx_box *box, const abx_process *process, const struct command *command, struct fail *fail)
{
    char digest[DIGEST_HEX_SIZE];
    struct event_draft draft;

    if (box->context->audit == NULL) {
        return ABX_OK;
    }
    if (!digest_arguments(command->argv, digest)) {
        return fail_nomem(fail);
    }
    tell_begin(&draft, box, RECORD_SPAWN, process->id, process->label);
    draft_text(&draft, ABX_FIELD_PROGRAM, command->argv[0]);
    draft_text(&draft, FIELD_DIGEST, digest);
    return outlet_record(&box->outlet, &draft, fail);
}

/* ---- secrets ---- */
abx_status
record_supply(abx_box *box, const char *name, int64_t expires_ms, struct fail *fail)
{
    struct event_draft draft;

    tell_begin(&draft, box, RECORD_SUPPLY, 0, NULL);
    draft_number(&draft, ABX_FIELD_LAYER, ABX_LAYER_IDENTITY);
    draft_number(&draft, ABX_FIELD_REQUEST, ABX_REQUEST_CREDENTIAL);
    draft_text(&draft, ABX_FIELD_TARGET, name);
    if (expires_ms != 0) {
        draft_number(&draft, FIELD_EXPIRES_MS, expires_ms);
    }
    return outlet_record(&box->outlet, &draft, fail);
}
