/* SPDX-License-Identifier: Apache-2.0
 * A policy as it stands on a host: links, protected names, git directories, and grants that cannot
 * work. The host is a table. */
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "policy/notation.h"

#include "unit/main.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINKS_MAX 40

DEFINE_CLEANUP(abx_policy_unref, abx_policy)

/* A file's content or a link's target is `text`; a directory has none. */
struct entry {
    const char *path;
    enum host_kind kind;
    const char *text;
};

struct fake_host {
    const struct entry *entries;
};

static const struct entry *
find(const struct fake_host *host, const char *path)
{
    for (const struct entry *entry = host->entries; entry->path != NULL; entry++) {
        if (strcmp(entry->path, path) == 0) {
            return entry;
        }
    }
    return NULL;
}

static enum host_kind
fake_look(void *data, const char *path)
{
    const struct entry *entry = find(data, path);

    return strcmp(path, "/") == 0 ? HOST_DIRECTORY : entry == NULL ? HOST_MISSING : entry->kind;
}

/* Walks the path component by component; a link is put in front of what is left. */
static char *
fake_real_path(void *data, const char *path)
{
    char left[4096], done[4096] = "";
    int links = 0;

    snprintf(left, sizeof left, "%s", path);
    while (left[0] != '\0') {
        char rest[4096], next[4096];
        const struct entry *entry;
        size_t skip = strspn(left, "/");
        size_t length = strcspn(left + skip, "/");

        snprintf(rest, sizeof rest, "%s", left + skip + length);
        if (length == 2 && strncmp(left + skip, "..", 2) == 0) {
            *strrchr(done[0] == '\0' ? strcpy(done, "/") : done, '/') = '\0';
        } else if (length > 0 && !(length == 1 && left[skip] == '.')) {
            snprintf(next, sizeof next, "%.2000s/%.*s", done, (int)length, left + skip);
            entry = find(data, next);
            if (entry != NULL && entry->kind == HOST_SYMLINK) {
                if (++links > LINKS_MAX) {
                    return NULL;
                }
                snprintf(left, sizeof left, "%s%.2000s", entry->text, rest);
                if (entry->text[0] == '/') {
                    done[0] = '\0';
                }
                continue;
            }
            strcpy(done, next);
        }
        strcpy(left, rest);
    }
    return strdup(done[0] == '\0' ? "/" : done);
}

static int
fake_list(void *data, const char *path, struct vec *names)
{
    const struct fake_host *host = data;

    for (const struct entry *entry = host->entries; entry->path != NULL; entry++) {
        if (path_is_below(entry->path, path) &&
                strchr(entry->path + strlen(path) + 1, '/') == NULL) {
            char **slot = vec_add(names);

            *slot = strdup(entry->path + strlen(path) + 1);
        }
    }
    return 0;
}

static char *
fake_read_text(void *data, const char *path)
{
    const struct entry *entry = find(data, path);

    return entry == NULL || entry->kind != HOST_FILE ? NULL : strdup(entry->text);
}

