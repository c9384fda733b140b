/* SPDX-License-Identifier: Apache-2.0
 * The boundary in words: what a model is told before it starts, so that it need not find the walls
 * by running into them.  Text and markdown say the same; JSON has the same facts for programs.
 * Pure. */
#include "policy/credentials.h"
#include "policy/describe.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX 12u /* names in one list; the rest is counted */
#define PROTECTED_MAX 40u /* of these all are wanted */

/* A list of names that goes on one line. */
struct names {
    struct vec names; /* char *, owned */
    bool failed;
};

static void
names_take(struct names *names, char *name)
{
    char **slot = name == NULL ? NULL : vec_add(&names->names);

    if (slot == NULL) {
        free(name);
        names->failed = true;
        return;
    }
    *slot = name;
}

static void
names_done(struct names *names)
{
    for (size_t i = 0; i < names->names.count; i++) {
        free(*vec_at(&names->names, char *, i));
    }
    vec_done(&names->names);
}

char *
describe_name(const struct rule *rule)
{
    struct str out = { 0 };
    bool is_block = rule->kind == ABX_REQUEST_CONNECT && strchr(rule->pattern, ':') != NULL;

    if (rule->kind == ABX_REQUEST_PATH) {
        return text_escape(rule->pattern, strlen(rule->pattern), false);
    }
    str_printf(&out, is_block ? "[%s]" : "%s",
            rule->pattern == NULL       ? "port"
            : rule_opens_loopback(rule) ? "localhost"
                                        : rule->pattern);
    if (rule->port_last != 0) {
        str_printf(&out, ":%u", rule->port_first);
    }
    if (rule->port_last != rule->port_first) {
        str_printf(&out, "-%u", rule->port_last);
    }
    return str_steal(&out, NULL);
}

bool
describe_tells(const struct rule *rule, uint32_t kind, uint32_t access, abx_verdict verdict)
{
    return !rule->implied && rule->origin != ORIGIN_TWIN && rule->origin != ORIGIN_PROTECT &&
           rule->kind == kind && rule->access == access && rule->verdict == verdict;
}

static struct names
rules_of(const struct layer *layer, uint32_t kind, uint32_t access, abx_verdict verdict)
{
    struct names names = { .names = VEC(char *) };

    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        if (describe_tells(rule, kind, access, verdict) && rule->n_http == 0) {
            names_take(&names, describe_name(rule));
        }
    }
    return names;
}

static struct names
hosts_of(const struct layer *layer, abx_verdict verdict)
{
    struct names names = { .names = VEC(char *) };

    names.failed = !describe_hosts(layer, verdict, &names.names);
    return names;
}

/* ---- text and markdown ------------------------------------------------------------------------
 */

struct page {
    struct str out;
    bool markdown;
};

static void
title(struct page *page, const char *text)
{
    str_printf(&page->out, page->markdown ? "## %s\n\n" : "%s\n", text);
}

static void
line_start(struct page *page, const char *label)
{
    str_printf(&page->out, page->markdown ? "* **%s:** " : "- %s: ", label);
}

static void
put_names(struct page *page, struct names *names, size_t most)
{
    size_t n = names->names.count;
    const char *quote = page->markdown ? "`" : "";

    for (size_t i = 0; i < n && i < most; i++) {
        str_printf(&page->out, "%s%s%s%s", i == 0 ? "" : ", ", quote,
                *vec_at(&names->names, char *, i), quote);
    }
    if (n > most) {
        str_printf(&page->out, " and %zu more", n - most);
    }
    page->out.failed |= names->failed;
    names_done(names);
}

static bool
is_empty(const struct names *names)
{
    return names->names.count == 0 && !names->failed;
}

/* "LABEL: names", or nothing if there are none. */
static void
names_line(struct page *page, const char *label, struct names names, size_t most)
{
    if (is_empty(&names)) {
        names_done(&names);
        return;
    }
    line_start(page, label);
    put_names(page, &names, most);
    str_add(&page->out, "\n");
}

