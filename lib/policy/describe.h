/* SPDX-License-Identifier: Apache-2.0
 * Inside the two descriptions, in words and in JSON. */
#ifndef ABX_POLICY_DESCRIBE_H
#define ABX_POLICY_DESCRIBE_H

#include "policy/builder.h"
#include "policy/http.h"

#include "base/str.h"

#define LIMIT_TEXTS 6u
extern const struct limit_text {
    uint32_t limit;
    const char *name, *what;
} limit_texts[LIMIT_TEXTS];

/* What the rule is about, for people; caller frees. */
char *describe_name(const struct rule *rule);
/* Whether the rule stands in the list of that kind, access and verdict; what was made of other
 * rules does not. */
bool describe_tells(const struct rule *rule, uint32_t kind, uint32_t access, abx_verdict verdict);
/* Names (char *, the caller's) of hosts and ports for which the list of this verdict holds, whole
 * connections only.  False: no memory; what is there is the caller's all the same. */
bool describe_hosts(const struct layer *layer, abx_verdict verdict, struct vec *ret_names);
/* Of an action that is declared: what it takes, how often, and who agrees; caller frees. */
char *describe_action(const struct rule *rule);
char *describe_json(const abx_policy *policy, size_t *ret_length);

#endif
