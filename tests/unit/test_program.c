/* SPDX-License-Identifier: Apache-2.0
 * What is built is verified and printed; what init could not rely on is refused. */
#include "plan/program.h"

#include "unit/main.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_OPS 10

/* One operation as the tables write it; a_number stands in place of a text. */
struct line {
    uint16_t code;
    const char *a, *b;
    uint64_t x, y;
    uint16_t flags;
    uint32_t a_number;
};

static void
add(struct program *program, const struct line *line)
{
    struct wire_op *op = program_op(program, line->code, "do:it", line->a, line->b);

    op->x = line->x;
    op->y = line->y;
    op->flags = line->flags;
    if (line->a_number != 0) {
        op->a = line->a_number;
    }
}

static abx_status
build(const struct line *lines, void **ret_bytes, size_t *ret_size, struct fail *fail)
{
    struct program program;
    abx_status r;

    program_init(&program);
    for (int i = 0; i < MAX_OPS && lines[i].code != 0; i++) {
        add(&program, &lines[i]);
    }
    r = program_finish(&program, ret_bytes, ret_size, fail);
    program_done(&program);
    return r;
}

#define ROOT                                                                                       \
    {                                                                                              \
        OP_ROOT_TMPFS, NULL, NULL, 0755, 0, 0, 0                                                   \
    }
#define PIVOT                                                                                      \
    {                                                                                              \
        OP_PIVOT, NULL, "/root", 0, 0, 0, 0                                                        \
    }
#define DROP                                                                                       \
    {                                                                                              \
        OP_DROP_CAPABILITIES, NULL, NULL, 1, 0, 0, 0                                               \
    }
#define READY                                                                                      \
    {                                                                                              \
        OP_READY, NULL, NULL, 0, 0, 0, 0                                                           \
    }

static const struct list_case {
    const char *name;
    const char *wrong; /* part of the message; NULL: it is right */
    struct line lines[MAX_OPS];
} list_cases[] = {
    { "the least with mounts", NULL, { ROOT, PIVOT, DROP, READY } },
    { "the least without", NULL, { DROP, READY } },
    { "a root of pieces", NULL,
            { { OP_ROOT_TMPFS, NULL, NULL, 0755, 0, 0, 0 },
                    { OP_MKDIR, NULL, "/box", 0755, 0, 0, 0 },
                    { OP_BIND, "/", "/box", 1, 0, OPF_RECURSIVE, 0 },
                    { OP_PIVOT, NULL, "/box", 0, 0, 0, 0 }, DROP, READY } },
    { "no operation", "operations", { { 0 } } },
    { "an unknown operation", "no such", { { 200, NULL, NULL, 0, 0, 0, 0 }, DROP, READY } },
    { "ready is missing", "ready", { ROOT, PIVOT, DROP } },
    { "ready is not the last", "follow", { DROP, READY, READY } },
    { "capabilities are kept", "dropped", { ROOT, PIVOT, READY } },
    { "a root without pivot", "pivot", { ROOT, DROP, READY } },
    { "a pivot without root", "pivot", { PIVOT, DROP, READY } },
    { "two roots", "once", { ROOT, ROOT, PIVOT, DROP, READY } },
    { "a mount before the root", "first",
            { { OP_TMPFS, NULL, "/tmp", 0, 0, 0, 0 }, ROOT, PIVOT, DROP, READY } },
    { "a mount after the pivot", "stage",
            { ROOT, PIVOT, { OP_TMPFS, NULL, "/tmp", 0, 0, 0, 0 }, DROP, READY } },
    { "limits after capabilities", "stage",
            { DROP, { OP_RLIMIT, NULL, NULL, 0, 0, 0, 4 }, READY } },
    { "a path with ..", "field",
            { ROOT, { OP_TMPFS, NULL, "/a/../b", 0, 0, 0, 0 }, PIVOT, DROP, READY } },
    { "a path with .", "field",
            { ROOT, { OP_TMPFS, NULL, "/a/.", 0, 0, 0, 0 }, PIVOT, DROP, READY } },
    { "a name of three points is one", NULL,
            { ROOT, { OP_TMPFS, NULL, "/a/...", 0, 0, 0, 0 }, PIVOT, DROP, READY } },
    { "a path with //", "field",
            { ROOT, { OP_TMPFS, NULL, "/a//b", 0, 0, 0, 0 }, PIVOT, DROP, READY } },
    { "a path with a slash at the end", "field",
            { ROOT, { OP_TMPFS, NULL, "/a/", 0, 0, 0, 0 }, PIVOT, DROP, READY } },
    { "a relative path", "field",
            { ROOT, { OP_TMPFS, NULL, "a", 0, 0, 0, 0 }, PIVOT, DROP, READY } },
    { "a missing path", "field",
            { ROOT, { OP_TMPFS, NULL, NULL, 0, 0, 0, 0 }, PIVOT, DROP, READY } },
    { "a mount over the root", "field",
            { ROOT, { OP_TMPFS, NULL, "/", 0, 0, 0, 0 }, PIVOT, DROP, READY } },
    { "the root made read-only", NULL,
            { ROOT, { OP_REMOUNT, NULL, "/", 1, 0, OPF_RECURSIVE, 0 }, PIVOT, DROP, READY } },
    { "attributes that are none", "field",
            { ROOT, { OP_REMOUNT, NULL, "/", 1 << 10, 0, 0, 0 }, PIVOT, DROP, READY } },
    { "an id-mapped mount", "field",
            { ROOT, { OP_REMOUNT, NULL, "/", 0x100000, 0, 0, 0 }, PIVOT, DROP, READY } },
    { "a mode that is none", "field",
            { ROOT, { OP_TMPFS, NULL, "/a", 010000, 0, 0, 0 }, PIVOT, DROP, READY } },
    { "a field that must be empty", "field",
            { { OP_SESSION, NULL, NULL, 1, 0, 0, 0 }, DROP, READY } },
    { "a flag that the operation has not", "flags",
            { DROP, { OP_READY, NULL, NULL, 0, 0, 4, 0 } } },
    { "a resource out of range", "field", { { OP_RLIMIT, NULL, NULL, 0, 0, 0, 16 }, DROP, READY } },
    { "a socket that is none", "field", { { OP_SOCKET, NULL, "::1", 53, 0, 0, 3 }, DROP, READY } },
    { "a port that is none", "field", { { OP_SOCKET, NULL, "::1", 65536, 0, 0, 1 }, DROP, READY } },
    { "content that is longer than what is there", "content",
            { ROOT, { OP_FILE, "a", "/a", 0644, 100, 0, 0 }, PIVOT, DROP, READY } },
    { "content of a length that no number here holds", "content",
            { ROOT, { OP_FILE, "a", "/a", 0644, 1ull << 32, 0, 0 }, PIVOT, DROP, READY } },
    { "content that begins outside", "content",
            { ROOT, { OP_FILE, NULL, "/a", 0644, 0, 0, 1 << 20 }, PIVOT, DROP, READY } },
    { "a write outside /proc/sys", "settings",
            { ROOT, { OP_WRITE, "1", "/etc/passwd", 0, 0, 0, 0 }, PIVOT, DROP, READY } },
    { "a Landlock path without ruleset", "ruleset",
            { DROP, { OP_LANDLOCK_PATH, NULL, "/", 1, 0, 0, 0 }, READY } },
    { "two rulesets", "ruleset",
            { DROP, { OP_LANDLOCK, NULL, NULL, 1, 0, 0, 0 },
                    { OP_LANDLOCK, NULL, NULL, 1, 0, 0, 0 }, READY } },
    { "a rule for what is in force", "force",
            { DROP, { OP_LANDLOCK, NULL, NULL, 1, 0, 0, 0 },
                    { OP_LANDLOCK_SELF, NULL, NULL, 0, 0, 0, 0 },
                    { OP_LANDLOCK_PATH, NULL, "/", 1, 0, 0, 0 }, READY } },
};

