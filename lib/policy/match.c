/* SPDX-License-Identifier: Apache-2.0
 * Owns path patterns: their syntax, compilation and matching.  Knows neither rules nor verdicts.
 * Matching never backtracks over more than one star, so its time is bounded by the product of the
 * two lengths, whatever a hostile pattern or path looks like.  Pure, any thread. */
#include "policy/match.h"

#include "base/mem.h"
#include "base/str.h"
#include "policy/rules.h"

#include <stdlib.h>
#include <string.h>

DEFINE_CLEANUP(path_pattern_free, struct path_pattern)

bool
path_split(const char *path, struct path_split *ret_split)
{
    uint32_t n = 0;
    const char *at = path;

    if (*at != '/') {
        return false;
    }
    ret_split->text = path;
    for (at++; *at != '\0'; n++) {
        const char *end = strchrnul(at, '/');
        size_t length = (size_t)(end - at);

        if (length == 0 || (length == 1 && at[0] == '.') ||
                (length == 2 && at[0] == '.' && at[1] == '.') || n == PATH_PARTS_MAX - 1 ||
                (size_t)(end - path) > PATH_LENGTH_MAX || (end[0] == '/' && end[1] == '\0')) {
            return false;
        }
        ret_split->start[n] = (uint16_t)(at - path);
        at = *end == '/' ? end + 1 : end;
        ret_split->length = (uint32_t)(end - path);
    }
    if (n == 0) {
        ret_split->length = 1;
    }
    ret_split->n = n;
    ret_split->start[n] = (uint16_t)(ret_split->length + 1);
    return true;
}

char *
path_normalise(const char *path, struct fail *fail)
{
    AUTO(str_done) struct str out = { 0 };
    char *text;

    if (path[0] != '/') {
        fail_set(fail, ABX_ERR_POLICY, 0, "", "'%.200s' is not an absolute path", path);
        return NULL;
    }
    if (strlen(path) > PATTERN_MAX) {
        fail_set(fail, ABX_ERR_POLICY, 0, "", "path is longer than %u bytes", PATTERN_MAX);
        return NULL;
    }
    for (const char *at = path; *at != '\0';) {
        const char *end = strchrnul(++at, '/');
        size_t length = (size_t)(end - at);

        if (length == 2 && at[0] == '.' && at[1] == '.') {
            fail_set(fail, ABX_ERR_POLICY, 0, "", "'%.200s' contains '..'", path);
            fail_remedy(fail, "write the path without '..': what it means changes with links");
            return NULL;
        }
        if (length > 0 && !(length == 1 && at[0] == '.')) {
            str_add(&out, "/");
            str_add_bytes(&out, at, length);
        }
        at = end;
    }
    if (out.length == 0) {
        str_add(&out, "/");
    }
    text = str_steal(&out, NULL);
    if (text == NULL) {
        fail_nomem(fail);
    }
    return text;
}

char *
path_pattern_quote(const char *text)
{
    AUTO(str_done) struct str out = { 0 };

    for (; *text != '\0'; text++) {
        if (strchr("*?[]\\", *text) != NULL) {
            str_add(&out, "\\");
        }
        str_add_bytes(&out, text, 1);
    }
    return str_steal(&out, NULL);
}

/* ---- one character of a pattern ---- */

/* Takes one possibly escaped byte; false at a lone backslash. */
static bool
take_byte(const char **at, const char *end, unsigned char *ret_byte)
{
    const char *p = *at;

    if (*p == '\\') {
        p++;
        if (p == end) {
            return false;
        }
        if (*p == 'x' && end - p > 2 && hex_byte(p + 1) >= 0) {
            *ret_byte = (unsigned char)hex_byte(p + 1);
            *at = p + 3;
            return true;
        }
    }
    *ret_byte = (unsigned char)*p;
    *at = p + 1;
    return true;
}

/* Takes a class from after its `[`; says whether `byte` is in it.  False if it is malformed. */
static bool
take_class(const char **at, const char *end, unsigned char byte, bool *ret_member)
{
    const char *p = *at;
    bool negated = p < end && (*p == '!' || *p == '^');
    bool member = false;

    if (negated) {
        p++;
    }
    for (const char *first = p; p < end && (*p != ']' || p == first);) {
        unsigned char low, high;

        if (!take_byte(&p, end, &low)) {
            return false;
        }
        high = low;
        if (end - p > 1 && p[0] == '-' && p[1] != ']') {
            p++;
            if (!take_byte(&p, end, &high) || high < low) {
                return false;
            }
        }
        if (low >= 0x80 || high >= 0x80) {
            return false;
        }
        member = member || (byte >= low && byte <= high);
    }
    if (p >= end) {
        return false;
    }
    *at = p + 1;
    *ret_member = member != negated;
    return true;
}

