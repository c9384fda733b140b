/* SPDX-License-Identifier: Apache-2.0
 * What a git configuration may not get from inside a box: one table of the keys with which git runs
 * a program or goes elsewhere.  Keys that stood there before, with the same values, may stay. Pure.
 */
#include "policy/git.h"

#include "base/mem.h"
#include "base/str.h"
#include "policy/git_config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum danger {
    NEVER, /* with any value */
    UNLESS_BOOLEAN, /* true and false only switch something of git's own */
    IF_TRANSPORT, /* the name of a remote, or a URL: not one that runs a helper or looks like an
                     option */
    IF_COMMAND, /* "!command" */
    IF_PATH, /* the name of a tool, which scripts of git look up as a file */
    UNLESS_SUBMODULE /* core.worktree: a submodule's may lead back into its tree */
};

/* `section` and `key` in lower case; "*" is each. The subsection never matters. */
static const struct {
    const char *section, *key;
    enum danger danger;
} dangers[] = {
    { "*", "textconv", NEVER },
    { "alias", "*", NEVER },
    { "annex", "*", NEVER },
    { "branch", "pushremote", IF_TRANSPORT },
    { "branch", "remote", IF_TRANSPORT },
    { "browser", "*", NEVER },
    { "bundle", "*", NEVER },
    { "core", "alternaterefscommand", NEVER },
    { "core", "askpass", NEVER },
    { "core", "attributesfile", NEVER },
    { "core", "editor", NEVER },
    { "core", "fsmonitor", UNLESS_BOOLEAN },
    { "core", "gitproxy", NEVER },
    { "core", "hookspath", NEVER },
    { "core", "pager", NEVER },
    { "core", "protecthfs", NEVER },
    { "core", "protectntfs", NEVER },
    { "core", "sshcommand", NEVER },
    { "core", "virtualfilesystem", NEVER },
    { "core", "worktree", UNLESS_SUBMODULE },
    { "credential", "*", NEVER },
    { "diff", "command", NEVER },
    { "diff", "external", NEVER },
    { "diff", "guitool", IF_PATH },
    { "diff", "tool", IF_PATH },
    { "difftool", "cmd", NEVER },
    { "difftool", "path", NEVER },
    { "fetch", "bundleuri", NEVER },
    { "filter", "*", NEVER },
    { "gc", "recentobjectshook", NEVER },
    { "gpg", "*", NEVER },
    { "guitool", "*", NEVER },
    { "help", "browser", IF_PATH },
    { "hook", "*", NEVER },
    { "http", "cookiefile", NEVER },
    { "http", "curloptresolve", NEVER },
    { "http", "delegation", NEVER },
    { "http", "extraheader", NEVER },
    { "http", "followredirects", NEVER },
    { "http", "pinnedpubkey", NEVER },
    { "http", "proxy", NEVER },
    { "http", "proxyauthmethod", NEVER },
    { "http", "proxysslcainfo", NEVER },
    { "http", "proxysslcert", NEVER },
    { "http", "proxysslkey", NEVER },
    { "http", "savecookies", NEVER },
    { "http", "schannelusesslcainfo", NEVER },
    { "http", "sslbackend", NEVER },
    { "http", "sslcainfo", NEVER },
    { "http", "sslcapath", NEVER },
    { "http", "sslcert", NEVER },
    { "http", "sslkey", NEVER },
    { "http", "sslverify", NEVER },
    { "imap", "*", NEVER },
    { "include", "*", NEVER },
    { "includeif", "*", NEVER },
    { "init", "templatedir", NEVER },
    { "instaweb", "*", NEVER },
    { "interactive", "difffilter", NEVER },
    { "lfs", "args", NEVER },
    { "lfs", "clean", NEVER },
    { "lfs", "path", NEVER },
    { "lfs", "pushurl", NEVER },
    { "lfs", "smudge", NEVER },
    { "lfs", "standalonetransferagent", NEVER },
    { "lfs", "url", NEVER },
    { "man", "*", NEVER },
    { "merge", "driver", NEVER },
    { "merge", "guitool", IF_PATH },
    { "merge", "tool", IF_PATH },
    { "mergetool", "cmd", NEVER },
    { "mergetool", "path", NEVER },
    { "pager", "*", UNLESS_BOOLEAN },
    { "protocol", "*", NEVER },
    { "remote", "proxy", NEVER },
    { "remote", "pushdefault", IF_TRANSPORT },
    { "remote", "pushurl", IF_TRANSPORT },
    { "remote", "receivepack", NEVER },
    { "remote", "uploadpack", NEVER },
    { "remote", "url", IF_TRANSPORT },
    { "remote", "vcs", NEVER },
    { "sendemail", "*", NEVER },
    { "sequence", "*", NEVER },
    { "submodule", "update", IF_COMMAND },
    { "submodule", "url", IF_TRANSPORT },
    { "svn", "*", NEVER },
    { "svn-remote", "*", NEVER },
    { "tar", "command", NEVER },
    { "trace2", "*", NEVER },
    { "trailer", "cmd", NEVER },
    { "trailer", "command", NEVER },
    { "uploadpack", "*", NEVER },
    { "url", "*", NEVER },
    { "web", "browser", IF_PATH },
};

