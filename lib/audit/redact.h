/* SPDX-License-Identifier: Apache-2.0
 * Takes out what records of a log say, for good; the chain stays as it was. */
#ifndef ABX_AUDIT_REDACT_H
#define ABX_AUDIT_REDACT_H

#include "base/fail.h"
#include "base/vec.h"

#include <stdint.h>

/* A file of the log in which something was redacted. */
struct redacted_file {
    char *name; /* the log's, or that of a full one beside it */
    uint64_t records; /* how many were, not counting those that had been before */
};

/* `records`: numbers and ranges of the log that has the name `path`, such as "3,7-9".  What the log
 * says of itself stays, and there is a record of the act before it begins.  Holds the log's lock
 * all the time.  ret_files (struct redacted_file): the caller frees it with redacted_done, also
 * after a failure.  ABX_ERR_INVALID: `records` is no such list, or names one that the log does not
 * have; ABX_ERR_IO: the log is not whole, in other hands, or cannot be written, and every file of
 * it is as it was or is done; asked for again it goes on. */
abx_status audit_redact(
        const char *path, const char *records, struct vec *ret_files, struct fail *fail);
void redacted_done(struct vec *files);

#endif
