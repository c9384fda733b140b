/* SPDX-License-Identifier: Apache-2.0
 * The connection to the kernel: reads requests, has them served, keeps those that wait for an
 * answer, writes replies.  Owns the descriptor of /dev/fuse and every request.  Knows no policy.
 *
 * All of it is served on the mask's thread, which never reads the memory of a box: the supervisor's
 * does, and a page of it may be one of a file that is served here.
 *
 * The protocol is the kernel's <linux/fuse.h>.  The kernel sends an interrupt only for a request
 * that was read before, and there is one reader, so an interrupt whose request is not held is one
 * that was answered, or that a worker will answer soon. */
#include "linux/mask/mask_private.h"

#include "base/mem.h"
#include "linux/listen/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#define REQUESTS_AT_ONCE 64

static void
request_free(struct mask_request *request)
{
    close_fd(request->object);
    if (request->file == 0) { /* else it is the file's */
        close_fd(request->opened);
    }
    free(request->path);
    free(request->data);
    free(request);
}

/* A reply that the kernel refuses is one it no longer waits for. */
static void
reply_to(struct mask *mask, uint64_t unique, int error, const void *data, size_t length)
{
    struct fuse_out_header out = { .unique = unique, .error = -error };
    struct iovec parts[2] = { { &out, sizeof out }, { NULL, 0 } };

    if (error == 0) {
        memcpy(&parts[1].iov_base, &data, sizeof data);
        parts[1].iov_len = length;
    }
    out.len = (uint32_t)(sizeof out + parts[1].iov_len);
    (void)!writev(mask->fuse, parts, 2);
}

void
mask_reply(struct mask_request *request, int error, const void *data, size_t length)
{
    reply_to(request->mask, request->in.unique, error, data, length);
}

void
mask_run(struct mask_request *request)
{
    switch (mask_serve(request)) {
    case MASK_SERVED:
        request_free(request);
        break;
    case MASK_HELD:
        request->next = request->mask->held;
        request->mask->held = request;
        break;
    case MASK_AT_WORK:
        break;
    }
}

/* ---- requests as they come ---- */

static void
start(struct mask *mask, const void *body)
{
    const struct fuse_init_in *in = body;
    struct fuse_in_header header;
    struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
        .minor = FUSE_KERNEL_MINOR_VERSION,
        .max_readahead = in->max_readahead,
        .flags = in->flags & (FUSE_PARALLEL_DIROPS | FUSE_ASYNC_READ | FUSE_AUTO_INVAL_DATA),
        .max_write = 4096,
        .time_gran = 1 };

    memcpy(&header, mask->buffer, sizeof header);
    reply_to(mask, header.unique, in->major == FUSE_KERNEL_VERSION ? 0 : EPROTO, &out, sizeof out);
}

static void
interrupt(struct mask *mask, uint64_t unique)
{
    const struct broker *broker = mask->boundary->broker;

    for (struct mask_request **at = &mask->held; *at != NULL; at = &(*at)->next) {
        struct mask_request *request = *at;

        if (request->in.unique == unique) {
            *at = request->next;
            broker->withdraw(broker->data, request->ticket);
            mask_reply(request, EINTR, NULL, 0);
            request_free(request);
            return;
        }
    }
}

static void
forget_batch(struct mask *mask, const void *body, size_t size)
{
    const struct fuse_batch_forget_in *batch = body;
    const struct fuse_forget_one *one = (const struct fuse_forget_one *)(batch + 1);

    for (uint32_t i = 0; i < batch->count && sizeof *batch + (i + 1) * sizeof *one <= size; i++) {
        mask_live_forget(mask, one[i].nodeid, one[i].nlookup);
    }
}