/* As git reads them: no value is true. */
static bool
is_boolean(const char *value)
{
    static const char *const words[] = { "true", "false", "yes", "no", "on", "off", "1", "0", "" };

    if (value == NULL) {
        return true;
    }
    for (size_t i = 0; i < N_ELEMENTS(words); i++) {
        if (strcasecmp(value, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* `ext::sh -c ...`, `fd::17`, any other `helper::address`; an address or host that begins with a
 * dash. */
static bool
is_transport(const char *value)
{
    const char *host;
    size_t scheme;

    if (value == NULL) {
        return false;
    }
    host = strstr(value, "://");
    scheme = strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    return value[0] == '-' || strncmp(value + scheme, "::", 2) == 0 ||
           (host != NULL && host[3] == '-') || strchr(value, '\n') != NULL;
}

/* The directory of `path` and a relative path joined, without ".." in it; false if it leaves "/".
 */
static bool
join_lexically(const char *path, const char *relative, struct str *out)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL || relative[0] == '/') {
        return false;
    }
    str_add_bytes(out, path, (size_t)(slash - path));
    while (*relative != '\0') {
        size_t length = strcspn(relative, "/");

        if (length == 2 && strncmp(relative, "..", 2) == 0) {
            const char *last = out->data == NULL ? NULL : strrchr(out->data, '/');

            if (last == NULL) {
                return false;
            }
            out->length = (size_t)(last - out->data);
            out->data[out->length] = '\0';
        } else if (length > 0 && !(length == 1 && relative[0] == '.')) {
            str_add(out, "/");
            str_add_bytes(out, relative, length);
        }
        relative += length;
        relative += *relative == '/';
    }
    return !out->failed && out->length > 0;
}

/* WORK/.git/modules/NAME/config may say that its tree is somewhere below WORK, outside .git. */
static bool
is_submodule_tree(const char *path, const char *value)
{
    AUTO(str_done) struct str tree = { 0 };
    const char *modules = strstr(path, "/.git/modules/");
    size_t work;

    if (modules == NULL || value == NULL || !join_lexically(path, value, &tree)) {
        return false;
    }
    work = (size_t)(modules - path);
    return strncmp(tree.data, path, work) == 0 && tree.data[work] == '/' &&
           strncmp(tree.data + work, "/.git", 5) != 0;
}

static bool
is_dangerous(const char *path, const struct git_setting *setting)
{
    for (size_t i = 0; i < N_ELEMENTS(dangers); i++) {
        const char *section = dangers[i].section, *key = dangers[i].key;

        if ((section[0] != '*' && strcmp(section, setting->section) != 0) ||
                (key[0] != '*' && strcmp(key, setting->key) != 0)) {
            continue;
        }
        switch (dangers[i].danger) {
        case NEVER:
            return true;
        case UNLESS_BOOLEAN:
            return !is_boolean(setting->value);
        case IF_TRANSPORT:
            return is_transport(setting->value);
        case IF_COMMAND:
            return setting->value != NULL && setting->value[strspn(setting->value, " \t")] == '!';
        case IF_PATH:
            return setting->value != NULL && strchr(setting->value, '/') != NULL;
        case UNLESS_SUBMODULE:
            return !is_submodule_tree(path, setting->value);
        }
    }
    return false;
}

static bool
same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool
same_key(const struct git_setting *a, const struct git_setting *b)
{
    return strcmp(a->section, b->section) == 0 && same_text(a->subsection, b->subsection) &&
           strcmp(a->key, b->key) == 0;
}

/* The next setting of a key from `i` on, or NULL. */
static const struct git_setting *
next_of(const struct vec *settings, const struct git_setting *key, size_t *i)
{
    while (*i < settings->count) {
        const struct git_setting *setting = vec_at(settings, struct git_setting, (*i)++);

        if (same_key(setting, key)) {
            return setting;
        }
    }
    return NULL;
}

/* The same values in the same order: the last one counts, and sometimes all do. */
static bool
is_unchanged(const struct vec *before, const struct vec *after, const struct git_setting *key)
{
    size_t i = 0, k = 0;
    const struct git_setting *old, *new;

    do {
        old = next_of(before, key, &i);
        new = next_of(after, key, &k);
        if ((old == NULL) != (new == NULL) || (old != NULL && !same_text(old->value, new->value))) {
            return false;
        }
    } while (old != NULL);
    return true;
}

static bool
refuse(char *reason, size_t room, const struct git_setting *setting)
{
    char name[192], quoted[2 * sizeof name];

    snprintf(name, sizeof name, "%.60s%s%.60s.%.60s", setting->section,
            setting->subsection == NULL ? "" : ".",
            setting->subsection == NULL ? "" : setting->subsection, setting->key);
    snprintf(reason, room,
            "the git key %s can run a program or redirect git, and is new or changed",
            text_quote(name, quoted, sizeof quoted));
    return false;
}

/* Bounded although it looks through `before` for each: dangerous keys are few, or refused at once.
 */
static bool
check_settings(const char *path, const struct vec *before, const struct vec *after, char *reason,
        size_t room)
{
    for (size_t i = 0; i < after->count; i++) {
        const struct git_setting *setting = vec_at(after, struct git_setting, i);

        if (is_dangerous(path, setting) && !is_unchanged(before, after, setting)) {
            return refuse(reason, room, setting);
        }
    }
    return true;
}

bool
git_config_allows(const char *path, const char *before, size_t before_length, const char *after,
        size_t after_length, char *reason, size_t reason_room)
{
    struct vec old = VEC(struct git_setting), new = VEC(struct git_setting);
    bool ok = false;

    if (before != NULL && !git_config_read(before, before_length, &old)) {
        snprintf(reason, reason_room, "the present git configuration cannot be read");
    } else if (!git_config_read(after, after_length, &new)) {
        snprintf(reason, reason_room, "the new git configuration cannot be read");
    } else {
        ok = check_settings(path, &old, &new, reason, reason_room);
    }
    git_config_done(&old);
    git_config_done(&new);
    return ok;
}

/* ---- attributes -------------------------------------------------------------------------------
 */

/* A line that gives files to a driver: one of its words, maybe of a macro, is `filter=`, `diff=`,
 * `merge=`. */
static bool
names_driver(const char *line, size_t length)
{
    static const char *const words[] = { "filter=", "diff=", "merge=" };

    for (size_t i = 0; i < length; i++) {
        for (size_t k = 0; k < N_ELEMENTS(words); k++) {
            size_t n = strlen(words[k]);

            if (length - i > n && strncmp(line + i, words[k], n) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool
has_line(const char *text, size_t length, const char *line, size_t line_length)
{
    while (length > 0) {
        const char *end = memchr(text, '\n', length);
        size_t n = end == NULL ? length : (size_t)(end - text);

        if (n == line_length && memcmp(text, line, n) == 0) {
            return true;
        }
        text += n;
        length -= n;
        if (length > 0) {
            text++;
            length--;
        }
    }
    return false;
}

bool
git_attributes_allow(const char *before, size_t before_length, const char *after,
        size_t after_length, char *reason, size_t reason_room)
{
    if (after_length > 0 && memchr(after, '\0', after_length) != NULL) {
        snprintf(reason, reason_room, "the new git attributes cannot be read");
        return false;
    }
    while (after_length > 0) {
        const char *end = memchr(after, '\n', after_length);
        size_t n = end == NULL ? after_length : (size_t)(end - after);

        if (names_driver(after, n) &&
                (before == NULL || !has_line(before, before_length, after, n))) {
            AUTO(str_done) struct str shown = { 0 };

            str_add_quoted(&shown, after, n, 80);
            snprintf(reason, reason_room, "a line of git attributes names a driver, and is new: %s",
                    shown.failed ? "" : shown.data);
            return false;
        }
        after += n;
        after_length -= n;
        if (after_length > 0) {
            after++;
            after_length--;
        }
    }
    return true;
}
