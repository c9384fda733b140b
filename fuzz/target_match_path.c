/* SPDX-License-Identifier: Apache-2.0
 * Input: a pattern, NUL, a path.  Matching ends, stays in its bounds, and keeps what its callers
 * rely on. */
#include "base/path.h"
#include "policy/match.h"
#include "policy/rules.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    size_t used = text == NULL ? 0 : strlen(text) + 1;
    char *path = used < size ? strndup((const char *)data + used, size - used) : strdup("/a/b");
    struct path_split split;
    struct fail fail = { 0 };
    struct path_pattern *pattern = text == NULL ? NULL : path_pattern_new(text, &fail);

    if (pattern == NULL || path == NULL || !path_split(path, &split)) {
        if (text != NULL && pattern == NULL && fail.status == ABX_OK) {
            abort(); /* refused without a reason */
        }
    } else {
        int matched = path_pattern_match(pattern, &split);

        if (matched > (int)split.n || (matched >= 0 && !path_pattern_reaches(pattern, &split))) {
            abort();
        }
        if (!path_pattern_has_wildcard(pattern)) {
            char *literal = path_pattern_literal(pattern);

            if (literal != NULL && (matched >= 0) != path_is_within(path, literal)) {
                abort();
            }
            free(literal);
        }
    }
    path_pattern_free(pattern);
    free(text);
    free(path);
    return 0;
}