/* Bytes of the UTF-8 character at `text`, so that `?` takes the whole of it; 1 if it is none. */
static size_t
character_length(const char *text, const char *end)
{
    unsigned char lead = (unsigned char)*text;
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;

    if (length > (size_t)(end - text) || lead > 0xf4) {
        return 1;
    }
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80) {
            return 1;
        }
    }
    return length;
}

/* Matches one element that is no star; both move on only if it matches. */
static bool
glob_step(const char **pattern, const char *pattern_end, const char **text, const char *text_end)
{
    const char *p = *pattern;
    unsigned char byte;
    bool member;

    if (*p == '?') {
        *pattern = p + 1;
        *text += character_length(*text, text_end);
        return true;
    }
    if (*p == '[') {
        p++;
        if (!take_class(&p, pattern_end, (unsigned char)**text, &member) || !member) {
            return false;
        }
    } else if (!take_byte(&p, pattern_end, &byte) || byte != (unsigned char)**text) {
        return false;
    }
    *pattern = p;
    *text += 1;
    return true;
}

static bool
glob_match(const char *p, const char *p_end, const char *t, const char *t_end)
{
    const char *star = NULL;
    const char *retry = NULL;

    while (t < t_end) {
        if (p < p_end && *p == '*') {
            star = ++p;
            retry = t;
        } else if (p == p_end || !glob_step(&p, p_end, &t, t_end)) {
            if (star == NULL) {
                return false;
            }
            p = star;
            t = ++retry;
        }
    }
    while (p < p_end && *p == '*') {
        p++;
    }
    return p == p_end;
}

bool
path_part_next(const struct path_part *part, uint32_t *at, struct glob_element *ret_element)
{
    bool is_suffix = part->kind == PART_SUFFIX;
    const char *end = part->text + part->length;
    const char *p = part->text + *at - (is_suffix && *at > 0);
    unsigned char byte;

    memset(ret_element, 0, sizeof *ret_element);
    if (is_suffix && *at == 0) {
        *at = 1;
        return true;
    }
    if (p == end) {
        return false;
    }
    ret_element->form = GLOB_BYTE;
    if (part->kind != PART_GLOB) {
        ret_element->bytes[(unsigned char)*p++] = ret_element->is_text = true;
    } else if (*p == '*' || *p == '?') {
        ret_element->form = *p++ == '*' ? GLOB_STAR : GLOB_CHARACTER;
    } else if (*p == '[') {
        const char *class = p + 1;

        for (unsigned i = 0; i < 256; i++) {
            p = class;
            take_class(&p, end, (unsigned char)i, &ret_element->bytes[i]);
        }
    } else if (take_byte(&p, end, &byte)) {
        ret_element->bytes[byte] = ret_element->is_text = true;
    }
    *at = (uint32_t)(p - part->text) + is_suffix;
    return true;
}

uint32_t
path_part_edge(const struct path_part *part, bool at_end, char *ret_text)
{
    const char *p = part->text, *end = p + part->length;
    uint32_t n = 0;

    if (part->kind == PART_SUFFIX && at_end) {
        memcpy(ret_text, p, part->length);
        return part->length;
    }
    while (part->kind == PART_GLOB && p < end) {
        unsigned char byte;
        bool is_wild = *p == '*' || *p == '?' || *p == '[', member;

        if (is_wild && !at_end) {
            break;
        }
        if (is_wild) {
            n = 0;
            p++;
        }
        if (is_wild && p[-1] == '[') {
            take_class(&p, end, 0, &member);
        } else if (!is_wild && take_byte(&p, end, &byte)) {
            ret_text[n++] = (char)byte;
        }
    }
    return n;
}

/* ---- compilation ---- */

static abx_status
malformed(struct fail *fail, const char *pattern, const char *why)
{
    return fail_set(fail, ABX_ERR_POLICY, 0, "", "pattern '%.200s' %s", pattern, why);
}

/* Copies a component to *room unescaped and says whether it has a wildcard outside a leading star.
 */
