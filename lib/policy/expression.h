/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy: the patterns of arguments.  A small regular expression: alternatives, groups,
 * classes, `.`, `* + ? {m,n}`, and `\d \w \s`.  It is matched against the whole text, character by
 * character, in time that grows with both lengths and no faster. */
#ifndef ABX_POLICY_EXPRESSION_H
#define ABX_POLICY_EXPRESSION_H

#include "base/fail.h"

#include <stdbool.h>

struct expression; /* one block; free() */

/* NULL: `fail` says what is wrong with it. */
struct expression *expression_new(const char *pattern, struct fail *fail);
/* Of UTF-8.  ABX_ERR_NOMEM: it cannot be said. */
abx_status expression_match(const struct expression *expression, const char *text,
        bool *ret_matches, struct fail *fail);

#endif
