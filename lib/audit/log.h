/* SPDX-License-Identifier: Apache-2.0
 * An audit log: a file of records to which any number of processes append, and which goes on in a
 * new one when it is full. */
#ifndef ABX_AUDIT_LOG_H
#define ABX_AUDIT_LOG_H

#include "audit/record.h"
#include "base/fail.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/stat.h>

struct audit_log {
    pthread_mutex_t lock;
    int dir; /* where it lies; the host may change its directory */
    char *name; /* in there */
    int fd;
    bool syncs; /* each record is on the disk before the call returns */
    bool is_held; /* the last wait for the file's lock was in vain */
    uint64_t size; /* of what the chain covers of the file */
    uint64_t most; /* bytes after which the log goes on in a new file; 0: never */
    uint64_t lost; /* records that could not be written since the last one that could */
    struct chain chain;
};

struct audit_options {
    uint64_t most;
    bool syncs;
};

/* Opens or begins the log and takes off what was written in part when a writer died; that is itself
 * a record.  Fails where the file ends in anything else than a record. */
abx_status audit_open(const char *path, const struct audit_options *options,
        struct audit_log **ret_log, struct fail *fail);
void audit_close(struct audit_log *log);
/* Appends a record of one JSON object.  When it fails the log is as it was before; what it should
 * have told of must then not happen.  Waits for other processes' writes,
 * but not for ever. */
abx_status audit_append(struct audit_log *log, const char *body, struct fail *fail);
/* Keeps all writers waiting, of other threads and processes, until audit_release; then records are
 * appended with audit_put, and wait for nobody. */
abx_status audit_hold(struct audit_log *log, struct fail *fail);
abx_status audit_put(struct audit_log *log, const char *body, struct fail *fail);
void audit_release(struct audit_log *log);
/* Whether nobody but the user of the log may have opened its file `name`. */
abx_status audit_check_file(const char *name, const struct stat *file, struct fail *fail);

/* tail.c: where the chain of the locked file of `size` bytes stands at its last record, and where
 * that ends; what follows was written in part.  An empty file leaves the chain as it is. */
abx_status audit_tail(
        int fd, uint64_t size, struct chain *chain, uint64_t *ret_whole, struct fail *fail);

#endif