static void
access_lines(struct page *page, const struct layer *layer, uint32_t access, const char *can,
        const char *ask, const char *cannot, const char *nothing)
{
    struct names allowed = rules_of(layer, ABX_REQUEST_PATH, access, ABX_VERDICT_ALLOW);

    line_start(page, can);
    if (is_empty(&allowed)) {
        str_add(&page->out, nothing);
        names_done(&allowed);
    } else {
        put_names(page, &allowed, SHOWN_MAX);
        str_add(&page->out, " and what lies below");
    }
    str_add(&page->out, "\n");
    names_line(page, ask, rules_of(layer, ABX_REQUEST_PATH, access, ABX_VERDICT_ASK), SHOWN_MAX);
    names_line(
            page, cannot, rules_of(layer, ABX_REQUEST_PATH, access, ABX_VERDICT_DENY), SHOWN_MAX);
}

static struct names
texts_of(const struct vec *texts)
{
    struct names names = { .names = VEC(char *) };

    for (size_t i = 0; i < texts->count; i++) {
        names_take(&names, strdup(*vec_at(texts, char *, i)));
    }
    return names;
}

static void
file_lines(struct page *page, const struct layer *layer)
{
    if (layer->has_read) {
        access_lines(page, layer, ABX_ACCESS_READ, "May be read", "Read only after a person agreed",
                "May not be read", "nothing but what may be written");
    }
    if (layer->has_write) {
        access_lines(page, layer, ABX_ACCESS_WRITE, "May be written",
                "Written only after a person agreed", "May not be written", "nothing");
        names_line(page, "Never written, wherever they stand or would stand",
                texts_of(&layer->protect), PROTECTED_MAX);
    }
    if (layer->has_write && layer->git == GIT_FROZEN) {
        line_start(page, "Git");
        str_add(&page->out, "the repository's own directory (.git) may not be changed\n");
    } else if (layer->has_write && layer->git == GIT_MEANING) {
        line_start(page, "Git");
        str_add(&page->out, "git works; hooks, and configuration that runs programs, may not be "
                            "added or changed\n");
    }
    if (layer->settings.restricts_exec) {
        names_line(page, "Only these programs run",
                rules_of(layer, ABX_REQUEST_PATH, ABX_ACCESS_EXEC, ABX_VERDICT_ALLOW), SHOWN_MAX);
    }
    names_line(page, "Programs that run only after a person agreed",
            rules_of(layer, ABX_REQUEST_PATH, ABX_ACCESS_EXEC, ABX_VERDICT_ASK), SHOWN_MAX);
    names_line(page, "Programs that may not run",
            rules_of(layer, ABX_REQUEST_PATH, ABX_ACCESS_EXEC, ABX_VERDICT_DENY), SHOWN_MAX);
}

static void
input_line(struct page *page, const struct layer *layer)
{
    struct names names = { .names = VEC(char *) };

    for (size_t i = 0; i < layer->settings.n_inputs; i++) {
        struct str path = { 0 };

        str_printf(&path, "/task/in/%s", layer->settings.inputs[i].as);
        names_take(&names, str_steal(&path, NULL));
    }
    names_line(page, "Input files", names, SHOWN_MAX);
}

/* "GET HEAD /v1/x", and what stands in its way. */
static char *
request_name(const struct http_rule *http)
{
    struct str out = { 0 };

    str_printf(&out, "%s %s%s", http->methods, http->path,
            http->verdict == ABX_VERDICT_ASK    ? " (after a person agreed)"
            : http->verdict == ABX_VERDICT_DENY ? " (denied)"
                                                : "");
    return str_steal(&out, NULL);
}

static void
request_lines(struct page *page, const struct layer *layer)
{
    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);
        struct names names = { .names = VEC(char *) };
        AUTO(freep) char *host = rule->n_http == 0 ? NULL : describe_name(rule);
        AUTO(str_done) struct str label = { 0 };

        if (rule->n_http == 0) {
            continue;
        }
        str_printf(&label, "To %s only these requests", host == NULL ? "" : host);
        for (uint32_t k = 0; k < rule->n_http; k++) {
            names_take(&names, request_name(&rule->http[k]));
        }
        page->out.failed |= host == NULL || label.failed;
        names_line(page, label.failed ? "" : label.data, names, SHOWN_MAX);
    }
}

