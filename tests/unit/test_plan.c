/* SPDX-License-Identifier: Apache-2.0
 * What a finished plan answers; the rungs; what the host view and the chain of interpreters say of
 * real files. */
#include "plan/plan.h"

#include "base/mem.h"
#include "base/path.h"
#include "linux/lower/exec_chain.h"
#include "linux/host.h"

#include "unit/main.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const guards[] = { "/w-/x", "/w/.bashrc", "/w/.git", "/w/a.d/x", "/w/a/b/c",
    "/x" };

/* A box with a workspace that has guarded names, and another one below its private /tmp. */
static void
add_place(struct plan *plan, const char *path, abx_verdict write)
{
    struct place *place = vec_add(&plan->places);

    *place = (struct place){ .path = strdup(path),
        .is_directory = true,
        .read = ABX_VERDICT_ALLOW,
        .write = (uint8_t)write };
}

static void
add_private(struct plan *plan, const char *path, enum private_kind kind)
{
    struct private_place *own = vec_add(&plan->privates);

    *own = (struct private_place){ .path = strdup(path), .kind = kind };
}

static struct plan
make_plan(void)
{
    struct plan plan = { .places = VEC(struct place),
        .privates = VEC(struct private_place),
        .guards = VEC(char *),
        .capabilities = { .user_namespace = true, .mount_namespace = true } };

    add_place(&plan, "/", ABX_VERDICT_DENY);
    add_place(&plan, "/tmp/ws", ABX_VERDICT_ALLOW);
    add_place(&plan, "/tmp/ws/no", ABX_VERDICT_DENY);
    add_place(&plan, "/w", ABX_VERDICT_ALLOW);
    add_private(&plan, "/proc", PRIVATE_PROC);
    add_private(&plan, "/tmp", PRIVATE_TMPFS);
    for (size_t i = 0; i < N_ELEMENTS(guards); i++) {
        *(char **)vec_add(&plan.guards) = strdup(guards[i]);
    }
    return plan;
}

static const struct {
    const char *name, *directory;
    bool guards;
} guard_cases[] = {
    { "the directory that has a protected name", "/w", true },
    { "a protected path itself has none below", "/w/.git", false },
    { "an ancestor of a deep one", "/w/a", true },
    { "the parent of a deep one", "/w/a/b", true },
    { "a neighbour that sorts between", "/w/a.d", true },
    { "a prefix that is no ancestor", "/w/a/", false },
    { "another prefix", "/w/.gi", false },
    { "a directory without", "/w/src", false },
    { "the root", "/", true },
    { "after all", "/z", false },
    { "before all", "/a", false },
};

START_TEST(a_directory_is_guarded_if_a_protected_name_can_be_below)
{
    struct plan plan = make_plan();

    ck_assert_msg(plan_guards(&plan, guard_cases[_i].directory) == guard_cases[_i].guards, "%s",
            guard_cases[_i].name);
    plan.guard_patterns = true;
    ck_assert(plan_guards(&plan, guard_cases[_i].directory));
    plan_done(&plan);
}
END_TEST

static const struct {
    const char *path;
    bool is_private;
    const char *place;
} private_cases[] = {
    { "/tmp", true, "/" },
    { "/tmp/x", true, "/" },
    { "/tmp/ws", false, "/tmp/ws" },
    { "/tmp/ws/x", false, "/tmp/ws" },
    { "/tmp/ws/no/x", false, "/tmp/ws/no" },
    { "/tmp/ws2", true, "/" },
    { "/tmpx", false, "/" },
    { "/proc/1/mem", true, "/" },
    { "/", false, "/" },
    { "/w/x", false, "/w" },
};

START_TEST(what_is_bound_into_a_private_place_is_not_private)
{
    struct plan plan = make_plan();
    const char *path = private_cases[_i].path;

    ck_assert_msg(plan_is_private(&plan, path) == private_cases[_i].is_private, "%s", path);
    ck_assert_str_eq(plan_place_of(&plan, path)->path, private_cases[_i].place);
    plan_done(&plan);
}
END_TEST

START_TEST(without_mounts_only_devices_are_private)
{
    struct plan plan = make_plan();

    plan.capabilities = (struct capabilities){ 0 };
    ck_assert(!plan_is_private(&plan, "/tmp/x"));
    ck_assert(plan_is_private(&plan, "/dev/null"));
    ck_assert(plan_is_private(&plan, "/dev/pts/3"));
    ck_assert(!plan_is_private(&plan, "/dev/sda"));
    plan_done(&plan);
}
END_TEST

