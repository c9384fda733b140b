/* SPDX-License-Identifier: Apache-2.0
 * Input: needles, each with its length before it (four at most), then how long pieces are and which
 * needles are base64, then bytes.  What is found is the same however the bytes are cut, and the
 * same as by a search that tries every needle in every spelling at every place; what is no needle
 * stays as it was. */
#include "egress/needles.h"
#include "egress/spelling.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NEEDLES 4u
#define NEEDLE_MAX 24u
#define BREAKS 3u
#define SPAN_MAX (NEEDLE_MAX * BREAKS * SPELLING_MAX)

static struct needle list[NEEDLES];
static size_t n_needles;

/* Whether white space may stand behind the first `n` bytes of a needle: where one in base64 begins
 * so. */
static bool
may_break(const struct needle *needle, size_t n)
{
    for (size_t k = 0; n > 0 && k < n_needles; k++) {
        if (list[k].is_base64 && list[k].length >= n &&
                memcmp(list[k].bytes, needle->bytes, n) == 0) {
            return true;
        }
    }
    return false;
}

/* [i][j][at]: so many bytes of text are i of the needle and j of white space. */
static bool ways[NEEDLE_MAX + 1][BREAKS][SPAN_MAX + 1];

static void
go_on(const struct needle *needle, size_t i, size_t j, size_t at, const uint8_t *read, size_t n)
{
    if (i + n <= needle->length && memcmp((const uint8_t *)needle->bytes + i, read, n) == 0) {
        ways[i + n][0][at] = true;
    }
    if (memchr(" \t\r\n", read[0], 4) != NULL && j + 1 < BREAKS && may_break(needle, i)) {
        ways[i][j + 1][at] = true;
    }
}

static bool
is_read(enum spelling_result result)
{
    return result == SPELLING_READ || result == SPELLING_OPEN;
}

static void
find_ways(const struct needle *needle, const uint8_t *bytes, size_t length)
{
    size_t most = length < SPAN_MAX ? length : SPAN_MAX;

    memset(ways, 0, sizeof ways);
    ways[0][0][0] = true;
    for (size_t at = 0; at < most; at++) {
        for (size_t i = 0; i < needle->length; i++) {
            for (size_t j = 0; j < BREAKS; j++) {
                struct spelling spelling;

                if (!ways[i][j][at]) {
                    continue;
                }
                go_on(needle, i, j, at + 1, bytes + at, 1);
                if (is_read(spelling_read(bytes + at, length - at, &spelling)) &&
                        at + spelling.length <= SPAN_MAX) {
                    go_on(needle, i, j, at + spelling.length, spelling.bytes, spelling.n);
                }
                if (is_read(spelling_read_twice(bytes + at, length - at, &spelling)) &&
                        at + spelling.length <= SPAN_MAX) {
                    go_on(needle, i, j, at + spelling.length, spelling.bytes, spelling.n);
                }
            }
        }
    }
}

/* The most bytes that are this needle; 0: it is not here. */
static size_t
longest(const struct needle *needle, const uint8_t *bytes, size_t length)
{
    size_t at = length < SPAN_MAX ? length : SPAN_MAX;

    if (bytes[0] != *(const uint8_t *)needle->bytes && !spelling_begins(bytes[0])) {
        return 0;
    }
    find_ways(needle, bytes, length);
    while (at > 0 && !ways[needle->length][0][at]) {
        at--;
    }
    return at;
}

static void
search_slowly(const uint8_t *bytes, size_t length, struct str *out)
{
    for (size_t i = 0; i < length;) {
        size_t most = 0;

        for (size_t k = 0; k < n_needles; k++) {
            size_t n = longest(&list[k], bytes + i, length - i);

            most = n > most ? n : most;
        }
        if (most == 0) {
            str_add_bytes(out, (const char *)bytes + i++, 1);
        } else {
            str_printf(out, "<%zu>", most);
            i += most;
        }
    }
}

/* Of several that take as much any is right. */
static void
add_finding(const struct finding *finding, const uint8_t *bytes, size_t length, struct str *out)
{
    if (finding->id >= n_needles || longest(&list[finding->id], bytes, length) != finding->length) {
        abort();
    }
    str_printf(out, "<%zu>", finding->length);
}

/* Keeps what may be the beginning of something, as those do who stream. */
static void
search_in_pieces(const struct needles *needles, const uint8_t *bytes, size_t length, size_t piece,
        struct str *out)
{
    size_t start = 0, end = 0;

    do {
        struct finding finding;

        end = length - end < piece ? length : end + piece;
        while (start < end &&
                needles_find(needles, bytes + start, end - start, end == length, &finding)) {
            str_add_bytes(out, (const char *)bytes + start, finding.at);
            start += finding.at;
            add_finding(&finding, bytes + start, length - start, out);
            start += finding.length;
        }
        if (start < end) {
            str_add_bytes(out, (const char *)bytes + start, finding.at);
            start += finding.at;
        }
    } while (end < length);
}

static void
compare(const struct str *a, const struct str *b)
{
    if (a->failed || b->failed) {
        return;
    }
    if (a->length != b->length || (a->length > 0 && memcmp(a->data, b->data, a->length) != 0)) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct needles *needles;
    struct str slowly = { 0 }, whole = { 0 }, cut = { 0 };
    size_t piece;

    n_needles = 0;
    while (n_needles < NEEDLES && size > 1 && data[0] != 0 && data[0] < size) {
        list[n_needles] = (struct needle){ .bytes = data + 1,
            .length = data[0] < NEEDLE_MAX ? data[0] : NEEDLE_MAX,
            .id = (uint32_t)n_needles };
        n_needles++;
        size -= data[0] + 1u;
        data += data[0] + 1u;
    }
    if (size < 2) {
        return 0;
    }
    piece = data[1] % 32u + 1;
    for (size_t k = 0; k < n_needles; k++) {
        list[k].is_base64 = data[1] >> 5 & 1u << k;
    }
    data += 2;
    size -= 2;
    needles = needles_new(list, n_needles);
    if (needles == NULL) {
        return 0;
    }
    search_slowly(data, size, &slowly);
    search_in_pieces(needles, data, size, size + 1, &whole);
    search_in_pieces(needles, data, size, piece, &cut);
    compare(&slowly, &whole);
    compare(&slowly, &cut);
    str_done(&slowly);
    str_done(&whole);
    str_done(&cut);
    needles_unref(needles);
    return 0;
}
