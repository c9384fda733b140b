/* SPDX-License-Identifier: Apache-2.0
 * Reads the files of an audit log one after the other, as one chain. */
#ifndef ABX_AUDIT_VERIFY_H
#define ABX_AUDIT_VERIFY_H

#include "audit/record.h"
#include "base/fail.h"

/* What a file is. */
struct audit_file {
    uint64_t records, first, last; /* numbers; 0: it has none */
    uint64_t redacted; /* how many of its records */
    char hash[DIGEST_HEX_SIZE]; /* of the last one */
    uint32_t state; /* ABX_AUDIT_* */
    uint64_t line, byte; /* where it breaks: the line from 1, its first byte from 0 */
    const char *problem; /* "": none */
};

struct audit_visitor {
    /* False: no memory. */
    bool (*record)(void *data, const struct record *record);
    void *data;
};

/* Reads a file that goes on where `chain` stands; before a log's first file `chain->n` is 0, and it
 * may begin later if it says after which file.  The outcome is in `ret_file`; a failure
 * (ABX_ERR_IO, ABX_ERR_NOMEM) is that the file cannot be read.  `visitor` may be NULL; it sees what
 * stands before a break. */
abx_status audit_read(int fd, struct chain *chain, const struct audit_visitor *visitor,
        struct audit_file *ret_file, struct fail *fail);
/* The same from memory. */
abx_status audit_read_bytes(const char *bytes, size_t length, struct chain *chain,
        const struct audit_visitor *visitor, struct audit_file *ret_file, struct fail *fail);
/* The same of the file of that name; one that is torn and not the last of its log is broken. */
abx_status audit_read_path(const char *path, bool is_last, struct chain *chain,
        const struct audit_visitor *visitor, struct audit_file *ret_file, struct fail *fail);
/* Shows the records of a log's files up to where it breaks, which is in `file`, whole at first;
 * `problem` is "" or says where that is. */
abx_status audit_visit(const char *const *paths, size_t count, const struct audit_visitor *visitor,
        struct audit_file *file, char problem[256], struct fail *fail);

#endif
