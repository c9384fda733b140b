/* SPDX-License-Identifier: Apache-2.0
 * Owns the text of a suggestion: the document of the given policy, where only what is needed stands
 * in the lists that allow.  All else is taken over, so what the given policy denies, asks about or
 * protects stays so.  Changes nothing. */
#include "supervise/suggest.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/path.h"
#include "policy/builder.h"
#include "policy/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

DEFINE_CLEANUP(json_free, struct json)

struct writing {
    const struct suggestion *suggestion;
    const struct json *given; /* the canonical document */
    struct str out;
};

/* ---- paths, for whoever uses the policy next ---- */

/* What follows the value of a variable in a path as a document spells it; NULL: it lies elsewhere.
 */
static const char *
skip_value(const char *path, const char *value)
{
    for (; *value != '\0'; value++, path++) {
        const bool is_escaped = *path == '\\';

        path += is_escaped;
        if (*path != *value || (!is_escaped && strchr("*?[", *value) != NULL)) {
            return NULL;
        }
    }
    return *path == '\0' || *path == '/' ? path : NULL;
}

static void
add_path(struct writing *w, const char *path)
{
    static const struct {
        const char *name, *spelling;
    } variables[] = {
        { "workspace", "${workspace}" },
        { "output", "${output}" },
        { "home", "~" },
    };
    const struct json *values = json_member(w->given, "variables");
    const char *rest = path, *spelling = "";
    struct str text = { 0 };

    for (size_t i = 0; i < N_ELEMENTS(variables); i++) {
        const struct json *value = json_member(values, variables[i].name);
        const char *end = value == NULL || strcmp(json_text(value), "/") == 0
                                  ? NULL
                                  : skip_value(path, json_text(value));

        if (end != NULL && end > rest) {
            rest = end;
            spelling = variables[i].spelling;
        }
    }
    str_printf(&text, "%s%s", spelling, rest);
    str_add_json(&w->out, text.data == NULL ? "" : text.data);
    w->out.failed |= text.failed;
    str_done(&text);
}

static const struct json *
path_of(const struct json *entry)
{
    return json_kind_of(entry) == JSON_KIND_TEXT ? entry : json_member(entry, "path");
}

/* A secret that a profile lists: its path says it. */
static bool
is_of_profile(const struct json *entry)
{
    const struct json *id = json_member(entry, "id");

    return id != NULL && strncmp(json_text(id), "secret:", strlen("secret:")) == 0;
}

static bool
copy_path_member(void *data, const char *key, const struct json *value)
{
    struct writing *w = data;

    emit_key(&w->out, key);
    if (strcmp(key, "path") == 0 || strcmp(key, "from") == 0) {
        add_path(w, json_text(value));
    } else {
        json_write(&w->out, value);
    }
    return true;
}

/* Elements that are paths, or have one. */
static void
copy_paths(struct writing *w, const struct json *paths)
{
    for (size_t i = 0; i < json_count(paths); i++) {
        const struct json *entry = json_element(paths, i);

        emit_next(&w->out);
        if (json_kind_of(entry) == JSON_KIND_TEXT || is_of_profile(entry)) {
            add_path(w, json_text(path_of(entry)));
            continue;
        }
        str_add(&w->out, "{");
        json_each_member(entry, copy_path_member, w);
        str_add(&w->out, "}");
    }
}

static void
copy_path_list(struct writing *w, const struct json *section, const char *name)
{
    if (section != NULL && json_member(section, name) != NULL) {
        emit_key(&w->out, name);
        str_add(&w->out, "[");
        copy_paths(w, json_member(section, name));
        str_add(&w->out, "]");
    }
}

/* ---- what is needed ---- */
static void
add_reason(struct writing *w, const char *programs)
{
    struct str reason = { 0 };

    if (programs == NULL || programs[0] == '\0') {
        return;
    }
    str_printf(&reason, "needed by %s", programs);
    emit_key(&w->out, "reason");
    str_add_json(&w->out, reason.data == NULL ? "" : reason.data);
    w->out.failed |= reason.failed;
    str_done(&reason);
}

static void
add_literal(struct writing *w, const char *path)
{
    AUTO(freep) char *text = variable_spell(path, true);

    w->out.failed |= text == NULL;
    add_path(w, text == NULL ? "" : text);
}

