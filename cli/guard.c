/* SPDX-License-Identifier: Apache-2.0
 * Files that the tool itself trusts or reads secrets from are kept from what runs in the box,
 * wherever they lie: rules are added to the policy that the options name. */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The path as a pattern that matches nothing else. */
static char *
escape(const char *path)
{
    char *pattern = malloc(2 * strlen(path) + 2), *end = pattern; /* room for one more */

    if (pattern == NULL) {
        return NULL;
    }
    for (const char *p = path; *p != '\0'; p++) {
        if (strchr("*?[\\", *p) != NULL) {
            *end++ = '\\';
        }
        *end++ = *p;
    }
    *end = '\0';
    return pattern;
}

/* A rule for the names that begin so, or for that one alone.  A rule that the library does not take
 * makes that no policy is built; false: out of memory. */
static bool
deny_names(abx_policy_builder *builder, const char *path, bool begin_so, uint32_t access,
        const char *why)
{
    char *pattern = escape(path);

    if (pattern == NULL) {
        return false;
    }
    if (begin_so) {
        strcat(pattern, "*");
    }
    abx_policy_builder_path(builder, pattern, access, ABX_VERDICT_DENY);
    abx_policy_builder_explain(builder, why, NULL);
    free(pattern);
    return true;
}

static bool
deny(abx_policy_builder *builder, const char *path, uint32_t access, const char *why)
{
    return deny_names(builder, path, false, access, why);
}

/* Where the name itself stands, whatever it leads to: with its directory resolved.  NULL with
 * errno. */
static char *
place_of(const char *file)
{
    const char *slash = strrchr(file, '/'), *name = slash == NULL ? file : slash + 1;
    char *directory = slash == NULL   ? strdup(".")
                      : slash == file ? strdup("/")
                                      : strndup(file, (size_t)(slash - file));
    char *real = directory == NULL ? NULL : realpath(directory, NULL);
    char *place = NULL;

    free(directory);
    if (real != NULL) {
        size_t room = strlen(real) + strlen(name) + 2;

        place = malloc(room);
        if (place != NULL) {
            snprintf(place, room, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
        }
    }
    free(real);
    return place;
}

/* Every process has its own things there. */
static bool
is_own(const char *file)
{
    return strncmp(file, "/proc/", 6) == 0 || strncmp(file, "/dev/", 5) == 0;
}

/* The file, and the symbolic link that `file` may be. */
static bool
guard_file(abx_policy_builder *builder, const char *file, uint32_t access, const char *why)
{
    struct stat st;
    char *path, *place;
    bool good;

    /* A terminal or another device is left as the policy has it. */
    if (stat(file, &st) < 0 || (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))) {
        return true;
    }
    path = realpath(file, NULL);
    if (path == NULL) {
        return true; /* a descriptor of something without a name */
    }
    place = place_of(file);
    good = place != NULL && deny(builder, path, access, why) &&
           (strcmp(place, path) == 0 || is_own(place) || deny(builder, place, access, why));
    free(place);
    free(path);
    return good;
}

/* Whether the document names a proxy with a user: "upstream": "http://USER:PASSWORD@HOST".  An
 * escape may stand for the '@'. */
static bool
has_password(const char *text)
{
    static const char key[] = "\"upstream\"";

    for (const char *p = strstr(text, key); p != NULL; p = strstr(p, key)) {
        p += sizeof key - 1;
        p += strspn(p, " \t\r\n:");
        if (*p == '"' && p[1 + strcspn(p + 1, "\"@\\")] != '"') {
            return true;
        }
    }
    return false;
}

static bool
guard_document(abx_policy_builder *builder, const char *file, const char *text)
{
    return has_password(text)
                   ? guard_file(builder, file, ABX_ACCESS_READ,
                             "the policy document of this run has the password of a proxy")
                   : guard_file(builder, file, ABX_ACCESS_WRITE,
                             "the policy document of this run cannot be changed by it");
}

static bool
guard_secret(abx_policy_builder *builder, const char *source)
{
    char file[64];

    if (strncmp(source, "fd:", 3) == 0) {
        snprintf(file, sizeof file, "/proc/self/fd/%.20s", source + 3);
        source = file;
    } else if (strncmp(source, "file:", 5) == 0) {
        source += 5;
    } else {
        return true;
    }
    return guard_file(builder, source, ABX_ACCESS_READ,
            "the file has the secret of a credential, which no command may see");
}

static bool
no_memory(void)
{
    fputs("agentbox: out of memory\n", stderr);
    return false;
}

/* The log may not be there yet, and goes on in files with longer names. */
static bool
guard_audit(abx_policy_builder *builder, const char *file)
{
    char *place = place_of(file);
    int error = errno;
    bool good;

    if (place == NULL && error != ENOMEM) {
        fputs("agentbox: the audit log '", stderr);
        print_escaped(stderr, file);
        fprintf(stderr, "' cannot be kept there: %s\n", strerror(error));
        return false;
    }
    good = place != NULL &&
           deny_names(builder, place, true, ABX_ACCESS_READ,
                   "no command may see the audit log, which has what others did") &&
           deny_names(builder, place, true, ABX_ACCESS_WRITE,
                   "the audit log cannot be changed by what it records");
    free(place);
    return good || no_memory();
}

bool
guard(abx_policy_builder *builder, const struct options *options, const char *document,
        const char *text)
{
    bool good = (document == NULL || guard_document(builder, document, text)) &&
                (options->output == NULL ||
                        guard_file(builder, options->output, ABX_ACCESS_WRITE,
                                "what is learned from this run cannot be changed by it")) &&
                (options->events == NULL ||
                        guard_file(builder, options->events, ABX_ACCESS_WRITE,
                                "the events of this run cannot be changed by it")) &&
                (options->approver == NULL ||
                        guard_file(builder, options->approver, ABX_ACCESS_WRITE,
                                "the program that answers for this run cannot be changed by it"));

    for (size_t i = 0; i < options->n_credentials && good; i++) {
        good = guard_secret(builder, strchr(options->credentials[i], '=') + 1);
    }
    if (!good) {
        return no_memory();
    }
    return options->audit == NULL || guard_audit(builder, options->audit);
}
