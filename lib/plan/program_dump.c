/* SPDX-License-Identifier: Apache-2.0
 * The program as text, one line an operation: for people, golden files and the audit hash, so it is
 * stable and every field that is not its operation's zero is shown.  Pure. */
#include "plan/program_rules.h"

#include "plan/program.h"

#include "base/digest.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 1024u

static const struct bit_name {
    uint64_t bit;
    const char *name;
} attribute_names[] = { { 0x1, "rdonly" }, { 0x2, "nosuid" }, { 0x4, "nodev" }, { 0x8, "noexec" },
    { 0x200000, "nosymfollow" } },
  flag_names[] = { { OPF_RECURSIVE, "recursive" }, { OPF_FROM_BOX, "from-box" },
      { OPF_OPTIONAL, "optional" }, { OPF_DENY_SETGROUPS, "deny-setgroups" },
      { OPF_MAY_VANISH, "may-vanish" } };

static void
dump_bits(struct str *out, const struct bit_name *names, size_t count, uint64_t value)
{
    const char *between = "";

    for (size_t i = 0; i < count; i++) {
        if ((value & names[i].bit) != 0) {
            str_printf(out, "%s%s", between, names[i].name);
            between = ",";
        }
    }
}

static void
dump_text(struct str *out, const char *text)
{
    str_add(out, "\"");
    str_add_escaped(out, text, strlen(text), true);
    str_add(out, "\"");
}

static void
dump_field(struct str *out, const char *key, enum field field, uint64_t value, const char *strings)
{
    switch (field) {
    case FIELD_NONE:
    case FIELD_BYTES: /* dump_content */
    case FIELD_LENGTH:
        return;
    case FIELD_TEXT:
    case FIELD_PATH:
    case FIELD_TARGET:
        str_printf(out, " %s=", key);
        dump_text(out, strings + value);
        return;
    case FIELD_ATTRIBUTES:
        if (value != 0) {
            str_printf(out, " %s=", key);
            dump_bits(out, attribute_names, N_ELEMENTS(attribute_names), value);
        }
        return;
    case FIELD_MODE:
        str_printf(out, " %s=%04" PRIo64, key, value);
        return;
    case FIELD_NUMBER:
    case FIELD_RESOURCE:
    case FIELD_SOCKET:
    case FIELD_PORT:
        str_printf(out, value > 0xffff ? " %s=%#" PRIx64 : " %s=%" PRIu64, key, value);
        return;
    }
}

/* A text as it is; what is none, or is long, by its digest. */
static void
dump_content(struct str *out, const char *content, uint64_t length)
{
    char digest[DIGEST_HEX_SIZE];

    if (length <= TEXT_MAX && memchr(content, '\0', length) == NULL) {
        str_add(out, " a=\"");
        str_add_escaped(out, content, length, true);
        str_add(out, "\"");
        return;
    }
    digest_hex(content, length, digest);
    str_printf(out, " a=%" PRIu64 ":%s", length, digest);
}

static void
dump_op(struct str *out, const struct wire_op *op, const char *strings)
{
    const struct op_rule *rule = op_rule_of(op->code);

    str_add(out, rule->name);
    if (rule->a == FIELD_BYTES) {
        dump_content(out, strings + op->a, op->y);
    }
    dump_field(out, "a", rule->a, op->a, strings);
    dump_field(out, "b", rule->b, op->b, strings);
    dump_field(out, "x", rule->x, op->x, strings);
    dump_field(out, "y", rule->y, op->y, strings);
    if (op->flags != 0) {
        str_add(out, " flags=");
        dump_bits(out, flag_names, N_ELEMENTS(flag_names), op->flags);
    }
    str_add(out, " # ");
    dump_text(out, strings + op->step);
    str_add(out, "\n");
}

char *
program_dump(const void *bytes, size_t size)
{
    const unsigned char *start = bytes;
    struct wire_program header;
    struct str out = { 0 };

    if (size < sizeof header) {
        return NULL;
    }
    memcpy(&header, start, sizeof header);
    for (uint32_t i = 0; i < header.n_ops; i++) {
        struct wire_op op;

        memcpy(&op, start + header.ops + i * sizeof op, sizeof op);
        dump_op(&out, &op, (const char *)start + header.strings);
    }
    str_printf(&out, "filter count=%" PRIu32 " flags=%" PRIu32 "\n", header.filter_count,
            header.filter_flags);
    return str_steal(&out, NULL);
}
