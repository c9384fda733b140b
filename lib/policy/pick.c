/* SPDX-License-Identifier: Apache-2.0
 * Owns the search for the rule that wins in a layer: a request is walked once, component by
 * component (host names label by label), and only rules whose key it has are looked at.  Pure, any
 * thread. */
#include "policy/index.h"

#include "base/mem.h"

#include <string.h>

static void
consider(struct pick *pick, const struct rule *rule, uint32_t number, uint32_t matched)
{
    uint64_t rank = rule_rank(rule, matched);

    if (pick->rule == NO_RULE || rank > pick->rank || (rank == pick->rank && number < pick->rule)) {
        pick->rule = number;
        pick->rank = rank;
        pick->git = GIT_FREE;
    }
}

static void
try_pattern(const struct layer *layer, enum slot slot, uint32_t number,
        const struct path_split *path, struct pick *pick)
{
    const struct rule *rule = vec_at(&layer->rules, struct rule, number);
    int matched;

    if (rule->matcher == NULL || rule->kind == ABX_REQUEST_CONNECT || rule_slot(rule) != slot ||
            (pick->rule != NO_RULE && rule_rank(rule, path->n) < pick->rank)) {
        return;
    }
    matched = path_pattern_match(rule->matcher, path);
    if (matched >= 0) {
        consider(pick, rule, number, (uint32_t)matched);
    }
}

static void
try_patterns(const struct layer *layer, enum slot slot, uint64_t key, const struct path_split *path,
        struct pick *pick)
{
    const struct key_table *keys = &((const struct index *)layer->index)->keys;

    for (uint32_t i = key_first(keys, key); i != KEY_NONE; i = key_next(keys, i)) {
        try_pattern(layer, slot, keys->entries[i].number, path, pick);
    }
}

/* The deepest rule about a git directory on the way. */
struct git_hit {
    uint32_t rule, depth;
    uint32_t tree, tree_depth; /* the first rule about those that may come below */
};

/* Rules whose literal path is the first `depth` components of `path`. */
static void
try_literals(const struct layer *layer, enum slot slot, const struct path_split *path,
        uint32_t depth, uint64_t key, struct pick *pick, struct git_hit *git)
{
    const struct key_table *keys = &((const struct index *)layer->index)->keys;
    size_t length = depth == 0 ? 1 : (size_t)(path->start[depth] - 1);

    for (uint32_t i = key_first(keys, key); i != KEY_NONE; i = key_next(keys, i)) {
        uint32_t number = keys->entries[i].number;
        const struct rule *rule = vec_at(&layer->rules, struct rule, number);

        if (rule->matcher != NULL || rule_slot(rule) != slot ||
                strncmp(rule->pattern, path->text, length) != 0 || rule->pattern[length] != '\0') {
            continue;
        }
        if (rule->kind < RULE_GIT_ROOT) {
            consider(pick, rule, number, depth);
        } else if (rule->kind == RULE_GIT_TREE) {
            if (git->tree == NO_RULE) {
                git->tree = number;
                git->tree_depth = depth;
            }
        } else if (git->rule == NO_RULE || depth > git->depth || rule->kind == RULE_GIT_LINK) {
            git->rule = number;
            git->depth = depth;
        }
    }
}

/* The first `depth` components are a git directory, says the rule. */
static void
try_git(const struct layer *layer, uint32_t number, const struct path_split *path, uint32_t at,
        const char *verb, struct pick *pick)
{
    const struct rule *rule = vec_at(&layer->rules, struct rule, number);
    const char *inside = at == path->n ? "" : path->text + path->start[at];
    uint32_t depth = 0;
    enum git_file file = rule->kind == RULE_GIT_LINK ? GIT_LINK : git_file_classify(inside, &depth);
    uint64_t rank = rule_rank(rule, at + depth);

    if (git_file_refuses(file, verb) && (pick->rule == NO_RULE || rank > pick->rank)) {
        *pick = (struct pick){ .rule = number, .rank = rank, .git = file };
    }
}

bool
path_has_git_name(const struct path_split *path, uint32_t i)
{
    return git_is_name(
            path->text + path->start[i], (size_t)(path->start[i + 1] - 1 - path->start[i]));
}

/* One inside another is judged as both. */
static void
try_gits(const struct layer *layer, const struct path_split *path, const struct git_hit *git,
        const char *verb, struct pick *pick)
{
    if (git->rule != NO_RULE) {
        try_git(layer, git->rule, path, git->depth, verb, pick);
    }
    for (uint32_t i = git->tree_depth; git->tree != NO_RULE && i < path->n; i++) {
        if (path_has_git_name(path, i)) {
            try_git(layer, git->tree, path, i + 1, verb, pick);
        }
    }
}

