/* SPDX-License-Identifier: Apache-2.0
 * Owns the index of a finished layer: one hash table holds the keys of all rules (literal paths,
 * what says most of a pattern, host names and suffixes, address blocks, names of sockets and
 * actions), and one those of requests.  pick.c searches them.  Knows one layer only.  Immutable
 * once made, any thread. */
#include "policy/index.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static uint64_t
hash_path(const struct path_split *path)
{
    uint64_t hash = SALT_PATH;

    for (uint32_t i = 0; i < path->n; i++) {
        hash = hash_prefix(hash, hash_component(path, i));
    }
    return hash;
}

uint64_t
index_owner(uint32_t rule)
{
    return hash_bytes(SALT_REQUEST, &rule, sizeof rule);
}

enum slot
rule_slot(const struct rule *rule)
{
    if (rule->kind == ABX_REQUEST_CONNECT) {
        return SLOT_CONNECT;
    }
    if (rule->kind == ABX_REQUEST_LISTEN) {
        return SLOT_LISTEN;
    }
    if (rule->kind == ABX_REQUEST_SOCKET) {
        return SLOT_SOCKET;
    }
    if (rule->kind == ABX_REQUEST_ACTION) {
        return SLOT_ACTION;
    }
    return rule->access == ABX_ACCESS_READ   ? SLOT_READ
           : rule->access == ABX_ACCESS_EXEC ? SLOT_EXEC
                                             : SLOT_WRITE;
}

static uint64_t
strictness(abx_verdict verdict)
{
    return verdict == ABX_VERDICT_DENY ? 2 : verdict == ABX_VERDICT_ASK;
}

uint64_t
rule_rank(const struct rule *rule, uint32_t matched)
{
    return (uint64_t)matched << 6 | (uint64_t)!rule->opens_private << 5 |
           (uint64_t)!rule->implied << 4 | (uint64_t)rule->is_literal << 3 |
           (uint64_t)(rule->n_http > 0) << 2 | strictness(rule->verdict);
}

uint64_t
http_rank(const struct rule *rule, uint32_t matched, const struct http_rule *http,
        uint32_t path_matched)
{
    bool is_rest = rule->n_http > 0 && http == NULL;

    return (uint64_t)matched << 32 | (uint64_t)!rule->opens_private << 31 |
           (uint64_t)path_matched << 4 | (uint64_t)!is_rest << 3 |
           (uint64_t)(http != NULL && http->is_literal) << 2 |
           strictness(http != NULL ? http->verdict
                      : is_rest    ? ABX_VERDICT_DENY
                                   : rule->verdict);
}

static bool
rule_covers_port(const struct rule *rule, uint32_t port)
{
    if (rule->port_first == 0 && rule->port_last == 0) {
        return rule->verdict == ABX_VERDICT_DENY || port == 80 || port == 443;
    }
    return port >= rule->port_first && port <= rule->port_last;
}

bool
rule_opens(const struct rule *rule, uint32_t port)
{
    return rule->opens_private && rule_covers_port(rule, port);
}

bool
rule_opens_loopback(const struct rule *rule)
{
    return rule->kind == ABX_REQUEST_CONNECT && rule->opens_private &&
           strncmp(rule->pattern, "127.", 4) == 0;
}

/* What the policy lets through by chance, as by 0.0.0.0/0, does not open an address that is closed.
 */
bool
rule_can_speak(const struct rule *rule, uint32_t port, bool is_closed)
{
    return rule->kind == ABX_REQUEST_CONNECT && rule_covers_port(rule, port) &&
           (rule->verdict == ABX_VERDICT_DENY || rule->opens_private || !is_closed);
}

/* ---- building ---- */

static bool
put_loose(struct index *index, uint32_t rule)
{
    uint32_t *slot = vec_add(&index->loose);

    if (slot != NULL) {
        *slot = rule;
    }
    return slot != NULL;
}

static bool
put_host(struct index *index, const struct host_pattern *host, uint32_t rule)
{
    switch (host->form) {
    case HOST_NAME:
        key_table_put(&index->keys, hash_bytes(SALT_NAME, host->name, host->length), rule);
        return true;
    case HOST_SUBDOMAINS:
    case HOST_BOTH:
        key_table_put(&index->keys, hash_bytes(SALT_SUFFIX, host->name, host->length), rule);
        return true;
    case HOST_ADDRESS:
        key_table_put(&index->keys, hash_block(host->bytes, host->prefix), rule);
        index->prefixes[host->prefix / 8] |= (uint8_t)(1u << host->prefix % 8);
        return true;
    case HOST_ANY_PUBLIC:
        break;
    }
    return put_loose(index, rule);
}