static const struct entry plain_host[] = {
    { "/w", HOST_DIRECTORY, NULL },
    { "/w/.agents", HOST_SYMLINK, "real" },
    { "/w/real", HOST_DIRECTORY, NULL },
    { "/w/note.txt", HOST_FILE, "x" },
    { "/wl", HOST_SYMLINK, "/w" },
    { "/home", HOST_SYMLINK, "var/home" },
    { "/var", HOST_DIRECTORY, NULL },
    { "/var/home", HOST_DIRECTORY, NULL },
    { "/var/home/u", HOST_DIRECTORY, NULL },
    { "/h", HOST_DIRECTORY, NULL },
    { "/h/key", HOST_SYMLINK, "dot/key" },
    { "/h/dot", HOST_DIRECTORY, NULL },
    { "/h/dot/key", HOST_FILE, "secret" },
    { "/h/[x]", HOST_DIRECTORY, NULL },
    { "/h/lx", HOST_SYMLINK, "[x]" },
    { "/loop", HOST_SYMLINK, "/loop" },
    { "/bin", HOST_SYMLINK, "usr/bin" },
    { "/r", HOST_DIRECTORY, NULL },
    { "/r/.git", HOST_DIRECTORY, NULL },
    { "/r/.git/worktrees", HOST_DIRECTORY, NULL },
    { "/r/.git/worktrees/old", HOST_DIRECTORY, NULL },
    { "/r/.git/worktrees/old/commondir", HOST_FILE, "../..\n" },
    { "/r/.git/worktrees/old/gitdir", HOST_FILE, "/r/tree/.git\n" },
    { "/r/tree", HOST_DIRECTORY, NULL },
    { "/r/tree/.git", HOST_FILE, "gitdir: /r/.git/worktrees/old\n" },
    { "/r/.git/modules", HOST_DIRECTORY, NULL },
    { "/r/.git/modules/libs", HOST_DIRECTORY, NULL },
    { "/r/.git/modules/libs/a", HOST_DIRECTORY, NULL },
    { "/r/.git/modules/libs/a/HEAD", HOST_FILE, "" },
    { "/r/.git/modules/libs/a/config", HOST_FILE, "[core]\n\tworktree = ../../../../libs/a\n" },
    { "/r/libs", HOST_DIRECTORY, NULL },
    { "/r/libs/a", HOST_DIRECTORY, NULL },
    { "/r/libs/a/.git", HOST_FILE, "gitdir: ../../.git/modules/libs/a\n" },
    { "/gl", HOST_DIRECTORY, NULL },
    { "/gl/.git", HOST_SYMLINK, "gitstore" },
    { "/gl/gitstore", HOST_DIRECTORY, NULL },
    { NULL },
};

/* A linked worktree /w/wt of /o/main, a forged one /w/bad, and a submodule /s/sub of /s. */
static const struct entry git_host[] = {
    { "/w", HOST_DIRECTORY, NULL },
    { "/w/wt", HOST_DIRECTORY, NULL },
    { "/w/wt/.git", HOST_FILE, "gitdir: /o/main/.git/worktrees/wt\n" },
    { "/w/bad", HOST_DIRECTORY, NULL },
    { "/w/bad/.git", HOST_FILE, "gitdir: /o/main/.git/worktrees/wt\n" },
    { "/w/fake", HOST_DIRECTORY, NULL },
    { "/w/fake/.git", HOST_FILE, "gitdir: ../prepared/worktrees/x\n" },
    { "/w/prepared", HOST_DIRECTORY, NULL },
    { "/w/prepared/worktrees", HOST_DIRECTORY, NULL },
    { "/w/prepared/worktrees/x", HOST_DIRECTORY, NULL },
    { "/w/prepared/worktrees/x/gitdir", HOST_FILE, "/w/fake/.git\n" },
    { "/w/prepared/worktrees/x/commondir", HOST_FILE, "/o/main/.git\n" },
    { "/w/lure", HOST_DIRECTORY, NULL },
    { "/w/lure/.git", HOST_FILE, "gitdir: ..\n" },
    { "/w/config", HOST_FILE, "[core]\n\tworktree = lure\n" },
    { "/o", HOST_DIRECTORY, NULL },
    { "/o/main", HOST_DIRECTORY, NULL },
    { "/o/main/.git", HOST_DIRECTORY, NULL },
    { "/o/main/.git/config", HOST_FILE, "" },
    { "/o/main/.git/worktrees", HOST_DIRECTORY, NULL },
    { "/o/main/.git/worktrees/wt", HOST_DIRECTORY, NULL },
    { "/o/main/.git/worktrees/wt/gitdir", HOST_FILE, "/w/wt/.git\n" },
    { "/o/main/.git/worktrees/wt/commondir", HOST_FILE, "../..\n" },
    { "/s", HOST_DIRECTORY, NULL },
    { "/s/sub", HOST_DIRECTORY, NULL },
    { "/s/sub/.git", HOST_FILE, "gitdir: ../.git/modules/sub\n" },
    { "/s/.git", HOST_DIRECTORY, NULL },
    { "/s/.git/modules", HOST_DIRECTORY, NULL },
    { "/s/.git/modules/sub", HOST_DIRECTORY, NULL },
    { "/s/.git/modules/sub/config", HOST_FILE,
            "[core]\n\tbare = false\n\tworktree = ../../../sub\n" },
    { NULL },
};