void
index_pick_path(const struct layer *layer, enum slot slot, const struct path_split *path,
        const char *verb, struct pick *ret_pick)
{
    const struct index *index = layer->index;
    struct pick pick = { .rule = NO_RULE };
    struct git_hit git = { .rule = NO_RULE, .tree = NO_RULE };
    uint64_t hash = SALT_PATH;

    try_literals(layer, slot, path, 0, hash, &pick, &git);
    for (uint32_t i = 0; i < path->n; i++) {
        uint64_t keys[KEYS_OF_COMPONENT];
        uint32_t n = keys_of_component(&index->keys, path, i, keys);

        for (uint32_t k = 0; k < n; k++) {
            try_patterns(layer, slot, keys[k], path, &pick);
        }
        hash = hash_prefix(hash, keys[0]);
        try_literals(layer, slot, path, i + 1, hash, &pick, &git);
    }
    for (size_t i = 0; i < index->loose.count; i++) {
        try_pattern(layer, slot, *vec_at(&index->loose, uint32_t, i), path, &pick);
    }
    try_gits(layer, path, &git, verb, &pick);
    *ret_pick = pick;
}

/* What is looked for among the rules for hosts: a connection, or a request on one. */
struct host_search {
    const struct layer *layer;
    const struct host_pattern *host;
    uint32_t port;
    const struct http_url *url; /* NULL: the connection */
    const char *method;
    bool is_closed; /* so only what opens it, or denies, has a say */
    struct pick connection, pick; /* `pick` is of the request */
};

static void
consider_http(struct host_search *search, uint32_t number, uint32_t matched,
        const struct http_rule *http, uint32_t path_matched)
{
    const struct rule *rule = vec_at(&search->layer->rules, struct rule, number);
    uint64_t rank = http_rank(rule, matched, http, path_matched);
    struct pick *pick = &search->pick;
    bool is_before = number < pick->rule ||
                     (number == pick->rule && pick->http != NULL && http < pick->http);

    if (pick->rule == NO_RULE || rank > pick->rank || (rank == pick->rank && is_before)) {
        *pick = (struct pick){ .rule = number, .rank = rank, .http = http };
    }
}

/* The rule's requests that have the key. */
static void
try_requests(struct host_search *search, uint32_t number, uint32_t matched, uint64_t key)
{
    const struct rule *rule = vec_at(&search->layer->rules, struct rule, number);
    const struct key_table *keys = &((const struct index *)search->layer->index)->requests;

    for (uint32_t i = key_first(keys, key); i != KEY_NONE; i = key_next(keys, i)) {
        uint32_t place = keys->entries[i].number;
        int path_matched = place < rule->n_http ? http_rule_match(&rule->http[place],
                                                          search->method, search->url)
                                                : -1;

        if (path_matched >= 0) {
            consider_http(search, number, matched, &rule->http[place], (uint32_t)path_matched);
        }
    }
}

static void
try_all_requests(struct host_search *search, uint32_t number, uint32_t matched)
{
    const struct key_table *keys = &((const struct index *)search->layer->index)->requests;
    const struct path_split *path = &search->url->split;
    uint64_t owner = index_owner(number);

    try_requests(search, number, matched, owner);
    for (uint32_t i = 0; i < path->n; i++) {
        uint64_t found[KEYS_OF_COMPONENT];
        uint32_t n = keys_of_component(keys, path, i, found);

        for (uint32_t k = 0; k < n; k++) {
            try_requests(search, number, matched, found[k] ^ owner);
        }
    }
}

static void
try_host(struct host_search *search, uint32_t number)
{
    const struct rule *rule = vec_at(&search->layer->rules, struct rule, number);
    int matched = rule_can_speak(rule, search->port, search->is_closed)
                          ? host_pattern_match(rule->matcher, search->host)
                          : -1;

    if (matched < 0) {
        return;
    }
    consider(&search->connection, rule, number, (uint32_t)matched);
    if (search->url == NULL) {
        return;
    }
    consider_http(search, number, (uint32_t)matched, NULL, 0);
    if (rule->n_http > 0 && search->url->bad_path == NULL) {
        try_all_requests(search, number, (uint32_t)matched);
    }
}

