/* SPDX-License-Identifier: Apache-2.0
 * Writes down what a yes is for.  Bounded: of a long program or many arguments it says that it did
 * not see all. */
#include "linux/listen/shown.h"

#include "base/digest.h"
#include "base/mem.h"
#include "linux/listen/listeners.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define PROGRAM_MAX (256u << 20) /* of a program that is read */
#define ARGUMENTS_MAX 4096u
#define ARGUMENTS_ROOM (256u << 10)
#define ARGUMENTS_SHOWN 16u
#define ARGUMENT_SHOWN 256u

/* ---- a file ---- */

static void
add_open_flags(struct str *out, uint64_t flags)
{
    static const struct {
        uint64_t flag;
        const char *word;
    } words[] = {
        { O_APPEND, "append" },
        { O_TRUNC, "truncate" },
        { O_CREAT, "create" },
        { O_EXCL, "new" },
    };
    static const char *const modes[] = { "read", "write", "read and write", "no access" };

    str_printf(out, ",\"open\":[\"%s\"", modes[flags & O_ACCMODE]);
    for (size_t i = 0; i < N_ELEMENTS(words); i++) {
        if ((flags & words[i].flag) != 0) {
            str_printf(out, ",\"%s\"", words[i].word);
        }
    }
    str_add(out, "]");
}

int
shown_object(struct str *out, const struct call *call, const char *verb, int object, int directory)
{
    const bool is_new = object < 0;
    struct stat stat;

    if (fstat(is_new ? directory : object, &stat) != 0) {
        return -errno;
    }
    str_add(out, "{\"call\":");
    str_add_json(out, verb);
    str_printf(out, ",\"%s\":{\"device\":\"%u:%u\",\"inode\":%ju}", is_new ? "new_in" : "object",
            major(stat.st_dev), minor(stat.st_dev), (uintmax_t)stat.st_ino);
    if (strcmp(verb, "open") == 0) {
        add_open_flags(out, call->open_flags);
    }
    str_add(out, "}");
    return out->failed ? -ENOMEM : 0;
}

/* ---- a program ---- */

static int
add_content(struct str *out, const struct call *call, int object)
{
    AUTO(closep) int fd = -1;
    char link[32], hex[DIGEST_HEX_SIZE];
    uint64_t length = 0;
    int r;

    snprintf(link, sizeof link, "%d", object);
    fd = openat(call->boundary->listeners->own_fds, link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        str_add(out, "\"program\":\"cannot be read\"");
        return 0;
    }
    r = digest_file(fd, PROGRAM_MAX, hex, &length);
    str_printf(out, "\"program\":{\"sha256\":\"%s\",\"length\":%" PRIu64 "%s}", hex, length,
            length == PROGRAM_MAX ? ",\"longer\":true" : "");
    return r;
}

/* Appends one argument to `all`; false: no room for all of it. */
static int
take_argument(const struct call *call, uint64_t address, struct str *all, char *buffer)
{
    long length = call_read_text(call, address, buffer, ARGUMENTS_ROOM);

    if (length < 0) {
        return (int)length;
    }
    str_add_bytes(all, buffer, (size_t)length + 1);
    return all->length > ARGUMENTS_ROOM ? -ENAMETOOLONG : 0;
}

/* 1: there is one more. */
static int
next_argument(const struct call *call, uint64_t *address, struct str *all, char *buffer)
{
    uint64_t argument;
    int r = *address == 0 ? 0 : call_read(call, *address, &argument, sizeof argument);

    if (r < 0 || *address == 0 || argument == 0) {
        return r;
    }
    *address += sizeof argument;
    r = take_argument(call, argument, all, buffer);
    return r < 0 ? r : 1;
}

static void
add_shown_arguments(struct str *out, const struct str *all, size_t n)
{
    AUTO(str_done) struct str lengths = { 0 };
    const char *at = all->data;

    str_add(out, ",\"arguments\":[");
    for (size_t i = 0; i < n && i < ARGUMENTS_SHOWN; i++, at += strlen(at) + 1) {
        AUTO(freep) char *shown = strndup(at, ARGUMENT_SHOWN);
        const char *comma = i == 0 ? "" : ",";

        out->failed |= shown == NULL;
        str_add(out, comma);
        str_add_json_bytes(out, shown == NULL ? "" : shown, true);
        str_printf(&lengths, "%s%zu", comma, strlen(at));
    }
    str_printf(out, "],\"argument_lengths\":[%s]", lengths.length == 0 ? "" : lengths.data);
    out->failed |= lengths.failed;
}

static int
add_arguments(struct str *out, const struct call *call, uint64_t address)
{
    AUTO(str_done) struct str all = { 0 };
    AUTO(freep) char *buffer = malloc(ARGUMENTS_ROOM);
    char hex[DIGEST_HEX_SIZE];
    size_t n = 0;
    int r = buffer == NULL ? -ENOMEM : 1;

    while (r == 1 && n < ARGUMENTS_MAX) {
        r = next_argument(call, &address, &all, buffer);
        n += r == 1;
    }
    if (r == 1 || r == -ENAMETOOLONG) {
        return -E2BIG;
    }
    if (r < 0 || all.failed) {
        return r < 0 ? r : -ENOMEM;
    }
    digest_hex(all.data == NULL ? "" : all.data, all.length, hex);
    add_shown_arguments(out, &all, n);
    str_printf(out, ",\"argument_count\":%zu,\"arguments_sha256\":\"%s\"", n, hex);
    return 0;
}

int
shown_program(struct str *out, const struct call *call, int object, uint64_t arguments)
{
    int r;

    str_add(out, "{");
    r = add_content(out, call, object);
    r = r < 0 ? r : add_arguments(out, call, arguments);
    str_add(out, "}");
    return r == 0 && out->failed ? -ENOMEM : r;
}