static abx_status
compile_part(const char *pattern, const char *text, size_t length, struct path_part *part,
        char **room, struct fail *fail)
{
    const char *end = text + length;
    const char *at = text;
    bool leading_star = *text == '*';
    size_t n_wild = 0;
    unsigned char byte;
    bool member;

    part->kind = PART_DOUBLE;
    part->text = *room;
    if (length == 2 && leading_star && text[1] == '*') {
        return ABX_OK;
    }
    while (at < end) {
        if (*at == '*' && end - at > 1 && at[1] == '*') {
            fail_remedy(fail, "write '**' as a component of its own, as in '**/*.env'");
            return malformed(fail, pattern, "has '**' inside a component");
        }
        if (*at == '*' || *at == '?') {
            at++;
            n_wild++;
        } else if (*at == '[') {
            at++;
            n_wild++;
            if (!take_class(&at, end, 0, &member)) {
                return malformed(fail, pattern, "has a '[' that is no character class");
            }
        } else {
            if (!take_byte(&at, end, &byte) || byte == 0 || byte == '/') {
                return malformed(fail, pattern, "has a backslash that escapes nothing");
            }
            *(*room)++ = (char)byte;
        }
    }
    part->length = (uint32_t)(*room - part->text);
    part->kind = n_wild == 0 ? PART_LITERAL : PART_SUFFIX;
    if (n_wild > 1 || (n_wild == 1 && !leading_star)) {
        memcpy(*room, text, length);
        part->kind = PART_GLOB;
        part->text = *room;
        part->length = (uint32_t)length;
        *room += length;
    } else if (n_wild == 0 && ((part->length == 1 && part->text[0] == '.') ||
                                      (part->length == 2 && memcmp(part->text, "..", 2) == 0))) {
        return malformed(fail, pattern, "has '.' or '..' as a component");
    }
    return ABX_OK;
}

struct path_pattern *
path_pattern_new(const char *pattern, struct fail *fail)
{
    AUTO(path_pattern_freep) struct path_pattern *compiled = calloc(1, sizeof *compiled);
    size_t length = strlen(pattern);
    char *room;

    if (length == 0 || length > PATTERN_MAX) {
        malformed(fail, pattern, length == 0 ? "is empty" : "is longer than 4096 bytes");
        return NULL;
    }
    if (compiled == NULL || (compiled->parts = calloc(length, sizeof *compiled->parts)) == NULL ||
            (compiled->texts = malloc(2 * length)) == NULL) {
        fail_nomem(fail);
        return NULL;
    }
    if (pattern[0] != '/' && strncmp(pattern, "**", 2) != 0) {
        malformed(fail, pattern, "is not absolute");
        return NULL;
    }
    room = compiled->texts;
    for (const char *at = pattern; *at != '\0';) {
        const char *end = strchrnul(at, '/');
        struct path_part *part = &compiled->parts[compiled->n];

        if (end > at) {
            if (compile_part(pattern, at, (size_t)(end - at), part, &room, fail) < 0) {
                return NULL;
            }
            if (part->kind != PART_DOUBLE || compiled->n == 0 || part[-1].kind != PART_DOUBLE) {
                compiled->n++;
            }
        }
        at = *end == '/' ? end + 1 : end;
    }
    if (compiled->n > 0 && compiled->parts[compiled->n - 1].kind == PART_DOUBLE) {
        compiled->n--;
    }
    return steal_ptr(&compiled);
}

void
path_pattern_free(struct path_pattern *pattern)
{
    if (pattern != NULL) {
        free(pattern->parts);
        free(pattern->texts);
        free(pattern);
    }
}

bool
path_pattern_has_wildcard(const struct path_pattern *pattern)
{
    for (uint32_t i = 0; i < pattern->n; i++) {
        if (pattern->parts[i].kind != PART_LITERAL) {
            return true;
        }
    }
    return false;
}

char *
path_pattern_literal(const struct path_pattern *pattern)
{
    AUTO(str_done) struct str out = { 0 };

    for (uint32_t i = 0; i < pattern->n; i++) {
        str_add(&out, "/");
        str_add_bytes(&out, pattern->parts[i].text, pattern->parts[i].length);
    }
    if (pattern->n == 0) {
        str_add(&out, "/");
    }
    return str_steal(&out, NULL);
}

/* ---- matching ---- */

/* Most components differ from most parts in length or in the last byte. */
static inline bool
ends_in(const char *text, size_t length, const struct path_part *part)
{
    return part->length == 0 ||
           (length >= part->length && text[length - 1] == part->text[part->length - 1] &&
                   memcmp(text + length - part->length, part->text, part->length) == 0);
}

static inline bool
takes(const struct path_part *part, const char *text, size_t length)
{
    switch (part->kind) {
    case PART_LITERAL:
        return length == part->length && ends_in(text, length, part);
    case PART_SUFFIX:
        return ends_in(text, length, part);
    case PART_GLOB:
        return glob_match(part->text, part->text + part->length, text, text + length);
    case PART_DOUBLE:
        break;
    }
    return true;
}

