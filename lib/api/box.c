/* SPDX-License-Identifier: Apache-2.0 */
#include "supervise/box.h"

#include "api/door.h"
#include "supervise/approvals.h"
#include "supervise/process.h"

abx_status
abx_box_open(abx_context *context, abx_policy *policy, abx_identity *identity, abx_box **ret_box,
        abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_NOMEM | MAY_POLICY | MAY_UNSUPPORTED | MAY_SETUP |
                         MAY_TIMEOUT | MAY_IO | MAY_DENIED;
    struct fail fail = { 0 };

    if (context == NULL || policy == NULL || ret_box == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL argument");
    } else if (box_open(context, policy, identity, ret_box, &fail) == ABX_OK) {
        return ABX_OK;
    }
    return door_out(&fail, may, reterr);
}

uint64_t
abx_box_get_id(abx_box *box)
{
    return box == NULL ? 0 : box->id;
}

abx_status
abx_box_receipt(abx_box *box, char **ret_json, size_t *ret_length)
{
    if (box == NULL || ret_json == NULL) {
        return ABX_ERR_INVALID;
    }
    return door_text(box_receipt(box, ret_length), ret_json);
}

/* What of a pattern is given, besides its target. */
static abx_status
check_pattern(const abx_request *pattern, struct fail *fail)
{
    const char *why = NULL;

    switch (pattern->kind) {
    case ABX_REQUEST_PATH:
        if (pattern->access != ABX_ACCESS_READ && pattern->access != ABX_ACCESS_WRITE &&
                pattern->access != ABX_ACCESS_EXEC) {
            return fail_set(fail, ABX_ERR_INVALID, 0, "grant:access", "a grant is for one access");
        }
        why = pattern->port != 0 ? "a path has a target and no port" : NULL;
        break;
    case ABX_REQUEST_EXEC:
        why = pattern->port != 0 || (pattern->access != 0 && pattern->access != ABX_ACCESS_EXEC)
                      ? "a program has a path, and no port"
                      : NULL;
        break;
    case ABX_REQUEST_CONNECT:
        why = pattern->access != 0 || pattern->port == 0 || pattern->port > 65535
                      ? "a connection has a host and a port, and no access"
                      : NULL;
        break;
    case ABX_REQUEST_HTTP:
        why = pattern->access != 0 || pattern->port != 0
                      ? "a request has a URL and a method, and neither access nor port"
                      : NULL;
        break;
    case ABX_REQUEST_ACTION:
        why = pattern->access != 0 || pattern->port != 0
                      ? "an action has a name and arguments, and neither access nor port"
                      : NULL;
        break;
    default:
        return fail_set(fail, ABX_ERR_UNSUPPORTED, 0, "grant:kind",
                "this version grants paths, programs, connections, requests and actions");
    }
    why = pattern->target == NULL ? "the target is missing" : why;
    return why == NULL ? ABX_OK : fail_set(fail, ABX_ERR_INVALID, 0, "grant:target", "%s", why);
}

abx_status
abx_box_grant(abx_box *box, const abx_request *pattern, int64_t expires_ms, uint32_t uses,
        const char *approver, uint64_t *ret_grant, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_ABI | MAY_NOMEM | MAY_UNSUPPORTED | MAY_DENIED | MAY_IO;
    struct fail fail = { 0 };
    abx_request mine;

    if (box == NULL || pattern == NULL || ret_grant == NULL || expires_ms < 0) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL or negative argument");
    } else if (struct_in(&mine, sizeof mine, REQUEST_V1, pattern, &fail) == ABX_OK &&
               check_pattern(&mine, &fail) == ABX_OK &&
               check_expires(expires_ms, "grant:expires", &fail) == ABX_OK &&
               check_approver(approver, "grant:approver", &fail) == ABX_OK &&
               box_grant(box, &mine, expires_ms, uses, approver, ret_grant, &fail) == ABX_OK) {
        return ABX_OK;
    }
    return door_out(&fail, may, reterr);
}

abx_status
abx_box_revoke(abx_box *box, uint64_t grant)
{
    return box == NULL ? ABX_ERR_INVALID : status_filter(box_revoke(box, grant), MAY_STATE);
}

abx_status
abx_box_grants(abx_box *box, char **ret_json, size_t *ret_length)
{
    if (box == NULL || ret_json == NULL) {
        return ABX_ERR_INVALID;
    }
    return door_text(box_grants(box, ret_length), ret_json);
}

abx_status
abx_box_kill(abx_box *box)
{
    return box == NULL ? ABX_ERR_INVALID : status_filter(box_kill(box), 0);
}

abx_box *
abx_box_ref(abx_box *box)
{
    return box == NULL ? NULL : box_ref(box);
}

void
abx_box_unref(abx_box *box)
{
    box_unref(box);
}

static abx_status
check_spawn(const char *const *argv, const abx_spawn_options *options, struct fail *fail)
{
    bool is_pty = options->stdio[0] == ABX_STDIO_PTY;

    if (argv[0] == NULL || argv[0][0] == '\0') {
        return fail_set(fail, ABX_ERR_INVALID, 0, "spawn:argv", "argv names no program");
    }
    if (options->flags != 0 || options->reserved != 0) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "spawn:flags", "an unknown flag is set");
    }
    if (is_pty != (options->stdio[1] == ABX_STDIO_PTY) ||
            is_pty != (options->stdio[2] == ABX_STDIO_PTY)) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "spawn:stdio",
                "a terminal is given for all three streams or for none");
    }
    if (options->rows > UINT16_MAX || options->columns > UINT16_MAX) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "spawn:size", "a terminal is not that big");
    }
    if (options->cwd != NULL && options->cwd[0] != '/') {
        return fail_set(fail, ABX_ERR_INVALID, 0, "spawn:cwd", "cwd is not absolute");
    }
    return ABX_OK;
}

abx_status
abx_box_spawn(abx_box *box, const char *const *argv, const abx_spawn_options *options,
        abx_process **ret_process, abx_error **reterr)
{
    const uint32_t may = MAY_INVALID | MAY_ABI | MAY_STATE | MAY_NOMEM | MAY_SETUP | MAY_EXEC |
                         MAY_TIMEOUT | MAY_IO | MAY_DENIED;
    abx_spawn_options mine;
    struct fail fail = { 0 };

    if (box == NULL || argv == NULL || ret_process == NULL) {
        fail_set(&fail, ABX_ERR_INVALID, 0, "", "NULL argument");
    } else if (struct_in(&mine, sizeof mine, SPAWN_OPTIONS_V1, options, &fail) == ABX_OK &&
               check_spawn(argv, &mine, &fail) == ABX_OK &&
               process_spawn(box, argv, &mine, ret_process, &fail) == ABX_OK) {
        return ABX_OK;
    }
    return door_out(&fail, may, reterr);
}