static void
try_hosts(struct host_search *search, uint64_t key)
{
    const struct key_table *keys = &((const struct index *)search->layer->index)->keys;

    for (uint32_t i = key_first(keys, key); i != KEY_NONE; i = key_next(keys, i)) {
        try_host(search, keys->entries[i].number);
    }
}

/* Whether one of the blocks of this length opens the address. */
static bool
block_opens(
        const struct layer *layer, const struct host_pattern *host, uint32_t prefix, uint32_t port)
{
    const struct key_table *keys = &((const struct index *)layer->index)->keys;
    uint32_t i = key_first(keys, hash_block(host->bytes, prefix));

    for (; i != KEY_NONE; i = key_next(keys, i)) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, keys->entries[i].number);

        if (rule_opens(rule, port) && host_pattern_match(rule->matcher, host) >= 0) {
            return true;
        }
    }
    return false;
}

static bool
has_blocks(const struct index *index, uint32_t prefix)
{
    return (index->prefixes[prefix / 8] >> prefix % 8 & 1) != 0;
}

bool
index_is_closed(const struct layer *layer, const struct host_pattern *host, uint32_t port)
{
    bool is_closed = host->form == HOST_ADDRESS && host_is_closed(host);

    for (uint32_t prefix = 0; prefix <= 128 && is_closed; prefix++) {
        is_closed = !has_blocks(layer->index, prefix) || !block_opens(layer, host, prefix, port);
    }
    return is_closed;
}

static void
search_hosts(struct host_search *search)
{
    const struct index *index = search->layer->index;
    const struct host_pattern *host = search->host;

    search->connection = search->pick = (struct pick){ .rule = NO_RULE };
    search->is_closed = index_is_closed(search->layer, host, search->port);
    if (host->form == HOST_ADDRESS) {
        for (uint32_t prefix = 0; prefix <= 128; prefix++) {
            if (has_blocks(index, prefix)) {
                try_hosts(search, hash_block(host->bytes, prefix));
            }
        }
        return;
    }
    try_hosts(search, hash_bytes(SALT_NAME, host->name, host->length));
    for (const char *suffix = host->name; suffix != NULL && *suffix != '\0';) {
        const char *dot = strchr(suffix, '.');

        try_hosts(search,
                hash_bytes(SALT_SUFFIX, suffix, host->length - (size_t)(suffix - host->name)));
        suffix = dot == NULL ? NULL : dot + 1;
    }
    for (size_t i = 0; i < index->loose.count; i++) {
        try_host(search, *vec_at(&index->loose, uint32_t, i));
    }
}

void
index_pick_host(const struct layer *layer, const struct host_pattern *host, uint32_t port,
        struct pick *ret_pick)
{
    struct host_search search = { .layer = layer, .host = host, .port = port };

    search_hosts(&search);
    *ret_pick = search.connection;
}

void
index_pick_http(const struct layer *layer, const struct http_url *url, const char *method,
        struct pick *ret_pick)
{
    struct host_search search = {
        .layer = layer, .host = &url->host, .port = url->port, .url = url, .method = method
    };
    uint32_t open;

    search_hosts(&search);
    open = search.connection.rule;
    *ret_pick = search.pick;
    ret_pick->reads = open != NO_RULE && vec_at(&layer->rules, struct rule, open)->n_http > 0;
}

void
index_pick_port(const struct layer *layer, uint32_t port, struct pick *ret_pick)
{
    const struct index *index = layer->index;
    struct pick pick = { .rule = NO_RULE };

    for (size_t i = 0; i < index->loose.count; i++) {
        uint32_t number = *vec_at(&index->loose, uint32_t, i);
        const struct rule *rule = vec_at(&layer->rules, struct rule, number);

        if (rule->kind == ABX_REQUEST_LISTEN && port >= rule->port_first &&
                port <= rule->port_last) {
            consider(&pick, rule, number, 0);
        }
    }
    *ret_pick = pick;
}

void
index_pick_name(const struct layer *layer, uint32_t kind, const char *name, struct pick *ret_pick)
{
    const struct key_table *keys = &((const struct index *)layer->index)->keys;
    struct pick pick = { .rule = NO_RULE };
    uint32_t i = key_first(keys, hash_bytes(SALT_PATH, name, strlen(name)));

    for (; i != KEY_NONE; i = key_next(keys, i)) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, keys->entries[i].number);

        if (rule->kind == kind && rule->matcher == NULL && strcmp(rule->pattern, name) == 0) {
            consider(&pick, rule, keys->entries[i].number, 0);
        }
    }
    *ret_pick = pick;
}
