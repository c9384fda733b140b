/* SPDX-License-Identifier: Apache-2.0
 * What the mask asks of the host: looking at a path, opening, reading and listing.  Each is tried
 * so that it cannot block (cached names, RWF_NOWAIT), else a worker does it, and the request is run
 * again when it is done.  A worker touches its request and the boundary's host_root only. */
#include "linux/mask/mask_private.h"

#include "base/mem.h"
#include "linux/listen/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

void
mask_attr(const struct statx *seen, struct fuse_attr *ret_attr)
{
    *ret_attr = (struct fuse_attr){
        .ino = seen->stx_ino,
        .size = seen->stx_size,
        .blocks = seen->stx_blocks,
        .atime = (uint64_t)seen->stx_atime.tv_sec,
        .atimensec = seen->stx_atime.tv_nsec,
        .mtime = (uint64_t)seen->stx_mtime.tv_sec,
        .mtimensec = seen->stx_mtime.tv_nsec,
        .ctime = (uint64_t)seen->stx_ctime.tv_sec,
        .ctimensec = seen->stx_ctime.tv_nsec,
        .mode = seen->stx_mode,
        .nlink = seen->stx_nlink,
        .uid = seen->stx_uid,
        .gid = seen->stx_gid,
        .blksize = seen->stx_blksize,
    };
}

/* ---- the acts: on a worker, or here if they cannot block ---- */

static void
do_look(struct mask_request *request, uint64_t resolve)
{
    struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_IN_ROOT | resolve };
    int host = request->mask->boundary->host_root;

    request->error = 0;
    request->object = (int)syscall(__NR_openat2, host, request->path, &how, sizeof how);
    if (request->object < 0) {
        request->error = errno;
        return;
    }
    if (statx(request->object, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS,
                &request->seen) < 0) {
        request->error = errno;
    }
}

/* Only the very object that was looked at, and only regular files and directories: nothing else can
 * be here.  O_NONBLOCK: a leased file answers EAGAIN at once. */
static void
do_open(struct mask_request *request)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", request->object);
    request->error = 0;
    request->opened = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (request->opened < 0) {
        request->error = errno == EAGAIN ? EBUSY : errno;
    }
}

static void
do_read(struct mask_request *request, int flags)
{
    struct iovec part = { .iov_base = request->data, .iov_len = request->size };
    ssize_t got = preadv2(request->opened, &part, 1, (off_t)request->offset, flags);

    request->error = got < 0 ? errno : 0;
    request->length = got < 0 ? 0 : (size_t)got;
}

struct listed { /* struct linux_dirent64 */
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* A record of the mask is never longer than one and a half of the host's. */
static void
do_list(struct mask_request *request)
{
    size_t room = request->size / 2;
    AUTO(freep) char *names = calloc(1, room);
    long got = -1;

    request->error = names == NULL ? ENOMEM : 0;
    request->length = 0;
    if (names == NULL) {
        return;
    }
    if (lseek(request->opened, (off_t)request->offset, SEEK_SET) >= 0) {
        got = syscall(__NR_getdents64, request->opened, names, room);
    }
    if (got < 0) {
        request->error = errno;
        return;
    }
    for (long at = 0; at < got;) {
        const struct listed *listed = (const struct listed *)(void *)(names + at);
        size_t length = strlen(listed->name);
        size_t size = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + length);
        struct fuse_dirent *entry = (struct fuse_dirent *)(void *)(request->data + request->length);

        if (request->length + size > request->size) {
            return;
        }
        entry->ino = listed->inode;
        entry->off = (uint64_t)listed->offset;
        entry->namelen = (uint32_t)length;
        entry->type = listed->type;
        memcpy(entry->name, listed->name, length);
        request->length += size;
        at += listed->length;
    }
}