bool
path_part_takes(const struct path_part *part, const char *text, size_t length)
{
    return takes(part, text, length);
}

static inline bool
part_matches(const struct path_part *part, const struct path_split *path, uint32_t i)
{
    return takes(
            part, path->text + path->start[i], (size_t)(path->start[i + 1] - 1 - path->start[i]));
}

static inline bool
run_matches(const struct path_part *parts, uint32_t n, const struct path_split *path, uint32_t at)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!part_matches(&parts[i], path, at + i)) {
            return false;
        }
    }
    return true;
}

/* The runs between `**` are placed as far left as they go, the last one as far right: what lies
 * between is the business of `**`, so no other choice could match more. */
int
path_pattern_match(const struct path_pattern *pattern, const struct path_split *path)
{
    uint32_t at = 0;
    bool anchored = true;

    for (uint32_t i = 0; i < pattern->n; anchored = false, i++) {
        const struct path_part *run = &pattern->parts[i];
        uint32_t n = 0;

        while (i < pattern->n && pattern->parts[i].kind != PART_DOUBLE) {
            n++;
            i++;
        }
        if (at + n > path->n) {
            return -1;
        }
        if (anchored) {
            if (!run_matches(run, n, path, 0)) {
                return -1;
            }
        } else if (i == pattern->n) {
            uint32_t from = at;

            for (at = path->n - n; !run_matches(run, n, path, at); at--) {
                if (at == from) {
                    return -1;
                }
            }
        } else {
            while (!run_matches(run, n, path, at)) {
                if (++at + n > path->n) {
                    return -1;
                }
            }
        }
        at += n;
    }
    return (int)at;
}

bool
path_pattern_reaches(const struct path_pattern *pattern, const struct path_split *directory)
{
    /* alive[i]: the components so far can be what parts before i stand for. */
    bool alive[PATTERN_MAX + 1] = { true };

    for (uint32_t depth = 0;; depth++) {
        bool any = false;

        for (uint32_t i = 0; i < pattern->n; i++) {
            if (alive[i] && pattern->parts[i].kind == PART_DOUBLE) {
                return true;
            }
            any = any || alive[i];
        }
        if (alive[pattern->n]) {
            return true;
        }
        if (depth == directory->n || !any) {
            return any;
        }
        for (uint32_t i = pattern->n; i > 0; i--) {
            alive[i] = alive[i - 1] && part_matches(&pattern->parts[i - 1], directory, depth);
        }
        alive[0] = false;
    }
}

/* alive[i]: the path can be what parts before i stand for; alive[n]: it, or one above, matches. */
static void
consume(const struct path_pattern *pattern, const struct path_split *path, bool *alive)
{
    const uint32_t n = pattern->n;

    alive[0] = true;
    for (uint32_t depth = 0;; depth++) {
        for (uint32_t i = 0; i < n; i++) {
            alive[i + 1] = alive[i + 1] || (alive[i] && pattern->parts[i].kind == PART_DOUBLE);
        }
        if (path == NULL || depth == path->n) {
            return;
        }
        for (uint32_t i = n; i-- > 0;) {
            bool is_double = pattern->parts[i].kind == PART_DOUBLE;
            bool steps = alive[i] && !is_double && part_matches(&pattern->parts[i], path, depth);

            alive[i + 1] =
                    steps ||
                    (alive[i + 1] && (i + 1 == n || pattern->parts[i + 1].kind == PART_DOUBLE));
        }
        alive[0] = alive[0] && n > 0 && pattern->parts[0].kind == PART_DOUBLE;
    }
}

bool
path_pattern_follows(const struct path_pattern *pattern, const struct path_split *link,
        const struct path_split *target)
{
    bool below_link[PATTERN_MAX + 1] = { false }, below_target[PATTERN_MAX + 1] = { false };

    consume(pattern, link, below_link);
    consume(pattern, target, below_target);
    for (uint32_t i = 0; i <= pattern->n && !below_target[pattern->n]; i++) {
        if (below_link[i] && !below_target[i]) {
            return false;
        }
    }
    return true;
}

bool
path_match_follows(const char *pattern, const char *link, const char *target)
{
    struct fail fail;
    struct path_split at, to;
    AUTO(path_pattern_freep) struct path_pattern *compiled = path_pattern_new(pattern, &fail);

    return compiled != NULL && path_split(link, &at) &&
           (target == NULL || path_split(target, &to)) &&
           path_pattern_follows(compiled, &at, target == NULL ? NULL : &to);
}
