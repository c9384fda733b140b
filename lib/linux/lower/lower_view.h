/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: the parts of lower(). */
#ifndef ABX_LINUX_LOWER_VIEW_H
#define ABX_LINUX_LOWER_VIEW_H

#include "linux/lower/lower.h"

/* The box is built below this directory of a tmpfs that stays behind at the pivot. */
#define STAGE_ROOT "/root"
#define STAGE_MASK "/mask"
#define STAGE_EMPTY "/empty" /* a directory without rights */
#define STAGE_NOTHING "/nothing" /* a file without rights */
#define STAGE_BUNDLE "/bundle"
#define STAGE_TRUSTSTORE "/truststore"

struct lowering {
    const struct plan *plan;
    const struct host_view *host;
    const struct trust_files *trust;
    struct program program;
    struct vec mounted; /* struct mounted, in the order in which they were mounted */
    struct vec made; /* char *: directories made in file systems of the box */
};

/* Something that covers a path of the box; `own`: a file system of the box, in which names are
 * made. */
struct mounted {
    const char *path;
    bool own;
};

/* Adds an operation with numbers; texts may be NULL. */
void lower_op(struct lowering *lowering, uint16_t code, const char *step, const char *a,
        const char *b, uint64_t x, uint64_t y, uint16_t flags);
/* A file that is made in the stage, or in a file system of the box. */
void lower_content(struct lowering *lowering, const char *step, const void *content, size_t length,
        const char *path, uint32_t mode);
/* A text as a file at a path of the finished box. */
void lower_text_at(struct lowering *lowering, const char *text, const char *path, uint32_t mode);
/* Operations whose box path is a path of the finished box, while it is still below STAGE_ROOT. */
void lower_at(struct lowering *lowering, uint16_t code, const char *a, const char *path, uint64_t x,
        uint64_t y, uint16_t flags);
/* Remembers what covers a path; `path` must live as long as the plan. */
void lower_mounted(struct lowering *lowering, const char *path, bool own);
/* Makes what will be mounted over, where it is in a file system of the box, with its parents. */
void lower_target(struct lowering *lowering, const char *path, bool is_directory);
/* Covers a path of the box with something empty. */
void lower_cover(struct lowering *lowering, const char *path, bool is_directory);

/* lower_view.c: everything that is mounted. */
void lower_view(struct lowering *lowering);
/* lower_private.c: one private place. */
void lower_private(struct lowering *lowering, size_t i);
/* Read-only from here: the box's own file systems that are not scratch. */
void lower_close_privates(struct lowering *lowering);
/* landlock_rules.c. */
void lower_landlock(struct lowering *lowering);

#endif