static void
action_lines(struct page *page, const struct layer *layer)
{
    names_line(page, "Actions that may be taken",
            rules_of(layer, ABX_REQUEST_ACTION, 0, ABX_VERDICT_ALLOW), SHOWN_MAX);
    names_line(page, "Actions taken only after a person agreed",
            rules_of(layer, ABX_REQUEST_ACTION, 0, ABX_VERDICT_ASK), SHOWN_MAX);
    names_line(page, "Actions that may not be taken",
            rules_of(layer, ABX_REQUEST_ACTION, 0, ABX_VERDICT_DENY), SHOWN_MAX);
    for (size_t i = 0, shown = 0; i < layer->rules.count && shown < SHOWN_MAX; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);
        struct names names = { .names = VEC(char *) };
        AUTO(str_done) struct str label = { 0 };

        if (rule->action != NULL && rule->verdict != ABX_VERDICT_DENY) {
            shown++;
            str_printf(&label, "Action %s takes", rule->pattern);
            names_take(&names, describe_action(rule));
            page->out.failed |= label.failed;
            names_line(page, label.failed ? "" : label.data, names, SHOWN_MAX);
        }
    }
}

/* What stands for a secret, and where it may be used. */
static void
credential_lines(struct page *page, const struct layer *layer)
{
    for (size_t i = 0; i < layer->settings.n_credentials; i++) {
        const struct policy_credential *credential = &layer->settings.credentials[i];
        struct names names = { .names = VEC(char *) };
        AUTO(str_done) struct str label = { 0 };

        str_printf(&label, "Credential %s", credential->name);
        if (credential->env != NULL) {
            str_printf(&label, ", of which $%s holds a stand-in", credential->env);
        }
        str_add(&label, ", works only in requests to");
        for (size_t k = 0; k < credential->n_hosts; k++) {
            names_take(&names, strdup(credential->hosts[k].text));
        }
        page->out.failed |= label.failed;
        names_line(page, label.failed ? "" : label.data, names, SHOWN_MAX);
    }
}

static void
network_lines(struct page *page, const struct layer *layer)
{
    if (!layer->has_network) {
        return;
    }
    line_start(page, "Network");
    switch (layer->settings.network) {
    case NETWORK_NONE:
        str_add(&page->out, "none; only servers started in the box, on its own loopback\n");
        return;
    case NETWORK_HOST:
        str_add(&page->out, "the host's, not confined\n");
        return;
    case NETWORK_FILTERED:
        break;
    }
    str_add(&page->out, "only by name to the hosts listed here\n");
    names_line(page, "Hosts that may be reached", hosts_of(layer, ABX_VERDICT_ALLOW), SHOWN_MAX);
    names_line(page, "Hosts reached only after a person agreed", hosts_of(layer, ABX_VERDICT_ASK),
            SHOWN_MAX);
    names_line(page, "Hosts that may not be reached", hosts_of(layer, ABX_VERDICT_DENY), SHOWN_MAX);
    request_lines(page, layer);
}

const struct limit_text limit_texts[LIMIT_TEXTS] = {
    { ABX_LIMIT_WALL_MS, "wall_ms", "ms for a command" },
    { ABX_LIMIT_CPU_MS, "cpu_ms", "ms of processor time for a command" },
    { ABX_LIMIT_PROCESSES, "processes", "processes" },
    { ABX_LIMIT_MEMORY, "memory", "bytes of memory" },
    { ABX_LIMIT_FILE_SIZE, "file_size", "bytes in a file" },
    { ABX_LIMIT_OUTPUT, "output", "bytes of output kept" },
};

