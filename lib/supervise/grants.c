/* SPDX-License-Identifier: Apache-2.0
 * Owns the list of grants of a box.  Exact by construction: a grant is one request, one access and
 * one target, and what it adds is told from it.  Who adds a grant has asked the policy.  No lock of
 * its own. */
#include "supervise/grants.h"

#include "backend/backend.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "event/event.h"
#include "event/names.h"
#include "policy/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
grant_done(struct grant *grant)
{
    free(grant->target);
    free(grant->verb);
    free(grant->bound);
    free(grant->approver);
}

static void
remove_expired(struct vec *grants)
{
    uint64_t now = clock_now_ns();

    for (size_t i = grants->count; i-- > 0;) {
        struct grant *grant = vec_at(grants, struct grant, i);

        if (grant->expires_ns != 0 && grant->expires_ns <= now) {
            grant_done(grant);
            vec_remove(grants, i);
        }
    }
}

bool
grants_add(struct vec *grants, const struct grant *grant)
{
    struct grant *place;

    remove_expired(grants);
    place = grants->count < GRANTS_MAX ? vec_add(grants) : NULL;
    if (place == NULL) {
        return false;
    }
    *place = *grant;
    return true;
}

bool
grants_take(struct vec *grants, uint64_t id, struct grant *ret_grant)
{
    remove_expired(grants);
    for (size_t i = 0; i < grants->count; i++) {
        struct grant *grant = vec_at(grants, struct grant, i);

        if (grant->id == id) {
            *ret_grant = *grant;
            vec_remove(grants, i);
            return true;
        }
    }
    return false;
}

void
grants_end_command(struct vec *grants, uint64_t command)
{
    for (size_t i = grants->count; i-- > 0;) {
        struct grant *grant = vec_at(grants, struct grant, i);

        if (grant->command == command) {
            grant_done(grant);
            vec_remove(grants, i);
        }
    }
}

void
grants_done(struct vec *grants)
{
    for (size_t i = 0; i < grants->count; i++) {
        grant_done(vec_at(grants, struct grant, i));
    }
    vec_done(grants);
}

/* Below the target of a grant that has all below. */
static bool
is_below(const struct grant *grant, const char *target)
{
    return grant->request == ABX_REQUEST_HTTP ? policy_url_is_below(target, grant->target)
                                              : path_is_below(target, grant->target);
}

bool
bound_is_upgrade(const char *bound)
{
    return bound != NULL && strcmp(bound, BOUND_UPGRADE) == 0;
}

static bool
covers_bound(const struct grant *grant, const char *bound)
{
    return grant->bound == NULL ? !bound_is_upgrade(bound)
                                : bound != NULL && strcmp(grant->bound, bound) == 0;
}

static bool
covers(const struct grant *grant, const abx_request *request, const char *bound, uint64_t command)
{
    if (grant->request != request->kind || grant->access != request->access ||
            grant->port != request->port || (grant->command != 0 && grant->command != command)) {
        return false;
    }
    if (grant->verb != NULL && (request->verb == NULL || strcmp(grant->verb, request->verb) != 0)) {
        return false;
    }
    if (!covers_bound(grant, bound) || (grant->uses != 0 && grant->held == grant->uses)) {
        return false;
    }
    return grant->below ? is_below(grant, request->target)
                        : strcmp(grant->target, request->target) == 0;
}

/* One whose uses are not counted, if there is such a one. */
static struct grant *
find(struct vec *grants, const abx_request *request, const char *bound, uint64_t command)
{
    struct grant *found = NULL;

    for (size_t i = 0; i < grants->count && (found == NULL || found->uses != 0); i++) {
        struct grant *grant = vec_at(grants, struct grant, i);

        if (covers(grant, request, bound, command) && (found == NULL || grant->uses == 0)) {
            found = grant;
        }
    }
    return found;
}

void
revoked_add(struct revoked *revoked, uint64_t id)
{
    uint64_t *place = vec_add(&revoked->ids);

    if (place == NULL) {
        revoked->is_all = true;
    } else {
        *place = id;
    }
}

bool
revoked_has(const struct revoked *revoked, uint64_t id)
{
    bool found = revoked->is_all;

    for (size_t i = 0; i < revoked->ids.count && !found; i++) {
        found = *vec_at(&revoked->ids, uint64_t, i) == id;
    }
    return found;
}

enum cover
grants_use(struct vec *grants, const abx_request *request, const char *bound, uint64_t command,
        bool take, struct by *ret_by)
{
    struct grant *grant;

    remove_expired(grants);
    grant = find(grants, request, bound, command);
    if (grant == NULL) {
        return COVER_NONE;
    }
    *ret_by = (struct by){ .grant = grant->id, .is_answer = grant->ticket != 0 };
    snprintf(ret_by->approver, sizeof ret_by->approver, "%s",
            grant->approver == NULL ? "" : grant->approver);
    if (grant->uses == 0) {
        return COVER_FREE;
    }
    grant->held += take;
    ret_by->is_held = take;
    return COVER_COUNTED;
}

