/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/plan only: what each operation of wire.h may hold, for checking and for printing. */
#ifndef ABX_PLAN_PROGRAM_RULES_H
#define ABX_PLAN_PROGRAM_RULES_H

#include "plan/wire.h"

/* What a field means, and so which values are right. */
enum field {
    FIELD_NONE = 0, /* must be 0 */
    FIELD_TEXT, /* string */
    FIELD_BYTES, /* content of so many bytes as `y` says */
    FIELD_LENGTH, /* that number */
    FIELD_PATH, /* string: absolute path in its one spelling */
    FIELD_TARGET, /* the same, but not "/": something is made or mounted there */
    FIELD_NUMBER, /* any value */
    FIELD_ATTRIBUTES, /* MOUNT_ATTR_* that a box may set or clear */
    FIELD_MODE, /* file mode */
    FIELD_RESOURCE, /* RLIMIT_* */
    FIELD_SOCKET, /* SOCK_STREAM or SOCK_DGRAM */
    FIELD_PORT
};

struct op_rule {
    const char *name;
    uint8_t first, last; /* stages it may stand in */
    uint16_t flags; /* those it may have */
    uint8_t a, b, x, y; /* enum field */
};

/* NULL: no such operation. */
const struct op_rule *op_rule_of(uint16_t code);

/* MOUNT_ATTR_RDONLY, NOSUID, NODEV, NOEXEC and NOSYMFOLLOW */
#define ATTRIBUTES_KNOWN (0x1u | 0x2u | 0x4u | 0x8u | 0x200000u)

#endif
