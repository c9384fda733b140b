/* SPDX-License-Identifier: Apache-2.0
 * Owns abx_identity.  Its texts are names that stand in events and requests: none of them is a
 * secret, and none needs escaping. */
#include "supervise/identity.h"

#include "supervise/grants.h"

#include "base/loop.h"
#include "event/event.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What is not seen as it is could pass for another. */
static abx_status
copy(const char *name, const char *text, char **ret_copy, struct fail *fail)
{
    if (text[0] == '\0' || strlen(text) > IDENTITY_TEXT_MAX || !text_is_seen(text)) {
        fail_set(fail, ABX_ERR_INVALID, 0, "identity:text",
                "the %s is empty, longer than %u bytes, or has characters that are not seen", name,
                IDENTITY_TEXT_MAX);
        return fail->status;
    }
    *ret_copy = strdup(text);
    return *ret_copy == NULL ? fail_nomem(fail) : ABX_OK;
}

static char *
make_reason(const abx_identity *identity)
{
    time_t seconds = (time_t)(identity->expires_ms / 1000);
    struct str out = { 0 };
    char when[32] = "";
    struct tm tm;

    if (gmtime_r(&seconds, &tm) != NULL) {
        strftime(when, sizeof when, " at %Y-%m-%dT%H:%M:%SZ", &tm);
    }
    str_printf(&out, "the delegation '%.120s' that this session acts under expired%s",
            identity->delegation, when);
    return str_steal(&out, NULL);
}

/* A string of a structured field (RFC 9651): as it is, or, with other than ASCII, as a display
 * string. */
static void
add_item(struct str *out, const char *name, const char *text)
{
    bool is_ascii = true;

    for (const char *at = text; *at != '\0'; at++) {
        is_ascii &= (unsigned char)*at < 0x80;
    }
    str_printf(out, "%s%s=%s\"", out->length == 0 ? "" : ", ", name, is_ascii ? "" : "%");
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;

        if (!is_ascii && (byte >= 0x80 || byte == '%' || byte == '"')) {
            str_printf(out, "%%%02x", byte);
        } else {
            str_printf(out, "%s%c", is_ascii && (byte == '"' || byte == '\\') ? "\\" : "", byte);
        }
    }
    str_add(out, "\"");
}

static char *
make_field(const abx_identity *identity)
{
    struct str out = { 0 };

    add_item(&out, "principal", identity->principal);
    add_item(&out, "agent-session", identity->agent_session);
    if (identity->delegation != NULL) {
        add_item(&out, "delegation", identity->delegation);
    }
    return str_steal(&out, NULL);
}

abx_status
identity_new(const char *principal, const char *agent_session, const char *delegation,
        int64_t expires_ms, abx_identity **ret_identity, struct fail *fail)
{
    AUTO(identity_unrefp) abx_identity *identity = calloc(1, sizeof *identity);

    if (identity == NULL) {
        return fail_nomem(fail);
    }
    atomic_init(&identity->references, 1);
    if (expires_ms < 0 || (expires_ms != 0 && delegation == NULL)) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "identity:expires",
                "what expires is a delegation, after 1970");
    }
    identity->expires_ms = expires_ms;
    identity->expires_ns = grant_deadline(expires_ms);
    if (copy("principal", principal, &identity->principal, fail) < 0 ||
            copy("agent session", agent_session, &identity->agent_session, fail) < 0 ||
            (delegation != NULL &&
                    copy("delegation", delegation, &identity->delegation, fail) < 0)) {
        return fail->status;
    }
    identity->field = make_field(identity);
    if (identity->field == NULL) {
        return fail_nomem(fail);
    }
    if (expires_ms != 0) {
        identity->is_over_because = make_reason(identity);
        if (identity->is_over_because == NULL) {
            return fail_nomem(fail);
        }
    }
    *ret_identity = steal_ptr(&identity);
    return ABX_OK;
}

abx_identity *
identity_ref(abx_identity *identity)
{
    if (identity != NULL) {
        atomic_fetch_add_explicit(&identity->references, 1, memory_order_relaxed);
    }
    return identity;
}

void
identity_unref(abx_identity *identity)
{
    if (identity != NULL &&
            atomic_fetch_sub_explicit(&identity->references, 1, memory_order_acq_rel) == 1) {
        free(identity->principal);
        free(identity->agent_session);
        free(identity->delegation);
        free(identity->field);
        free(identity->is_over_because);
        free(identity);
    }
}

bool
identity_is_over(const abx_identity *identity)
{
    return identity != NULL && identity->expires_ms != 0 &&
           (event_time_now() / 1000000 >= identity->expires_ms ||
                   (identity->expires_ns != 0 && clock_now_ns() >= identity->expires_ns));
}

abx_status
identity_check(const abx_identity *identity, struct fail *fail)
{
    if (!identity_is_over(identity)) {
        return ABX_OK;
    }
    fail_set(fail, ABX_ERR_DENIED, 0, "identity:delegation", "%s", identity->is_over_because);
    fail_remedy(fail, "open a box under a new delegation");
    return ABX_ERR_DENIED;
}

void
identity_json(const abx_identity *identity, struct str *out)
{
    if (identity == NULL) {
        str_add(out, "null");
        return;
    }
    str_add(out, "{\"principal\":");
    str_add_json(out, identity->principal);
    str_add(out, ",\"agent_session\":");
    str_add_json(out, identity->agent_session);
    if (identity->delegation != NULL) {
        str_add(out, ",\"delegation\":");
        str_add_json(out, identity->delegation);
    }
    if (identity->expires_ms != 0) {
        str_printf(out, ",\"expires_ms\":%lld", (long long)identity->expires_ms);
    }
    str_add(out, "}");
}
