/* SPDX-License-Identifier: Apache-2.0
 * The part of the mask that gives something away: opening, reading and listing, of askable places
 * after a yes, of decoys, and the names that a directory on the way shows.  Owns the table of open
 * files.  Mask thread, never blocks. */
#include "linux/mask/mask_private.h"

#include "base/decoy.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum mask_outcome
reply_opened(struct mask_request *request)
{
    struct fuse_open_out out = { 0 };

    for (size_t i = 0; i < MASK_FILES_MAX; i++) {
        if (request->mask->files[i] < 0) {
            request->mask->files[i] = steal_fd(&request->opened);
            out.fh = i + 1;
            mask_reply(request, 0, &out, sizeof out);
            return MASK_SERVED;
        }
    }
    return mask_fail(request, ENFILE);
}

static enum mask_outcome
open_decoy(struct mask_request *request)
{
    const struct broker *broker = request->mask->boundary->broker;
    struct fuse_open_out out = { 0 };
    const struct subject caller = mask_caller(request);
    struct act act = { .request = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_READ,
        .target = request->path,
        .verb = "open",
        .content = -1 };

    broker->report(broker->data, ABX_EVENT_NOTICE, &caller, &act, "decoy",
            "a decoy was opened: nothing but curiosity leads there", NULL);
    mask_reply(request, 0, &out, sizeof out);
    return MASK_SERVED;
}

/* A file or a directory: the object is held through the question, and it is that one that is
 * opened. */
static enum mask_outcome
open_asked(struct mask_request *request, const struct mask_target *target, bool directory)
{
    const char *verb = directory ? "list" : "open";
    int error = 0;

    if (mask_is_denied(target) && mask_decide(request, ABX_ACCESS_READ, verb) == ABX_VERDICT_DENY) {
        return mask_fail(request, EACCES);
    }
    if (!request->has_opened && !mask_look_again(request, target, &error)) {
        return MASK_AT_WORK;
    }
    if (error != 0) {
        return mask_fail(request, error);
    }
    if ((request->seen.stx_mode & S_IFMT) != (directory ? S_IFDIR : S_IFREG)) {
        return mask_fail(request, EACCES);
    }
    switch (mask_decide(request, ABX_ACCESS_READ, verb)) {
    case ABX_VERDICT_ASK:
        return MASK_HELD;
    case ABX_VERDICT_ALLOW:
        break;
    default:
        return mask_fail(request, EACCES);
    }
    if (!mask_open(request)) {
        return MASK_AT_WORK;
    }
    return request->error != 0 ? mask_fail(request, request->error) : reply_opened(request);
}

enum mask_outcome
mask_serve_open(struct mask_request *request, const struct mask_target *target, bool directory)
{
    static const struct fuse_open_out plain;
    enum mask_kind kind = target->node == NULL ? MASK_ASK : target->node->kind;

    if (target->is_root || (!directory && kind == MASK_THROUGH) ||
            (request->flags & O_ACCMODE) != O_RDONLY) {
        return mask_fail(request, EACCES);
    }
    if (!mask_set_path(request, mask_path_of(target), NULL)) {
        return mask_fail(request, ENOMEM);
    }
    if (kind == MASK_DECOY) {
        return open_decoy(request);
    }
    if (kind == MASK_THROUGH || (kind == MASK_DEFAULT && directory && target->node->has_nodes)) {
        mask_reply(request, 0, &plain, sizeof plain);
        return MASK_SERVED;
    }
    return open_asked(request, target, directory);
}

/* Makes room for an answer and finds the file; false: answered. */
static bool
prepare_data(struct mask_request *request)
{
    if (request->size > MASK_READ_MAX) {
        request->size = MASK_READ_MAX;
    }
    if (request->file > MASK_FILES_MAX ||
            (request->file != 0 && request->mask->files[request->file - 1] < 0)) {
        mask_fail(request, EBADF);
        return false;
    }
    if (request->data == NULL) {
        request->data = calloc(1, request->size + 1);
    }
    if (request->data == NULL) {
        mask_fail(request, ENOMEM);
        return false;
    }
    request->opened = mask_file_of(request);
    return true;
}

static enum mask_outcome
reply_data(struct mask_request *request)
{
    mask_reply(request, request->error, request->data, request->length);
    return MASK_SERVED;
}

static void
read_decoy(struct mask_request *request, const char *path)
{
    char text[DECOY_MAX];
    size_t length = decoy_write(request->mask->boundary->decoy_seed, path, text);
    size_t left = request->offset < length ? length - (size_t)request->offset : 0;

    request->length = request->size < left ? request->size : left;
    memcpy(request->data, text + length - left, request->length);
}

enum mask_outcome
mask_serve_read(struct mask_request *request, const struct mask_target *target)
{
    if (!prepare_data(request)) {
        return MASK_SERVED;
    }
    if (request->file == 0) {
        if (target->node == NULL || target->node->kind != MASK_DECOY) {
            return mask_fail(request, EBADF);
        }
        read_decoy(request, target->node->path);
        return reply_data(request);
    }
    return mask_read(request) ? reply_data(request) : MASK_AT_WORK;
}

/* Adds an entry; false if it does not fit. */
static bool
add_entry(struct mask_request *request, uint64_t next, uint64_t inode, uint32_t mode,
        const char *name)
{
    size_t length = strlen(name);
    size_t size = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + length);
    struct fuse_dirent *entry = (struct fuse_dirent *)(void *)(request->data + request->length);

    if (request->length + size > request->size) {
        return false;
    }
    entry->ino = inode;
    entry->off = next;
    entry->namelen = (uint32_t)length;
    entry->type = mode >> 12;
    memcpy(entry->name, name, length);
    request->length += size;
    return true;
}

enum mask_outcome
mask_serve_readdir(struct mask_request *request, const struct mask_target *target)
{
    const struct mask *mask = request->mask;
    bool fits = true;

    if (!prepare_data(request)) {
        return MASK_SERVED;
    }
    if (request->file != 0) {
        return mask_list(request) ? reply_data(request) : MASK_AT_WORK;
    }
    if (target->node == NULL) {
        return reply_data(request);
    }
    for (uint64_t at = request->offset; fits && at < mask->tree.nodes.count + 2; at++) {
        size_t i = at < 2 ? target->fixed : (size_t)at - 2;
        const struct fuse_attr *attr = &mask->fixed[i].attr;

        if (at < 2) {
            fits = add_entry(request, at + 1, attr->ino, attr->mode, at == 0 ? "." : "..");
        } else if (mask_tree_is_child(&mask->tree, target->fixed, i)) {
            fits = add_entry(request, at + 1, attr->ino, attr->mode,
                    mask_name(vec_at(&mask->tree.nodes, struct mask_node, i)->path));
        }
    }
    return reply_data(request);
}

enum mask_outcome
mask_serve_release(struct mask_request *request)
{
    if (mask_file_of(request) >= 0) {
        close_fd(mask_file_of(request));
        request->mask->files[request->file - 1] = -1;
    }
    return mask_fail(request, 0);
}
