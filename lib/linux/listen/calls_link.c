/* SPDX-License-Identifier: Apache-2.0
 * Whether a symbolic link may stand at a path.  Where a protected name could be below, it would
 * show another file under that name: so what lies where it leads must be protected alike, however
 * the path goes on.  Decides by names only, since what stands there may change.  Workers only. */
#include "linux/listen/calls_name.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* Where a link at `link` with this text leads: absolute, normalised.  False: that depends on what
 * other links are on the way, or it is too long. */
static bool
lead(const char *link, const char *text, char *path)
{
    size_t length = text[0] == '/' ? 0 : (size_t)(strrchr(link, '/') - link);
    bool climbs = text[0] != '/';

    memcpy(path, link, length);
    for (const char *end; *text != '\0'; text = end) {
        size_t size;

        text += strspn(text, "/");
        end = strchrnul(text, '/');
        size = (size_t)(end - text);
        if (size == 0 || (size == 1 && text[0] == '.')) {
            continue;
        }
        if (size == 2 && text[0] == '.' && text[1] == '.') {
            if (!climbs) {
                return false;
            }
            while (length > 0 && path[--length] != '/') {
            }
            continue;
        }
        climbs = false;
        if (length + 1 + size >= PATH_MAX) {
            return false;
        }
        path[length] = '/';
        memcpy(path + length + 1, text, size);
        length += 1 + size;
    }
    if (length == 0) {
        path[length++] = '/';
    }
    path[length] = '\0';
    return true;
}

static bool
is_fixed(const struct plan *plan, const char *path)
{
    return !course_in_root(plan, path) && !plan_is_private(plan, path) &&
           !path_is_below(path, "/proc") && !path_is_below(path, "/dev");
}

/* Whether it leads to what the box cannot change: an installed program, or nothing. */
static bool
leads_out(struct call *call, const char *path)
{
    const struct plan *plan = call->boundary->plan;
    AUTO(resolved_done) struct resolved resolved;
    int r;

    resolved_init(&resolved);
    if (!is_fixed(plan, path)) {
        return false;
    }
    r = resolve_text(call, AT_FDCWD, path, RESOLVE_FOLLOW, &resolved);
    if (r < 0) {
        return r == -ENOENT;
    }
    return !resolved.is_magic && resolved_path(call, &resolved) == 0 &&
           is_fixed(plan, resolved.path);
}

/* A link to a name beside it, which git protects in the same way: git tries whether links work. */
static bool
is_harmless_link(const struct plan *plan, const char *path, const char *target)
{
    AUTO(freep) char *parent = path_parent(path);
    AUTO(freep) char *beside = parent == NULL ? NULL : path_join(parent, target);

    return beside != NULL && strchr(target, '/') == NULL && strcmp(target, ".") != 0 &&
           strcmp(target, "..") != 0 && plan_guards_git(plan, path) &&
           plan_guards_git(plan, beside);
}

bool
link_may_stand(struct call *call, const char *link, const char *text)
{
    const struct plan *plan = call->boundary->plan;
    char path[PATH_MAX];
    bool is_known;

    if (plan_guards_names(plan, link)) {
        return is_harmless_link(plan, link, text);
    }
    if (plan->patterns.count == 0) {
        return true;
    }
    is_known = lead(link, text, path);
    return plan_allows_link(plan, link, is_known ? path : NULL) ||
           (is_known && leads_out(call, path));
}
