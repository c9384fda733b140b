/* SPDX-License-Identifier: Apache-2.0
 * Owns what of the observations becomes an allowing rule.  Careful in one direction: a rule may
 * name a directory for its files, never "/", a home, what has them in it, a place of the system to
 * write to, or what the given policy has a denying or an asking rule for.  Reads a copy of the
 * observations, changes nothing. */
#include "supervise/suggest.h"

#include "base/mem.h"
#include "base/path.h"

#include <stdlib.h>
#include <string.h>

const char *const system_directories[] = {
#define DIRECTORY(path) path,
#include "policy/system.def"
#undef DIRECTORY
    NULL,
};

/* ---- what the given policy says ---- */
void
suggest_rule(const struct suggestion *s, uint32_t access, const char *path, struct ruling *ruling)
{
    const abx_request request = {
        .size = sizeof request, .kind = ABX_REQUEST_PATH, .access = access, .target = path
    };

    policy_decide(s->box->observed->strict, &request, ruling);
}

bool
suggest_is_closed(const struct suggestion *s, uint32_t access, const char *path)
{
    struct ruling ruling;

    suggest_rule(s, access, path, &ruling);
    return !ruling.from_default && ruling.verdict != ABX_VERDICT_ALLOW;
}

/* Whether a rule for the directory allows the path, too: no rule of the given policy stands between
 * them that makes an exception of one that denies or asks. */
static bool
covers(const struct suggestion *s, uint32_t access, const char *directory, const char *path)
{
    struct ruling inner, outer;

    if (!path_is_within(path, directory)) {
        return false;
    }
    suggest_rule(s, access, path, &inner);
    if (inner.from_default) {
        return true;
    }
    suggest_rule(s, access, directory, &outer);
    return !outer.from_default && outer.layer == inner.layer && outer.rule == inner.rule;
}

/* ---- which directories ---- */
static bool
is_of_system(const char *path)
{
    for (const char *const *directory = system_directories; *directory != NULL; directory++) {
        if (path_is_within(path, *directory)) {
            return true;
        }
    }
    return false;
}