static const struct {
    const char *path, *tree;
    uint32_t landlock;
    bool notify, lets;
} write_cases[] = {
    { "/w/x", NULL, 7, true, true },
    { "/w/x", "/w", 7, true, false },
    { "/w/x", "/w", 0, true, true }, /* nothing but Landlock could keep the box from it */
    { "/w/x", "/w", 7, false, true }, /* nobody else could do it */
    { "/tmp/x", "/w", 7, true, true },
    { "/proc/self/comm", "/w", 7, true, true },
    { "/tmp/ws/x", "/tmp/ws", 7, true, false },
    { "/tmp/x", "/tmp/ws", 7, true, false }, /* rights to /tmp would reach what is in it */
    { "/proc/self/comm", "/tmp/ws", 7, true, true },
};

START_TEST(where_git_decides_by_name_the_kernel_lets_the_box_write_nothing)
{
    struct plan plan = make_plan();

    plan.git_trees = VEC(char *);
    plan.capabilities.landlock_abi = write_cases[_i].landlock;
    plan.capabilities.seccomp_notify = write_cases[_i].notify;
    if (write_cases[_i].tree != NULL) {
        *(char **)vec_add(&plan.git_trees) = strdup(write_cases[_i].tree);
    }
    ck_assert_int_eq(plan_lets_write(&plan, write_cases[_i].path), write_cases[_i].lets);
    plan_done(&plan);
}
END_TEST

static const struct {
    const char *name;
    struct capabilities found;
    enum rung rung;
} rung_cases[] = {
    { "everything", { 0, 1, 1, 1, 1, 1, 7, 1 }, RUNG_A },
    { "no Landlock", { 0, 1, 1, 1, 1, 1, 0, 1 }, RUNG_A_NO_LANDLOCK },
    { "no broker", { 0, 1, 1, 1, 1, 1, 7, 0 }, RUNG_A_NO_BROKER },
    { "neither", { 0, 1, 1, 1, 1, 1, 0, 0 }, RUNG_A_NO_BROKER },
    { "no proc", { 0, 1, 1, 1, 1, 0, 7, 1 }, RUNG_B },
    { "no net", { 0, 1, 1, 1, 0, 1, 7, 1 }, RUNG_B_PRIME },
    { "no net and no proc", { 0, 1, 1, 1, 0, 0, 7, 1 }, RUNG_B_PRIME },
    { "no user namespace", { 0, 0, 0, 0, 0, 0, 7, 1 }, RUNG_C },
    { "no user namespace, no broker", { 0, 0, 0, 0, 0, 0, 7, 0 }, RUNG_NONE },
    { "nothing", { 0 }, RUNG_NONE },
};

START_TEST(the_rung_is_the_weakest_that_something_missing_leads_to)
{
    ck_assert_msg(
            host_rung(&rung_cases[_i].found) == rung_cases[_i].rung, "%s", rung_cases[_i].name);
}
END_TEST

START_TEST(the_probe_is_lowered_by_the_environment_and_never_raised)
{
    struct capabilities found;
    struct capabilities lowered;

    host_probe(&found);
    ck_assert_int_eq(setenv("AGENTBOX_TEST_CAPS", "landlock=1,notify=0,fuse=1", 1), 0);
    host_probe(&lowered);
    ck_assert_uint_le(lowered.landlock_abi, 1);
    ck_assert(!lowered.seccomp_notify);
    ck_assert(lowered.fuse == found.fuse);
    ck_assert_int_eq(setenv("AGENTBOX_TEST_CAPS", "userns=0", 1), 0);
    host_probe(&lowered);
    ck_assert(!lowered.user_namespace && !lowered.net_namespace && !lowered.fuse);
    ck_assert_int_eq(unsetenv("AGENTBOX_TEST_CAPS"), 0);
}
END_TEST

static void
write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

