/* SPDX-License-Identifier: Apache-2.0
 * Makes a policy document of what an observing box saw.  Careful in one direction: a rule may name
 * a directory for its files, never "/", a home, what has them in it, or a place of the system to
 * write to.  Reads a copy of the observations, changes nothing. */
#include "supervise/observe.h"

#include "base/mem.h"
#include "base/path.h"
#include "policy/builder.h"

#include <stdlib.h>
#include <string.h>

static const char *const system_directories[] = {
#define DIRECTORY(path) path,
#include "policy/system.def"
#undef DIRECTORY
};

struct need {
    char *path;
    struct str programs;
};

struct suggestion {
    abx_box *box;
    const struct policy_settings *settings;
    struct vec seen; /* struct observation, sorted: a copy, since opens wait for the list */
    struct vec reads, writes; /* struct need */
    bool failed;
};

/* ---- which directories ---- */
static bool
is_of_system(const char *path)
{
    for (size_t i = 0; i < N_ELEMENTS(system_directories); i++) {
        if (path_is_within(path, system_directories[i])) {
            return true;
        }
    }
    return false;
}

static bool
is_in_workspace(const struct suggestion *s, const char *path)
{
    return s->settings->workspace != NULL && path_is_within(path, s->settings->workspace);
}

/* More than anybody meant. */
static bool
is_too_wide(const struct suggestion *s, const char *directory)
{
    const char *home = s->settings->home, *workspace = s->settings->workspace;

    if ((home != NULL && path_is_within(home, directory)) ||
            (workspace != NULL && path_is_below(workspace, directory))) {
        return true;
    }
    return !is_in_workspace(s, directory) &&
           (strchr(directory + 1, '/') == NULL || is_of_system(directory));
}

/* Takes the path. */
static void
add_need(struct suggestion *s, struct vec *needs, char *path, const char *programs)
{
    struct need *need = NULL;

    for (size_t i = 0; path != NULL && i < needs->count; i++) {
        if (strcmp(vec_at(needs, struct need, i)->path, path) == 0) {
            programs_add(&vec_at(needs, struct need, i)->programs, programs);
            free(path);
            return;
        }
    }
    need = path == NULL ? NULL : vec_add(needs);
    if (need == NULL) {
        free(path);
        s->failed = true;
        return;
    }
    *need = (struct need){ .path = path };
    programs_add(&need->programs, programs);
}

static void
remove_need(struct vec *needs, size_t i)
{
    free(vec_at(needs, struct need, i)->path);
    str_done(&vec_at(needs, struct need, i)->programs);
    vec_remove(needs, i);
}

/* A need that lies in another one, which gets its programs. */
static bool
is_covered(const struct vec *needs, const struct need *need)
{
    for (size_t i = 0; i < needs->count; i++) {
        struct need *other = vec_at(needs, struct need, i);

        if (other != need && path_is_within(need->path, other->path)) {
            programs_add(&other->programs, need->programs.data);
            return true;
        }
    }
    return false;
}

static void
remove_covered(struct vec *needs, const struct vec *by)
{
    for (size_t i = needs->count; i-- > 0;) {
        if (is_covered(by, vec_at(needs, struct need, i))) {
            remove_need(needs, i);
        }
    }
}

/* Two in one directory become that directory, as long as there are such. */
static bool
join_two(struct suggestion *s, struct vec *needs)
{
    for (size_t i = 0; i < needs->count; i++) {
        const struct need *one = vec_at(needs, struct need, i);
        AUTO(freep) char *parent = path_parent(one->path);

        for (size_t j = i + 1; parent != NULL && j < needs->count; j++) {
            const struct need *two = vec_at(needs, struct need, j);
            AUTO(freep) char *other = path_parent(two->path);

            if (other != NULL && strcmp(parent, other) == 0 && !is_too_wide(s, parent)) {
                add_need(s, needs, steal_ptr(&parent), "");
                remove_covered(needs, needs);
                return !s->failed;
            }
        }
    }
    return false;
}

/* ---- from what was seen ---- */

/* A new or changed name needs its directory: what is there is another one each time. */
static void
add_write(struct suggestion *s, const struct observation *one)
{
    AUTO(freep) char *parent = path_parent(one->target);

    if (parent == NULL) {
        s->failed = true;
    } else if (!is_too_wide(s, parent)) {
        add_need(s, &s->writes, steal_ptr(&parent), one->programs.data);
    } else if (!is_too_wide(s, one->target)) {
        add_need(s, &s->writes, strdup(one->target), one->programs.data);
    }
}

