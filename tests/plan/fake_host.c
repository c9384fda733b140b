/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/fake_host.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINKS_MAX 40

struct fake_entry {
    char *path;
    enum host_kind kind;
    char *target;
};

static struct fake_entry *
find(const struct fake_host *host, const char *path)
{
    for (size_t i = 0; i < host->entries.count; i++) {
        struct fake_entry *entry = vec_at(&host->entries, struct fake_entry, i);

        if (strcmp(entry->path, path) == 0) {
            return entry;
        }
    }
    return NULL;
}

static char *
real(const struct fake_host *host, const char *path, int *links)
{
    char *resolved = strdup("/");
    const char *at = path;

    while (*at != '\0') {
        size_t length = strcspn(at, "/");
        AUTO(freep) char *name = strndup(at, length);
        AUTO(freep) char *next = path_join(resolved, name);
        const struct fake_entry *entry = length == 0 ? NULL : find(host, next);

        at += length;
        at += *at == '/';
        if (length == 0 || strcmp(name, ".") == 0) {
            continue;
        }
        if (strcmp(name, "..") == 0) {
            free(next);
            next = path_parent(resolved);
        } else if (entry != NULL && entry->kind == HOST_SYMLINK) {
            AUTO(freep)
            char *target = entry->target[0] == '/' ? strdup(entry->target)
                                                   : path_join(resolved, entry->target);

            free(next);
            next = (*links)++ < LINKS_MAX ? real(host, target, links) : NULL;
        }
        free(resolved);
        resolved = steal_ptr(&next);
        if (resolved == NULL) {
            return NULL;
        }
    }
    return resolved;
}

/* As the kernel: links on the way are followed, a last one is not. */
static enum host_kind
look(void *data, const char *path)
{
    AUTO(freep) char *parent = path_parent(path);
    int links = 0;
    AUTO(freep) char *real_parent = real(data, parent, &links);
    AUTO(freep) char *spelled = NULL;
    const struct fake_entry *entry;

    if (strcmp(path, "/") == 0) {
        return HOST_DIRECTORY;
    }
    if (real_parent == NULL) {
        return HOST_MISSING;
    }
    spelled = path_join(real_parent, strrchr(path, '/') + 1);
    entry = find(data, spelled);
    return entry == NULL ? HOST_MISSING : entry->kind;
}

static char *
real_path(void *data, const char *path)
{
    int links = 0;

    return real(data, path, &links);
}

static int
list(void *data, const char *path, struct vec *names)
{
    const struct fake_host *host = data;

    if (look(data, path) != HOST_DIRECTORY) {
        return -ENOENT;
    }
    for (size_t i = 0; i < host->entries.count; i++) {
        const struct fake_entry *entry = vec_at(&host->entries, struct fake_entry, i);
        AUTO(freep) char *parent = path_parent(entry->path);

        if (entry->kind != HOST_MISSING && strcmp(parent, path) == 0) {
            *(char **)vec_add(names) = strdup(strrchr(entry->path, '/') + 1);
        }
    }
    return 0;
}

static char *
read_text(void *data, const char *path)
{
    const struct fake_entry *entry = find(data, path);

    return entry == NULL || entry->kind != HOST_FILE || entry->target == NULL
                   ? NULL
                   : strdup(entry->target);
}

void
fake_host_init(struct fake_host *host)
{
    *host = (struct fake_host){ .entries = VEC(struct fake_entry) };
    host->view = (struct host_view){
        .data = host, .look = look, .real_path = real_path, .list = list, .read_text = read_text
    };
}

static void
set(struct fake_host *host, const char *path, enum host_kind kind, const char *target)
{
    struct fake_entry *entry = find(host, path);

    if (entry == NULL) {
        entry = vec_add(&host->entries);
        entry->path = strdup(path);
    }
    free(entry->target);
    entry->kind = kind;
    entry->target = target == NULL ? NULL : strdup(target);
}

void
fake_host_add(struct fake_host *host, const char *path, const char *what)
{
    AUTO(freep) char *parent = path_parent(path);

    if (strcmp(path, "/") == 0) {
        return;
    }
    if (find(host, parent) == NULL) {
        fake_host_add(host, parent, "dir");
    }
    if (strncmp(what, "-> ", 3) == 0) {
        set(host, path, HOST_SYMLINK, what + 3);
    } else if (strncmp(what, "file ", 5) == 0) {
        set(host, path, HOST_FILE, what + 5);
    } else {
        set(host, path,
                strcmp(what, "dir") == 0    ? HOST_DIRECTORY
                : strcmp(what, "file") == 0 ? HOST_FILE
                : strcmp(what, "gone") == 0 ? HOST_MISSING
                                            : HOST_OTHER,
                NULL);
    }
}

void
fake_host_done(struct fake_host *host)
{
    for (size_t i = 0; i < host->entries.count; i++) {
        free(vec_at(&host->entries, struct fake_entry, i)->path);
        free(vec_at(&host->entries, struct fake_entry, i)->target);
    }
    vec_done(&host->entries);
}
