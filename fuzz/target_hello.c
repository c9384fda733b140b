/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as the first of a TLS client: a name that is read is a host name, and more bytes change
 * no answer that was given. */
#include "egress/hello.h"

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
    struct hello hello, early;
    enum hello_result result = hello_parse(data, size, &hello), half;

    half = hello_parse(data, size / 2, &early);
    must(half == HELLO_MORE || half == result);
    if (result == HELLO_TLS) {
        must(strlen(hello.name) <= 253);
        for (const char *p = hello.name; *p != '\0'; p++) {
            must(strchr("abcdefghijklmnopqrstuvwxyz0123456789-_.", *p) != NULL);
        }
        must(!(hello.offers_http1 || hello.offers_http2) || hello.has_alpn);
        must(half == HELLO_MORE || strcmp(early.name, hello.name) == 0);
    }
    return 0;
}
