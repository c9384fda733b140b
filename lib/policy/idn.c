/* SPDX-License-Identifier: Apache-2.0
 * Owns the A-label of an internationalised label (RFC 3492, RFC 5891).  Only letters of scripts
 * whose lower case and composed form are certain here are taken; whoever needs another writes
 * `xn--` himself. A wrong guess would make a rule that silently matches nothing.  Pure, any thread.
 */
#include "policy/hostname.h"

#include "base/mem.h"

#include <string.h>

#define LABEL_MAX 63u

/* Ranges of letters that are their own lower case and need no composition. */
static const struct {
    uint32_t first, last;
} plain_letters[] = {
    { 0xdf, 0xf6 },
    { 0xf8, 0xff },
    { 0x3ac, 0x3ce },
    { 0x430, 0x45f },
    { 0x5d0, 0x5ea },
    { 0x620, 0x64a },
    { 0x905, 0x939 },
    { 0xe01, 0xe30 },
    { 0x3041, 0x3096 },
    { 0x30a1, 0x30fa },
    { 0x3400, 0x4dbf },
    { 0x4e00, 0x9fff },
    { 0xac00, 0xd7a3 },
    { 0x20000, 0x2a6df },
};

static bool
lower_letter(uint32_t *character)
{
    uint32_t c = *character;

    if ((c >= 0xc0 && c <= 0xde && c != 0xd7) || (c >= 0x391 && c <= 0x3a9 && c != 0x3a2) ||
            (c >= 0x410 && c <= 0x42f)) {
        c += 0x20;
    } else if (c >= 0x400 && c <= 0x40f) {
        c += 0x50;
    } else if ((c >= 0x100 && c <= 0x12f) || (c >= 0x132 && c <= 0x137) ||
               (c >= 0x14a && c <= 0x177)) {
        *character = c | 1; /* pairs of upper and lower case */
        return true;
    } else if ((c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e)) {
        *character = c + (c & 1); /* pairs that begin at an odd number */
        return true;
    }
    *character = c;
    for (size_t i = 0; i < N_ELEMENTS(plain_letters); i++) {
        if (c >= plain_letters[i].first && c <= plain_letters[i].last) {
            return true;
        }
    }
    return false;
}

/* Reads one character of valid UTF-8. */
static bool
take_character(const char **at, const char *end, uint32_t *ret_character)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    unsigned char lead = (unsigned char)**at;
    uint32_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    uint32_t c = length == 1 ? lead : lead & (0x7fu >> length);

    if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || (size_t)(end - *at) < length) {
        return false;
    }
    for (uint32_t i = 1; i < length; i++) {
        unsigned char next = (unsigned char)(*at)[i];

        if ((next & 0xc0) != 0x80) {
            return false;
        }
        c = c << 6 | (next & 0x3f);
    }
    *at += length;
    *ret_character = c;
    return c >= least[length] && (c < 0xd800 || c > 0xdfff) && c <= 0x10ffff;
}

static uint32_t
adapt_bias(uint32_t delta, uint32_t n_points, bool is_first)
{
    uint32_t k = 0;

    delta = is_first ? delta / 700 : delta / 2;
    delta += delta / n_points;
    for (; delta > 455; k += 36) {
        delta /= 35;
    }
    return k + 36 * delta / (delta + 38);
}

/* Writes `delta` as a variable-length number; false if there is no room. */
static bool
put_delta(uint32_t delta, uint32_t bias, char *out, size_t *used)
{
    for (uint32_t k = 36;; k += 36) {
        uint32_t least = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        bool is_last = delta < least;
        uint32_t digit = is_last ? delta : least + (delta - least) % (36 - least);

        if (*used >= LABEL_MAX) {
            return false;
        }
        out[(*used)++] = (char)(digit < 26 ? 'a' + digit : '0' + digit - 26);
        if (is_last) {
            return true;
        }
        delta = (delta - least) / (36 - least);
    }
}

/* RFC 3492, 6.3.  At most 63 characters, so nothing overflows: 0x10ffff * 64 < 2^32. */
static bool
punycode(const uint32_t *points, uint32_t n_points, char *out, size_t *used)
{
    uint32_t n = 0x80, delta = 0, bias = 72, handled = 0, n_basic;

    for (uint32_t i = 0; i < n_points; i++) {
        if (points[i] < 0x80) {
            if (*used >= LABEL_MAX) {
                return false;
            }
            out[(*used)++] = (char)points[i];
            handled++;
        }
    }
    n_basic = handled;
    if (n_basic > 0 && *used < LABEL_MAX) {
        out[(*used)++] = '-';
    }
    for (; handled < n_points; delta++, n++) {
        uint32_t next = UINT32_MAX;

        for (uint32_t i = 0; i < n_points; i++) {
            if (points[i] >= n && points[i] < next) {
                next = points[i];
            }
        }
        delta += (next - n) * (handled + 1);
        n = next;
        for (uint32_t i = 0; i < n_points; i++) {
            if (points[i] < n) {
                delta++;
            } else if (points[i] == n) {
                if (!put_delta(delta, bias, out, used)) {
                    return false;
                }
                bias = adapt_bias(delta, handled + 1, handled == n_basic);
                delta = 0;
                handled++;
            }
        }
    }
    return true;
}

bool
idn_to_ascii(const char *label, size_t length, char ret_label[64])
{
    uint32_t points[LABEL_MAX];
    uint32_t n = 0;
    size_t used = 4;

    for (const char *at = label; at < label + length; n++) {
        if (n == LABEL_MAX || !take_character(&at, label + length, &points[n])) {
            return false;
        }
        if (points[n] >= 'A' && points[n] <= 'Z') {
            points[n] += 'a' - 'A';
        } else if (points[n] >= 0x80 && !lower_letter(&points[n])) {
            return false;
        }
    }
    memcpy(ret_label, "xn--", 4);
    if (!punycode(points, n, ret_label, &used)) {
        return false;
    }
    ret_label[used] = '\0';
    return true;
}
