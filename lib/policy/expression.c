/* SPDX-License-Identifier: Apache-2.0
 * Owns patterns of arguments: compiled into a program of states, all of which are followed at once,
 * so that no pattern and no text takes long.  Jumps are relative, so a piece of a program can be
 * moved and repeated.  Pure, any thread. */
#include "policy/expression.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CODE_MAX 1024u
#define RANGES_MAX 512u
#define NESTING_MAX_HERE 24u
#define REPEAT_MAX 1000u

enum op { OP_CLASS, OP_SPLIT, OP_JUMP, OP_MATCH };

struct instruction {
    enum op op;
    int32_t x, y; /* SPLIT, JUMP: where to, from here; CLASS: first range and their number */
    bool negated; /* CLASS */
};

struct range {
    uint32_t first, last;
};

struct expression {
    uint32_t n_code, n_ranges;
    struct range ranges[RANGES_MAX];
    struct instruction code[];
};

struct compiler {
    const char *at;
    struct instruction code[CODE_MAX];
    uint32_t n_code, n_ranges, depth;
    struct range ranges[RANGES_MAX];
    const char *wrong;
};

static bool
wrong(struct compiler *compiler, const char *what)
{
    compiler->wrong = compiler->wrong == NULL ? what : compiler->wrong;
    return false;
}

/* The character at `*at`, which moves behind it; what is not UTF-8 counts as bytes beyond it. */
static uint32_t
next_character(const char **at)
{
    const unsigned char *p = (const unsigned char *)*at;
    size_t length = utf8_sequence(p, UTF8_MAX);

    *at += length == 0 ? 1 : length;
    return length == 0 ? 0x110000u + p[0] : utf8_character(p, length);
}

static bool
emit(struct compiler *compiler, struct instruction instruction)
{
    if (compiler->n_code >= CODE_MAX) {
        return wrong(compiler, "it is too large");
    }
    compiler->code[compiler->n_code++] = instruction;
    return true;
}

/* Puts a split before what begins at `start`. */
static bool
insert_split(struct compiler *compiler, uint32_t start, int32_t x, int32_t y)
{
    if (!emit(compiler, (struct instruction){ .op = OP_SPLIT })) {
        return false;
    }
    memmove(&compiler->code[start + 1], &compiler->code[start],
            (compiler->n_code - 1 - start) * sizeof compiler->code[0]);
    compiler->code[start] = (struct instruction){ .op = OP_SPLIT, .x = x, .y = y };
    return true;
}

/* ---- classes ---- */
static bool
add_range(struct compiler *compiler, uint32_t first, uint32_t last)
{
    if (compiler->n_ranges >= RANGES_MAX) {
        return wrong(compiler, "it has too many classes");
    }
    compiler->ranges[compiler->n_ranges++] = (struct range){ first, last };
    return true;
}

/* After the backslash: a named class, or punctuation as it is. */
static bool
add_escape(struct compiler *compiler)
{
    char c = *compiler->at;

    if (c == '\0' || (unsigned char)c >= 0x80) {
        return wrong(compiler, "it ends with a backslash, or has one before no punctuation");
    }
    compiler->at++;
    switch (c) {
    case 'd':
        return add_range(compiler, '0', '9');
    case 'w':
        return add_range(compiler, '0', '9') && add_range(compiler, 'A', 'Z') &&
               add_range(compiler, 'a', 'z') && add_range(compiler, '_', '_');
    case 's':
        return add_range(compiler, '\t', '\r') && add_range(compiler, ' ', ' ');
    default:
        if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
            return wrong(compiler, "no such escape: there are \\d, \\w, \\s and punctuation");
        }
        return add_range(compiler, (uint32_t)c, (uint32_t)c);
    }
}

/* One member of a class: "a", "a-z", an escape. */
static bool
add_member(struct compiler *compiler)
{
    uint32_t first, last;

    if (*compiler->at == '\\') {
        compiler->at++;
        return add_escape(compiler);
    }
    first = last = next_character(&compiler->at);
    if (compiler->at[0] == '-' && compiler->at[1] != ']' && compiler->at[1] != '\0') {
        compiler->at++;
        if (*compiler->at == '\\') {
            return wrong(compiler, "a range in a class ends with an escape");
        }
        last = next_character(&compiler->at);
    }
    return first <= last ? add_range(compiler, first, last)
                         : wrong(compiler, "a range in a class is backwards");
}

