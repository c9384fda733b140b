/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as the first of a connection: once they are told to be TLS or HTTP, more bytes do not
 * make them something else, and a host is in the spelling of a policy. */
#include "egress/greeting.h"

#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool is_so)
{
    if (!is_so) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct greeting greeting, longer;
    char spelling[POLICY_HOST_SIZE];

    greeting_read(data, size, &greeting);
    if (greeting.host[0] != '\0') {
        must(policy_host_spelling(greeting.host, spelling));
        must(strcmp(greeting.host, spelling) == 0);
    }
    must(greeting.kind != GREETING_BAD_HTTP || greeting.status >= 400);
    must((greeting.kind != GREETING_BAD_HTTP && greeting.kind != GREETING_BAD_TLS) ||
            greeting.why != NULL);
    for (size_t n = 1; n < size && n < 512; n++) {
        greeting_read(data, n, &longer);
        if (longer.kind != GREETING_MORE && longer.kind != GREETING_OTHER) {
            must(longer.kind == greeting.kind && strcmp(longer.host, greeting.host) == 0);
            break;
        }
    }
    return 0;
}
