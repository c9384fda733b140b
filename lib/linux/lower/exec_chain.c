/* SPDX-License-Identifier: Apache-2.0
 * Reads the head of a program: `#!` lines and the ELF interpreter.  Any thread. */
#include "linux/lower/exec_chain.h"

#include "base/mem.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD_MAX 256 /* what the kernel reads of a script: BINPRM_BUF_SIZE */
#define DEPTH_MAX 5 /* as the kernel */

/* Interpreters that are links run what they lead to: that is what is executed. */
static char *
add_real(const char *path, struct vec *paths, bool *ret_is_new)
{
    char *real = realpath(path, NULL);
    char **added;

    *ret_is_new = false;
    for (size_t i = 0; real != NULL && i < paths->count; i++) {
        if (strcmp(*vec_at(paths, char *, i), real) == 0) {
            free(real);
            return *vec_at(paths, char *, i);
        }
    }
    if (real == NULL) {
        return NULL;
    }
    added = vec_add(paths);
    if (added == NULL) {
        free(real);
        return NULL;
    }
    *added = real;
    *ret_is_new = true;
    return real;
}

/* Where `env NAME` would look, of the places where programs usually are. */
static char *
find_program(const char *name)
{
    static const char *const directories[] = { "/usr/local/bin", "/usr/bin", "/bin" };
    char path[PATH_MAX];

    for (size_t i = 0; i < N_ELEMENTS(directories) && strchr(name, '/') == NULL; i++) {
        snprintf(path, sizeof path, "%s/%s", directories[i], name);
        if (access(path, X_OK) == 0) {
            return strdup(path);
        }
    }
    return NULL;
}

static bool add_chain(const char *path, struct vec *paths, int depth);

static bool
add_one(const char *path, struct vec *paths, int depth)
{
    bool is_new;
    AUTO(freep) char *real = NULL;
    const char *added = add_real(path, paths, &is_new);

    if (added == NULL || !is_new) {
        return true;
    }
    real = strdup(added); /* the vec may move */
    return real != NULL && add_chain(real, paths, depth + 1);
}

static bool
add_script(char *line, struct vec *paths, int depth)
{
    char *rest = NULL;
    const char *interpreter;
    const char *argument;

    line[strcspn(line, "\n")] = '\0';
    interpreter = strtok_r(line, " \t", &rest);
    argument = strtok_r(NULL, " \t", &rest);
    if (interpreter == NULL || interpreter[0] != '/') {
        return true;
    }
    if (argument != NULL && strcmp(argument, "-S") == 0) {
        argument = strtok_r(NULL, " \t", &rest);
    }
    if (argument != NULL && strcmp(strrchr(interpreter, '/'), "/env") == 0) {
        AUTO(freep) char *program = find_program(argument);

        if (program != NULL && !add_one(program, paths, depth)) {
            return false;
        }
    }
    return add_one(interpreter, paths, depth);
}

/* The loader is named by the PT_INTERP segment; 64-bit programs only, others are killed anyway. */
static bool
add_loader(int fd, const Elf64_Ehdr *header, struct vec *paths, int depth)
{
    for (unsigned i = 0; i < header->e_phnum && i < 64; i++) {
        off_t at = (off_t)header->e_phoff + (off_t)i * header->e_phentsize;
        char loader[PATH_MAX] = "";
        Elf64_Phdr segment;

        if (pread(fd, &segment, sizeof segment, at) == (ssize_t)sizeof segment &&
                segment.p_type == PT_INTERP && segment.p_filesz < sizeof loader &&
                pread(fd, loader, segment.p_filesz, (off_t)segment.p_offset) > 0 &&
                loader[0] == '/') {
            return add_one(loader, paths, depth);
        }
    }
    return true;
}

static bool
add_chain(const char *path, struct vec *paths, int depth)
{
    AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char head[HEAD_MAX + 1] = { 0 };
    Elf64_Ehdr header;
    ssize_t n = fd < 0 ? -1 : pread(fd, head, HEAD_MAX, 0);

    if (n < 2 || depth > DEPTH_MAX) {
        return true;
    }
    if (head[0] == '#' && head[1] == '!') {
        return add_script(head + 2, paths, depth);
    }
    if (n >= (ssize_t)sizeof header && memcmp(head, ELFMAG, SELFMAG) == 0 &&
            head[EI_CLASS] == ELFCLASS64) {
        memcpy(&header, head, sizeof header);
        return add_loader(fd, &header, paths, depth);
    }
    return true;
}

bool
exec_chain(const char *path, struct vec *paths)
{
    return add_chain(path, paths, 0);
}
