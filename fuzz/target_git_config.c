/* SPDX-License-Identifier: Apache-2.0
 * Two git configurations of any bytes, one after a NUL: a file may always stay as it is if it can
 * be read, and what a new file may not have it may not have after an empty one either. */
#include "policy/git.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char path[] = "/w/.git/modules/a/config";
    const char *before = (const char *)data, *after;
    const uint8_t *end = size > 65536 ? NULL : memchr(data, '\0', size);
    size_t n_before, n_after;
    char reason[256];
    bool is_new, is_after_empty;

    if (end == NULL) {
        return 0;
    }
    after = (const char *)end + 1;
    n_before = (size_t)(end - data);
    n_after = size - n_before - 1;
    git_config_allows(path, before, n_before, after, n_after, reason, sizeof reason);
    git_attributes_allow(before, n_before, after, n_after, reason, sizeof reason);
    is_new = git_config_allows(path, NULL, 0, after, n_after, reason, sizeof reason);
    is_after_empty = git_config_allows(path, "", 0, after, n_after, reason, sizeof reason);
    if (is_new != is_after_empty || (is_new && !git_config_allows(path, after, n_after, after,
                                                       n_after, reason, sizeof reason))) {
        abort();
    }
    return 0;
}
