/* SPDX-License-Identifier: Apache-2.0
 * Owns what a layer adds of itself when it is finished: implied rules, protected names and git
 * directories of its writable roots, the sentence that says why, and the index.  Numbers of the
 * rules that the document gave do not change.  Touches the host only through a view, and only if it
 * is given one. */
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "policy/alternative.h"
#include "policy/http.h"
#include "policy/index.h"
#include "policy/layer.h"

#include <stdlib.h>
#include <string.h>

#define REQUESTS_MAX 8u

/* ---- implied rules ---- */

static abx_status
add_implied(struct layer *layer, size_t source, uint32_t access, struct fail *fail)
{
    struct rule implied = *vec_at(&layer->rules, struct rule, source);

    implied.access = access;
    implied.implied = true;
    return layer_add_rule(layer, &implied, fail);
}

static abx_status
imply_from(struct layer *layer, size_t i, struct fail *fail)
{
    const struct rule *rule = vec_at(&layer->rules, struct rule, i);
    abx_verdict verdict = rule->verdict;
    abx_status r = ABX_OK;

    if (rule->kind != ABX_REQUEST_PATH || rule->implied) {
        return ABX_OK;
    }
    if (rule->access == ABX_ACCESS_WRITE && verdict == ABX_VERDICT_ALLOW) {
        return add_implied(layer, i, ABX_ACCESS_READ, fail);
    }
    if (rule->access == ABX_ACCESS_READ && verdict != ABX_VERDICT_ALLOW) {
        r = add_implied(layer, i, ABX_ACCESS_WRITE, fail);
        if (r == ABX_OK && verdict == ABX_VERDICT_DENY) {
            r = add_implied(layer, i, ABX_ACCESS_EXEC, fail);
        }
    }
    return r;
}

/* ---- writable roots ---- */

static bool
is_private(const struct layer *layer, const char *path)
{
    return strcmp(path, "/tmp") == 0 || strcmp(path, "/dev/shm") == 0 ||
           (layer->settings.tmp != NULL && strcmp(path, layer->settings.tmp) == 0);
}

/* A root that is, by its name, (inside) a git directory: no shell or editor looks there. */
static bool
is_git_path(const char *path)
{
    size_t length = strlen(path);

    return strstr(path, "/.git/") != NULL ||
           (length > 4 && memcmp(path + length - 4, ".git", 4) == 0);
}

static abx_status
add_with_twin(struct layer *layer, const struct rule *rule, const struct host_view *host,
        struct fail *fail)
{
    abx_status r = layer_add_rule(layer, rule, fail);

    return r == ABX_OK && host != NULL ? layer_add_twin(layer, rule, host, fail) : r;
}

static abx_status
protect_name(struct layer *layer, const char *root, const char *name, const struct host_view *host,
        struct fail *fail)
{
    static char alternative[] = "leave it as it is, or let the user change it outside the box";
    AUTO(str_done) struct str id = { 0 };
    AUTO(str_done) struct str because = { 0 };
    AUTO(freep) char *path = path_join(root, name);
    AUTO(freep) char *id_text = NULL;
    AUTO(freep) char *because_text = NULL;
    struct rule rule = { .kind = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_WRITE,
        .verdict = ABX_VERDICT_DENY,
        .origin = ORIGIN_PROTECT,
        .is_literal = true,
        .pattern = path,
        .alternative = alternative };

    str_printf(&id, "protect:%s", name);
    str_printf(&because, "'%s' is protected: programs outside the box act on it", name);
    id_text = str_steal(&id, NULL);
    because_text = str_steal(&because, NULL);
    if (path == NULL || id_text == NULL || because_text == NULL) {
        return fail_nomem(fail);
    }
    rule.id = id_text;
    rule.because = because_text;
    return add_with_twin(layer, &rule, host, fail);
}

/* The git directory that a root has, is, or lies in. */
static char *
git_directory_of(const char *root)
{
    const char *inside = strstr(root, "/.git/");

    if (inside != NULL) {
        return strndup(root, (size_t)(inside - root) + strlen("/.git"));
    }
    return is_git_path(root) ? strdup(root) : path_join(root, ".git");
}

