/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy: what an action takes and how often it may be done, as one layer declares it.
 */
#ifndef ABX_POLICY_ACTION_H
#define ABX_POLICY_ACTION_H

#include "base/json.h"
#include "base/str.h"
#include "policy/expression.h"
#include "policy/policy.h"

#define ARGUMENTS_MAX 64u /* of one action */
#define ARGUMENT_TEXT_MAX 4096u /* bytes */
#define ARGUMENT_ITEMS_MAX 10000u
/* Either way from 0; beyond it servers read different numbers. */
#define ARGUMENT_NUMBER_MAX ((INT64_C(1) << 53) - 1)

enum argument_type { ARGUMENT_STRING, ARGUMENT_INTEGER, ARGUMENT_BOOLEAN, ARGUMENT_ARRAY };
#define ARGUMENT_TYPES 4u
extern const char *const argument_words[ARGUMENT_TYPES];

/* Texts and blocks are kept by the layer. */
struct argument {
    const char *name;
    enum argument_type type;
    enum argument_type items; /* of an array: what it is made of, which the rest is about */
    bool is_optional;
    bool has_minimum, has_maximum;
    int64_t minimum, maximum; /* of integers */
    uint32_t most; /* of an array: elements; 0: as many as there may be */
    const char *pattern; /* of strings; or NULL */
    const struct expression *expression; /* of `pattern` */
    const char *const *choices; /* NULL-terminated; or NULL */
    size_t n_choices;
};

struct action_type {
    bool has_arguments; /* else it takes whatever it is given */
    const struct argument *arguments; /* by name */
    size_t n_arguments;
    uint32_t per_command, per_box; /* 0: no limit */
};

/* The canonical form: members by name, no space, what is not seen as \uXXXX. */
void action_add_text(struct str *out, const char *text);
/* False: it has a number that is no integer, or not read as one by all. */
bool action_add_json(struct str *out, const struct json *value);
/* Whether a server that holds numbers as doubles reads it as the same. */
bool action_is_exact(int64_t number);
/* Of the one layer that declares arguments of it; NULL: none does, or several do. */
const struct action_type *action_declared(abx_policy *policy, const char *name);
/* Members of the policy document after the name; nothing where nothing is declared. */
void action_emit(struct str *out, const struct action_type *type);

#endif