/* The part of the body that an operation needs; the kernel is trusted to have sent it whole. */
static void
take_body(struct mask_request *request, const void *body, size_t size)
{
    const struct fuse_access_in *access = body;
    const struct fuse_getattr_in *getattr = body;
    const struct fuse_open_in *open = body;
    const struct fuse_read_in *read = body;
    const struct fuse_release_in *release = body;

    switch (request->in.opcode) {
    case FUSE_LOOKUP:
        memcpy(request->name, body, strnlen(body, size < NAME_MAX ? size : NAME_MAX));
        break;
    case FUSE_GETATTR:
        request->file = (getattr->getattr_flags & FUSE_GETATTR_FH) != 0 ? getattr->fh : 0;
        break;
    case FUSE_ACCESS:
        request->flags = access->mask;
        break;
    case FUSE_OPEN:
    case FUSE_OPENDIR:
        request->flags = open->flags;
        break;
    case FUSE_READ:
    case FUSE_READDIR:
        request->file = read->fh;
        request->offset = read->offset;
        request->size = read->size;
        break;
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
        request->file = release->fh;
        break;
    default:
        break;
    }
}

static void
serve_new(struct mask *mask, const struct fuse_in_header *in, const void *body, size_t size)
{
    struct mask_request *request = calloc(1, sizeof *request);

    if (request == NULL) {
        reply_to(mask, in->unique, ENOMEM, NULL, 0);
        return;
    }
    request->mask = mask;
    request->in = *in;
    request->object = -1;
    request->opened = -1;
    take_body(request, body, size);
    mask_run(request);
}

static void
take(struct mask *mask, size_t length)
{
    struct fuse_in_header in;
    const void *body = mask->buffer + sizeof in;
    size_t size = length - sizeof in;

    memcpy(&in, mask->buffer, sizeof in);
    switch (in.opcode) {
    case FUSE_INIT:
        start(mask, body);
        break;
    case FUSE_INTERRUPT:
        interrupt(mask, ((const struct fuse_interrupt_in *)body)->unique);
        break;
    case FUSE_FORGET:
        mask_live_forget(mask, in.nodeid, ((const struct fuse_forget_in *)body)->nlookup);
        break;
    case FUSE_BATCH_FORGET:
        forget_batch(mask, body, size);
        break;
    case FUSE_DESTROY:
        reply_to(mask, in.unique, 0, NULL, 0);
        break;
    default:
        serve_new(mask, &in, body, size);
        break;
    }
}

/* ENODEV: the box and its mounts are gone. */
static void
on_readable(void *data, uint32_t events)
{
    struct mask *mask = data;

    for (int i = 0; i < REQUESTS_AT_ONCE; i++) {
        ssize_t length = read(mask->fuse, mask->buffer, MASK_BUFFER);

        if (length >= (ssize_t)sizeof(struct fuse_in_header)) {
            take(mask, (size_t)length);
        } else if (length >= 0 || errno == EAGAIN) {
            return;
        } else if (errno != EINTR && errno != ENOENT) {
            loop_remove(mask->source);
            mask->source = NULL;
            return;
        }
    }
}

/* ---- the mask ---- */

struct mask *
mask_new(struct boundary *boundary, struct fail *fail)
{
    struct mask *mask = calloc(1, sizeof *mask);

    if (mask == NULL) {
        fail_nomem(fail);
        return NULL;
    }
    mask->boundary = boundary;
    mask->fuse = -1;
    mask->wake = -1;
    mask->waiting_end = &mask->waiting;
    for (size_t i = 0; i < MASK_FILES_MAX; i++) {
        mask->files[i] = -1;
    }
    pthread_mutex_init(&mask->lock, NULL);
    mask->buffer = calloc(1, MASK_BUFFER);
    if (mask->buffer == NULL) {
        fail_nomem(fail);
        mask_free(mask);
        return NULL;
    }
    if (mask_tree_make(boundary->plan, &mask->tree, fail) < 0 || mask_fixed_make(mask, fail) < 0) {
        mask_free(mask);
        return NULL;
    }
    return mask;
}