static struct note note;

static abx_policy *
policy_of(const char *text)
{
    struct fail fail = { 0 };
    abx_policy *policy;

    ck_assert(note_parse(text, &note));
    policy = note_policy(&note, &fail);
    ck_assert_msg(policy != NULL, "%s", fail.text);
    return policy;
}

static abx_status
resolve_on(
        const struct entry *entries, const char *text, abx_policy **ret_policy, struct fail *fail)
{
    AUTO(abx_policy_unrefp) abx_policy *policy = policy_of(text);
    struct fake_host host = { .entries = entries };
    const struct host_view view = { .data = &host,
        .look = fake_look,
        .real_path = fake_real_path,
        .list = fake_list,
        .read_text = fake_read_text };

    return policy_resolve(policy, &view, ret_policy, fail);
}

static struct ruling
ruling_of(abx_policy *policy, const char *text)
{
    struct note_request request;
    struct ruling ruling;

    ck_assert(note_parse_request(text, &request));
    policy_decide(policy, &request.request, &ruling);
    return ruling;
}

static const struct resolve_case {
    const char *name;
    const struct entry *host;
    const char *policy, *request, *verdict;
} resolve_cases[] = {
    { "a rule on a link covers the link", plain_host, "read.allow: /; read.deny: /h/key",
            "read /h/key", "deny" },
    { "and what it points to", plain_host, "read.allow: /; read.deny: /h/key", "read /h/dot/key",
            "deny" },
    { "and nothing else there", plain_host, "read.allow: /; read.deny: /h/key", "read /h/dot/other",
            "allow" },
    { "a rule below a linked directory", plain_host, "read.allow: /; read.deny: /home/u/.ssh",
            "read /var/home/u/.ssh/id", "deny" },
    { "a pattern below a linked directory", plain_host, "read.allow: /; read.deny: /home/*/.aws",
            "read /var/home/u/.aws", "deny" },
    { "a pattern below a link to a name with brackets", plain_host,
            "read.allow: /; read.deny: /h/lx/*.key", "read /h/[x]/a.key", "deny" },
    { "such brackets stay literal", plain_host, "read.allow: /; read.deny: /h/lx/*.key",
            "read /h/x/a.key", "allow" },
    { "an exec rule on a linked directory", plain_host, "read.allow: /; exec.deny: /bin/sudo",
            "exec /usr/bin/sudo", "deny" },
    { "a workspace that is reached through a link", plain_host, "write.allow: /wl", "write /w/f",
            "allow" },
    { "is protected by its real name", plain_host, "write.allow: /wl; protect: .bashrc",
            "write /w/.bashrc", "deny" },
    { "and by its other one", plain_host, "write.allow: /wl; protect: .bashrc", "write /wl/.bashrc",
            "deny" },
    { "a protected name that is a link", plain_host, "write.allow: /w; protect: .agents",
            "write /w/real/x", "deny" },
    { "a root that is a file protects nothing", plain_host, "write.allow: /w/note.txt; protect: a",
            "write /w/note.txt", "allow" },
    { "a grant below a writable directory need not exist", plain_host,
            "write.allow: /w; write.allow: /w/later/deep", "write /w/later/deep/f", "allow" },
    { "the private directory of a box need not exist", plain_host, "write.allow: /tmp/x",
            "write /tmp/x/f", "allow" },
    { "a deny need not exist", plain_host, "write.allow: /w; write.deny: /opt/none/x", "write /w/f",
            "allow" },
    { "the link of a worktree that exists is guarded", plain_host, "write.allow: /r; git",
            "write /r/.git/worktrees/old/commondir by open", "deny" },
    { "it may go with its worktree", plain_host, "write.allow: /r; git",
            "write /r/.git/worktrees/old/commondir by unlink", "allow" },
    { "the .git file of a worktree that exists is guarded", plain_host, "write.allow: /r; git",
            "write /r/tree/.git by open", "deny" },
    { "the .git file of a submodule that exists is guarded", plain_host, "write.allow: /r; git",
            "write /r/libs/a/.git by rename", "deny" },
    { "and goes with it", plain_host, "write.allow: /r; git", "write /r/libs/a/.git by unlink",
            "allow" },
    { "a new worktree gets its .git file by content only", plain_host, "write.allow: /r; git",
            "write /r/new/.git by open", "deny" },
    { "a new repository gets its directory", plain_host, "write.allow: /r; git",
            "write /r/new/.git by mkdir", "allow" },
    { "which is guarded", plain_host, "write.allow: /r; git", "write /r/new/.git/hooks/x", "deny" },
    { "a new worktree gets its link by content only", plain_host, "write.allow: /r; git",
            "write /r/.git/worktrees/new/commondir by open", "deny" },
    { "a git directory that is a link", plain_host, "write.allow: /gl; git",
            "write /gl/gitstore/hooks/x", "deny" },
    { "a linked worktree can commit: objects", git_host, "write.allow: /w/wt; git",
            "write /o/main/.git/objects/ab/cd", "allow" },
    { "a linked worktree can commit: refs", git_host, "write.allow: /w/wt; git",
            "write /o/main/.git/refs/heads/wt.lock by rename", "allow" },
    { "a linked worktree can commit: its index", git_host, "write.allow: /w/wt; git",
            "write /o/main/.git/worktrees/wt/index.lock by open", "allow" },
    { "the hooks of its repository are guarded", git_host, "write.allow: /w/wt; git",
            "write /o/main/.git/hooks/pre-commit", "deny" },
    { "its configuration is guarded", git_host, "write.allow: /w/wt; git",
            "write /o/main/.git/config by rename", "deny" },
    { "its link is guarded", git_host, "write.allow: /w/wt; git",
            "write /o/main/.git/worktrees/wt/commondir by open", "deny" },
    { "the rest of that checkout is not opened", git_host, "write.allow: /w/wt; git",
            "write /o/main/file", "deny" },
    { "the .git file itself is guarded", git_host, "write.allow: /w/wt; git",
            "write /w/wt/.git by open", "deny" },
    { "without git protection nothing is opened", git_host, "write.allow: /w/wt",
            "write /o/main/.git/objects/ab/cd", "deny" },
    { "a worktree that is not pointed back to opens nothing", git_host, "write.allow: /w/bad; git",
            "write /o/main/.git/objects/ab/cd", "deny" },
    { "a prepared git directory opens no other one", git_host, "write.allow: /w/fake; git",
            "write /o/main/.git/objects/ab/cd", "deny" },
    { "nor does a prepared configuration open its directory", git_host, "write.allow: /w/lure; git",
            "write /w/f", "deny" },
    { "a deny of the user is stronger", git_host,
            "write.allow: /w/wt; git; write.deny: /o/main/.git", "write /o/main/.git/objects/ab/cd",
            "deny" },
    { "a ceiling that knows nothing of it is stronger", git_host,
            "write.allow: /w OVER write.allow: /w/wt; git", "write /o/main/.git/objects/ab/cd",
            "deny" },
    { "a submodule can commit", git_host, "write.allow: /s/sub; git",
            "write /s/.git/modules/sub/objects/ab", "allow" },
    { "its hooks are guarded", git_host, "write.allow: /s/sub; git",
            "write /s/.git/modules/sub/hooks/x", "deny" },
    { "its superproject is not opened", git_host, "write.allow: /s/sub; git",
            "write /s/.git/objects/ab", "deny" },
};

