/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a SOCKS client, all at once and one by one: the same is understood, never more is
 * used than was there, and the host is text. */
#include "egress/socks.h"

#include <errno.h>
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

/* Reads with `step` more bytes each time; returns the last result. */
static enum socks_result
converse(const uint8_t *data, size_t size, size_t step, struct socks *socks, size_t *ret_used)
{
    enum socks_result result = SOCKS_MORE;
    size_t there = 0, used = 0;

    *ret_used = 0;
    while (result <= SOCKS_GO_ON) {
        result = socks_read(socks, data + *ret_used, there - *ret_used, &used);
        must(socks->reply_length <= SOCKS_REPLY_MAX);
        if (result == SOCKS_MORE) {
            if (there == size) {
                break;
            }
            there = size - there < step ? size : there + step;
        } else if (result != SOCKS_REFUSED) {
            must(used > 0 && used <= there - *ret_used);
            *ret_used += used;
        }
    }
    return result;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int errors[] = { 0, EACCES, ECONNREFUSED, EIO };
    struct socks whole = { 0 }, pieces = { 0 };
    size_t used_whole, used_pieces;
    enum socks_result result = converse(data, size, size, &whole, &used_whole);

    must(converse(data, size, 1, &pieces, &used_pieces) == result);
    must(used_whole == used_pieces && whole.reply_length == pieces.reply_length);
    if (result == SOCKS_CONNECT) {
        must(strcmp(whole.host, pieces.host) == 0 && whole.port == pieces.port);
        must(memchr(whole.host, '\0', sizeof whole.host) != NULL);
        for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
            socks_answer(&whole, errors[i]);
            must(whole.reply_length == (whole.version == 4 ? 8 : 10));
        }
    }
    return 0;
}
