/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: reads the first message of a TLS client.  Pure; bytes may be hostile. */
#ifndef ABX_EGRESS_HELLO_H
#define ABX_EGRESS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HELLO_MAX 16384u /* more than that is no greeting */

enum hello_result {
    HELLO_MORE, /* not all there yet */
    HELLO_TLS, /* read */
    HELLO_OTHER, /* does not begin like TLS */
    HELLO_BAD /* begins like TLS and is malformed, or longer than HELLO_MAX */
};

struct hello {
    char name[256]; /* SNI, lower case, as sent; "" if there is none */
    bool has_ech; /* an encrypted inner greeting (or what looks like one): the name may be another
                   */
    bool offers_http1, offers_http2, has_alpn;
};

/* Also over several records. */
enum hello_result hello_parse(const uint8_t *bytes, size_t length, struct hello *ret_hello);

#endif
