/* SPDX-License-Identifier: Apache-2.0
 * Input: a host pattern, NUL, a host.  The canonical spelling is one: spelled again it is itself,
 * and matches what the first one matches. */
#include "../tests/policy/match_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *pattern = strndup((const char *)data, size);
    size_t used = pattern == NULL ? 0 : strlen(pattern) + 1;
    char *host =
            used < size ? strndup((const char *)data + used, size - used) : strdup("a.example.com");
    struct fail fail = { 0 };
    char *canonical = pattern == NULL ? NULL : host_canonical(pattern, &fail);
    char *again = canonical == NULL ? NULL : host_canonical(canonical, &fail);

    if (canonical != NULL && (again == NULL || strcmp(again, canonical) != 0)) {
        abort();
    }
    if (canonical != NULL && host != NULL &&
            host_match(canonical, host) != host_match(pattern, host)) {
        abort();
    }
    free(again);
    free(canonical);
    free(host);
    free(pattern);
    return 0;
}