static void
limit_line(struct page *page, const struct policy_settings *settings)
{
    bool first = true;

    for (size_t i = 0; i < LIMIT_TEXTS; i++) {
        uint64_t value = settings->limits[limit_texts[i].limit];

        if (value == 0) {
            continue;
        }
        if (first) {
            line_start(page, "Limits");
        }
        str_printf(&page->out, "%s%llu %s", first ? "" : ", ", (unsigned long long)value,
                limit_texts[i].what);
        first = false;
    }
    str_add(&page->out, first ? "" : "\n");
}

static bool
asks(const abx_policy *policy)
{
    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);

        for (size_t k = 0; k < layer->rules.count; k++) {
            if (vec_at(&layer->rules, struct rule, k)->verdict == ABX_VERDICT_ASK) {
                return true;
            }
        }
    }
    return false;
}

static bool
is_filtered(const abx_policy *policy)
{
    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);

        if (layer->settings.network == NETWORK_FILTERED) {
            return true;
        }
    }
    return false;
}

static void
advice_lines(struct page *page, const abx_policy *policy)
{
    line_start(page, "When something is denied");
    str_add(&page->out,
            "the call fails at once with 'Permission denied' and the reason is reported "
            "with the result. ");
    str_add(&page->out,
            !is_filtered(policy)
                    ? ""
                    : "Programs that use the proxy of the environment, such as curl, git and pip, "
                      "say of a "
                      "denied host 'CONNECT tunnel failed, response 403' instead; a request by "
                      "plain http "
                      "gets the answer 403, with the reason in its body, and curl then exits 0. ");
    str_add(&page->out,
            "It is the policy, no fault of the system: trying again or "
            "another way does not help. Use the alternative that the report names, or say "
            "what is needed and why\n");
    if (asks(policy)) {
        line_start(page, "When a person is asked");
        str_printf(&page->out,
                "the call waits, up to %llu seconds; once granted it goes on by itself, and the "
                "command "
                "need not be run again\n",
                (unsigned long long)(policy->settings.approval_timeout_ms / 1000));
        if (policy->settings.consent.approvers > 1) {
            line_start(page, "Who agrees");
            str_add(&page->out, "two different people for each\n");
        }
    }
}

static char *
describe_words(const abx_policy *policy, bool markdown, size_t *ret_length)
{
    struct page page = { .markdown = markdown };

    title(&page, "Commands run inside a boundary");
    for (size_t i = 0; i < policy->layers.count; i++) {
        const struct layer *layer = *vec_at(&policy->layers, struct layer *, i);

        if (policy->layers.count > 1) {
            str_printf(&page.out,
                    markdown ? "%sWhat **%s** allows (all of these count):\n\n"
                             : "%sWhat '%s' allows (all of these count):\n",
                    i == 0 ? "" : "\n", layer->source);
        }
        file_lines(&page, layer);
        input_line(&page, layer);
        network_lines(&page, layer);
        credential_lines(&page, layer);
        action_lines(&page, layer);
    }
    str_add(&page.out, policy->layers.count > 1 ? "\n" : "");
    line_start(&page, "Private to the box");
    str_add(&page.out, "/tmp, which is empty at first and gone at the end\n");
    limit_line(&page, &policy->settings);
    advice_lines(&page, policy);
    return str_steal(&page.out, ret_length);
}

abx_status
policy_describe(abx_policy *policy, const char *format, char **ret_text, size_t *ret_length,
        struct fail *fail)
{
    size_t length = 0;
    char *text;

    if (strcmp(format, "json") == 0) {
        text = describe_json(policy, &length);
    } else if (strcmp(format, "markdown") == 0 || strcmp(format, "text") == 0) {
        text = describe_words(policy, format[0] == 'm', &length);
    } else {
        return fail_set(fail, ABX_ERR_INVALID, 0, "", "there is no format '%s'", format);
    }
    if (text == NULL) {
        return fail_nomem(fail);
    }
    *ret_text = text;
    if (ret_length != NULL) {
        *ret_length = length;
    }
    return ABX_OK;
}