static bool
class_in_brackets(struct compiler *compiler)
{
    struct instruction class = { .op = OP_CLASS, .x = (int32_t)compiler->n_ranges };
    bool is_first = true;

    compiler->at++;
    if (*compiler->at == '^') {
        class.negated = true;
        compiler->at++;
    }
    for (; *compiler->at != ']' || is_first; is_first = false) {
        if (*compiler->at == '\0') {
            return wrong(compiler, "a class is not closed");
        }
        if (compiler->at[0] == '[' && compiler->at[1] == ':') {
            return wrong(compiler, "classes have no names in brackets; write the range");
        }
        if (!add_member(compiler)) {
            return false;
        }
    }
    compiler->at++;
    class.y = (int32_t)compiler->n_ranges - class.x;
    return emit(compiler, class);
}

static bool
character(struct compiler *compiler)
{
    struct instruction class = { .op = OP_CLASS, .x = (int32_t)compiler->n_ranges };
    uint32_t c;

    if (*compiler->at == '.') {
        compiler->at++;
        class.negated = true; /* of nothing */
        return emit(compiler, class);
    }
    if (*compiler->at == '\\') {
        compiler->at++;
        if (!add_escape(compiler)) {
            return false;
        }
    } else {
        c = next_character(&compiler->at);
        if (!add_range(compiler, c, c)) {
            return false;
        }
    }
    class.y = (int32_t)compiler->n_ranges - class.x;
    return emit(compiler, class);
}

/* ---- pieces ---- */
static bool alternatives(struct compiler *compiler);

static bool
group(struct compiler *compiler)
{
    compiler->at++;
    if (*compiler->at == '?') {
        return wrong(compiler, "a group has no options");
    }
    if (!alternatives(compiler)) {
        return false;
    }
    if (*compiler->at != ')') {
        return wrong(compiler, "a group is not closed");
    }
    compiler->at++;
    return true;
}

static bool
atom(struct compiler *compiler)
{
    switch (*compiler->at) {
    case '(':
        return group(compiler);
    case '[':
        return class_in_brackets(compiler);
    case '*':
    case '+':
    case '?':
    case '{':
        return wrong(compiler, "there is nothing before a repetition");
    case '^':
    case '$':
        return wrong(compiler, "'^' and '$' stand at its ends only: all of a text is matched");
    default:
        return character(compiler);
    }
}

static bool
number(struct compiler *compiler, uint32_t *ret_number)
{
    const char *start = compiler->at;

    *ret_number = 0;
    while (*compiler->at >= '0' && *compiler->at <= '9' && *ret_number <= REPEAT_MAX) {
        *ret_number = *ret_number * 10 + (uint32_t)(*compiler->at++ - '0');
    }
    return compiler->at > start && *ret_number <= REPEAT_MAX;
}

/* "{2}", "{2,}", "{2,5}"; *ret_most UINT32_MAX: any number. */
static bool
bounds(struct compiler *compiler, uint32_t *ret_least, uint32_t *ret_most)
{
    compiler->at++;
    if (!number(compiler, ret_least)) {
        return wrong(compiler, "a repetition has no number up to 1000");
    }
    *ret_most = *ret_least;
    if (*compiler->at == ',') {
        compiler->at++;
        *ret_most = UINT32_MAX;
        if (*compiler->at != '}' && !number(compiler, ret_most)) {
            return wrong(compiler, "a repetition has no number up to 1000");
        }
    }
    if (*compiler->at != '}' || *ret_most < *ret_least) {
        return wrong(compiler, "a repetition is not closed, or backwards");
    }
    compiler->at++;
    return true;
}

static bool
append(struct compiler *compiler, const struct instruction *piece, uint32_t n)
{
    if (n > CODE_MAX - compiler->n_code) {
        return wrong(compiler, "it is too large");
    }
    memcpy(&compiler->code[compiler->n_code], piece, n * sizeof *piece);
    compiler->n_code += n;
    return true;
}

