/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy: a path cut into its components, and path patterns compiled against that. */
#ifndef ABX_POLICY_MATCH_H
#define ABX_POLICY_MATCH_H

#include "base/fail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATH_LENGTH_MAX 4095u
#define PATH_PARTS_MAX 2048u

/* Component i of `text` is [start[i], start[i + 1] - 1). */
struct path_split {
    const char *text; /* borrowed */
    uint32_t length;
    uint32_t n;
    uint16_t start[PATH_PARTS_MAX + 1];
};

/* False unless the path is absolute, normalised and of a length that a kernel takes. */
bool path_split(const char *path, struct path_split *ret_split);

enum part_kind {
    PART_LITERAL,
    PART_GLOB,
    PART_SUFFIX, /* `*` and then literal text, the most common glob */
    PART_DOUBLE /* any number of components */
};

struct path_part {
    enum part_kind kind;
    uint32_t length;
    const char *text; /* literal: unescaped; suffix: what follows the star; else as written */
};

/* Neither two PART_DOUBLE in a row nor one at the end; no parts at all is "/". */
struct path_pattern {
    uint32_t n;
    struct path_part *parts;
    char *texts;
};

/* `**` is a whole component; `*`, `?`, `[a-z]`, `[!a-z]` stay inside one; a backslash takes the
 * next character as it is, `\xHH` is a byte.  Caller frees; NULL with `fail` set. */
struct path_pattern *path_pattern_new(const char *pattern, struct fail *fail);
void path_pattern_free(struct path_pattern *pattern);
bool path_pattern_has_wildcard(const struct path_pattern *pattern);
/* The path of a pattern without wildcards; caller frees. */
char *path_pattern_literal(const struct path_pattern *pattern);
/* Number of leading components of `path` the pattern matched at most (0: only "/"), or -1. */
int path_pattern_match(const struct path_pattern *pattern, const struct path_split *path);
/* Whether some path strictly below `directory`, existing or not, could be matched. */
bool path_pattern_reaches(const struct path_pattern *pattern, const struct path_split *directory);
/* Whether each name below `link` that the pattern could match is matched below `target` too
 * (NULL: wherever that is). */
bool path_pattern_follows(const struct path_pattern *pattern, const struct path_split *link,
        const struct path_split *target);
/* One element of a glob, or of what a suffix part stands for. */
enum glob_form { GLOB_STAR, GLOB_CHARACTER, GLOB_BYTE };
struct glob_element {
    enum glob_form form;
    bool is_text; /* BYTE: it is one that the pattern names, and no class */
    bool bytes[256]; /* BYTE: these */
};
/* Takes the next element from *at, which begins as 0.  False: there is no more. */
bool path_part_next(const struct path_part *part, uint32_t *at, struct glob_element *ret_element);
/* The text in which each component that a glob matches ends, or with which it begins; the text has
 * no more than PATTERN_MAX bytes and no zero.  Returns its length. */
uint32_t path_part_edge(const struct path_part *part, bool at_end, char *ret_text);
/* Whether the part matches a component. */
bool path_part_takes(const struct path_part *part, const char *text, size_t length);
/* `text` so that it stands for itself inside a pattern; caller frees. */
char *path_pattern_quote(const char *text);

#endif