/* A directory of the system that is readable as a whole has it. */
static bool
is_read_with_system(const struct suggestion *s, const char *path)
{
    for (const char *const *directory = system_directories; *directory != NULL; directory++) {
        if (covers(s, ABX_ACCESS_READ, *directory, path) &&
                !suggest_is_closed(s, ABX_ACCESS_READ, *directory)) {
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
is_too_wide(const struct suggestion *s, uint32_t access, const char *directory)
{
    const char *home = s->settings->home, *workspace = s->settings->workspace;

    if ((home != NULL && path_is_within(home, directory)) ||
            (workspace != NULL && path_is_below(workspace, directory)) ||
            suggest_is_closed(s, access, directory)) {
        return true;
    }
    return !is_in_workspace(s, directory) &&
           (strchr(directory + 1, '/') == NULL || is_of_system(directory));
}

/* Takes the path. */
static void
add_need(struct suggestion *s, struct needs *needs, char *path, const char *programs)
{
    struct vec *list = &needs->list;
    struct need *need = NULL;

    for (size_t i = 0; path != NULL && i < list->count; i++) {
        if (strcmp(vec_at(list, struct need, i)->path, path) == 0) {
            programs_add(&vec_at(list, struct need, i)->programs, programs);
            free(path);
            return;
        }
    }
    need = path == NULL ? NULL : vec_add(list);
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

/* A need that another one covers, which gets its programs. */
static bool
is_covered(const struct suggestion *s, const struct needs *by, const struct need *need)
{
    for (size_t i = 0; i < by->list.count; i++) {
        struct need *other = vec_at(&by->list, struct need, i);

        if (other != need && covers(s, by->access, other->path, need->path)) {
            programs_add(&other->programs, need->programs.data);
            return true;
        }
    }
    return false;
}

static void
remove_covered(const struct suggestion *s, struct needs *needs)
{
    for (size_t i = needs->list.count; i-- > 0;) {
        if (is_covered(s, needs, vec_at(&needs->list, struct need, i))) {
            remove_need(&needs->list, i);
        }
    }
}

/* Two in one directory become that directory, as long as there are such. */
static bool
join_two(struct suggestion *s, struct needs *needs)
{
    const struct vec *list = &needs->list;

    for (size_t i = 0; i < list->count; i++) {
        const struct need *one = vec_at(list, struct need, i);
        AUTO(freep) char *parent = path_parent(one->path);

        for (size_t j = i + 1; parent != NULL && j < list->count; j++) {
            const struct need *two = vec_at(list, struct need, j);
            AUTO(freep) char *other = path_parent(two->path);

            if (other != NULL && strcmp(parent, other) == 0 &&
                    !is_too_wide(s, needs->access, parent) &&
                    covers(s, needs->access, parent, one->path) &&
                    covers(s, needs->access, parent, two->path)) {
                add_need(s, needs, steal_ptr(&parent), "");
                remove_covered(s, needs);
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
    } else if (!is_too_wide(s, ABX_ACCESS_WRITE, parent)) {
        add_need(s, &s->writes, steal_ptr(&parent), one->programs.data);
    } else if (!is_too_wide(s, ABX_ACCESS_WRITE, one->target)) {
        add_need(s, &s->writes, strdup(one->target), one->programs.data);
    }
}

enum host_kind
suggest_look(const struct suggestion *s, const char *path)
{
    const struct host_view *host = s->box->context->backend->host;

    return host->look(host->data, path);
}

static void
add_read(struct suggestion *s, const struct observation *one)
{
    if (one->target[1] != '\0' && !is_read_with_system(s, one->target) &&
            (s->settings->home == NULL || !path_is_within(s->settings->home, one->target)) &&
            !suggest_is_closed(s, ABX_ACCESS_READ, one->target)) {
        add_need(s, &s->reads, strdup(one->target), one->programs.data);
    }
}

/* Where the given policy has a list of the only programs. */
static void
add_program(struct suggestion *s, const struct observation *one)
{
    struct ruling ruling;

    suggest_rule(s, ABX_ACCESS_EXEC, one->target, &ruling);
    if (s->settings->restricts_exec && ruling.from_default && ruling.verdict != ABX_VERDICT_ALLOW) {
        add_need(s, &s->programs, strdup(one->target), "");
    }
}

static void
add_observation(struct suggestion *s, const struct observation *one)
{
    const bool is_path = one->request == ABX_REQUEST_PATH || one->request == ABX_REQUEST_EXEC;

    if (!is_path || plan_is_private(&s->box->plan, one->target)) {
        return;
    }
    if (one->access == ABX_ACCESS_WRITE) {
        add_write(s, one);
        return;
    }
    if (suggest_look(s, one->target) == HOST_MISSING) {
        return; /* looked for, and not found */
    }
    if (one->request == ABX_REQUEST_EXEC || one->access == ABX_ACCESS_EXEC) {
        add_program(s, one);
    }
    if (!is_in_workspace(s, one->target) ||
            suggest_is_closed(s, ABX_ACCESS_READ, s->settings->workspace) ||
            !covers(s, ABX_ACCESS_READ, s->settings->workspace, one->target)) {
        add_read(s, one);
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
                !is_written(s, i) && suggest_look(s, one->target) == HOST_FILE) {
            return true;
        }
    }
    return false;
}

static bool
is_lasting(const struct suggestion *s, const char *path)
{
    const char *workspace = s->settings->workspace;

    return suggest_look(s, path) != HOST_MISSING &&
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
        if (parent != NULL && is_too_wide(s, ABX_ACCESS_WRITE, parent)) {
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
    struct vec *list = &s->writes.list;

    for (size_t i = list->count; i-- > 0 && !s->failed;) {
        struct need *need = vec_at(list, struct need, i);

        need->path = lasting(s, need->path);
        if (need->path == NULL) {
            remove_need(list, i);
        }
    }
}

static void
find_needs(struct suggestion *s)
{
    const struct vec *list = &s->seen;

    if (s->settings->workspace != NULL && /* where commands start */
            !suggest_is_closed(s, ABX_ACCESS_READ, s->settings->workspace)) {
        add_need(s, &s->reads, strdup(s->settings->workspace), "");
    }
    for (size_t i = 0; i < list->count && !s->failed; i++) {
        add_observation(s, vec_at(list, struct observation, i));
    }
    remove_covered(s, &s->writes);
    move_to_lasting(s);
    remove_covered(s, &s->writes);
    remove_covered(s, &s->reads);
    while (!s->failed && (join_two(s, &s->writes) || join_two(s, &s->reads))) {
        /* until nothing can be joined */
    }
}

static void
needs_done(struct needs *needs)
{
    while (needs->list.count > 0) {
        remove_need(&needs->list, needs->list.count - 1);
    }
    vec_done(&needs->list);
}

abx_status
box_suggest(abx_box *box, char **ret_json, size_t *ret_length, struct fail *fail)
{
    struct suggestion s = { .box = box,
        .settings = policy_get_settings(box->policy),
        .seen = VEC(struct observation),
        .reads = { VEC(struct need), ABX_ACCESS_READ },
        .writes = { VEC(struct need), ABX_ACCESS_WRITE },
        .programs = { VEC(struct need), ABX_ACCESS_EXEC } };
    abx_status r;

    if (box->observed == NULL) {
        return fail_set(fail, ABX_ERR_STATE, 0, "suggest:observe",
                "the context of this box does not observe");
    }
    r = observed_copy(box->observed, &s.seen, fail);
    if (r == ABX_OK) {
        find_needs(&s);
        *ret_json = s.failed ? NULL : suggestion_write(&s, ret_length);
        r = *ret_json == NULL ? fail_nomem(fail) : ABX_OK;
    }
    needs_done(&s.reads);
    needs_done(&s.writes);
    needs_done(&s.programs);
    observations_done(&s.seen);
    return r;
}
