/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: SOCKS 4, 4a and 5 (RFC 1928, RFC 1929), the client's side of a CONNECT.
 * Pure; bytes may be hostile. */
#ifndef ABX_EGRESS_SOCKS_H
#define ABX_EGRESS_SOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOCKS_REPLY_MAX 10u

enum socks_stage { SOCKS_GREETING, SOCKS_PASSWORD, SOCKS_REQUEST };

struct socks {
    enum socks_stage stage; /* zeroed at first */
    int version; /* 4 or 5, after the first step */
    char host[256 + 1]; /* as sent; may be anything but has no NUL */
    uint16_t port;
    uint8_t reply[SOCKS_REPLY_MAX]; /* to be sent, if there is one */
    size_t reply_length;
};

enum socks_result {
    SOCKS_MORE, /* more bytes are needed; nothing was used */
    SOCKS_GO_ON, /* *ret_used bytes are done with; send the reply and read on */
    SOCKS_CONNECT, /* the same: to host and port, which wants an answer */
    SOCKS_REFUSED /* send the reply, if there is one, and close */
};
enum socks_result socks_read(
        struct socks *socks, const uint8_t *bytes, size_t length, size_t *ret_used);

/* What became of the CONNECT: 0, or an errno (EACCES: by policy), as `reply`. */
void socks_answer(struct socks *socks, int error);

#endif
