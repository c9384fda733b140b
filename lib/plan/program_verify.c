/* SPDX-License-Identifier: Apache-2.0
 * Whether bytes are a program that init may run: everything is inside, each field means what its
 * operation says, stages stand in order, and nothing that every box needs is left out.  The bytes
 * may be hostile; nothing is read that was not checked before.  Pure. */
#include "plan/program_rules.h"

#include "plan/program.h"

#include "base/mem.h"

#include <string.h>

#define FILTER_MAX 4096u /* BPF_MAXINSNS */
#define FILTER_INSTRUCTION 8u
#define FILTER_FLAGS (WIRE_FILTER_NOTIFY | WIRE_FILTER_KILLABLE | WIRE_FILTER_SENDMSG)
#define RESOURCES 16u /* RLIM_NLIMITS */

#define MOUNTS STAGE_MOUNTS, STAGE_MOUNTS
static const struct op_rule op_rules[] = {
    [OP_WRITE_MAPS] = { "write-maps", STAGE_MAPS, STAGE_MAPS, OPF_DENY_SETGROUPS, FIELD_TEXT,
            FIELD_TEXT, FIELD_NONE, FIELD_NONE },
    [OP_ROOT_TMPFS] = { "root-tmpfs", MOUNTS, 0, FIELD_NONE, FIELD_NONE, FIELD_MODE, FIELD_NUMBER },
    [OP_BIND] = { "bind", MOUNTS, OPF_RECURSIVE | OPF_FROM_BOX | OPF_OPTIONAL | OPF_MAY_VANISH,
            FIELD_PATH, FIELD_TARGET, FIELD_ATTRIBUTES, FIELD_ATTRIBUTES },
    [OP_TMPFS] = { "tmpfs", MOUNTS, 0, FIELD_NONE, FIELD_TARGET, FIELD_MODE, FIELD_NUMBER },
    [OP_PROC] = { "proc", MOUNTS, OPF_OPTIONAL, FIELD_NONE, FIELD_TARGET, FIELD_NONE, FIELD_NONE },
    [OP_DEVPTS] = { "devpts", MOUNTS, OPF_OPTIONAL, FIELD_NONE, FIELD_TARGET, FIELD_NONE,
            FIELD_NONE },
    [OP_MKDIR] = { "mkdir", MOUNTS, 0, FIELD_NONE, FIELD_TARGET, FIELD_MODE, FIELD_NONE },
    [OP_FILE] = { "file", MOUNTS, 0, FIELD_BYTES, FIELD_TARGET, FIELD_MODE, FIELD_LENGTH },
    [OP_SYMLINK] = { "symlink", MOUNTS, 0, FIELD_TEXT, FIELD_TARGET, FIELD_NONE, FIELD_NONE },
    [OP_STAND_IN] = { "stand-in", MOUNTS, 0, FIELD_NONE, FIELD_TARGET, FIELD_NONE, FIELD_NONE },
    [OP_REMOUNT] = { "remount", MOUNTS, OPF_RECURSIVE | OPF_OPTIONAL, FIELD_NONE, FIELD_PATH,
            FIELD_ATTRIBUTES, FIELD_ATTRIBUTES },
    [OP_FUSE] = { "fuse", MOUNTS, OPF_OPTIONAL, FIELD_NONE, FIELD_TARGET, FIELD_NONE, FIELD_NONE },
    [OP_DEVICE] = { "device", MOUNTS, OPF_OPTIONAL, FIELD_PATH, FIELD_TARGET, FIELD_NONE,
            FIELD_NONE },
    [OP_PIVOT] = { "pivot", STAGE_PIVOT, STAGE_PIVOT, 0, FIELD_NONE, FIELD_TARGET, FIELD_NONE,
            FIELD_NONE },
    [OP_WRITE] = { "write", STAGE_MOUNTS, STAGE_MOUNTS, OPF_OPTIONAL, FIELD_TEXT, FIELD_TARGET,
            FIELD_NONE, FIELD_NONE },
    [OP_HOSTNAME] = { "hostname", STAGE_AFTER_PIVOT, STAGE_AFTER_PIVOT, 0, FIELD_TEXT, FIELD_NONE,
            FIELD_NONE, FIELD_NONE },
    [OP_SESSION] = { "session", STAGE_AFTER_PIVOT, STAGE_AFTER_PIVOT, OPF_OPTIONAL, FIELD_NONE,
            FIELD_NONE, FIELD_NONE, FIELD_NONE },
    [OP_RLIMIT] = { "rlimit", STAGE_LIMITS, STAGE_LIMITS, 0, FIELD_RESOURCE, FIELD_NONE,
            FIELD_NUMBER, FIELD_NUMBER },
    [OP_LOOPBACK_UP] = { "loopback-up", STAGE_NETWORK, STAGE_NETWORK, OPF_OPTIONAL, FIELD_NONE,
            FIELD_NONE, FIELD_NONE, FIELD_NONE },
    [OP_SOCKET] = { "socket", STAGE_NETWORK, STAGE_NETWORK, OPF_OPTIONAL, FIELD_SOCKET, FIELD_TEXT,
            FIELD_PORT, FIELD_NONE },
    [OP_GATEWAY] = { "gateway", STAGE_NETWORK, STAGE_NETWORK, 0, FIELD_NONE, FIELD_NONE, FIELD_NONE,
            FIELD_NONE },
    [OP_WATCH] = { "watch", STAGE_NETWORK, STAGE_NETWORK, 0, FIELD_NONE, FIELD_NONE, FIELD_NONE,
            FIELD_NONE },
    [OP_DROP_CAPABILITIES] = { "drop-capabilities", STAGE_CAPABILITIES, STAGE_CAPABILITIES, 0,
            FIELD_NONE, FIELD_NONE, FIELD_NUMBER, FIELD_NONE },
    [OP_LANDLOCK] = { "landlock", STAGE_LANDLOCK, STAGE_LANDLOCK, 0, FIELD_NUMBER, FIELD_NONE,
            FIELD_NUMBER, FIELD_NUMBER },
    [OP_LANDLOCK_PATH] = { "landlock-path", STAGE_LANDLOCK, STAGE_LANDLOCK,
            OPF_OPTIONAL | OPF_MAY_VANISH, FIELD_NONE, FIELD_PATH, FIELD_NUMBER, FIELD_NONE },
    [OP_LANDLOCK_SELF] = { "landlock-self", STAGE_LANDLOCK, STAGE_LANDLOCK, 0, FIELD_NONE,
            FIELD_NONE, FIELD_NONE, FIELD_NONE },
    [OP_READY] = { "ready", STAGE_READY, STAGE_READY, 0, FIELD_NONE, FIELD_NONE, FIELD_NONE,
            FIELD_NONE },
};

