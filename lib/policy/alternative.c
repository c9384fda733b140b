/* SPDX-License-Identifier: Apache-2.0
 * Owns what a denial by default offers instead: "write below '/w' or '/tmp'", "connect to
 * 'example.com' or '*.example.com:8080'".  Pure. */
#include "policy/alternative.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

#define EXAMPLES_MAX 4u
#define PORTS_MAX 8u /* of one of them */

/* Whether the rule is something allowed that can be named. */
static bool
is_example(const struct rule *rule, enum slot slot)
{
    return rule->kind < RULE_GIT_ROOT && rule_slot(rule) == slot && !rule->implied &&
           rule->origin != ORIGIN_TWIN && rule->verdict == ABX_VERDICT_ALLOW;
}

/* Whatever it lets through is not denied: what is, is for another reason. */
static bool
is_for_all(const struct rule *rule)
{
    return strcmp(rule->pattern, "*") == 0 && rule->port_first <= 1 && rule->port_last == 65535;
}

/* Whether rule `i` lets connections to the same place as the example through, maybe at other ports.
 */
static const struct rule *
same_place(const struct layer *layer, size_t i, const struct rule *example)
{
    const struct rule *rule = vec_at(&layer->rules, struct rule, i);

    return is_example(rule, SLOT_CONNECT) && strcmp(rule->pattern, example->pattern) == 0 ? rule
                                                                                          : NULL;
}

static bool
has_default_ports_only(const struct layer *layer, const struct rule *example)
{
    for (size_t i = 0; i < layer->rules.count; i++) {
        const struct rule *rule = same_place(layer, i, example);

        if (rule != NULL && rule->port_last != 0) {
            return false;
        }
    }
    return true;
}

/* ":80,443,8000-8010": of all rules for the place. */
static void
add_ports(struct str *out, const struct layer *layer, const struct rule *example)
{
    unsigned n = 0;

    for (size_t i = 0; i < layer->rules.count && n < PORTS_MAX; i++) {
        const struct rule *rule = same_place(layer, i, example);

        if (rule == NULL) {
            continue;
        }
        str_add(out, n++ == 0 ? ":" : ",");
        if (rule->port_last == 0) {
            str_add(out, "80,443");
        } else if (rule->port_first == rule->port_last) {
            str_printf(out, "%u", rule->port_first);
        } else {
            str_printf(out, "%u-%u", rule->port_first, rule->port_last);
        }
    }
}

static void
add_place(struct str *out, const struct layer *layer, const struct rule *example)
{
    if (rule_opens_loopback(example)) {
        str_add(out, "localhost");
    } else if (strchr(example->pattern, ':') != NULL) {
        str_printf(out, "[%s]", example->pattern);
    } else {
        str_add(out, example->pattern);
    }
    if (strcmp(example->pattern, "*") == 0 || !has_default_ports_only(layer, example)) {
        add_ports(out, layer, example);
    }
}

static bool
is_named(const struct rule *const *named, size_t n, const struct rule *rule)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(named[i]->pattern, rule->pattern) == 0) {
            return true;
        }
    }
    return false;
}

char *
alternative_make(const struct layer *layer, enum slot slot)
{
    static const char *const openings[] = { [SLOT_READ] = "read below",
        [SLOT_WRITE] = "write below",
        [SLOT_EXEC] = "run programs below",
        [SLOT_SOCKET] = "connect to",
        [SLOT_CONNECT] = "connect to",
        [SLOT_LISTEN] = "",
        [SLOT_ACTION] = "" }; /* another one does another thing */
    AUTO(str_done) struct str out = { 0 };
    const struct rule *named[EXAMPLES_MAX];
    size_t n = 0;

    for (size_t i = 0; i < layer->rules.count && openings[slot][0] != '\0' && n < EXAMPLES_MAX;
            i++) {
        const struct rule *rule = vec_at(&layer->rules, struct rule, i);

        if (!is_example(rule, slot) || is_named(named, n, rule) ||
                (slot == SLOT_CONNECT && is_for_all(rule))) {
            continue;
        }
        str_printf(&out, "%s '", n == 0 ? openings[slot] : " or");
        if (slot == SLOT_CONNECT) {
            add_place(&out, layer, rule);
        } else {
            str_add(&out, rule->pattern);
        }
        str_add(&out, "'");
        named[n++] = rule;
    }
    return str_steal(&out, NULL);
}
