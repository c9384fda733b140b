/* SPDX-License-Identifier: Apache-2.0
 * Names in a git directory are judged by what git does with them. */
#include "base/mem.h"
#include "policy/gitdir.h"

#include "unit/main.h"

#include <string.h>

static const struct file_case {
    const char *path;
    enum git_file file;
    uint32_t depth; /* unused where the file is free */
} file_cases[] = {
    { "", GIT_DIRECTORY, 0 },
    { "HEAD", GIT_FREE, 0 },
    { "index.lock", GIT_FREE, 0 },
    { "objects/ab/config", GIT_FREE, 0 },
    { "refs/heads/hooks/x", GIT_FREE, 0 },
    { "logs/refs/heads/config", GIT_FREE, 0 },
    { "config", GIT_CONFIG, 1 },
    { "config/x", GIT_CONFIG, 1 },
    { "config.worktree", GIT_CONFIG, 1 },
    { "config.lock", GIT_FREE, 0 },
    { "hooks", GIT_PLACE, 1 },
    { "hooks/pre-commit", GIT_HOOK, 2 },
    { "hooks/pre-commit.sample", GIT_FREE, 0 },
    { "hooks/.sample", GIT_HOOK, 2 },
    { "hooks/d/x.sample", GIT_HOOK, 2 },
    { "info", GIT_PLACE, 1 },
    { "info/exclude", GIT_FREE, 0 },
    { "info/attributes", GIT_ATTRIBUTES, 2 },
    { "commondir", GIT_LINK, 1 },
    { "modules", GIT_PLACE, 1 },
    { "modules/a", GIT_PLACE, 2 },
    { "modules/config", GIT_PLACE, 2 },
    { "modules/a/HEAD", GIT_FREE, 0 },
    { "modules/a/config", GIT_CONFIG, 3 },
    { "modules/a/b/c/config", GIT_CONFIG, 5 },
    { "modules/a/b/hooks/x", GIT_HOOK, 5 },
    { "modules/a/refs/heads/config", GIT_FREE, 0 },
    { "modules/refs/config", GIT_CONFIG, 3 },
    { "modules/a/objects/hooks/x", GIT_FREE, 0 },
    { "modules/a/modules/b/hooks/x", GIT_HOOK, 6 },
    { "modules/a/commondir", GIT_LINK, 3 },
    { "modules/a/worktrees/t/commondir", GIT_LINK, 5 },
    { "modules/a/worktrees/t/hooks/x", GIT_HOOK, 6 },
    { "worktrees", GIT_PLACE, 1 },
    { "worktrees/t", GIT_PLACE, 2 },
    { "worktrees/config", GIT_PLACE, 2 },
    { "worktrees/t/HEAD", GIT_FREE, 0 },
    { "worktrees/t/commondir", GIT_LINK, 3 },
    { "HOOKS/post-Commit", GIT_HOOK, 2 },
    { "Config", GIT_CONFIG, 1 },
    { "worktrees/t/gitdir", GIT_FREE, 0 },
    { "worktrees/t/config.worktree", GIT_CONFIG, 3 },
    { "worktrees/t/config", GIT_CONFIG, 3 },
    { "worktrees/t/hooks/x", GIT_HOOK, 4 },
    { "worktrees/t/modules/s/info/attributes", GIT_ATTRIBUTES, 6 },
    { ".abx-1-0", GIT_COPY, 1 },
    { ".ABX-1/x", GIT_COPY, 1 },
    { ".abx", GIT_FREE, 0 },
    { "info/.abx-1-0", GIT_COPY, 2 },
    { "modules/a/b/.abx-1-0", GIT_COPY, 4 },
    { "worktrees/t/.abx-1-0", GIT_COPY, 3 },
    { "objects/.abx-1-0", GIT_FREE, 0 },
};