const struct op_rule *
op_rule_of(uint16_t code)
{
    return code < N_ELEMENTS(op_rules) && op_rules[code].name != NULL ? &op_rules[code] : NULL;
}

struct reader {
    const unsigned char *bytes;
    size_t size;
    struct wire_program header;
    uint32_t at; /* operation that is looked at */
    uint8_t stage;
    bool has_root, has_pivot, has_gateway, has_drop, has_landlock, has_self, has_ready;
};

static abx_status
refuse(const struct reader *reader, const char *what, struct fail *fail)
{
    return fail_set(
            fail, ABX_ERR_INTERNAL, 0, "verify:program", "operation %u: %s", reader->at, what);
}

static bool
is_inside(size_t size, uint32_t offset, uint32_t count, size_t element)
{
    return offset <= size && count <= (size - offset) / element;
}

static abx_status
verify_header(struct reader *reader, struct fail *fail)
{
    const struct wire_program *header = &reader->header;

    if (reader->size < sizeof *header || reader->size > WIRE_PROGRAM_MAX) {
        return refuse(reader, "the size is wrong", fail);
    }
    memcpy(&reader->header, reader->bytes, sizeof reader->header);
    if (header->magic != WIRE_MAGIC || header->version != WIRE_VERSION ||
            header->size != reader->size || header->reserved[0] != 0 || header->reserved[1] != 0) {
        return refuse(reader, "the header is wrong", fail);
    }
    if (header->n_ops == 0 || header->n_ops > WIRE_OPS_MAX || header->ops % 8 != 0 ||
            header->ops < sizeof *header ||
            !is_inside(reader->size, header->ops, header->n_ops, sizeof(struct wire_op))) {
        return refuse(reader, "the operations are outside", fail);
    }
    if (header->strings_size == 0 ||
            !is_inside(reader->size, header->strings, header->strings_size, 1) ||
            reader->bytes[header->strings] != '\0' ||
            reader->bytes[header->strings + header->strings_size - 1] != '\0') {
        return refuse(reader, "the strings are outside", fail);
    }
    if (header->filter_count > FILTER_MAX || header->filter % 8 != 0 ||
            !is_inside(reader->size, header->filter, header->filter_count, FILTER_INSTRUCTION)) {
        return refuse(reader, "the filter is outside", fail);
    }
    if ((header->filter_flags & ~(uint32_t)FILTER_FLAGS) != 0 ||
            (header->filter_flags != 0 && header->filter_count == 0) ||
            (header->filter_flags != 0 && (header->filter_flags & WIRE_FILTER_NOTIFY) == 0)) {
        return refuse(reader, "the filter's flags are wrong", fail);
    }
    return ABX_OK;
}

/* NULL: outside. */
static const char *
text_at(const struct reader *reader, uint64_t offset)
{
    if (offset >= reader->header.strings_size) {
        return NULL;
    }
    return (const char *)reader->bytes + reader->header.strings + offset;
}

static bool
is_content_inside(const struct reader *reader, const struct wire_op *op)
{
    return op->y <= UINT32_MAX && is_inside(reader->header.strings_size, op->a, (uint32_t)op->y, 1);
}

/* Absolute, no empty, "." or ".." component, no slash at the end. */
static bool
is_canonical(const char *path)
{
    if (path[0] != '/' || strlen(path) >= WIRE_PATH_MAX) {
        return false;
    }
    if (path[1] == '\0') {
        return true;
    }
    while (*path == '/') {
        size_t length = strcspn(++path, "/");

        if (length == 0 || (path[0] == '.' && (length == 1 || (length == 2 && path[1] == '.')))) {
            return false;
        }
        path += length;
    }
    return true;
}