START_TEST(a_resolved_policy_holds_where_links_lead)
{
    static const char *const verdict_names[] = { "deny", "allow", "ask" };
    const struct resolve_case *c = &resolve_cases[_i];
    AUTO(abx_policy_unrefp) abx_policy *resolved = NULL;
    struct fail fail = { 0 };
    struct ruling ruling;

    ck_assert_msg(resolve_on(c->host, c->policy, &resolved, &fail) == ABX_OK, "%s: %s", c->name,
            fail.text);
    ruling = ruling_of(resolved, c->request);
    ck_assert_msg(strcmp(verdict_names[ruling.verdict], c->verdict) == 0, "%s: %s by %s", c->name,
            verdict_names[ruling.verdict], ruling.id);
}
END_TEST

START_TEST(a_grant_of_a_directory_that_does_not_exist_is_refused_with_its_name)
{
    abx_policy *resolved = NULL;
    struct fail fail = { 0 };

    ck_assert_int_eq(resolve_on(plain_host, "write.allow: /srv/docs/specs", &resolved, &fail),
            ABX_ERR_POLICY);
    ck_assert_ptr_nonnull(strstr(fail.text, "/srv/docs/specs"));
    ck_assert_str_eq(fail.remedy, "create it first");
    ck_assert_ptr_null(resolved);
}
END_TEST

