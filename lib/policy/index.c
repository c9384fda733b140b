/* SPDX-License-Identifier: Apache-2.0
 * Owns the index of a finished layer: one hash table holds all keys (literal paths, the rarest
 * literal component of a pattern, host names and suffixes, address blocks, names of sockets and
 * actions).  pick.c searches it.  Knows one layer only.  Immutable once made, any thread. */
#include "policy/index.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static uint64_t
mix(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

uint64_t
hash_bytes(uint64_t seed, const void *bytes, size_t length)
{
    const char *at = bytes;
    uint64_t hash = seed * 0xff51afd7ed558ccdu + length;
    uint64_t word;

    for (; length >= 8; at += 8, length -= 8) {
        memcpy(&word, at, 8);
        hash = mix(hash ^ word);
    }
    if (length > 0) {
        word = 0;
        memcpy(&word, at, length);
        hash = mix(hash ^ word);
    }
    return hash;
}

uint64_t
hash_component(const struct path_split *path, uint32_t i)
{
    return hash_bytes(SALT_COMPONENT, path->text + path->start[i],
            (size_t)(path->start[i + 1] - 1 - path->start[i]));
}

uint64_t
hash_prefix(uint64_t parent, uint64_t component)
{
    return mix(parent * 31 + component);
}

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
hash_block(const uint8_t bytes[16], uint32_t prefix)
{
    uint8_t masked[16] = { 0 };

    memcpy(masked, bytes, prefix / 8);
    if (prefix % 8 != 0) {
        masked[prefix / 8] = (uint8_t)(bytes[prefix / 8] & 0xff00u >> prefix % 8);
    }
    return hash_bytes(SALT_ADDRESS + (prefix << 8), masked, 16);
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

/* How many patterns of the layer have a component of this hash. */
static uint32_t
component_count(const struct index *counts, uint64_t hash)
{
    uint32_t n = 0;

    for (uint32_t i = counts->heads[hash & counts->mask]; i != NO_RULE;
            i = counts->entries[i].next) {
        n += counts->entries[i].hash == hash;
    }
    return n;
}

static void
put(struct index *index, uint64_t hash, uint32_t rule)
{
    struct index_entry *entry = &index->entries[index->n_entries];

    entry->hash = hash;
    entry->rule = rule;
    entry->next = index->heads[hash & index->mask];
    index->heads[hash & index->mask] = index->n_entries++;
}

static bool
make_table(struct index *index, size_t n)
{
    uint32_t size = 16;

    while (size < 2 * n) {
        size *= 2;
    }
    index->mask = size - 1;
    index->heads = malloc(size * sizeof *index->heads);
    index->entries = calloc(n + 1, sizeof *index->entries);
    if (index->heads == NULL || index->entries == NULL) {
        return false;
    }
    memset(index->heads, 0xff, size * sizeof *index->heads);
    return true;
}

static uint64_t
part_hash(const struct path_part *part)
{
    return hash_bytes(SALT_COMPONENT, part->text, part->length);
}

/* The hash of the literal component that the fewest patterns share; false if there is no literal
 * one. */
static bool
rarest_component(const struct path_pattern *pattern, const struct index *counts, uint64_t *ret_hash)
{
    uint32_t least = UINT32_MAX;

    for (uint32_t i = 0; i < pattern->n; i++) {
        if (pattern->parts[i].kind == PART_LITERAL) {
            uint64_t hash = part_hash(&pattern->parts[i]);
            uint32_t n = component_count(counts, hash);

            if (n <= least) {
                least = n;
                *ret_hash = hash;
            }
        }
    }
    return least != UINT32_MAX;
}

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
        put(index, hash_bytes(SALT_NAME, host->name, host->length), rule);
        return true;
    case HOST_SUBDOMAINS:
    case HOST_BOTH:
        put(index, hash_bytes(SALT_SUFFIX, host->name, host->length), rule);
        return true;
    case HOST_ADDRESS:
        put(index, hash_block(host->bytes, host->prefix), rule);
        index->prefixes[host->prefix / 8] |= (uint8_t)(1u << host->prefix % 8);
        return true;
    case HOST_ANY_PUBLIC:
        break;
    }
    return put_loose(index, rule);
}

static bool
put_rule(struct index *index, const struct index *counts, const struct rule *rule, uint32_t number)
{
    struct path_split split;
    uint64_t hash;

    if (rule->kind == ABX_REQUEST_CONNECT) {
        return put_host(index, rule->matcher, number);
    }
    if (rule->kind == ABX_REQUEST_LISTEN) {
        return put_loose(index, number);
    }
    if (rule->matcher != NULL) {
        if (!rarest_component(rule->matcher, counts, &hash)) {
            return put_loose(index, number);
        }
    } else if (path_split(rule->pattern, &split)) {
        hash = hash_path(&split);
    } else { /* "@name", or an action */
        hash = hash_bytes(SALT_PATH, rule->pattern, strlen(rule->pattern));
    }
    put(index, hash, number);
    return true;
}

/* A table of nothing but the literal components of patterns, to find the rare ones. */
static bool
count_components(const struct layer *layer, struct index *ret_counts)
{
    size_t n = 0;

    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        n += rule->kind != ABX_REQUEST_CONNECT && rule->matcher != NULL
                     ? ((const struct path_pattern *)rule->matcher)->n
                     : 0;
    }
    if (!make_table(ret_counts, n)) {
        return false;
    }
    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);
        const struct path_pattern *pattern = rule->matcher;

        if (rule->kind == ABX_REQUEST_CONNECT || pattern == NULL) {
            continue;
        }
        for (uint32_t k = 0; k < pattern->n; k++) {
            if (pattern->parts[k].kind == PART_LITERAL) {
                put(ret_counts, part_hash(&pattern->parts[k]), (uint32_t)i);
            }
        }
    }
    return true;
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
    AUTO(index_freep) struct index *counts = calloc(1, sizeof *counts);

    if (index == NULL || counts == NULL || !count_components(layer, counts) ||
            !make_table(index, layer->rules.count)) {
        return NULL;
    }
    index->loose = VEC(uint32_t);
    index->restricted = VEC(const char *);
    index->git_roots = VEC(const char *);
    index->git_trees = VEC(const char *);
    /* Backwards, so that chains are in the order of the rules. */
    for (size_t i = layer->rules.count; i-- > 0;) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        if (!put_rule(index, counts, rule, (uint32_t)i) || !note_place(index, rule)) {
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
    free(index->heads);
    free(index->entries);
    free(index);
}
