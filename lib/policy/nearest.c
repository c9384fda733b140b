/* SPDX-License-Identifier: Apache-2.0
 * What was probably meant: the known name with the smallest edit distance.  Pure. */
#include "policy/builder.h"

#include "base/mem.h"

#include <ctype.h>
#include <string.h>

#define NAME_ROOM 64u

static bool
same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, deletions, replacements and swaps of neighbours; case costs nothing. */
static size_t
distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][NAME_ROOM + 1];

    for (size_t k = 0; k <= b_length; k++) {
        rows[0][k] = k;
    }
    for (size_t i = 1; i <= a_length; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *higher = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t k = 1; k <= b_length; k++) {
            size_t best = above[k - 1] + !same_letter(a[i - 1], b[k - 1]);

            best = above[k] + 1 < best ? above[k] + 1 : best;
            best = row[k - 1] + 1 < best ? row[k - 1] + 1 : best;
            if (i > 1 && k > 1 && same_letter(a[i - 1], b[k - 2]) &&
                    same_letter(a[i - 2], b[k - 1]) && higher[k - 2] + 1 < best) {
                best = higher[k - 2] + 1;
            }
            row[k] = best;
        }
    }
    return rows[a_length % 3][b_length];
}

const char *
nearest_of(const char *name, const char *const *candidates, size_t n_candidates)
{
    const char *nearest = NULL;
    size_t length = strlen(name);
    size_t best = length / 3 + 2;

    if (length > NAME_ROOM) {
        return NULL;
    }
    for (size_t i = 0; i < n_candidates; i++) {
        size_t d, candidate = strlen(candidates[i]);

        if (candidate > NAME_ROOM) {
            continue;
        }
        d = distance(name, length, candidates[i], candidate);
        if (d < best && d < candidate) {
            best = d;
            nearest = candidates[i];
        }
    }
    return nearest;
}