START_TEST(a_grant_that_a_ceiling_takes_back_need_not_exist)
{
    AUTO(abx_policy_unrefp) abx_policy *resolved = NULL;
    struct fail fail = { 0 };

    ck_assert_int_eq(
            resolve_on(plain_host, "write.allow: /w; write.allow: /opt/x OVER write.allow: /w",
                    &resolved, &fail),
            ABX_OK);
}
END_TEST

START_TEST(a_rule_on_a_loop_of_links_is_refused)
{
    abx_policy *resolved = NULL;
    struct fail fail = { 0 };

    ck_assert_int_eq(resolve_on(plain_host, "read.allow: /; read.deny: /loop", &resolved, &fail),
            ABX_ERR_POLICY);
    ck_assert_ptr_nonnull(strstr(fail.text, "/loop"));
}
END_TEST

START_TEST(numbers_and_names_of_rules_stay)
{
    AUTO(abx_policy_unrefp) abx_policy *resolved = NULL;
    struct fail fail = { 0 };
    struct ruling ruling;

    ck_assert_int_eq(resolve_on(plain_host, "read.allow: /; read.deny: /h/key; read.deny: /h/dot/x",
                             &resolved, &fail),
            ABX_OK);
    ruling = ruling_of(resolved, "read /h/dot/x");
    ck_assert_uint_eq(ruling.rule, 2);
    ck_assert_str_eq(ruling_of(resolved, "read /h/dot/key").id, "rule:1");
    ck_assert_str_eq(ruling_of(resolved, "read /h/dot/key").source, "task");
}
END_TEST

START_TEST(a_resolved_policy_can_be_resolved_again)
{
    AUTO(abx_policy_unrefp) abx_policy *resolved = NULL;
    AUTO(abx_policy_unrefp) abx_policy *again = NULL;
    struct fake_host host = { .entries = git_host };
    const struct host_view view = { .data = &host,
        .look = fake_look,
        .real_path = fake_real_path,
        .list = fake_list,
        .read_text = fake_read_text };
    struct fail fail = { 0 };

    ck_assert_int_eq(
            resolve_on(git_host, "write.allow: /w/wt; git; protect: .x", &resolved, &fail), ABX_OK);
    ck_assert_int_eq(policy_resolve(resolved, &view, &again, &fail), ABX_OK);
    ck_assert_str_eq(abx_policy_get_digest(again), abx_policy_get_digest(resolved));
    ck_assert_uint_eq(ruling_of(again, "write /o/main/.git/objects/x").verdict, ABX_VERDICT_ALLOW);
    ck_assert_uint_eq(ruling_of(again, "write /w/wt/.x").verdict, ABX_VERDICT_DENY);
}
END_TEST

/* ---- what a plan asks ---- */

