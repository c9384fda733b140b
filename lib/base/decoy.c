/* SPDX-License-Identifier: Apache-2.0
 * What a decoy holds: keys of a cloud account where the path names one, else a token.  They look
 * right and open nothing.  Owns nothing. */
#include "base/decoy.h"

#include <stdio.h>
#include <string.h>

static uint64_t
next_number(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void
invent(uint64_t *state, const char *letters, size_t n_letters, char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        text[i] = letters[next_number(state) % n_letters];
    }
    text[length] = '\0';
}

size_t
decoy_write(uint64_t seed, const char *path, char ret_text[DECOY_MAX])
{
    static const char letters[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567abcdefghijklmnopqrstuvwxyz0189+/";
    uint64_t state = seed;
    char id[17], key[41];

    for (const char *p = path; *p != '\0'; p++) {
        state = (state ^ (unsigned char)*p) * 0x100000001b3u;
    }
    invent(&state, letters, 32, id, sizeof id - 1);
    invent(&state, letters, 64, key, sizeof key - 1);
    if (strstr(path, "aws") != NULL) {
        return (size_t)snprintf(ret_text, DECOY_MAX,
                "[default]\naws_access_key_id = AKIA%s\naws_secret_access_key = %s\n", id, key);
    }
    invent(&state, letters, 62, key, 36);
    return (size_t)snprintf(ret_text, DECOY_MAX, "token=ghp_%s\n", key);
}