static enum host_kind
look(const struct suggestion *s, const char *path)
{
    const struct host_view *host = s->box->context->backend->host;

    return host->look(host->data, path);
}

static void
add_observation(struct suggestion *s, const struct observation *one)
{
    const bool is_path = one->request == ABX_REQUEST_PATH || one->request == ABX_REQUEST_EXEC;

    if (!is_path || plan_is_private(&s->box->plan, one->target)) {
        return;
    }
    if (one->access != ABX_ACCESS_WRITE && look(s, one->target) == HOST_MISSING) {
        return; /* looked for, and not found */
    }
    if (one->access == ABX_ACCESS_WRITE) {
        add_write(s, one);
    } else if (!is_of_system(one->target) && one->target[1] != '\0' &&
               (s->settings->home == NULL || !path_is_within(s->settings->home, one->target))) {
        add_need(s, &s->reads, strdup(one->target), one->programs.data);
    }
}

/* ---- a place to write to has to be there when the policy is used ---- */
static bool
is_written(const struct suggestion *s, size_t at)
{
    const char *target = vec_at(&s->seen, struct observation, at)->target;
    size_t i = at;

    while (i > 0 && strcmp(vec_at(&s->seen, struct observation, i - 1)->target, target) == 0) {
        i--;
    }
    for (; i < s->seen.count; i++) {
        const struct observation *one = vec_at(&s->seen, struct observation, i);

        if (strcmp(one->target, target) != 0) {
            break;
        }
        if (one->access == ABX_ACCESS_WRITE) {
            return true;
        }
    }
    return false;
}

/* Whether a file below it was read that no command wrote: else all in it may be results, which are
 * cleaned away with their directory. */
static bool
has_input(const struct suggestion *s, const char *directory)
{
    for (size_t i = 0; i < s->seen.count; i++) {
        const struct observation *one = vec_at(&s->seen, struct observation, i);

        if (one->access == ABX_ACCESS_READ && path_is_below(one->target, directory) &&
                !is_written(s, i) && look(s, one->target) == HOST_FILE) {
            return true;
        }
    }
    return false;
}

static bool
is_lasting(const struct suggestion *s, const char *path)
{
    const char *workspace = s->settings->workspace;

    return look(s, path) != HOST_MISSING &&
           (!is_in_workspace(s, path) || strcmp(path, workspace) == 0 || has_input(s, path));
}

/* The nearest directory that lasts, or NULL; takes the path. */
static char *
lasting(struct suggestion *s, char *path)
{
    while (path != NULL && !is_lasting(s, path)) {
        char *parent = path_parent(path);

        s->failed |= parent == NULL;
        free(path);
        if (parent != NULL && is_too_wide(s, parent)) {
            free(parent);
            return NULL;
        }
        path = parent;
    }
    return path;
}

static void
move_to_lasting(struct suggestion *s)
{
    for (size_t i = s->writes.count; i-- > 0 && !s->failed;) {
        struct need *need = vec_at(&s->writes, struct need, i);

        need->path = lasting(s, need->path);
        if (need->path == NULL) {
            remove_need(&s->writes, i);
        }
    }
}

static void
find_needs(struct suggestion *s)
{
    const struct vec *list = &s->seen;

    if (s->settings->workspace != NULL) { /* where commands start */
        add_need(s, &s->reads, strdup(s->settings->workspace), "");
    }
    for (size_t i = 0; i < list->count && !s->failed; i++) {
        const struct observation *one = vec_at(list, struct observation, i);

        if (one->access == ABX_ACCESS_WRITE || !is_in_workspace(s, one->target)) {
            add_observation(s, one);
        }
    }
    remove_covered(&s->writes, &s->writes);
    move_to_lasting(s);
    remove_covered(&s->writes, &s->writes);
    remove_covered(&s->reads, &s->reads);
    while (!s->failed && (join_two(s, &s->writes) || join_two(s, &s->reads))) {
        /* until nothing can be joined */
    }
}

/* ---- the document ---- */
static void
write_reason(struct str *out, const char *programs)
{
    struct str reason = { 0 };

    if (programs == NULL || programs[0] == '\0') {
        return;
    }
    str_printf(&reason, "needed by %s", programs);
    str_add(out, ", \"reason\": ");
    str_add_json(out, reason.data == NULL ? "" : reason.data);
    out->failed |= reason.failed;
    str_done(&reason);
}

