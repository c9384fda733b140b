/* SPDX-License-Identifier: Apache-2.0
 * Input: a head, NUL, a body.  Whatever is signed verifies with the key that signed it. */
#include "egress/sigv4_parts.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] = "AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    const uint8_t *end = memchr(data, 0, size);
    size_t length = end == NULL ? size : (size_t)(end - data);
    struct sigv4_message message = { (const char *)data, length, end == NULL ? NULL : end + 1,
        end == NULL ? 0 : size - length - 1 };
    struct sigv4_scheme scheme = { 0 }, again;
    struct parts parts;
    struct sigv4_key key;
    struct str out = { 0 };
    const char *why;

    if (!sigv4_key_parse(text, strlen(text), &key)) {
        abort();
    }
    if (!sigv4_check(&message, &key, &scheme, &why)) {
        if (sigv4_split(&message, &parts) != NULL) {
            return 0;
        }
        scheme = (struct sigv4_scheme){ .in_query = parts.in_query };
    }
    if (sigv4_sign(&message, &key, &scheme, &out)) {
        message.head = out.data;
        message.length = out.length;
        if (!sigv4_check(&message, &key, &again, &why) ||
                strcmp(again.signature, scheme.signature) != 0) {
            abort();
        }
    }
    str_done(&out);
    return 0;
}
