/* SPDX-License-Identifier: Apache-2.0
 * One record of an audit log, a line of JSON:
 *
 *   {"n":2,"prev":"<64 hex>","salt":"<32 hex>","body":{...},"hash":"<64 hex>"}
 *
 * `hash` is SHA-256 of the line "n prev digest", where `digest` is SHA-256 of "salt body".  The
 * first record of a log has 64 zeros before it.  A redacted one has `"digest"` in place of salt and
 * body: the chain stays whole, and what stood there cannot be guessed, since the salt is gone. */
#ifndef ABX_AUDIT_RECORD_H
#define ABX_AUDIT_RECORD_H

#include "base/digest.h"
#include "base/str.h"

#include <agentbox/agentbox.h>
#include <stdbool.h>

#define RECORD_BYTES_MAX (256u << 10)

/* Where a chain has come to. */
struct chain {
    uint64_t n; /* of the last record; 0: there is none */
    char hash[DIGEST_HEX_SIZE];
};

/* One that was read; points into its line. */
struct record {
    uint64_t n;
    const char *body; /* NULL: it was redacted */
    size_t body_length;
    const char *line; /* all of it, without its end */
    size_t line_length;
};

void chain_begin(struct chain *chain);
/* Appends the line of the next record and moves the chain on.  `body` is one JSON object without
 * an end of line.  False: no random numbers, or no memory; the chain is as it was. */
bool record_write(struct chain *chain, const char *body, struct str *out);
/* Reads a line without its end and moves the chain on.  ABX_ERR_IO: it does not follow, and
 * *ret_why says what is wrong; or ABX_ERR_NOMEM. */
abx_status record_read(struct chain *chain, const char *line, size_t length,
        struct record *ret_record, const char **ret_why);
/* The chain that this line would go on, as it says itself; false: the line is no record. */
bool chain_before(struct chain *chain, const char *line, size_t length);
/* Whether the log says this of itself, and whether it is of this `type` of those. */
bool record_is_own(const struct record *record);
bool record_is(const struct record *record, const char *type);
/* The line without what it says; the chain is the same.  False: it is no record, or no memory. */
bool record_redact(const char *line, size_t length, struct str *out);

#endif