static void
put_requests(struct index *index, const struct key_table *counts, const struct rule *rule,
        uint32_t number)
{
    for (uint32_t i = rule->n_http; i-- > 0;) {
        key_table_put(&index->requests,
                key_of_pattern(
                        &index->requests, rule->http[i].pattern, counts, index_owner(number)),
                i);
    }
}

static bool
put_rule(struct index *index, const struct key_table *counts, const struct rule *rule,
        uint32_t number)
{
    struct path_split split;
    uint64_t key;

    if (rule->kind == ABX_REQUEST_CONNECT) {
        put_requests(index, counts, rule, number);
        return put_host(index, rule->matcher, number);
    }
    if (rule->kind == ABX_REQUEST_LISTEN) {
        return put_loose(index, number);
    }
    if (rule->matcher != NULL) {
        key = key_of_pattern(&index->keys, rule->matcher, counts, 0);
        if (key == 0) {
            return put_loose(index, number);
        }
    } else if (path_split(rule->pattern, &split)) {
        key = hash_path(&split);
    } else { /* "@name", or an action */
        key = hash_bytes(SALT_PATH, rule->pattern, strlen(rule->pattern));
    }
    key_table_put(&index->keys, key, number);
    return true;
}

static bool
has_path_pattern(const struct rule *rule)
{
    return rule->kind != ABX_REQUEST_CONNECT && rule->matcher != NULL;
}

/* Room for all keys that patterns of the layer could have, and for those of all requests. */
static bool
make_tables(const struct layer *layer, struct index *index, struct key_table *counts)
{
    size_t n = 0, n_requests = 0;

    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        n += has_path_pattern(rule) ? key_pattern_room(rule->matcher) : 0;
        n_requests += rule->n_http;
        for (uint32_t k = 0; k < rule->n_http; k++) {
            n += key_pattern_room(rule->http[k].pattern);
        }
    }
    return key_table_make(counts, n) && key_table_make(&index->keys, layer->rules.count) &&
           key_table_make(&index->requests, n_requests);
}

static void
count_keys(const struct layer *layer, struct key_table *counts)
{
    for (uint32_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        if (has_path_pattern(rule)) {
            key_pattern_count(counts, rule->matcher, 0);
        }
        for (uint32_t k = 0; k < rule->n_http; k++) {
            key_pattern_count(counts, rule->http[k].pattern, index_owner(i));
        }
    }
}

static int
compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool
add_text(struct vec *vec, const char *text)
{
    const char **slot = vec_add(vec);

    if (slot != NULL) {
        *slot = text;
    }
    return slot != NULL;
}

/* Places that guards.c asks for. */
static bool
note_place(struct index *index, const struct rule *rule)
{
    if (rule->kind == RULE_GIT_ROOT) {
        return add_text(&index->git_roots, rule->pattern);
    }
    if (rule->kind == RULE_GIT_TREE) {
        return add_text(&index->git_trees, rule->pattern);
    }
    if ((rule->kind == ABX_REQUEST_PATH || rule->kind == RULE_GIT_LINK) &&
            rule_slot(rule) == SLOT_WRITE && rule->matcher == NULL &&
            rule->verdict != ABX_VERDICT_ALLOW) {
        return add_text(&index->restricted, rule->pattern);
    }
    return true;
}

static void
sort_texts(struct vec *vec)
{
    if (vec->count > 1) {
        qsort(vec->data, vec->count, sizeof(const char *), compare_text);
    }
}

DEFINE_CLEANUP(index_free, struct index)

struct index *
index_new(const struct layer *layer)
{
    AUTO(index_freep) struct index *index = calloc(1, sizeof *index);
    AUTO(key_table_done) struct key_table counts = { 0 };

    if (index == NULL || !make_tables(layer, index, &counts)) {
        return NULL;
    }
    count_keys(layer, &counts);
    index->loose = VEC(uint32_t);
    index->restricted = VEC(const char *);
    index->git_roots = VEC(const char *);
    index->git_trees = VEC(const char *);
    /* Backwards, so that chains are in the order of the rules. */
    for (size_t i = layer->rules.count; i-- > 0;) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        if (!put_rule(index, &counts, rule, (uint32_t)i) || !note_place(index, rule)) {
            return NULL;
        }
    }
    sort_texts(&index->restricted);
    sort_texts(&index->git_roots);
    sort_texts(&index->git_trees);
    return steal_ptr(&index);
}

void
index_free(struct index *index)
{
    if (index == NULL) {
        return;
    }
    for (size_t i = 0; i < N_ELEMENTS(index->default_reason); i++) {
        free(index->default_reason[i]);
        free(index->default_alternative[i]);
    }
    vec_done(&index->loose);
    vec_done(&index->restricted);
    vec_done(&index->git_roots);
    vec_done(&index->git_trees);
    key_table_done(&index->keys);
    key_table_done(&index->requests);
    free(index);
}
