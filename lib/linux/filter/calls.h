/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: the table of system calls that do not simply go through.  filter.c makes
 * the seccomp program from it; the listener has a handler for each class, which a test checks. */
#ifndef ABX_LINUX_CALLS_H
#define ABX_LINUX_CALLS_H

#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum call_class {
    CLASS_WRITE, /* opens that write, create or truncate */
    CLASS_READ, /* all other opens */
    CLASS_NAME, /* make, rename, link or remove a name */
    CLASS_ATTRIBUTE, /* change attributes, by path or by descriptor */
    CLASS_ACCESS, /* asks whether something may be written */
    CLASS_EXEC,
    CLASS_UMASK, /* told only: names are made under it */
    CLASS_NETWORK, /* sockets and where they may go; socket and socketpair only if refused */
    CLASS_PROCESS, /* acts on another process, which must be of the box */
    CLASS_REFUSED, /* EPERM and an event; without a broker EPERM */
    CLASS_ABSENT /* ENOSYS without an event: programs have another way */
};

/* For which plans a row counts. */
enum call_when {
    WHEN_ALWAYS,
    WHEN_GUARDED, /* something is guarded */
    WHEN_READ_PATTERNS, /* reads are decided by name */
    WHEN_EXEC_RULES, /* executions are decided */
    WHEN_SHARED_NETWORK, /* the box is in the host's network for want of its own */
    WHEN_SHARED_PROCESSES /* it sees processes of the host, and shares memory and queues with them
                           */
};

/* For which arguments a row counts. All but pointers are compared by their low 32 bits, which is
 * all that the kernel takes of an int. */
enum call_test {
    TEST_NONE,
    TEST_ANY_BIT, /* argument & value */
    TEST_EQUAL, /* argument == value */
    TEST_OTHER, /* argument != value, in all 64 bits */
    TEST_POINTER, /* argument is not NULL */
    TEST_SOCKET /* family, type and protocol are none of the allowed ones; see filter.c */
};

/* One row; a call may have several, the strictest first. */
struct call_rule {
    const char *name;
    int32_t number;
    enum call_class class;
    enum call_when when;
    enum call_test test;
    uint32_t argument;
    uint32_t value;
};

extern const struct call_rule call_rules[];
extern const size_t n_call_rules;

/* Whether the row counts in a box of this plan. */
bool call_rule_applies(const struct call_rule *rule, const struct plan *plan);
/* The first row that is about this call; NULL: it goes through. */
const struct call_rule *call_rule_find(int32_t number, const uint64_t arguments[6]);

/* What socket() and socketpair() give. */
#define SOCKET_TYPE_BITS 0xfu /* the rest are flags */
struct socket_kind {
    uint32_t family;
    bool any_type;
    uint32_t types[2];
    uint32_t protocols[3];
    bool for_pairs; /* socketpair() gives it too */
};
extern const struct socket_kind socket_kinds[];
extern const size_t n_socket_kinds;
/* Whether socket() or socketpair() gives a box what it asks for. */
bool call_gives_socket(int32_t number, const uint64_t arguments[6]);

#endif