static void
add_needs(struct writing *w, const struct needs *needs)
{
    for (size_t i = 0; i < needs->list.count; i++) {
        const struct need *need = vec_at(&needs->list, struct need, i);

        emit_next(&w->out);
        str_add(&w->out, "{");
        emit_key(&w->out, "path");
        add_literal(w, need->path);
        add_reason(w, need->programs.data);
        str_add(&w->out, "}");
    }
}

/* To allow writing is to allow reading, unless a rule for the same place says otherwise. */
static void
add_unread_writes(struct writing *w, abx_verdict verdict)
{
    const struct vec *writes = &w->suggestion->writes.list;

    for (size_t i = 0; i < writes->count; i++) {
        const char *path = vec_at(writes, struct need, i)->path;
        struct ruling ruling;

        suggest_rule(w->suggestion, ABX_ACCESS_READ, path, &ruling);
        if (!ruling.from_default && ruling.verdict == verdict) {
            emit_next(&w->out);
            add_literal(w, path);
        }
    }
}

/* ---- sections of paths ---- */
static bool
has_path(const struct json *section, const char *list, const char *path)
{
    const struct json *paths = section == NULL ? NULL : json_member(section, list);

    for (size_t i = 0; paths != NULL && i < json_count(paths); i++) {
        if (strcmp(json_text(path_of(json_element(paths, i))), path) == 0) {
            return true;
        }
    }
    return false;
}

/* Secrets that the given policy has no rule about. */
static void
add_secrets(struct writing *w, const struct json *section)
{
    const char *home = w->suggestion->settings->home;

    for (const char *const *path = secret_paths(); *path != NULL; path++) {
        AUTO(freep) char *text = NULL;
        struct str place = { 0 };

        if (**path == '~' && home == NULL) {
            continue;
        }
        str_printf(&place, "%s%s", **path == '~' ? home : "", *path + (**path == '~'));
        text = place.failed ? NULL : variable_spell(place.data, true);
        w->out.failed |= text == NULL;
        if (text != NULL && !has_path(section, "allow", text) && !has_path(section, "ask", text) &&
                !has_path(section, "deny", text)) {
            emit_next(&w->out);
            str_add_json(&w->out, *path);
        }
        str_done(&place);
    }
}

static void
write_reads(struct writing *w, const struct json *section)
{
    const struct suggestion *s = w->suggestion;

    emit_key(&w->out, "read");
    str_add(&w->out, "{\"allow\":[");
    for (const char *const *path = system_directories; *path != NULL; path++) {
        if (suggest_look(s, *path) != HOST_MISSING &&
                !suggest_is_closed(s, ABX_ACCESS_READ, *path)) {
            emit_next(&w->out);
            str_add_json(&w->out, *path);
        }
    }
    add_needs(w, &s->reads);
    str_add(&w->out, "],\"ask\":[");
    copy_paths(w, section == NULL ? NULL : json_member(section, "ask"));
    add_unread_writes(w, ABX_VERDICT_ASK);
    str_add(&w->out, "],\"deny\":[");
    copy_paths(w, section == NULL ? NULL : json_member(section, "deny"));
    add_unread_writes(w, ABX_VERDICT_DENY);
    add_secrets(w, section);
    str_add(&w->out, "]}");
}

static bool
is_needed(const struct needs *needs, const char *spelled)
{
    bool is_there = false;

    for (size_t i = 0; !is_there && i < needs->list.count; i++) {
        AUTO(freep)
        char *text = variable_spell(vec_at(&needs->list, struct need, i)->path, true);

        is_there = text != NULL && strcmp(text, spelled) == 0;
    }
    return is_there;
}

/* Names are protected in a place that a rule lets be written to, and not in /tmp: what the given
 * policy has there as such a place stays one. */
static void
add_temporary(struct writing *w, const struct json *section)
{
    const struct json *paths = section == NULL ? NULL : json_member(section, "allow");

    str_add(&w->out, "\"/tmp\"");
    for (size_t i = 0; paths != NULL && i < json_count(paths); i++) {
        const char *path = json_text(path_of(json_element(paths, i)));

        if (path_is_below(path, "/tmp") && !is_needed(&w->suggestion->writes, path)) {
            emit_next(&w->out);
            add_path(w, path);
        }
    }
}

