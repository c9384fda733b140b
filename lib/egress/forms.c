/* SPDX-License-Identifier: Apache-2.0
 * Owns encodings.  A secret in an answer is found in the forms that servers echo requests in; what
 * a server makes of it otherwise cannot be known.  Pure. */
#include "egress/forms.h"

#include <string.h>

#define USERS_MAX 4u
#define USER_MAX 256u
#define FRAGMENT_MIN 8u /* a shorter piece of base64 is in many texts */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t
percent_encode(const void *data, size_t length, char *to)
{
    static const char unreserved[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    static const char digits[] = "0123456789ABCDEF";
    const unsigned char *bytes = data;
    size_t n = 0;

    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != 0 && strchr(unreserved, bytes[i]) != NULL) {
            to[n++] = (char)bytes[i];
            continue;
        }
        to[n++] = '%';
        to[n++] = digits[bytes[i] >> 4];
        to[n++] = digits[bytes[i] & 15];
    }
    return n;
}

size_t
json_escape(const void *data, size_t length, char *to)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = data;
    size_t n = 0;

    for (size_t i = 0; i < length; i++) {
        if (bytes[i] < ' ') {
            memcpy(to + n, "\\u00", 4);
            to[n + 4] = digits[bytes[i] >> 4];
            to[n + 5] = digits[bytes[i] & 15];
            n += 6;
            continue;
        }
        if (bytes[i] == '"' || bytes[i] == '\\') {
            to[n++] = '\\';
        }
        to[n++] = (char)bytes[i];
    }
    return n;
}

size_t
base64_encode(const void *data, size_t length, char *to)
{
    const unsigned char *bytes = data;
    size_t n = 0;

    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        unsigned group = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);

        to[n++] = alphabet[group >> 18];
        to[n++] = alphabet[group >> 12 & 63];
        to[n++] = left > 1 ? alphabet[group >> 6 & 63] : '=';
        to[n++] = left > 2 ? alphabet[group & 63] : '=';
    }
    return n;
}

ptrdiff_t
base64_decode(const char *text, size_t length, void *data)
{
    unsigned char *to = data;
    unsigned bits = 0, n_bits = 0;
    size_t n = 0;

    while (length > 0 && text[length - 1] == '=') {
        length--;
    }
    if (length % 4 == 1) {
        return -1;
    }
    for (size_t i = 0; i < length; i++) {
        const char *found = text[i] == '\0' ? NULL : strchr(alphabet, text[i]);

        if (found == NULL) {
            return -1;
        }
        bits = bits << 6 | (unsigned)(found - alphabet);
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            to[n++] = (unsigned char)(bits >> n_bits);
        }
    }
    return (bits & ((1u << n_bits) - 1)) == 0 ? (ptrdiff_t)n : -1;
}

/* ---- all forms of a secret ---- */

static char *
room(struct forms *forms)
{
    return (char *)forms->vault->bytes + forms->used;
}

/* Takes what was written to room(). */
static void
take(struct forms *forms, size_t length, enum form_kind kind, const char *user)
{
    forms->list[forms->n++] =
            (struct form){ .at = forms->used, .length = length, .kind = kind, .user = user };
    forms->used += length;
}

/* Takes base64, and the same in the alphabet of URLs where that differs. */
static void
take_base64(struct forms *forms, size_t length, enum form_kind kind, const char *user)
{
    const char *from = room(forms);
    char *to;
    bool differs = false;

    take(forms, length, kind, user);
    to = room(forms);
    for (size_t i = 0; i < length; i++) {
        to[i] = (char)(from[i] == '+' ? '-' : from[i] == '/' ? '_' : from[i]);
        differs |= to[i] != from[i];
    }
    if (differs) {
        take(forms, length, kind, user);
    }
}

/* What is always the same of the secret's base64, when `before` bytes modulo 3 stand before it. */
static void
take_fragment(struct forms *forms, const void *secret, size_t length, size_t before)
{
    char *to = room(forms);
    /* Behind the encoded text: what is encoded. */
    unsigned char *plain = (unsigned char *)to + BASE64_ROOM(length + 2);
    size_t whole = (before + length) / 3 * 4, skipped = before == 0 ? 0 : 4;

    memset(plain, 0, before);
    memcpy(plain + before, secret, length);
    base64_encode(plain, before + length, to);
    if (whole >= skipped + FRAGMENT_MIN) {
        memmove(to, to + skipped, whole - skipped);
        take_base64(forms, whole - skipped, FORM_FRAGMENT, NULL);
    }
}

static void
take_basic(struct forms *forms, const char *user, const void *secret, size_t length)
{
    char *to = room(forms);
    size_t before = strlen(user), n;
    unsigned char *plain = (unsigned char *)to + BASE64_ROOM(before + 1 + length);

    memcpy(plain, user, before);
    plain[before] = ':';
    memcpy(plain + before + 1, secret, length);
    n = base64_encode(plain, before + 1 + length, to);
    take_base64(forms, n, FORM_BASIC, user);
}

bool
forms_make(struct forms *ret_forms, const void *secret, size_t length, const char *const *users)
{
    struct forms forms = { 0 };
    size_t pair = 2 * BASE64_ROOM(USER_MAX + 1 + length) + USER_MAX + 1 + length;

    forms.vault = vault_new(length + (USERS_MAX + 3) * pair);
    if (forms.vault == NULL) {
        return false;
    }
    memcpy(room(&forms), secret, length);
    take(&forms, length, FORM_PLAIN, NULL);
    for (size_t i = 0; i < USERS_MAX && users[i] != NULL; i++) {
        if (strlen(users[i]) <= USER_MAX) {
            take_basic(&forms, users[i], secret, length);
        }
    }
    for (size_t before = 0; before < 3; before++) {
        take_fragment(&forms, secret, length, before);
    }
    *ret_forms = forms;
    return true;
}

void
forms_done(struct forms *forms)
{
    vault_unref(forms->vault);
    *forms = (struct forms){ 0 };
}