START_TEST(a_list_of_operations_is_verified)
{
    const struct list_case *c = &list_cases[_i];
    struct fail fail = { 0 };
    void *bytes = NULL;
    size_t size = 0;
    abx_status r = build(c->lines, &bytes, &size, &fail);

    if (c->wrong == NULL) {
        ck_assert_msg(r == ABX_OK, "%s: %s", c->name, fail.text);
    } else {
        ck_assert_msg(r < 0 && strstr(fail.text, c->wrong) != NULL, "%s: %s", c->name, fail.text);
        ck_assert_ptr_null(bytes);
    }
    free(bytes);
}
END_TEST

static const struct line sample[] = { ROOT,
    { OP_BIND, "/usr", "/usr", 1, 2, OPF_RECURSIVE | OPF_OPTIONAL, 0 },
    { OP_FILE, "a\nb", "/etc/hosts", 0644, 3, 0, 0 }, PIVOT,
    { OP_RLIMIT, NULL, NULL, 1 << 20, UINT64_MAX, 0, 4 }, DROP, READY, { 0 } };

static const struct word_case {
    const char *name;
    size_t offset;
    uint32_t value;
} word_cases[] = {
    { "another magic", offsetof(struct wire_program, magic), 0 },
    { "another version", offsetof(struct wire_program, version), WIRE_VERSION + 1 },
    { "another size", offsetof(struct wire_program, size), 100 },
    { "more operations than bytes", offsetof(struct wire_program, n_ops), 1000 },
    { "operations outside", offsetof(struct wire_program, ops), 0xfffffff8u },
    { "operations in the header", offsetof(struct wire_program, ops), 8 },
    { "operations askew", offsetof(struct wire_program, ops), 49 },
    { "strings outside", offsetof(struct wire_program, strings), 0xffffffffu },
    { "no strings", offsetof(struct wire_program, strings_size), 0 },
    { "strings without end", offsetof(struct wire_program, strings_size), 3 },
    { "strings that do not begin empty", offsetof(struct wire_program, strings), 0 },
    { "a filter outside", offsetof(struct wire_program, filter_count), 4096 },
    { "a filter that is too long", offsetof(struct wire_program, filter_count), 4097 },
    { "filter flags without filter", offsetof(struct wire_program, filter_flags), 1 },
    { "unknown filter flags", offsetof(struct wire_program, filter_flags), 4 },
    { "reserved words in use", offsetof(struct wire_program, reserved), 1 },
    { "a step outside", sizeof(struct wire_program) + offsetof(struct wire_op, step), 100000 },
    { "no step", sizeof(struct wire_program) + offsetof(struct wire_op, step), 0 },
    { "a text outside",
            sizeof(struct wire_program) + sizeof(struct wire_op) + offsetof(struct wire_op, a),
            100000 },
};