static abx_status
add_git_root(struct layer *layer, char *root, const struct host_view *host, struct fail *fail)
{
    static char id[] = "protect:.git", because[] = "the policy keeps the git directory as it is",
                alternative[] = "let the user commit outside the box";
    AUTO(freep) char *path = git_directory_of(root);
    struct rule rule = { .kind = RULE_GIT_ROOT,
        .verdict = ABX_VERDICT_DENY,
        .origin = ORIGIN_PROTECT,
        .is_literal = true,
        .pattern = path,
        .id = id };

    if (path == NULL) {
        return fail_nomem(fail);
    }
    if (!is_git_path(root)) {
        struct rule tree = rule;

        tree.kind = RULE_GIT_TREE;
        tree.pattern = root;
        if (add_with_twin(layer, &tree, host, fail) < 0) {
            return fail->status;
        }
    }
    if (layer->git == GIT_FROZEN) {
        rule.kind = ABX_REQUEST_PATH;
        rule.access = ABX_ACCESS_WRITE;
        rule.because = because;
        rule.alternative = alternative;
    }
    return add_with_twin(layer, &rule, host, fail);
}

static abx_status
protect_root(struct layer *layer, char *root, const struct host_view *host, struct fail *fail)
{
    enum host_kind kind = host == NULL ? HOST_DIRECTORY : host->look(host->data, root);
    abx_status r = ABX_OK;

    if (is_private(layer, root) || kind == HOST_FILE || kind == HOST_OTHER) {
        return ABX_OK;
    }
    if (!is_git_path(root)) {
        for (size_t i = 0; i < layer->protect.count && r == ABX_OK; i++) {
            r = protect_name(layer, root, *vec_at(&layer->protect, char *, i), host, fail);
        }
    }
    if (r == ABX_OK && layer->git != GIT_OFF) {
        r = add_git_root(layer, root, host, fail);
    }
    return r;
}

/* ---- sentences ---- */

static const char *const access_words[] = { [SLOT_READ] = "reading",
    [SLOT_WRITE] = "writing",
    [SLOT_EXEC] = "running",
    [SLOT_SOCKET] = "connecting",
    [SLOT_CONNECT] = "connecting",
    [SLOT_LISTEN] = "listening",
    [SLOT_ACTION] = "doing" };

static void
add_author(struct str *out, const struct layer *layer, const struct rule *rule)
{
    switch (rule->origin) {
    case ORIGIN_PROFILE:
        str_printf(out, "the profile '%s'", layer->profile != NULL ? layer->profile : "");
        return;
    case ORIGIN_SECRET:
        str_add(out, "the list of secrets");
        return;
    case ORIGIN_PROTECT:
        str_add(out, "the list of protected names");
        return;
    case ORIGIN_OWN:
    case ORIGIN_TWIN:
        break;
    }
    str_printf(out, "the policy '%s'", layer->name != NULL ? layer->name : layer->source);
}

static char *
make_sentence(const struct layer *layer, const struct rule *rule)
{
    static const char *const verbs[] = { [ABX_VERDICT_DENY] = "is denied for",
        [ABX_VERDICT_ALLOW] = "is allowed for",
        [ABX_VERDICT_ASK] = "needs an approval for" };
    AUTO(str_done) struct str out = { 0 };

    if (rule->kind == ABX_REQUEST_LISTEN) {
        str_printf(&out, "port %u-%u", rule->port_first, rule->port_last);
    } else {
        str_printf(&out, "'%s'", rule->pattern);
    }
    if (rule->kind == ABX_REQUEST_ACTION) { /* its name says what is done */
        str_printf(&out, " %.*s by ", (int)strlen(verbs[rule->verdict]) - (int)strlen(" for"),
                verbs[rule->verdict]);
    } else {
        str_printf(&out, " %s %s by ", verbs[rule->verdict],
                rule->n_http > 0 ? "requests" : access_words[rule_slot(rule)]);
    }
    add_author(&out, layer, rule);
    if (rule->implied) {
        str_printf(&out, ", as its rule for %s implies",
                rule->access == ABX_ACCESS_READ ? "writing" : "reading");
    }
    return str_steal(&out, NULL);
}

