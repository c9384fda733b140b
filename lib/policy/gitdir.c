/* SPDX-License-Identifier: Apache-2.0
 * Owns the layout of git directories (gitrepository-layout(5)): which names run programs or send
 * git elsewhere.  Knows nothing of rules; judges names only, so that directories made later are
 * judged like those that exist.
 *
 * Below `modules/` the name of a submodule may have slashes, so that a git directory can begin at
 * any component; every one is taken for a beginning, until `objects`, `refs` or `logs` tells that
 * one was passed (git refuses a submodule inside another's git directory).  The price: a submodule
 * may not have a file called `config` or `hooks/x` in other places of its git directory.
 *
 * Names are compared without case: some file systems do. Pure, any thread. */
#include "policy/gitdir.h"

#include "base/mem.h"

#include <stddef.h>
#include <string.h>

struct name {
    const char *text;
    size_t length;
};

static bool
name_is(struct name name, const char *text)
{
    return strlen(text) == name.length && strncasecmp(name.text, text, name.length) == 0;
}

bool
git_is_name(const char *name, size_t length)
{
    return name_is((struct name){ .text = name, .length = length }, ".git");
}

static bool
name_ends(struct name name, const char *suffix)
{
    size_t length = strlen(suffix);

    return name.length > length && memcmp(name.text + name.length - length, suffix, length) == 0;
}

static bool
is_copy(struct name name)
{
    return name.length >= strlen(GIT_COPY_PREFIX) &&
           strncasecmp(name.text, GIT_COPY_PREFIX, strlen(GIT_COPY_PREFIX)) == 0;
}

static bool
take_name(const char **path, struct name *ret_name)
{
    const char *end = strchrnul(*path, '/');

    if (end == *path) {
        return false;
    }
    *ret_name = (struct name){ .text = *path, .length = (size_t)(end - *path) };
    *path = *end == '/' ? end + 1 : end;
    return true;
}

/* What a name is in a git directory; `rest` are the names after it, *ret_used how many decide. */
static enum git_file
classify_name(struct name name, const char *rest, uint32_t *ret_used)
{
    struct name next = { 0 };
    bool has_next = take_name(&rest, &next);

    *ret_used = 1;
    if (name_is(name, "config") || name_is(name, "config.worktree")) {
        return GIT_CONFIG;
    }
    if (name_is(name, "commondir")) {
        return GIT_LINK;
    }
    if (is_copy(name)) {
        return GIT_COPY;
    }
    if (!name_is(name, "hooks") && !name_is(name, "info")) {
        return GIT_FREE;
    }
    if (!has_next) {
        return GIT_PLACE;
    }
    *ret_used = 2;
    if (name_is(name, "hooks")) {
        return name_ends(next, ".sample") ? GIT_FREE : GIT_HOOK;
    }
    if (is_copy(next)) {
        return GIT_COPY;
    }
    return name_is(next, "attributes") ? GIT_ATTRIBUTES : GIT_FREE;
}

static bool
ends_search(struct name name)
{
    return name_is(name, "objects") || name_is(name, "refs") || name_is(name, "logs");
}

enum state {
    IN_GIT_DIRECTORY,
    IN_WORKTREE, /* its part of a git directory; judged like a whole one */
    IN_WORKTREES, /* names of worktrees follow */
    IN_MODULES, /* the first name of a submodule follows */
    IN_MODULE /* more of it, or its git directory */
};

/* *ret_guards: whether a name below is not free. */
static enum git_file
walk(const char *path, uint32_t *ret_depth, bool *ret_guards)
{
    enum state state = IN_GIT_DIRECTORY;
    enum git_file file = GIT_DIRECTORY;
    struct name name;
    uint32_t depth = 0;

    while (take_name(&path, &name)) {
        uint32_t used = 1;

        file = state == IN_WORKTREES || state == IN_MODULES ? GIT_FREE
                                                            : classify_name(name, path, &used);
        if (file != GIT_FREE) {
            *ret_depth = depth + used;
            *ret_guards = true;
            return file;
        }
        *ret_guards = false;
        *ret_depth = ++depth;
        file = GIT_PLACE;
        if (state == IN_WORKTREES) {
            state = IN_WORKTREE;
        } else if (state == IN_MODULES) {
            state = IN_MODULE;
        } else if (name_is(name, "worktrees")) {
            state = IN_WORKTREES;
        } else if (state != IN_MODULE && name_is(name, "modules")) {
            state = IN_MODULES;
        } else if (state == IN_MODULE && !ends_search(name)) {
            file = GIT_FREE;
        } else {
            return GIT_FREE;
        }
    }
    *ret_depth = depth;
    *ret_guards = true;
    return file;
}

enum git_file
git_file_classify(const char *path, uint32_t *ret_depth)
{
    bool guards;

    return walk(path, ret_depth, &guards);
}