static void
work(void *data)
{
    struct mask_request *request = data;
    struct mask *mask = request->mask;
    uint64_t one = 1;

    switch (request->job) {
    case JOB_LOOK:
        do_look(request, 0);
        break;
    case JOB_OPEN:
        do_open(request);
        break;
    case JOB_READ:
        do_read(request, 0);
        break;
    case JOB_LIST:
        do_list(request);
        break;
    }
    pthread_mutex_lock(&mask->lock);
    request->next = mask->done;
    mask->done = request;
    pthread_mutex_unlock(&mask->lock);
    (void)!write(mask->wake, &one, sizeof one);
}

/* False: a worker has it, or will when one has time.  True: there is none, error is set. */
static bool
give(struct mask_request *request, enum mask_job job)
{
    struct mask *mask = request->mask;
    int error;

    request->job = job;
    error = workers_do(mask->workers, work, request);
    if (error == 0) {
        return false;
    }
    if (error == EAGAIN) {
        request->next = NULL;
        *mask->waiting_end = request;
        mask->waiting_end = &request->next;
        return false;
    }
    request->error = error;
    return true;
}

/* Something is done, so that others of the waiting ones can be. */
static void
give_waiting(struct mask *mask)
{
    struct mask_request *request = mask->waiting, *next;

    mask->waiting = NULL;
    mask->waiting_end = &mask->waiting;
    for (; request != NULL; request = next) {
        next = request->next;
        if (give(request, request->job)) {
            mask_run(request);
        }
    }
}

/* ---- what the operations call ---- */

bool
mask_look(struct mask_request *request)
{
    if (request->has_looked) {
        return true;
    }
    request->has_looked = true;
    do_look(request, RESOLVE_CACHED);
    if (request->error != EAGAIN) {
        return true;
    }
    return give(request, JOB_LOOK);
}

bool
mask_open(struct mask_request *request)
{
    if (request->has_opened) {
        return true;
    }
    request->has_opened = true;
    return give(request, JOB_OPEN);
}

/* A short read is the end of the file, or of what the host has of it in memory. */
static bool
is_at_end(const struct mask_request *request)
{
    char next;
    struct iovec part = { .iov_base = &next, .iov_len = sizeof next };
    off_t offset = (off_t)(request->offset + request->length);

    return preadv2(request->opened, &part, 1, offset, RWF_NOWAIT) == 0;
}

bool
mask_read(struct mask_request *request)
{
    if (request->has_data) {
        return true;
    }
    request->has_data = true;
    do_read(request, RWF_NOWAIT);
    if (request->error == 0 ? request->length == request->size || is_at_end(request)
                            : request->error != EAGAIN && request->error != EOPNOTSUPP) {
        return true;
    }
    return give(request, JOB_READ);
}

bool
mask_list(struct mask_request *request)
{
    if (request->has_data) {
        return true;
    }
    request->has_data = true;
    return give(request, JOB_LIST);
}

static void
on_done(void *data, uint32_t events)
{
    struct mask *mask = data;
    struct mask_request *request;
    uint64_t count;

    (void)!read(mask->wake, &count, sizeof count);
    pthread_mutex_lock(&mask->lock);
    request = mask->done;
    mask->done = NULL;
    pthread_mutex_unlock(&mask->lock);
    while (request != NULL) {
        struct mask_request *next = request->next;

        mask_run(request);
        request = next;
    }
    give_waiting(mask);
}

abx_status
mask_host_start(struct mask *mask, struct fail *fail)
{
    mask->workers = workers_new();
    if (mask->workers == NULL) {
        return fail_nomem(fail);
    }
    mask->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (mask->wake < 0) {
        return fail_set(fail, ABX_ERR_SETUP, errno, "eventfd:mask", "cannot serve denied reads");
    }
    return ABX_OK;
}

bool
mask_host_watch(struct mask *mask)
{
    mask->wake_source = loop_add(mask->boundary->mask_loop, mask->wake, EPOLLIN, on_done, mask);
    return mask->wake_source != NULL;
}

void
mask_host_unwatch(struct mask *mask)
{
    loop_remove(mask->wake_source);
    mask->wake_source = NULL;
}

void
mask_host_stop(struct mask *mask)
{
    workers_free(mask->workers);
    mask->workers = NULL;
    close_fd(mask->wake);
}