static bool
is_text_right(const struct reader *reader, enum field field, uint64_t value)
{
    const char *text = text_at(reader, value);

    if (text == NULL) {
        return false;
    }
    if (field == FIELD_TEXT) {
        return true;
    }
    return is_canonical(text) && (field == FIELD_PATH || text[1] != '\0');
}

static bool
is_field_right(const struct reader *reader, enum field field, uint64_t value)
{
    switch (field) {
    case FIELD_NONE:
        return value == 0;
    case FIELD_BYTES:
    case FIELD_LENGTH: /* both: verify_op */
        return true;
    case FIELD_TEXT:
    case FIELD_PATH:
    case FIELD_TARGET:
        return is_text_right(reader, field, value);
    case FIELD_NUMBER:
        return true;
    case FIELD_ATTRIBUTES:
        return (value & ~(uint64_t)ATTRIBUTES_KNOWN) == 0;
    case FIELD_MODE:
        return value <= 07777;
    case FIELD_RESOURCE:
        return value < RESOURCES;
    case FIELD_SOCKET:
        return value == 1 || value == 2;
    case FIELD_PORT:
        return value <= 0xffff;
    }
    return false;
}

/* What one operation needs of those before it. */
static const char *
verify_order(struct reader *reader, const struct wire_op *op)
{
    const bool is_root = op->code == OP_ROOT_TMPFS;

    if (reader->has_ready) {
        return "nothing may follow ready";
    }
    if (is_root ? reader->has_root : reader->stage == STAGE_MOUNTS && !reader->has_root) {
        return "the root must be made once, and first";
    }
    reader->has_root |= is_root;
    if (op->code == OP_PIVOT) {
        if (reader->has_pivot || !reader->has_root) {
            return "one root, one pivot";
        }
        reader->has_pivot = true;
    } else if (op->code == OP_GATEWAY || op->code == OP_WATCH) {
        if (reader->has_gateway != (op->code == OP_WATCH)) {
            return "one gateway, before it is watched";
        }
        reader->has_gateway = true;
    } else if (op->code == OP_DROP_CAPABILITIES) {
        reader->has_drop = true;
    } else if (op->code == OP_LANDLOCK) {
        if (reader->has_landlock) {
            return "there is a ruleset already";
        }
        reader->has_landlock = true;
    } else if (op->code == OP_LANDLOCK_PATH || op->code == OP_LANDLOCK_SELF) {
        if (!reader->has_landlock || reader->has_self) {
            return "there is no ruleset, or it is in force already";
        }
        reader->has_self = op->code == OP_LANDLOCK_SELF;
    } else if (op->code == OP_READY) {
        reader->has_ready = true;
    }
    return NULL;
}

static abx_status
verify_op(struct reader *reader, const struct wire_op *op, struct fail *fail)
{
    const struct op_rule *rule = op_rule_of(op->code);
    const char *step = text_at(reader, op->step);
    const char *wrong;

    if (rule == NULL) {
        return refuse(reader, "there is no such operation", fail);
    }
    if (step == NULL || step[0] == '\0') {
        return refuse(reader, "it has no step", fail);
    }
    if ((op->flags & ~rule->flags) != 0) {
        return refuse(reader, "it may not have these flags", fail);
    }
    if (rule->last < reader->stage) {
        return refuse(reader, "its stage is over", fail);
    }
    if (rule->first > reader->stage) {
        reader->stage = rule->first;
    }
    if (!is_field_right(reader, rule->a, op->a) || !is_field_right(reader, rule->b, op->b) ||
            !is_field_right(reader, rule->x, op->x) || !is_field_right(reader, rule->y, op->y)) {
        return refuse(reader, "a field is wrong", fail);
    }
    if (rule->a == FIELD_BYTES && !is_content_inside(reader, op)) {
        return refuse(reader, "its content is outside", fail);
    }
    if (op->code == OP_WRITE && strstr(text_at(reader, op->b), "/proc/sys/") == NULL) {
        return refuse(reader, "only settings of the kernel are written", fail);
    }
    wrong = verify_order(reader, op);
    return wrong == NULL ? ABX_OK : refuse(reader, wrong, fail);
}

abx_status
program_verify(const void *bytes, size_t size, struct fail *fail)
{
    struct reader reader = { .bytes = bytes, .size = size, .stage = STAGE_MAPS };
    abx_status r = verify_header(&reader, fail);

    for (; r >= 0 && reader.at < reader.header.n_ops; reader.at++) {
        struct wire_op op;

        memcpy(&op, reader.bytes + reader.header.ops + reader.at * sizeof op, sizeof op);
        r = verify_op(&reader, &op, fail);
    }
    if (r < 0) {
        return r;
    }
    if (reader.has_root != reader.has_pivot) {
        return refuse(&reader, "one root, one pivot", fail);
    }
    if (!reader.has_drop || !reader.has_ready) {
        return refuse(&reader, "capabilities must be dropped, and ready said", fail);
    }
    return ABX_OK;
}
