/* SPDX-License-Identifier: Apache-2.0
 * Inside the mask only: the connection (mask.c), the operations (mask_serve.c, mask_content.c),
 * what the host has (mask_host.c) and the nodes made on the way (mask_live.c).  Mask thread but for
 * the worker's part of a request, which mask_host.c owns while it runs. */
#ifndef ABX_LINUX_MASK_PRIVATE_H
#define ABX_LINUX_MASK_PRIVATE_H

#include "linux/mask/mask.h"
#include "linux/mask/mask_tree.h"
#include "linux/pids.h"

#include <limits.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sys/stat.h>

#define MASK_BUFFER (64u << 10)
#define MASK_READ_MAX (1u << 20)
#define MASK_LIVE_MAX (1u << 18) /* nodes of askable places the kernel may know at a time */
#define MASK_FILES_MAX 256u /* open files and directories a box may hold in this process */
#define MASK_BUCKETS 4096u
#define MASK_FIXED_FIRST 2u /* node number of tree node 0; the file system's root is 1 */
#define MASK_LIVE_FIRST (1ull << 32)
#define MASK_FOREVER 3600u /* seconds the kernel may keep what never changes */

/* Attributes of a fixed node, taken when the mask is made. */
struct mask_fixed {
    struct fuse_attr attr;
    char *link; /* where a symbolic link leads */
};

/* A node of an askable place, or a directory denied by default: what a path was when its name was
 * looked up. */
struct mask_live {
    struct mask_live *next; /* in its bucket */
    char *path;
    uint64_t node;
    uint64_t generation;
    uint64_t lookups; /* the kernel's references */
    uint64_t device, inode;
    bool is_listed; /* in its bucket; else something else has its path now */
    bool is_way; /* a directory denied by default, which is only passed through */
};

enum mask_job { JOB_LOOK, JOB_OPEN, JOB_READ, JOB_LIST };

/* One request of the kernel.  A function that serves it runs from its start each time, and finds
 * here what was decided and looked up before. */
struct mask_request {
    struct mask_request *next;
    struct mask *mask;
    struct fuse_in_header in;
    char name[NAME_MAX + 1]; /* LOOKUP */
    uint32_t flags; /* OPEN: flags; ACCESS: mask */
    uint64_t file, offset; /* READ, READDIR, RELEASE */
    uint32_t size;
    char *path; /* on the host, of what the request is about */
    bool has_verdict;
    abx_verdict verdict;
    uint64_t ticket;
    enum mask_job job;
    bool has_looked, has_opened, has_data;
    int error; /* of the last job, positive */
    int object; /* O_PATH */
    struct statx seen;
    int opened;
    char *data;
    size_t length;
};

enum mask_outcome { MASK_SERVED, MASK_HELD, MASK_AT_WORK };

struct mask {
    struct boundary *boundary;
    struct mask_tree tree;
    struct mask_fixed *fixed;
    struct pids *pids;
    int fuse;
    struct loop_source *source;
    char *buffer;
    struct mask_request *held;
    struct mask_live **live; /* by slot */
    size_t n_live, live_room, next_slot;
    struct mask_live *buckets[MASK_BUCKETS];
    uint64_t generation;
    int files[MASK_FILES_MAX];

    struct workers *workers;
    struct mask_request *waiting, **waiting_end; /* for a worker, since as many wait as may */
    pthread_mutex_t lock;
    struct mask_request *done; /* what workers have done; the lock's */
    int wake; /* eventfd: there is something done */
    struct loop_source *wake_source;
};

/* mask.c */
void mask_reply(struct mask_request *request, int error, const void *data, size_t length);
void mask_run(struct mask_request *request);

/* mask_serve.c */
enum mask_outcome mask_serve(struct mask_request *request);
/* What a request is about: exactly one of the three. */
struct mask_target {
    bool is_root;
    size_t fixed; /* SIZE_MAX: none */
    const struct mask_live *live;
    const struct mask_node *node; /* of fixed */
};

bool mask_is_denied(const struct mask_target *target);
const char *mask_path_of(const struct mask_target *target);
/* Answers with an error, or with 0 and nothing else. */
enum mask_outcome mask_fail(struct mask_request *request, int error);
/* Sets the request's path, once; false: too long, or no memory. */
bool mask_set_path(struct mask_request *request, const char *directory, const char *name);
struct subject mask_caller(const struct mask_request *request);
/* Asks once in the life of a request; DENY has made its event. */
abx_verdict mask_decide(struct mask_request *request, uint32_t access, const char *verb);
/* Looks at a node of an askable place; *ret_error is 0 if it still stands there.  False: a worker
 * is at it. */
bool mask_look_again(
        struct mask_request *request, const struct mask_target *target, int *ret_error);
/* The open file of a request, or -1. */
int mask_file_of(const struct mask_request *request);

/* mask_content.c */
enum mask_outcome mask_serve_open(
        struct mask_request *request, const struct mask_target *target, bool directory);
enum mask_outcome mask_serve_read(struct mask_request *request, const struct mask_target *target);
enum mask_outcome mask_serve_readdir(
        struct mask_request *request, const struct mask_target *target);
enum mask_outcome mask_serve_release(struct mask_request *request);

/* mask_fixed.c */
abx_status mask_fixed_make(struct mask *mask, struct fail *fail);

/* mask_host.c: each returns true when the result is in the request, false if a worker is at it. */
bool mask_look(struct mask_request *request);
bool mask_open(struct mask_request *request);
bool mask_read(struct mask_request *request);
bool mask_list(struct mask_request *request);
abx_status mask_host_start(struct mask *mask, struct fail *fail);
void mask_host_stop(struct mask *mask);
/* On the mask's thread: whether what workers have done will be heard of; until unwatch. */
bool mask_host_watch(struct mask *mask);
void mask_host_unwatch(struct mask *mask);
void mask_attr(const struct statx *seen, struct fuse_attr *ret_attr);

/* mask_live.c */
struct mask_live *mask_live_of(struct mask *mask, uint64_t node);
/* The node of what was seen at a path, with one more reference; NULL: too many, or no memory. */
struct mask_live *mask_live_get(struct mask *mask, const char *path, const struct statx *seen);
void mask_live_forget(struct mask *mask, uint64_t node, uint64_t lookups);
void mask_live_done(struct mask *mask);
bool mask_is_same(const struct mask_live *live, const struct statx *seen);

#endif