/* What begins at `start`, so many times. */
static bool
repeat(struct compiler *compiler, uint32_t start, uint32_t least, uint32_t most)
{
    uint32_t n = compiler->n_code - start, times = most == UINT32_MAX ? 1 : most - least;
    int32_t length = (int32_t)n;
    struct instruction *piece = malloc((n + 1) * sizeof *piece);
    bool ok = piece != NULL || wrong(compiler, "out of memory");

    if (ok) {
        memcpy(piece, &compiler->code[start], n * sizeof *piece);
    }
    compiler->n_code = start;
    for (uint32_t i = 0; ok && i < least; i++) {
        ok = append(compiler, piece, n);
    }
    for (uint32_t i = 0; ok && i < times; i++) {
        bool is_star = most == UINT32_MAX;

        ok = emit(compiler,
                     (struct instruction){
                             .op = OP_SPLIT, .x = 1, .y = length + (is_star ? 2 : 1) }) &&
             append(compiler, piece, n) &&
             (!is_star ||
                     emit(compiler, (struct instruction){ .op = OP_JUMP, .x = -(length + 1) }));
    }
    free(piece);
    return ok;
}

static bool
repeated_atom(struct compiler *compiler)
{
    uint32_t start = compiler->n_code, least = 0, most = UINT32_MAX;

    if (!atom(compiler)) {
        return false;
    }
    switch (*compiler->at) {
    case '*':
        compiler->at++;
        break;
    case '+':
        compiler->at++;
        least = 1;
        break;
    case '?':
        compiler->at++;
        most = 1;
        break;
    case '{':
        if (!bounds(compiler, &least, &most)) {
            return false;
        }
        break;
    default:
        return true;
    }
    return repeat(compiler, start, least, most);
}

static bool
is_end(const char *at)
{
    return at[0] == '\0' || (at[0] == '$' && at[1] == '\0');
}

static bool
sequence(struct compiler *compiler)
{
    while (!is_end(compiler->at) && *compiler->at != '|' && *compiler->at != ')') {
        if (!repeated_atom(compiler)) {
            return false;
        }
    }
    return true;
}

/* Each "|" has a jump to the end, which is not known yet: until then `x` of a jump is how far
 * before it the last one is, 0 for the first. */
static void
set_ends(struct compiler *compiler, uint32_t last_jump)
{
    uint32_t before = 1;

    for (uint32_t jump = last_jump; before != 0; jump -= before) {
        before = (uint32_t)compiler->code[jump].x;
        compiler->code[jump].x = (int32_t)(compiler->n_code - jump);
    }
}

/* What stands from `start` is one of several; what follows is the next one. */
static bool
add_alternative(struct compiler *compiler, uint32_t start, uint32_t *last_jump)
{
    uint32_t jump = compiler->n_code + 1, before = *last_jump == 0 ? 0 : jump - *last_jump;

    compiler->at++;
    *last_jump = jump;
    return insert_split(compiler, start, 1, (int32_t)(jump + 1 - start)) &&
           emit(compiler, (struct instruction){ .op = OP_JUMP, .x = (int32_t)before });
}

static bool
alternatives(struct compiler *compiler)
{
    uint32_t last_jump = 0; /* a split is before it, so 0 is none */
    uint32_t start = compiler->n_code;

    if (++compiler->depth > NESTING_MAX_HERE) {
        return wrong(compiler, "it is nested too deeply");
    }
    if (!sequence(compiler)) {
        return false;
    }
    while (*compiler->at == '|') {
        if (!add_alternative(compiler, start, &last_jump)) {
            return false;
        }
        start = compiler->n_code;
        if (!sequence(compiler)) {
            return false;
        }
    }
    if (last_jump != 0) {
        set_ends(compiler, last_jump);
    }
    compiler->depth--;
    return true;
}