void
grants_used(struct vec *grants, uint64_t id, bool was_done)
{
    for (size_t i = 0; i < grants->count; i++) {
        struct grant *grant = vec_at(grants, struct grant, i);

        if (grant->id != id) {
            continue;
        }
        grant->held--;
        if (was_done && --grant->uses == 0) {
            grant_done(grant);
            vec_remove(grants, i);
        }
        return;
    }
}

static void
add_text(struct str *out, const char *name, const char *text, bool is_bytes)
{
    str_printf(out, ",\"%s\":", name);
    str_add_json_bytes(out, text, is_bytes);
}

/* Until when, and how often. */
static void
add_bounds(const struct grant *grant, struct str *out)
{
    if (grant->expires_ms != 0) {
        str_printf(out, ",\"expires_ms\":%" PRId64, grant->expires_ms);
    }
    if (grant->uses != 0) {
        str_printf(out, ",\"uses\":%" PRIu32, grant->uses);
    }
}

void
grant_rule(uint64_t id, char ret_rule[GRANT_RULE_SIZE])
{
    snprintf(ret_rule, GRANT_RULE_SIZE, "grant:%" PRIu64, id);
}

void
grant_adds(const struct grant *grant, struct str *out)
{
    const char *access = name_of_access(grant->access);

    str_printf(out, "{\"request\":\"%s\"", name_of_request(grant->request));
    if (grant->request == ABX_REQUEST_HTTP) {
        add_text(out, "method", grant->verb, false);
    }
    if (access != NULL) {
        str_printf(out, ",\"access\":\"%s\"", access);
    }
    add_text(out, "target", grant->target, true);
    if (grant->below) {
        str_add(out, ",\"below\":true");
    }
    if (grant->port != 0) {
        str_printf(out, ",\"port\":%" PRIu32, grant->port);
    }
    if (grant->request == ABX_REQUEST_ACTION) {
        str_printf(out, ",\"arguments\":%s", grant->verb);
    }
    add_bounds(grant, out);
    str_add(out, "}");
}

void
grants_json(const struct vec *grants, struct str *out)
{
    str_add(out, "[");
    for (size_t i = 0; i < grants->count; i++) {
        const struct grant *grant = vec_at(grants, struct grant, i);
        const char *access = name_of_access(grant->access);

        str_printf(out, "%s{\"grant\":%" PRIu64 ",\"request\":\"%s\"", i == 0 ? "" : ",", grant->id,
                name_of_request(grant->request));
        if (access != NULL) {
            str_printf(out, ",\"access\":\"%s\"", access);
        }
        add_text(out, "target", grant->target, true);
        if (grant->port != 0) {
            str_printf(out, ",\"port\":%" PRIu32, grant->port);
        }
        if (grant->verb != NULL) {
            add_text(out, "verb", grant->verb, false);
        }
        if (grant->bound != NULL) {
            str_printf(out, ",\"bound\":%s", grant->bound);
        }
        str_printf(out, ",\"below\":%s", grant->below ? "true" : "false");
        if (grant->command != 0) {
            str_printf(out, ",\"command\":%" PRIu64, grant->command);
        }
        add_bounds(grant, out);
        if (grant->approver != NULL) {
            add_text(out, "approver", grant->approver, false);
        }
        str_add(out, "}");
    }
    str_add(out, "]");
}

uint64_t
grant_deadline(int64_t expires_ms)
{
    int64_t left_ms = expires_ms - event_time_now() / 1000000;
    uint64_t now = clock_now_ns();

    if (expires_ms == 0) {
        return 0;
    }
    if (left_ms <= 0) {
        return 1; /* long ago */
    }
    return left_ms > INT64_MAX / 2000000 ? 0 : now + (uint64_t)left_ms * 1000000u;
}

abx_status
check_expires(int64_t expires_ms, const char *step, struct fail *fail)
{
    if (expires_ms == 0 || expires_ms > event_time_now() / 1000000) {
        return ABX_OK;
    }
    fail_set(fail, ABX_ERR_INVALID, 0, step, "expires_ms is over already");
    fail_remedy(fail, "give milliseconds since 1970 that are still to come");
    return ABX_ERR_INVALID;
}

static bool
is_normal(const char *path)
{
    const char *p = path;

    while (p[0] == '/' && p[1] != '\0') {
        const char *name = p + 1;
        size_t length = strcspn(name, "/");

        if (length == 0 || (length == 1 && name[0] == '.') ||
                (length == 2 && name[0] == '.' && name[1] == '.')) {
            return false;
        }
        p = name + length;
    }
    return path[0] == '/' && (p == path || p[0] == '\0');
}

char *
grant_target(const char *spelled, bool *ret_below)
{
    size_t length;
    AUTO(freep) char *target = text_unescape(spelled, &length);
    bool below;

    if (target == NULL || strlen(target) != length) {
        return NULL;
    }
    below = length >= 3 && strcmp(target + length - 3, "/**") == 0;
    if (below) {
        target[length == 3 ? 1 : length - 3] = '\0';
    }
    if (!is_normal(target)) {
        return NULL;
    }
    *ret_below = below;
    return steal_ptr(&target);
}