START_TEST(the_host_view_resolves_links_and_keeps_what_is_missing)
{
    char directory[] = "/tmp/agentbox-test-XXXXXX";
    AUTO(freep) char *real = NULL;
    AUTO(freep) char *missing = NULL;
    struct vec names = VEC(char *);

    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_eq(chdir(directory), 0);
    ck_assert(mkdir("d", 0700) == 0 && symlink("d", "l") == 0 && symlink("o", "o") == 0);
    write_file("d/f", "");
    {
        AUTO(freep) char *through = path_join(directory, "l/f");
        AUTO(freep) char *expected = path_join(directory, "d/f");
        AUTO(freep) char *none = path_join(directory, "l/none/x");
        AUTO(freep) char *expected_none = path_join(directory, "d/none/x");
        AUTO(freep) char *loop = path_join(directory, "o/x");
        AUTO(freep) char *link = path_join(directory, "l");

        real = host_real.real_path(NULL, through);
        ck_assert_str_eq(real, expected);
        missing = host_real.real_path(NULL, none);
        ck_assert_str_eq(missing, expected_none);
        ck_assert_ptr_null(host_real.real_path(NULL, loop));
        ck_assert_int_eq(host_real.look(NULL, link), HOST_SYMLINK);
        ck_assert_int_eq(host_real.look(NULL, none), HOST_MISSING);
        ck_assert_int_eq(host_real.look(NULL, real), HOST_FILE);
    }
    ck_assert_int_eq(host_real.list(NULL, directory, &names), 0);
    ck_assert_uint_eq(names.count, 3);
    for (size_t i = 0; i < names.count; i++) {
        free(*vec_at(&names, char *, i));
    }
    vec_done(&names);
    ck_assert(unlink("d/f") == 0 && unlink("l") == 0 && unlink("o") == 0 && rmdir("d") == 0 &&
              rmdir(directory) == 0);
}
END_TEST

static bool
has_path(const struct vec *paths, const char *path)
{
    AUTO(freep) char *real = realpath(path, NULL);

    for (size_t i = 0; real != NULL && i < paths->count; i++) {
        if (strcmp(*vec_at(paths, char *, i), real) == 0) {
            return true;
        }
    }
    return false;
}

START_TEST(a_script_brings_its_interpreters_and_a_program_its_loader)
{
    char script[] = "/tmp/agentbox-test-XXXXXX";
    struct vec paths = VEC(char *);
    int fd = mkstemp(script);

    ck_assert_int_ge(fd, 0);
    close(fd);
    write_file(script, "#! /usr/bin/env -S sh -e\n");
    ck_assert(exec_chain(script, &paths));
    ck_assert(has_path(&paths, "/usr/bin/env"));
    ck_assert(has_path(&paths, "/bin/sh"));
    ck_assert_uint_ge(paths.count, 3); /* and their loader */
    for (size_t i = 0; i < paths.count; i++) {
        free(*vec_at(&paths, char *, i));
    }
    vec_done(&paths);
    ck_assert_int_eq(unlink(script), 0);
}
END_TEST

static int
list_without_memory(void *data, const char *path, struct vec *names)
{
    return -ENOMEM;
}

static const char *const listing_policies[] = {
    /* A guarded directory, and a root that is made of pieces. */
    "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},\"write\":{\"allow\":[\"/usr\"],"
    "\"deny\":[\"/usr/no\"]},\"protect\":{\"defaults\":false,\"git\":\"off\"}}}",
    "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/usr\"]},"
    "\"protect\":{\"defaults\":false,\"git\":\"off\"}}}",
};

START_TEST(a_directory_that_memory_lacks_to_list_is_not_empty)
{
    struct host_view host = host_real;
    struct capabilities found;
    struct plan plan = { 0 };
    struct fail fail = { 0 };
    abx_policy *policy = NULL;
    const char *json = listing_policies[_i];

    host_probe(&found);
    ck_assert_int_eq(abx_policy_from_json(json, strlen(json), &policy, NULL), ABX_OK);
    ck_assert_int_eq(plan_compile(policy, &host, &found, &plan, &fail), ABX_OK);
    plan_done(&plan);
    host.list = list_without_memory;
    ck_assert_int_eq(plan_compile(policy, &host, &found, &plan, &fail), ABX_ERR_NOMEM);
    abx_policy_unref(policy);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("plan");
    TCase *tcase = tcase_create("plan");

    tcase_add_loop_test(tcase, a_directory_is_guarded_if_a_protected_name_can_be_below, 0,
            N_ELEMENTS(guard_cases));
    tcase_add_loop_test(
            tcase, what_is_bound_into_a_private_place_is_not_private, 0, N_ELEMENTS(private_cases));
    tcase_add_loop_test(tcase, the_rung_is_the_weakest_that_something_missing_leads_to, 0,
            N_ELEMENTS(rung_cases));
    tcase_add_test(tcase, without_mounts_only_devices_are_private);
    tcase_add_loop_test(tcase, where_git_decides_by_name_the_kernel_lets_the_box_write_nothing, 0,
            N_ELEMENTS(write_cases));
    tcase_add_test(tcase, the_probe_is_lowered_by_the_environment_and_never_raised);
    tcase_add_test(tcase, the_host_view_resolves_links_and_keeps_what_is_missing);
    tcase_add_loop_test(tcase, a_directory_that_memory_lacks_to_list_is_not_empty, 0,
            N_ELEMENTS(listing_policies));
    tcase_add_test(tcase, a_script_brings_its_interpreters_and_a_program_its_loader);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