struct expression *
expression_new(const char *pattern, struct fail *fail)
{
    AUTO(freep) struct compiler *compiler = calloc(1, sizeof *compiler);
    struct expression *expression;

    if (compiler == NULL) {
        fail_nomem(fail);
        return NULL;
    }
    compiler->at = pattern + (pattern[0] == '^');
    if (alternatives(compiler) && !is_end(compiler->at)) {
        wrong(compiler, "a ')' closes nothing");
    }
    if (compiler->wrong == NULL) {
        emit(compiler, (struct instruction){ .op = OP_MATCH });
    }
    if (compiler->wrong != NULL) {
        fail_set(fail, ABX_ERR_POLICY, 0, "", "'%.100s' is no pattern: %s", pattern,
                compiler->wrong);
        return NULL;
    }
    expression = malloc(sizeof *expression + compiler->n_code * sizeof expression->code[0]);
    if (expression == NULL) {
        fail_nomem(fail);
        return NULL;
    }
    expression->n_code = compiler->n_code;
    expression->n_ranges = compiler->n_ranges;
    memcpy(expression->ranges, compiler->ranges, sizeof expression->ranges);
    memcpy(expression->code, compiler->code, compiler->n_code * sizeof expression->code[0]);
    return expression;
}

/* ---- matching ---- */

/* States that are followed; each once. */
struct states {
    uint16_t *list;
    uint32_t n;
    uint32_t *mark; /* of each the step in which it was added */
};

struct matching {
    struct states now, next;
    uint16_t *stack; /* of one more than there are states: each leads to two at most */
};

/* One block; NULL: no memory. */
static void *
make_room(struct matching *matching, size_t n)
{
    uint32_t *marks = calloc(1, 2 * n * sizeof *marks + (3 * n + 1) * sizeof *matching->stack);
    uint16_t *lists = marks == NULL ? NULL : (uint16_t *)(marks + 2 * n);

    if (marks != NULL) {
        *matching = (struct matching){
            .now = { .list = lists, .mark = marks },
            .next = { .list = lists + n, .mark = marks + n },
            .stack = lists + 2 * n,
        };
    }
    return marks;
}

/* Adds a state and what it leads to without a character. */
static void
add_state(const struct expression *expression, struct matching *matching, struct states *states,
        uint32_t state, uint32_t step)
{
    size_t depth = 0;

    matching->stack[depth++] = (uint16_t)state;
    while (depth > 0) {
        const struct instruction *instruction;

        state = matching->stack[--depth];
        if (states->mark[state] == step) {
            continue;
        }
        states->mark[state] = step;
        instruction = &expression->code[state];
        switch (instruction->op) {
        case OP_SPLIT:
            matching->stack[depth++] = (uint16_t)((int32_t)state + instruction->y);
            matching->stack[depth++] = (uint16_t)((int32_t)state + instruction->x);
            break;
        case OP_JUMP:
            matching->stack[depth++] = (uint16_t)((int32_t)state + instruction->x);
            break;
        case OP_CLASS:
        case OP_MATCH:
            states->list[states->n++] = (uint16_t)state;
            break;
        }
    }
}

static bool
takes(const struct expression *expression, const struct instruction *class, uint32_t c)
{
    bool is_in = false;

    for (int32_t i = class->x; i < class->x + class->y && !is_in; i++) {
        is_in = c >= expression->ranges[i].first && c <= expression->ranges[i].last;
    }
    return is_in != class->negated;
}

static bool
has_matched(const struct expression *expression, const struct states *states)
{
    for (uint32_t i = 0; i < states->n; i++) {
        if (expression->code[states->list[i]].op == OP_MATCH) {
            return true;
        }
    }
    return false;
}

abx_status
expression_match(
        const struct expression *expression, const char *text, bool *ret_matches, struct fail *fail)
{
    struct matching matching;
    AUTO(freep) void *room = make_room(&matching, expression->n_code);
    struct states *now = &matching.now, *next = &matching.next;
    uint32_t step = 1;

    if (room == NULL) {
        return fail_nomem(fail);
    }
    add_state(expression, &matching, now, 0, step);
    while (*text != '\0' && now->n > 0) {
        uint32_t c = next_character(&text);
        struct states *other = now;

        step++;
        next->n = 0;
        for (uint32_t i = 0; i < now->n; i++) {
            const struct instruction *class = &expression->code[now->list[i]];

            if (class->op == OP_CLASS && takes(expression, class, c)) {
                add_state(expression, &matching, next, now->list[i] + 1u, step);
            }
        }
        now = next;
        next = other;
    }
    *ret_matches = *text == '\0' && has_matched(expression, now);
    return ABX_OK;
}