START_TEST(bytes_that_init_could_not_rely_on_are_refused)
{
    const struct word_case *c = &word_cases[_i];
    struct fail fail = { 0 };
    void *bytes;
    size_t size;

    ck_assert_int_eq(build(sample, &bytes, &size, &fail), ABX_OK);
    memcpy((char *)bytes + c->offset, &c->value, sizeof c->value);
    ck_assert_msg(program_verify(bytes, size, &fail) == ABX_ERR_INTERNAL, "%s", c->name);
    ck_assert_str_eq(fail.step, "verify:program");
    free(bytes);
}
END_TEST

START_TEST(bytes_that_are_cut_anywhere_are_refused)
{
    struct fail fail = { 0 };
    void *bytes;
    size_t size;

    ck_assert_int_eq(build(sample, &bytes, &size, &fail), ABX_OK);
    for (size_t i = 0; i < size; i++) {
        char *cut = malloc(i + 1); /* exactly as large, for sanitizers */

        memcpy(cut, bytes, i);
        ck_assert_int_lt(program_verify(cut, i, &fail), 0);
        free(cut);
    }
    free(bytes);
}
END_TEST

START_TEST(a_program_is_printed_one_line_an_operation)
{
    static const char expected[] = "root-tmpfs x=0755 y=0 # \"do:it\"\n"
                                   "bind a=\"/usr\" b=\"/usr\" x=rdonly y=nosuid "
                                   "flags=recursive,optional # \"do:it\"\n"
                                   "file a=\"a\\x0Ab\" b=\"/etc/hosts\" x=0644 # \"do:it\"\n"
                                   "pivot b=\"/root\" # \"do:it\"\n"
                                   "rlimit a=4 x=0x100000 y=0xffffffffffffffff # \"do:it\"\n"
                                   "drop-capabilities x=1 # \"do:it\"\n"
                                   "ready # \"do:it\"\n"
                                   "filter count=0 flags=0\n";
    struct fail fail = { 0 };
    void *bytes;
    size_t size;
    char *text;

    ck_assert_int_eq(build(sample, &bytes, &size, &fail), ABX_OK);
    text = program_dump(bytes, size);
    ck_assert_str_eq(text, expected);
    free(text);
    free(bytes);
}
END_TEST

/* Whatever bytes it has, the content comes out as it was put in, and is printed by its digest. */
START_TEST(content_may_hold_any_bytes)
{
    static const char content[] = "a\0b\xff";
    struct program program;
    struct wire_program header;
    struct wire_op op;
    struct fail fail = { 0 };
    void *bytes;
    size_t size;
    char *text;

    program_init(&program);
    add(&program, &(struct line)ROOT);
    program_op_bytes(&program, OP_FILE, "make:it", content, 4, "/etc/store")->x = 0444;
    add(&program, &(struct line)PIVOT);
    add(&program, &(struct line)DROP);
    add(&program, &(struct line)READY);
    ck_assert_int_eq(program_finish(&program, &bytes, &size, &fail), ABX_OK);
    program_done(&program);
    memcpy(&header, bytes, sizeof header);
    memcpy(&op, (char *)bytes + header.ops + sizeof op, sizeof op);
    ck_assert_uint_eq(op.y, 4);
    ck_assert_mem_eq((char *)bytes + header.strings + op.a, content, 4);
    text = program_dump(bytes, size);
    ck_assert_ptr_nonnull(strstr(text, "\nfile a=4:a37cc3026aae4d51"));
    free(text);
    free(bytes);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("program");
    TCase *tcase = tcase_create("program");

    tcase_add_loop_test(tcase, a_list_of_operations_is_verified, 0, COUNT(list_cases));
    tcase_add_loop_test(tcase, bytes_that_init_could_not_rely_on_are_refused, 0, COUNT(word_cases));
    tcase_add_test(tcase, bytes_that_are_cut_anywhere_are_refused);
    tcase_add_test(tcase, a_program_is_printed_one_line_an_operation);
    tcase_add_test(tcase, content_may_hold_any_bytes);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
