/* SPDX-License-Identifier: Apache-2.0
 * What every public function does first and last: takes structs of older and newer callers in, and
 * lets only documented statuses out. */
#ifndef ABX_API_DOOR_H
#define ABX_API_DOOR_H

#include "base/fail.h"

#include <stddef.h>

/* Copies a caller's size-first struct into `dst`, which has the newest layout; NULL is all
 * defaults. Fields that the caller's older header lacks become zero; fields that this build lacks
 * must be zero. `v1_size` is the size in the first release. */
abx_status struct_in(
        void *dst, size_t dst_size, size_t v1_size, const void *src, struct fail *fail);
/* Fills a caller's size-first struct as far as it goes; its size stays. */
abx_status struct_out(
        void *dst, size_t v1_size, const void *src, size_t src_size, struct fail *fail);

#define SPAWN_OPTIONS_V1 88u
#define REQUEST_V1 32u

/* Sets of documented statuses. */
enum {
    MAY_INVALID = 1 << 0,
    MAY_ABI = 1 << 1,
    MAY_STATE = 1 << 2,
    MAY_NOMEM = 1 << 3,
    MAY_POLICY = 1 << 4,
    MAY_UNSUPPORTED = 1 << 5,
    MAY_SETUP = 1 << 6,
    MAY_EXEC = 1 << 7,
    MAY_TIMEOUT = 1 << 8,
    MAY_IO = 1 << 9,
    MAY_DENIED = 1 << 10
};
/* A status that the function does not document is a fault of ours: ABX_ERR_INTERNAL. */
abx_status status_filter(abx_status status, uint32_t documented);
/* The same for a failure with its reason; writes *reterr. */
abx_status door_out(struct fail *fail, uint32_t documented, abx_error **reterr);

/* Hands a made text out; NULL is ABX_ERR_NOMEM. */
abx_status door_text(char *text, char **ret_text);

#endif
