/* SPDX-License-Identifier: Apache-2.0
 * Input: needles, each with its length before it (four at most), then how long pieces are, then
 * bytes.  What is found is the same however the bytes are cut, and the same as by a search that
 * compares at every place; what is no needle stays as it was. */
#include "egress/needles.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NEEDLES 4u

static struct needle list[NEEDLES];
static size_t n_needles;

/* Every needle at every place; the longest. */
static void
search_slowly(const uint8_t *bytes, size_t length, struct str *out)
{
    for (size_t i = 0; i < length;) {
        const struct needle *best = NULL;

        for (size_t k = 0; k < n_needles; k++) {
            if (list[k].length <= length - i &&
                    memcmp(bytes + i, list[k].bytes, list[k].length) == 0 &&
                    (best == NULL || list[k].length > best->length)) {
                best = &list[k];
            }
        }
        if (best == NULL) {
            str_add_bytes(out, (const char *)bytes + i++, 1);
        } else {
            str_printf(out, "<%u>", best->id);
            i += best->length;
        }
    }
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
            str_printf(out, "<%u>", finding.id);
            start += finding.at + finding.length;
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
        list[n_needles] = (struct needle){ data + 1, data[0], (uint32_t)n_needles };
        n_needles++;
        size -= data[0] + 1u;
        data += data[0] + 1u;
    }
    if (size < 2) {
        return 0;
    }
    piece = data[1] % 32u + 1;
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