START_TEST(a_file_of_a_git_directory_is_what_git_takes_it_for)
{
    const struct file_case *c = &file_cases[_i];
    uint32_t depth = 0;
    enum git_file file = git_file_classify(c->path, &depth);

    ck_assert_msg(file == c->file, "%s: %d", c->path, (int)file);
    ck_assert_msg(file == GIT_FREE || depth == c->depth, "%s: %u", c->path, depth);
}
END_TEST

static const struct guard_case {
    const char *path;
    bool guards;
} guard_cases[] = {
    { "", true },
    { "hooks", true },
    { "info", true },
    { "modules", true },
    { "modules/a", true },
    { "modules/a/b", true },
    { "modules/a/objects", false },
    { "worktrees", true },
    { "worktrees/t", true },
    { "worktrees/t/logs", false },
    { "objects", false },
    { "objects/ab", false },
    { "refs/heads", false },
    { "config", true },
};

START_TEST(directories_with_names_that_are_not_free_are_guarded)
{
    const struct guard_case *c = &guard_cases[_i];

    ck_assert_msg(git_directory_guards(c->path) == c->guards, "%s", c->path);
}
END_TEST

START_TEST(a_directory_of_git_comes_and_goes_but_is_not_replaced)
{
    ck_assert(!git_file_refuses(GIT_PLACE, NULL));
    ck_assert(!git_file_refuses(GIT_PLACE, "mkdir"));
    ck_assert(!git_file_refuses(GIT_PLACE, "rmdir"));
    ck_assert(git_file_refuses(GIT_PLACE, "rename"));
    ck_assert(git_file_refuses(GIT_PLACE, "symlink"));
    ck_assert(git_file_refuses(GIT_PLACE, "open"));
    ck_assert(git_file_refuses(GIT_PLACE, "unlink"));
    ck_assert(!git_file_refuses(GIT_DIRECTORY, "mkdir"));
    ck_assert(!git_file_refuses(GIT_DIRECTORY, "unlinkat"));
    ck_assert(git_file_refuses(GIT_DIRECTORY, "rename"));
    ck_assert(git_file_refuses(GIT_DIRECTORY, "open"));
    ck_assert(git_file_refuses(GIT_PLACE, "a call of a later kernel"));
}
END_TEST

START_TEST(hooks_never_come_and_configuration_only_goes)
{
    ck_assert(git_file_refuses(GIT_HOOK, "unlink"));
    ck_assert(git_file_refuses(GIT_HOOK, NULL));
    ck_assert(git_file_refuses(GIT_COPY, "unlink"));
    ck_assert(git_file_refuses(GIT_COPY, "rename"));
    ck_assert(git_file_refuses(GIT_COPY, "chmod"));
    ck_assert(git_file_refuses(GIT_CONFIG, "rename"));
    ck_assert(git_file_refuses(GIT_CONFIG, NULL));
    ck_assert(git_file_refuses(GIT_HOOK, "chmod"));
    ck_assert(git_file_refuses(GIT_CONFIG, "open"));
    ck_assert(git_file_refuses(GIT_CONFIG, "setxattr"));
    ck_assert(!git_file_refuses(GIT_CONFIG, "chmod"));
    ck_assert(!git_file_refuses(GIT_CONFIG, "unlink"));
    ck_assert(!git_file_refuses(GIT_LINK, "unlinkat"));
    ck_assert(git_file_refuses(GIT_LINK, "open"));
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("gitdir");
    TCase *tcase = tcase_create("gitdir");

    tcase_add_loop_test(
            tcase, a_file_of_a_git_directory_is_what_git_takes_it_for, 0, N_ELEMENTS(file_cases));
    tcase_add_loop_test(tcase, directories_with_names_that_are_not_free_are_guarded, 0,
            N_ELEMENTS(guard_cases));
    tcase_add_test(tcase, a_directory_of_git_comes_and_goes_but_is_not_replaced);
    tcase_add_test(tcase, hooks_never_come_and_configuration_only_goes);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