struct serving {
    struct mask *mask;
    int error; /* why it is not served, or 0 */
};

/* On the mask's thread, with no more rights than the box has. */
static void
serve(void *data)
{
    struct serving *serving = data;
    struct mask *mask = serving->mask;

    workers_drop_capabilities();
    if (mask_host_watch(mask)) {
        mask->source = loop_add(mask->boundary->mask_loop, mask->fuse, EPOLLIN, on_readable, mask);
    }
    serving->error = mask->source == NULL ? errno : 0;
}

static void
unserve(void *data)
{
    struct mask *mask = data;

    loop_remove(mask->source);
    mask->source = NULL;
    mask_host_unwatch(mask);
}

abx_status
mask_attach(struct mask *mask, int fuse, struct fail *fail)
{
    struct serving serving = { .mask = mask, .error = ECANCELED };
    int flags = fcntl(fuse, F_GETFL);

    mask->fuse = fuse;
    if (flags < 0 || fcntl(fuse, F_SETFL, flags | O_NONBLOCK) < 0) {
        return fail_set(fail, ABX_ERR_SETUP, errno, "fcntl:/dev/fuse", "cannot serve denied reads");
    }
    mask->pids = pids_new(mask->boundary->init_pid);
    if (mask->pids == NULL) {
        return fail_nomem(fail);
    }
    if (mask_host_start(mask, fail) < 0) {
        return fail->status;
    }
    loop_call(mask->boundary->mask_loop, serve, &serving);
    if (serving.error != 0) {
        return fail_set(
                fail, ABX_ERR_SETUP, serving.error, "epoll:/dev/fuse", "cannot serve denied reads");
    }
    return ABX_OK;
}

struct verdict {
    struct mask *mask;
    uint64_t ticket;
    abx_verdict verdict;
};

/* Run again, a request may be held again at once, so the waiting ones are taken out first. */
static void
take_answer(void *data)
{
    const struct verdict *given = data;
    struct mask *mask = given->mask;
    struct mask_request *answered = NULL;

    for (struct mask_request **at = &mask->held; *at != NULL;) {
        struct mask_request *request = *at;

        if (request->ticket != given->ticket) {
            at = &request->next;
            continue;
        }
        *at = request->next;
        request->next = answered;
        answered = request;
    }
    while (answered != NULL) {
        struct mask_request *request = answered;

        answered = request->next;
        request->verdict =
                given->verdict == ABX_VERDICT_ALLOW ? ABX_VERDICT_ALLOW : ABX_VERDICT_DENY;
        mask_run(request);
    }
}

void
mask_answer(struct mask *mask, uint64_t ticket, abx_verdict verdict)
{
    struct verdict given = { .mask = mask, .ticket = ticket, .verdict = verdict };

    loop_call(mask->boundary->mask_loop, take_answer, &given);
}

static void
free_requests(struct mask_request *request)
{
    while (request != NULL) {
        struct mask_request *next = request->next;

        request_free(request);
        request = next;
    }
}

void
mask_free(struct mask *mask)
{
    if (mask == NULL) {
        return;
    }
    if (mask->fuse >= 0 && !loop_call(mask->boundary->mask_loop, unserve, mask)) {
        unserve(mask); /* the loop has stopped: its owner's thread may do this */
    }
    close_fd(mask->fuse);
    mask_host_stop(mask);
    free_requests(mask->waiting);
    free_requests(mask->done);
    free_requests(mask->held);
    for (size_t i = 0; i < MASK_FILES_MAX; i++) {
        close_fd(mask->files[i]);
    }
    for (size_t i = 0; mask->fixed != NULL && i < mask->tree.nodes.count; i++) {
        free(mask->fixed[i].link);
    }
    free(mask->fixed);
    mask_tree_done(&mask->tree);
    mask_live_done(mask);
    pids_free(mask->pids);
    pthread_mutex_destroy(&mask->lock);
    free(mask->buffer);
    free(mask);
}