static void
write_path(struct str *out, const struct suggestion *s, const char *path)
{
    const bool is_inside = is_in_workspace(s, path);
    AUTO(freep)
    char *spelled = variable_spell(is_inside ? path + strlen(s->settings->workspace) : path, true);
    struct str text = { .failed = spelled == NULL };

    str_printf(&text, "%s%s", is_inside ? "${workspace}" : "", spelled == NULL ? "" : spelled);
    str_add_json(out, text.failed ? "" : text.data);
    out->failed |= text.failed;
    str_done(&text);
}

static void
write_needs(struct str *out, const struct suggestion *s, const struct vec *needs)
{
    for (size_t i = 0; i < needs->count; i++) {
        const struct need *need = vec_at(needs, struct need, i);

        str_add(out, ",\n      { \"path\": ");
        write_path(out, s, need->path);
        write_reason(out, need->programs.data);
        str_add(out, " }");
    }
}

static void
write_reads(struct str *out, const struct suggestion *s)
{
    const char *comma = "";

    str_add(out, "    \"read\": { \"allow\": [");
    for (size_t i = 0; i < N_ELEMENTS(system_directories); i++) {
        if (look(s, system_directories[i]) != HOST_MISSING) {
            str_printf(out, "%s\"%s\"", comma, system_directories[i]);
            comma = ", ";
        }
    }
    write_needs(out, s, &s->reads);
    str_add(out, " ],\n      \"deny\": [");
    comma = "";
    for (const char *const *path = secret_paths(); *path != NULL; path++) {
        if (**path != '~' || s->settings->home != NULL) {
            str_printf(out, "%s\"%s\"", comma, *path);
            comma = ", ";
        }
    }
    str_add(out, "] },\n");
}

static bool
is_name(const char *host)
{
    return strchr(host, ':') == NULL && strspn(host, "0123456789.") != strlen(host);
}

static void
write_network(struct str *out, const struct suggestion *s)
{
    const struct vec *list = &s->seen;
    const char *comma = "\n    ";
    bool any = false;

    for (size_t i = 0; i < list->count; i++) {
        const struct observation *one = vec_at(list, struct observation, i);

        if (one->request == ABX_REQUEST_CONNECT && is_name(one->target)) {
            str_add(out, any ? "" : "  \"network\": { \"mode\": \"filtered\", \"allow\": [");
            str_printf(out, "%s{ \"host\": \"%s:%u\"", comma, one->target, one->port);
            write_reason(out, one->programs.data);
            str_add(out, " }");
            comma = ",\n    ";
            any = true;
        }
    }
    str_add(out, any ? " ] }\n" : "  \"network\": { \"mode\": \"none\" }\n");
}

static char *
write_document(const struct suggestion *s, size_t *ret_length)
{
    struct str out = { 0 };

    str_add(&out, "{\n  \"version\": 1,\n  \"name\": \"learned\",\n  \"filesystem\": {\n");
    write_reads(&out, s);
    str_add(&out, "    \"write\": { \"allow\": [\"/tmp\"");
    write_needs(&out, s, &s->writes);
    str_add(&out, " ] }\n  },\n");
    write_network(&out, s);
    str_add(&out, "}\n");
    return str_steal(&out, ret_length);
}

static void
done(struct suggestion *s)
{
    while (s->reads.count > 0) {
        remove_need(&s->reads, 0);
    }
    while (s->writes.count > 0) {
        remove_need(&s->writes, 0);
    }
    vec_done(&s->reads);
    vec_done(&s->writes);
    observations_done(&s->seen);
}

abx_status
box_suggest(abx_box *box, char **ret_json, size_t *ret_length, struct fail *fail)
{
    struct suggestion s = { .box = box,
        .settings = policy_get_settings(box->resolved),
        .seen = VEC(struct observation),
        .reads = VEC(struct need),
        .writes = VEC(struct need) };
    abx_status r;

    if (box->observed == NULL) {
        return fail_set(fail, ABX_ERR_STATE, 0, "suggest:observe",
                "the context of this box does not observe");
    }
    r = observed_copy(box->observed, &s.seen, fail);
    if (r == ABX_OK) {
        find_needs(&s);
        *ret_json = s.failed ? NULL : write_document(&s, ret_length);
        r = *ret_json == NULL ? fail_nomem(fail) : ABX_OK;
    }
    done(&s);
    return r;
}
