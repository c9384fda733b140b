/* SPDX-License-Identifier: Apache-2.0
 * Inside the comparing part of lib/policy: what its files share. */
#ifndef ABX_POLICY_COMPARE_PRIVATE_H
#define ABX_POLICY_COMPARE_PRIVATE_H

#include "base/str.h"
#include "policy/compare.h"
#include "policy/index.h"
#include "policy/intern.h"
#include "policy/work.h"

enum { BEFORE, AFTER, SIDES };

struct comparison {
    abx_policy *sides[SIDES];
    struct work work;
    uint32_t relation;
    struct findings findings;
    struct intern seen; /* what tells findings apart */
    struct str text; /* of the example that is made */
    bool **won; /* by layer of AFTER: which rules decide something, then which requests of them */
    uint32_t **first_request; /* by layer and rule, in `won` */
};

static inline size_t
side_layers(const struct comparison *comparison, unsigned side)
{
    return comparison->sides[side]->layers.count;
}

static inline const struct layer *
side_layer(const struct comparison *comparison, unsigned side, size_t layer)
{
    return *vec_at(&comparison->sides[side]->layers, struct layer *, layer);
}

/* What all layers come to: the strictest. */
struct tally {
    bool decided;
    abx_verdict verdict;
};
void tally_add(struct tally *tally, abx_verdict verdict);

/* Where the win of a rule, or of the i-th of its requests, is noted; NULL: nowhere. */
bool *comparison_won(struct comparison *comparison, unsigned side, size_t layer, size_t rule);
bool *comparison_won_request(
        struct comparison *comparison, unsigned side, size_t layer, size_t rule, size_t request);

/* How two verdicts differ, as a bit; 0: they do not. */
static inline uint32_t
verdicts_difference(const abx_verdict verdicts[SIDES])
{
    return verdicts[BEFORE] == verdicts[AFTER] ? 0 : 1u << (verdicts[BEFORE] * 3 + verdicts[AFTER]);
}

/* Asks both policies; a difference becomes a finding unless one with the same rules and verdicts is
 * there.  `name`: the target is an address of this allowed name, or NULL.  `expected`: what the
 * verdicts must be (the comparison is wrong if not, unless *ret_otherwise can say so), or NULL. */
abx_status comparison_ask(struct comparison *comparison, const abx_request *request,
        const char *name, const abx_verdict *expected, bool *ret_otherwise, struct fail *fail);

/* Sorted, each once. */
void numbers_sort(struct vec *numbers);
bool numbers_add(struct vec *numbers, uint32_t number);

/* compare_paths.c: files and sockets; compare_hosts.c: names and, through compare_addresses.c and
 * compare_http.c, addresses and requests. */
abx_status compare_paths(struct comparison *comparison, struct fail *fail);
abx_status compare_hosts(struct comparison *comparison, struct fail *fail);

/* A rule that has a say about a host. */
struct speaker {
    unsigned side;
    uint32_t layer, number, matched;
    const struct rule *rule;
};
/* Whether it counts at this port; all the speakers match the host. */
bool can_speak(const struct vec *speakers, const struct speaker *speaker,
        const struct host_pattern *host, uint32_t port);
/* What a connection of this kind comes to in one layer: false if the layer has no opinion.
 * *ret_best: the speaker that decides, or NULL. */
bool layer_connect(const struct comparison *comparison, unsigned side, size_t layer,
        const struct vec *speakers, const struct host_pattern *host, uint32_t port,
        abx_verdict *ret_verdict, const struct speaker **ret_best);
/* All requests to a host and port about which the speakers have something to say. */
abx_status compare_requests(struct comparison *comparison, const char *host,
        const struct host_pattern *parsed, uint32_t port, const struct vec *speakers,
        struct fail *fail);
bool has_request_rules(const struct vec *speakers, const struct host_pattern *host, uint32_t port);

/* compare_settings.c: what is no verdict, and rows about it. */
abx_status compare_settings(struct comparison *comparison, struct fail *fail);
abx_status setting_add(struct comparison *comparison, enum finding_change change, const char *name,
        const char *before, const char *after, struct fail *fail);
abx_status setting_number(struct comparison *comparison, const char *name, uint64_t before,
        uint64_t after, bool zero_is_none, struct fail *fail);
abx_status setting_text(struct comparison *comparison, const char *name, const char *before,
        const char *after, struct fail *fail);
abx_status setting_lists(struct comparison *comparison, const char *name, const char *const *before,
        const char *const *after, bool more_is_wider, struct fail *fail);
/* compare_actions.c: what the actions that both allow take. */
abx_status compare_actions(struct comparison *comparison, struct fail *fail);
abx_status comparison_add(struct comparison *comparison, enum finding_change change,
        const char *request, const char *example, const char *const texts[SIDES],
        const char *const rules[SIDES], struct fail *fail);

#endif
