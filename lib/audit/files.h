/* SPDX-License-Identifier: Apache-2.0
 * The names of the files of an audit log: "LOG", the newest; "LOG.NNNNNNNNNNNN-HHHHHHHH", full ones
 * with the number and the first digits of the hash of their last record; and either with ".new",
 * which a file has until it takes its place. */
#ifndef ABX_AUDIT_FILES_H
#define ABX_AUDIT_FILES_H

#include "audit/record.h"
#include "base/fail.h"
#include "base/vec.h"

void files_name_full(struct str *out, const char *log, const struct chain *chain);
void files_name_next(struct str *out, const char *log);
/* What may follow the log's name, an example of each, NULL-terminated. */
extern const char *const files_endings[];
/* The full files of the log and then itself, in order (char *, the caller frees with files_done);
 * of a log that is not there itself alone. */
abx_status files_list(const char *log, struct vec *ret_paths, struct fail *fail);
void files_done(struct vec *paths);

#endif