static void
write_writes(struct writing *w, const struct json *section)
{
    emit_key(&w->out, "write");
    str_add(&w->out, "{\"allow\":[");
    if (!suggest_is_closed(w->suggestion, ABX_ACCESS_WRITE, "/tmp")) {
        add_temporary(w, section);
    }
    add_needs(w, &w->suggestion->writes);
    str_add(&w->out, "]");
    copy_path_list(w, section, "ask");
    copy_path_list(w, section, "deny");
    str_add(&w->out, "}");
}

static void
write_programs(struct writing *w, const struct json *section)
{
    const struct json *allowed = json_member(section, "allow");

    emit_key(&w->out, "exec");
    str_add(&w->out, "{");
    if (allowed != NULL) {
        emit_key(&w->out, "allow");
        str_add(&w->out, "[");
        copy_paths(w, allowed);
        add_needs(w, &w->suggestion->programs);
        str_add(&w->out, "]");
    }
    copy_path_list(w, section, "ask");
    copy_path_list(w, section, "deny");
    str_add(&w->out, "}");
}

static void
write_filesystem(struct writing *w)
{
    const struct json *section = json_member(w->given, "filesystem");

    emit_key(&w->out, "filesystem");
    str_add(&w->out, "{");
    write_reads(w, json_member(section, "read"));
    write_writes(w, json_member(section, "write"));
    if (json_member(section, "exec") != NULL) {
        write_programs(w, json_member(section, "exec"));
    }
    copy_path_list(w, section, "inputs");
    emit_key(&w->out, "protect");
    json_write(&w->out, json_member(section, "protect"));
    copy_path_list(w, section, "decoys");
    str_add(&w->out, "}");
}

/* ---- hosts ---- */
static bool
is_name(const char *host)
{
    return strchr(host, ':') == NULL && strspn(host, "0123456789.") != strlen(host);
}

/* Of a connection that was made; false: it is something else. */
static bool
rule_connection(const struct writing *w, const struct observation *one, struct ruling *ruling)
{
    const abx_request request = { .size = sizeof request,
        .kind = ABX_REQUEST_CONNECT,
        .target = one->target,
        .port = one->port };

    if (one->request != ABX_REQUEST_CONNECT) {
        return false;
    }
    policy_decide(w->suggestion->box->observed->strict, &request, ruling);
    return true;
}

/* Whether the rule that has this id let a connection through. */
static bool
is_used(const struct writing *w, const char *id)
{
    const struct vec *seen = &w->suggestion->seen;
    struct ruling ruling;

    for (size_t i = 0; i < seen->count; i++) {
        if (rule_connection(w, vec_at(seen, struct observation, i), &ruling) &&
                !ruling.from_default && strcmp(ruling.id, id) == 0) {
            return true;
        }
    }
    return false;
}

static bool
is_entry_used(const struct writing *w, const struct json *entry, size_t i)
{
    const struct json *id =
            json_kind_of(entry) == JSON_KIND_OBJECT ? json_member(entry, "id") : NULL;
    char place[48];

    snprintf(place, sizeof place, "/network/allow/%zu", i);
    return is_used(w, id == NULL ? place : json_text(id));
}

static const char *
host_of(const struct json *entry)
{
    return json_text(json_kind_of(entry) == JSON_KIND_OBJECT ? json_member(entry, "host") : entry);
}

/* All entries of a host are one, since each may be about other requests. */
static void
copy_used_hosts(struct writing *w, const struct json *hosts)
{
    for (size_t i = 0; hosts != NULL && i < json_count(hosts); i++) {
        const struct json *entry = json_element(hosts, i);
        bool is_wanted = false;

        for (size_t j = 0; !is_wanted && j < json_count(hosts); j++) {
            is_wanted = strcmp(host_of(entry), host_of(json_element(hosts, j))) == 0 &&
                        is_entry_used(w, json_element(hosts, j), j);
        }
        if (is_wanted) {
            emit_next(&w->out);
            json_write(&w->out, entry);
        }
    }
}