static const struct guard_case {
    const char *policy, *directory;
    bool guards;
} guard_cases[] = {
    { "write.allow: /w", "/w", false },
    { "write.allow: /w; protect: .bashrc", "/w", true },
    { "write.allow: /w; protect: .bashrc", "/w/src", false },
    { "write.allow: /w; write.deny: /w/a/b/c", "/w/a", true },
    { "write.allow: /w; write.deny: /w/a/b/c", "/w/a/b", true },
    { "write.allow: /w; write.deny: /w/a/b/c", "/w/a/b2", false },
    { "write.allow: /w; write.deny: /w/a-b", "/w/a", false },
    { "write.allow: /w; write.deny: /w/a-b; write.deny: /w/a/x", "/w/a", true },
    { "write.allow: /w; write.ask: /w/a/x", "/w/a", true },
    { "write.allow: /w; read.deny: /w/a/x", "/w/a", true },
    { "write.allow: /w; write.allow: /w/a/x", "/w/a", false },
    { "write.allow: /w; write.deny: **/.env", "/w/any", true },
    { "write.allow: /w; read.deny: **/.env", "/w/any", true },
    { "write.allow: /w; write.deny: /w/gen/*.c", "/w/gen", true },
    { "write.allow: /w; write.deny: /w/gen/*.c", "/w/src", false },
    { "write.allow: /w; git", "/w", true },
    { "write.allow: /w; git", "/w/src", false },
    { "write.allow: /w; git", "/w/.git", true },
    { "write.allow: /w; git", "/w/.git/objects", false },
    { "write.allow: /w; git", "/w/.git/refs/heads", false },
    { "write.allow: /w; git", "/w/.git/hooks", true },
    { "write.allow: /w; git", "/w/.git/modules/a", true },
    { "write.allow: /w; git", "/w/.git/worktrees", true },
    { "write.allow: /; write.deny: /etc", "/", true },
    { "write.deny: /w/a/x OVER write.allow: /w", "/w/a", true },
};

START_TEST(a_directory_is_guarded_where_a_name_below_it_is_not_free)
{
    const struct guard_case *c = &guard_cases[_i];
    AUTO(abx_policy_unrefp) abx_policy *policy = policy_of(c->policy);

    ck_assert_msg(
            policy_guards(policy, c->directory) == c->guards, "%s in %s", c->directory, c->policy);
}
END_TEST

START_TEST(anchors_are_sorted_and_unique)
{
    AUTO(abx_policy_unrefp)
    abx_policy *policy = policy_of(
            "read.deny: /b OVER read.allow: /; read.deny: /b; write.allow: /a; read.ask: **/x");
    struct vec paths = VEC(const char *);
    struct fail fail = { 0 };

    ck_assert_int_eq(policy_anchors(policy, &paths, &fail), ABX_OK);
    ck_assert_uint_eq(paths.count, 3);
    ck_assert_str_eq(*vec_at(&paths, const char *, 0), "/");
    ck_assert_str_eq(*vec_at(&paths, const char *, 1), "/a");
    ck_assert_str_eq(*vec_at(&paths, const char *, 2), "/b");
    vec_done(&paths);
}
END_TEST

START_TEST(patterns_are_known_by_access)
{
    AUTO(abx_policy_unrefp) abx_policy *policy = policy_of("read.allow: /; write.deny: /w/*");

    for (uint32_t access = ABX_ACCESS_READ; access <= ABX_ACCESS_EXEC; access <<= 1) {
        struct fail fail = { 0 };
        struct vec patterns = VEC(const char *);

        ck_assert_int_eq(policy_patterns(policy, access, &patterns, &fail), ABX_OK);
        ck_assert((patterns.count > 0) == (access == ABX_ACCESS_WRITE));
        vec_done(&patterns);
    }
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("resolve");
    TCase *tcase = tcase_create("resolve");

    tcase_add_loop_test(
            tcase, a_resolved_policy_holds_where_links_lead, 0, N_ELEMENTS(resolve_cases));
    tcase_add_test(tcase, a_grant_of_a_directory_that_does_not_exist_is_refused_with_its_name);
    tcase_add_test(tcase, a_grant_that_a_ceiling_takes_back_need_not_exist);
    tcase_add_test(tcase, a_rule_on_a_loop_of_links_is_refused);
    tcase_add_test(tcase, numbers_and_names_of_rules_stay);
    tcase_add_test(tcase, a_resolved_policy_can_be_resolved_again);
    tcase_add_loop_test(tcase, a_directory_is_guarded_where_a_name_below_it_is_not_free, 0,
            N_ELEMENTS(guard_cases));
    tcase_add_test(tcase, anchors_are_sorted_and_unique);
    tcase_add_test(tcase, patterns_are_known_by_access);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