/* What a rule about requests says of those that it does not name. */
static bool
explain_rest(const struct layer *layer, struct rule *rule)
{
    AUTO(str_done) struct str because = { 0 };
    AUTO(str_done) struct str alternative = { 0 };

    if (rule->n_http == 0 || rule->rest_because != NULL) {
        return true;
    }
    str_printf(&because, "only some requests to '%s' are allowed by ", rule->pattern);
    add_author(&because, layer, rule);
    rule->rest_because = rule->reason != NULL ? strdup(rule->reason) : str_steal(&because, NULL);
    for (uint32_t i = 0; i < rule->n_http && i < REQUESTS_MAX; i++) {
        str_printf(&alternative, "%s'%s %s'", i == 0 ? "request " : " or ", rule->http[i].methods,
                rule->http[i].path);
    }
    rule->rest_alternative = str_steal(&alternative, NULL);
    return rule->rest_because != NULL && rule->rest_alternative != NULL;
}

static bool
explain_rules(struct layer *layer)
{
    for (size_t i = 0; i < layer->rules.count; i++) {
        struct rule *rule = vec_at(&layer->rules, struct rule, i);

        if (rule->because == NULL) {
            rule->because =
                    rule->reason != NULL ? strdup(rule->reason) : make_sentence(layer, rule);
        }
        if (rule->because == NULL || !explain_rest(layer, rule)) {
            return false;
        }
    }
    return true;
}

static bool
explain_defaults(const struct layer *layer, struct index *index)
{
    for (enum slot slot = SLOT_READ; slot <= SLOT_ACTION; slot++) {
        AUTO(str_done) struct str reason = { 0 };

        str_printf(&reason, "no rule of the policy '%s' allows %s it",
                layer->name != NULL ? layer->name : layer->source, access_words[slot]);
        index->default_reason[slot] = str_steal(&reason, NULL);
        index->default_alternative[slot] = alternative_make(layer, slot);
        if (index->default_reason[slot] == NULL || index->default_alternative[slot] == NULL) {
            return false;
        }
    }
    return true;
}

/* ---- what requests count as ---- */

static const struct rule *
find_action(const struct layer *layer, const char *name)
{
    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        if (rule->kind == ABX_REQUEST_ACTION && strcmp(rule->pattern, name) == 0) {
            return rule;
        }
    }
    return NULL;
}

/* A request is judged as its action is, where that is stricter. */
static abx_status
link_actions(struct layer *layer, struct fail *fail)
{
    for (size_t i = 0; i < layer->rules.count; i++) {
        struct rule *rule = vec_at(&layer->rules, struct rule, i);

        for (uint32_t k = 0; k < rule->n_http; k++) {
            struct http_rule *http = &rule->http[k];
            const struct rule *action =
                    http->action == NULL ? NULL : find_action(layer, http->action);

            if (http->action != NULL && action == NULL) {
                fail_set(fail, ABX_ERR_POLICY, 0, "policy:/actions",
                        "'%s' names the action '%s', and there is none", http->id, http->action);
                fail_remedy(fail, "add { \"name\": \"%s\", \"verdict\": ... } to actions",
                        http->action);
                return fail->status;
            }
            if (action != NULL && verdict_is_stricter(action->verdict, http->verdict)) {
                http->verdict = action->verdict;
            }
        }
    }
    return ABX_OK;
}

/* ---- all of it ---- */

abx_status
layer_seal(struct layer *layer, const struct host_view *host, struct fail *fail)
{
    size_t n = layer->rules.count;
    abx_status r = link_actions(layer, fail);

    for (size_t i = 0; i < n && r == ABX_OK; i++) {
        r = imply_from(layer, i, fail);
    }
    for (size_t i = 0; i < n && r == ABX_OK; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        if (rule->kind == ABX_REQUEST_PATH && rule->access == ABX_ACCESS_WRITE &&
                rule->is_literal && !rule->implied && rule->verdict == ABX_VERDICT_ALLOW) {
            AUTO(freep) char *root = strdup(rule->pattern); /* rules move when one is added */

            r = root == NULL ? fail_nomem(fail) : protect_root(layer, root, host, fail);
        }
    }
    if (r < 0) {
        return r;
    }
    index_free(layer->index);
    layer->index = explain_rules(layer) ? index_new(layer) : NULL;
    if (layer->index == NULL || !explain_defaults(layer, layer->index)) {
        return fail_nomem(fail);
    }
    return ABX_OK;
}

abx_status
layer_finish(struct layer *layer, struct fail *fail)
{
    return layer_seal(layer, NULL, fail);
}
