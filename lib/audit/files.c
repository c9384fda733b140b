/* SPDX-License-Identifier: Apache-2.0
 * Owns what the files of an audit log are called.  Reads directories, no file; any thread. */
#include "audit/files.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_DIGITS 12u /* or more */
#define HASH_DIGITS 8u

const char *const files_endings[] = { "", ".new", ".000000000001-00000000",
    ".000000000001-00000000.new", NULL };

void
files_name_full(struct str *out, const char *log, const struct chain *chain)
{
    str_printf(out, "%s.%0*" PRIu64 "-%.*s", log, (int)NUMBER_DIGITS, chain->n, (int)HASH_DIGITS,
            chain->hash);
}

void
files_name_next(struct str *out, const char *log)
{
    str_printf(out, "%s.new", log);
}

/* The number in the name of a full file of this log; 0: it is none. */
static uint64_t
number_of(const char *name, const char *log)
{
    const size_t length = strlen(log);
    const char *digits = name + length + 1;
    size_t n;

    if (strncmp(name, log, length) != 0 || name[length] != '.') {
        return 0;
    }
    n = strspn(digits, "0123456789");
    return n >= NUMBER_DIGITS && n < 20 && digits[n] == '-' &&
                           strspn(digits + n + 1, "0123456789abcdef") == HASH_DIGITS &&
                           digits[n + 1 + HASH_DIGITS] == '\0'
                   ? strtoull(digits, NULL, 10)
                   : 0;
}

struct full_file {
    uint64_t number;
    char *path;
};

static int
compare(const void *a, const void *b)
{
    const struct full_file *one = a, *other = b;

    return one->number != other->number ? (one->number < other->number ? -1 : 1)
                                        : strcmp(one->path, other->path);
}

static abx_status
add_full(struct vec *full, uint64_t number, const char *directory, const char *name,
        struct fail *fail)
{
    AUTO(str_done) struct str path = { 0 };
    struct full_file *file;

    str_printf(&path, "%s%s", directory, name);
    file = path.failed ? NULL : vec_add(full);
    if (file == NULL) {
        return fail_nomem(fail);
    }
    *file = (struct full_file){ number, str_steal(&path, NULL) };
    return ABX_OK;
}

/* `directory` with its slash, or "". */
static abx_status
look_for_full(const char *directory, const char *log, struct vec *full, struct fail *fail)
{
    DIR *stream = opendir(directory[0] == '\0' ? "." : directory);
    const struct dirent *entry;
    abx_status r = ABX_OK;

    if (stream == NULL) {
        return errno == ENOENT ? ABX_OK
                               : fail_set(fail, ABX_ERR_IO, errno, "audit:open", "'%.200s'",
                                         directory[0] == '\0' ? "." : directory);
    }
    for (errno = 0; r == ABX_OK && (entry = readdir(stream)) != NULL; errno = 0) {
        const uint64_t number = number_of(entry->d_name, log);

        r = number == 0 ? ABX_OK : add_full(full, number, directory, entry->d_name, fail);
    }
    if (r == ABX_OK && errno != 0) {
        r = fail_set(fail, ABX_ERR_IO, errno, "audit:open", "'%.200s'", directory);
    }
    closedir(stream);
    return r;
}

static abx_status
add_path(struct vec *paths, char *path, struct fail *fail)
{
    char **slot = path == NULL ? NULL : vec_add(paths);

    if (slot == NULL) {
        free(path);
        return fail_nomem(fail);
    }
    *slot = path;
    return ABX_OK;
}

abx_status
files_list(const char *log, struct vec *ret_paths, struct fail *fail)
{
    const char *slash = strrchr(log, '/');
    const char *name = slash == NULL ? log : slash + 1;
    AUTO(freep) char *directory = strndup(log, (size_t)(name - log));
    struct vec full = VEC(struct full_file);
    abx_status r;

    *ret_paths = VEC(char *);
    r = directory == NULL ? fail_nomem(fail) : look_for_full(directory, name, &full, fail);
    if (full.count > 0) {
        qsort(full.data, full.count, sizeof(struct full_file), compare);
    }
    for (size_t i = 0; i < full.count; i++) {
        char *path = vec_at(&full, struct full_file, i)->path;

        if (r == ABX_OK) {
            r = add_path(ret_paths, path, fail);
        } else {
            free(path);
        }
    }
    vec_done(&full);
    r = r == ABX_OK ? add_path(ret_paths, strdup(log), fail) : r;
    if (r < 0) {
        files_done(ret_paths);
    }
    return r;
}

void
files_done(struct vec *paths)
{
    for (size_t i = 0; i < paths->count; i++) {
        free(*vec_at(paths, char *, i));
    }
    vec_done(paths);
}