bool
git_directory_guards(const char *path)
{
    uint32_t depth;
    bool guards;

    walk(path, &depth, &guards);
    return guards;
}

static enum git_place
enter_module(struct name name, enum git_file *ret_file)
{
    if (name_is(name, "hooks")) {
        return GIT_IN_MODULE_HOOKS;
    }
    if (name_is(name, "info")) {
        return GIT_IN_MODULE_INFO;
    }
    if (name_is(name, "worktrees")) {
        return GIT_IN_WORKTREES;
    }
    *ret_file = GIT_FREE;
    return ends_search(name) ? GIT_OUT : GIT_IN_MODULE;
}

static enum git_place
enter_directory(struct name name, enum git_file *ret_file)
{
    if (name_is(name, "hooks")) {
        return GIT_IN_HOOKS;
    }
    if (name_is(name, "info")) {
        return GIT_IN_INFO;
    }
    if (name_is(name, "worktrees")) {
        return GIT_IN_WORKTREES;
    }
    if (name_is(name, "modules")) {
        return GIT_IN_MODULES;
    }
    *ret_file = GIT_FREE;
    return GIT_OUT;
}

enum git_place
git_place_enter(enum git_place place, const char *text, size_t length, enum git_file *ret_file,
        bool *ret_inherits)
{
    struct name name = { .text = text, .length = length };
    bool is_module =
            place == GIT_IN_MODULE || place == GIT_IN_MODULE_HOOKS || place == GIT_IN_MODULE_INFO;
    bool is_hook =
            (place == GIT_IN_HOOKS || place == GIT_IN_MODULE_HOOKS) && !name_ends(name, ".sample");
    bool is_attributes =
            (place == GIT_IN_INFO || place == GIT_IN_MODULE_INFO) && name_is(name, "attributes");

    *ret_inherits = false;
    *ret_file = GIT_PLACE;
    if (place == GIT_IN_WORKTREES || place == GIT_IN_MODULES) {
        return place == GIT_IN_WORKTREES ? GIT_INSIDE : GIT_IN_MODULE;
    }
    if (is_hook || is_attributes) {
        *ret_inherits = true;
        *ret_file = is_hook ? GIT_HOOK : GIT_ATTRIBUTES;
        return GIT_OUT;
    }
    if (place != GIT_IN_HOOKS && place != GIT_OUT && is_copy(name)) {
        *ret_inherits = true;
        *ret_file = GIT_COPY;
        return GIT_OUT;
    }
    if (place == GIT_IN_HOOKS || place == GIT_IN_INFO || place == GIT_OUT) {
        *ret_file = GIT_FREE;
        return GIT_OUT;
    }
    if (name_is(name, "config") || name_is(name, "config.worktree") || name_is(name, "commondir")) {
        *ret_inherits = true;
        *ret_file = name_is(name, "commondir") ? GIT_LINK : GIT_CONFIG;
        return GIT_OUT;
    }
    return is_module ? enter_module(name, ret_file) : enter_directory(name, ret_file);
}

/* Whether the call only changes what is told about a file, as `git init` does to see if modes
 * stick. */
static bool
is_about_attributes(const char *verb)
{
    static const char *const calls[] = { "chmod", "fchmod", "fchmodat", "fchmodat2", "chown",
        "lchown", "fchown", "fchownat", "utime", "utimes", "futimesat", "utimensat", "access",
        "faccessat", "faccessat2" };

    for (size_t i = 0; i < N_ELEMENTS(calls); i++) {
        if (strcmp(verb, calls[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool
git_file_refuses(enum git_file file, const char *verb)
{
    bool is_unknown = verb == NULL || verb[0] == '\0';

    switch (file) {
    case GIT_FREE:
        return false;
    case GIT_HOOK: /* a mode would be enough to make it run */
    case GIT_COPY: /* whoever has it, or another name of it, has what it becomes */
        return true;
    case GIT_CONFIG:
    case GIT_ATTRIBUTES:
    case GIT_LINK:
        /* Without the file git has less configuration, not other; what comes in its place is
         * judged. */
        return is_unknown || !(strncmp(verb, "unlink", 6) == 0 || is_about_attributes(verb));
    case GIT_DIRECTORY:
        if (!is_unknown && strncmp(verb, "unlink", 6) == 0) {
            return false; /* as a file */
        }
        break;
    case GIT_PLACE:
        break;
    }
    /* Without the name of a call the question is whether work below it is possible. */
    return !is_unknown &&
           !(strcmp(verb, "mkdir") == 0 || strcmp(verb, "rmdir") == 0 || is_about_attributes(verb));
}

bool
git_file_is_by_content(enum git_file file)
{
    return file == GIT_CONFIG || file == GIT_ATTRIBUTES || file == GIT_LINK ||
           file == GIT_DIRECTORY;
}