static void
add_new_hosts(struct writing *w)
{
    const struct vec *seen = &w->suggestion->seen;
    struct ruling ruling;

    for (size_t i = 0; i < seen->count; i++) {
        const struct observation *one = vec_at(seen, struct observation, i);
        struct str host = { 0 };

        if (rule_connection(w, one, &ruling) && ruling.from_default && is_name(one->target)) {
            str_printf(&host, "%s:%u", one->target, one->port);
            emit_next(&w->out);
            str_add(&w->out, "{");
            emit_text(&w->out, "host", host.data);
            add_reason(w, one->programs.data);
            str_add(&w->out, "}");
        }
        w->out.failed |= host.failed;
        str_done(&host);
    }
}

static bool
copy_network_member(void *data, const char *key, const struct json *value)
{
    struct writing *w = data;

    if (strcmp(key, "mode") != 0 && strcmp(key, "allow") != 0) {
        emit_key(&w->out, key);
        json_write(&w->out, value);
    }
    return true;
}

static void
write_network(struct writing *w)
{
    const struct json *given = json_member(w->given, "network");
    const enum network_mode mode = w->suggestion->settings->network;
    struct writing allow = { w->suggestion, w->given, { 0 } };

    str_add(&allow.out, "[");
    copy_used_hosts(&allow, json_member(given, "allow"));
    add_new_hosts(&allow);
    str_add(&allow.out, "]");
    emit_key(&w->out, "network");
    str_add(&w->out, "{");
    emit_text(&w->out, "mode",
            network_words[mode == NETWORK_NONE && allow.out.length > 2 ? NETWORK_FILTERED : mode]);
    if (allow.out.length > 2) {
        emit_key(&w->out, "allow");
        str_add(&w->out, allow.out.data);
    }
    json_each_member(given, copy_network_member, w);
    str_add(&w->out, "}");
    w->out.failed |= allow.out.failed;
    str_done(&allow.out);
}

/* ---- the rest ---- */

/* A home is whose the box is. */
static bool
copy_variable(void *data, const char *key, const struct json *value)
{
    struct writing *w = data;
    const struct json *home = json_member(json_member(w->given, "variables"), "home");

    if (strcmp(key, "HOME") != 0 || home == NULL ||
            strcmp(json_text(home), json_text(value)) != 0) {
        emit_key(&w->out, key);
        json_write(&w->out, value);
    }
    return true;
}

static bool
copy_environment(void *data, const char *key, const struct json *value)
{
    struct writing *w = data;

    emit_key(&w->out, key);
    if (strcmp(key, "set") == 0) {
        str_add(&w->out, "{");
        json_each_member(value, copy_variable, w);
        str_add(&w->out, "}");
    } else {
        json_write(&w->out, value);
    }
    return true;
}

static bool
copy_section(void *data, const char *key, const struct json *value)
{
    static const char *const written[] = { "version", "name", "source", "variables", "filesystem",
        "network" };
    struct writing *w = data;
    const enum json_kind kind = json_kind_of(value);

    for (size_t i = 0; i < N_ELEMENTS(written); i++) {
        if (strcmp(key, written[i]) == 0) {
            return true;
        }
    }
    if (kind == JSON_KIND_OBJECT && json_count(value) == 0) {
        return true;
    }
    emit_key(&w->out, key);
    if (strcmp(key, "environment") == 0) {
        str_add(&w->out, "{");
        json_each_member(value, copy_environment, w);
        str_add(&w->out, "}");
    } else {
        json_write(&w->out, value);
    }
    return true;
}

char *
suggestion_write(const struct suggestion *s, size_t *ret_length)
{
    size_t length;
    struct json_problem problem;
    AUTO(freep) char *text = emit_policy(s->box->policy, &length);
    AUTO(json_freep)
    struct json *given = text == NULL ? NULL : json_read(text, length, JSON_NESTING_MAX, &problem);
    struct writing w = { s, given, { 0 } };
    AUTO(freep) char *flat = NULL;

    if (given == NULL) {
        return NULL;
    }
    str_add(&w.out, "{\"version\":1,\"name\":\"learned\"");
    write_filesystem(&w);
    write_network(&w);
    json_each_member(given, copy_section, &w);
    str_add(&w.out, "}");
    flat = str_steal(&w.out, &length);
    return flat == NULL ? NULL : json_indent(flat, length, ret_length);
}
