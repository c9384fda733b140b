/* SPDX-License-Identifier: Apache-2.0
 * The attributes of the mask's fixed nodes, taken from the host once, when the mask is made: the
 * real type, mode and owner, and no size.  Any thread; may block. */
#include "linux/mask/mask_private.h"

#include "base/decoy.h"
#include "base/mem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
fix(struct mask *mask, const struct mask_node *node, uint64_t i)
{
    struct mask_fixed *fixed = &mask->fixed[i];
    struct statx seen = { 0 };
    int host = mask->boundary->host_root;
    bool known =
            node->host != NULL && statx(host, node->host, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
                                          STATX_BASIC_STATS, &seen) == 0;
    bool is_link = known && S_ISLNK(seen.stx_mode) && !node->is_top &&
                   (node->kind == MASK_THROUGH || node->kind == MASK_ASK);
    bool directory = node->is_directory;
    char link[PATH_MAX], decoy[DECOY_MAX];
    ssize_t length = is_link ? readlinkat(host, node->host, link, sizeof link - 1) : -1;

    if (known && node->kind == MASK_THROUGH) {
        directory = S_ISDIR(seen.stx_mode);
    }
    mask_attr(&seen, &fixed->attr);
    if (node->kind != MASK_ASK) {
        fixed->attr.size = 0;
        fixed->attr.blocks = 0;
    }
    fixed->attr.nlink = directory ? 2 : 1;
    fixed->attr.ino = known ? fixed->attr.ino : MASK_FIXED_FIRST + i;
    fixed->attr.mode = known ? seen.stx_mode & 0777 : (directory ? 0755u : 0644u);
    fixed->attr.mode |= directory ? S_IFDIR : S_IFREG;
    if (node->kind == MASK_DECOY) {
        fixed->attr.mode = S_IFREG | 0600;
        fixed->attr.size = decoy_write(mask->boundary->decoy_seed, node->path, decoy);
        fixed->attr.uid = known ? fixed->attr.uid : geteuid();
        fixed->attr.gid = known ? fixed->attr.gid : getegid();
    }
    if (length > 0) {
        link[length] = '\0';
        fixed->link = strdup(link);
        fixed->attr.mode = S_IFLNK | 0777;
        fixed->attr.size = (uint64_t)length;
    }
}

abx_status
mask_fixed_make(struct mask *mask, struct fail *fail)
{
    mask->fixed = calloc(mask->tree.nodes.count + 1, sizeof *mask->fixed);
    if (mask->fixed == NULL) {
        return fail_nomem(fail);
    }
    for (size_t i = 0; i < mask->tree.nodes.count; i++) {
        fix(mask, vec_at(&mask->tree.nodes, struct mask_node, i), i);
    }
    return ABX_OK;
}
