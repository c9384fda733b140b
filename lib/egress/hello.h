/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: reads the first message of a TLS client.  Pure; bytes may be hostile.
 * What some server could read differently is HELLO_BAD. */
#ifndef ABX_EGRESS_HELLO_H
#define ABX_EGRESS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HELLO_MAX 16384u /* more than that, of the message, is no greeting */
#define HELLO_BYTES_MAX (2u * HELLO_MAX) /* with the headers of its records; enough to peek at */

enum hello_result {
    HELLO_MORE, /* not all there yet */
    HELLO_TLS, /* read */
    HELLO_OTHER, /* does not begin like TLS */
    HELLO_BAD /* begins like TLS and is malformed, or longer than HELLO_MAX */
};

struct hello {
    char name[256]; /* SNI, lower case; "" if there is none */
    bool has_ech; /* an encrypted inner greeting, or what looks like one (many clients send noise
                     in its place): the name may be another one */
    bool offers_http1, offers_http2, has_alpn;
};

/* Also over several records.  Writes *ret_hello with HELLO_TLS only. */
enum hello_result hello_parse(const uint8_t *bytes, size_t length, struct hello *ret_hello);

#endif
