/* SPDX-License-Identifier: Apache-2.0
 * The cgroup of a box, against a directory that looks like cgroup v2. */
#include "linux/cgroup.h"

#include "unit/main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct own_case {
    const char *name, *text, *own;
} own_cases[] = {
    { "unified", "0::/user.slice/a.scope\n", "/user.slice/a.scope" },
    { "the root", "0::/\n", "/" },
    { "among version 1 groups", "9:name=systemd:/\n8:pids:/x\n0::/y\n", "/y" },
    { "version 1 only", "8:pids:/x\n", NULL },
    { "outside of the cgroup namespace", "0::/../other\n", NULL },
    { "nothing", "", NULL },
};

START_TEST(the_hosts_own_group_is_read)
{
    const struct own_case *c = &own_cases[_i];
    char own[64];
    bool found = cgroup_own(c->text, own, sizeof own);

    ck_assert_msg(found == (c->own != NULL), "%s", c->name);
    ck_assert_msg(!found || strcmp(own, c->own) == 0, "%s: %s", c->name, own);
}
END_TEST

START_TEST(a_group_with_a_name_that_does_not_fit_is_none)
{
    char own[4];

    ck_assert(!cgroup_own("0::/abcdef\n", own, sizeof own));
}
END_TEST

/* ---- a directory with the files of a group ---- */
static char path[64];
static int directory;

static void
make(const char *name)
{
    int fd = openat(directory, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

    ck_assert_int_ge(fd, 0);
    close(fd);
}

static const char *
content(const char *name)
{
    static char text[64];
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

    ck_assert_int_ge(n, 0);
    text[n] = '\0';
    close(fd);
    return text;
}

static const char *const files[] = { "memory.max", "memory.swap.max", "pids.max", "memory.events",
    "pids.events" };

static void
start(void)
{
    snprintf(path, sizeof path, "/tmp/agentbox-cgroup-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(path));
    directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(directory, 0);
}

static void
end(void)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        unlinkat(directory, files[i], 0);
    }
    close(directory);
    rmdir(path);
}

START_TEST(limits_are_written_and_swap_is_no_way_around_them)
{
    make("memory.max");
    make("memory.swap.max");
    make("pids.max");
    ck_assert_int_eq(cgroup_limit(directory, 4294967296, 257), 0);
    ck_assert_str_eq(content("memory.max"), "4294967296");
    ck_assert_str_eq(content("memory.swap.max"), "0");
    ck_assert_str_eq(content("pids.max"), "257");
}
END_TEST

START_TEST(without_swap_accounting_the_rest_is_written)
{
    make("memory.max");
    ck_assert_int_eq(cgroup_limit(directory, 1048576, 0), 0);
    ck_assert_str_eq(content("memory.max"), "1048576");
}
END_TEST

START_TEST(a_controller_that_was_not_delegated_is_an_error)
{
    make("memory.max");
    ck_assert_int_eq(cgroup_limit(directory, 0, 10), -ENOENT);
    ck_assert_int_eq(cgroup_limit(directory, 1048576, 10), -ENOENT);
}
END_TEST

static void
write_to(const char *name, const char *text)
{
    int fd = openat(directory, name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);

    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

START_TEST(what_the_limits_did_is_read)
{
    struct cgroup_counts told = { 0 }, counts = cgroup_new_counts(directory, &told);

    ck_assert_uint_eq(counts.killed_for_memory + counts.processes_refused, 0);
    write_to("memory.events", "low 0\nhigh 0\nmax 9\noom 8\noom_kill 7\noom_group_kill 1\n");
    write_to("pids.events", "max 12\n");
    counts = cgroup_new_counts(directory, &told);
    ck_assert_uint_eq(counts.killed_for_memory, 7);
    ck_assert_uint_eq(counts.processes_refused, 12);
    write_to("memory.events", "oom_kill 9\n");
    write_to("pids.events", "max\nmax x\n");
    counts = cgroup_new_counts(directory, &told);
    ck_assert_uint_eq(counts.killed_for_memory, 2);
    ck_assert_uint_eq(counts.processes_refused, 0);
    counts = cgroup_take_counts(NULL);
    ck_assert_uint_eq(counts.killed_for_memory + counts.processes_refused, 0);
}
END_TEST

START_TEST(what_cannot_be_read_is_no_count)
{
    struct cgroup_counts told = { 0 }, counts;

    write_to("memory.events", "oom_kill 7\n");
    write_to("pids.events", "max 12\n");
    cgroup_new_counts(directory, &told);
    ck_assert_int_eq(unlinkat(directory, "memory.events", 0), 0);
    ck_assert_int_eq(unlinkat(directory, "pids.events", 0), 0);
    counts = cgroup_new_counts(directory, &told);
    ck_assert_uint_eq(counts.killed_for_memory, 0);
    ck_assert_uint_eq(counts.processes_refused, 0);
    write_to("memory.events", "oom_kill 8\n");
    counts = cgroup_new_counts(directory, &told);
    ck_assert_uint_eq(counts.killed_for_memory, 1);
}
END_TEST

START_TEST(where_nothing_is_delegated_nothing_is_made)
{
    int error = 0;

    /* It lacks cgroup.procs, as a mount point without the file system does. */
    ck_assert_ptr_null(cgroup_new(path, 1048576, 10, &error));
    ck_assert_int_eq(error, -EOPNOTSUPP);
    ck_assert(!cgroup_delegated(path));
    cgroup_free(NULL);
    cgroup_kill(NULL);
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("cgroup");
    TCase *tcase = tcase_create("cgroup");

    tcase_add_checked_fixture(tcase, start, end);
    tcase_add_loop_test(
            tcase, the_hosts_own_group_is_read, 0, sizeof own_cases / sizeof own_cases[0]);
    tcase_add_test(tcase, a_group_with_a_name_that_does_not_fit_is_none);
    tcase_add_test(tcase, limits_are_written_and_swap_is_no_way_around_them);
    tcase_add_test(tcase, without_swap_accounting_the_rest_is_written);
    tcase_add_test(tcase, a_controller_that_was_not_delegated_is_an_error);
    tcase_add_test(tcase, what_the_limits_did_is_read);
    tcase_add_test(tcase, what_cannot_be_read_is_no_count);
    tcase_add_test(tcase, where_nothing_is_delegated_nothing_is_made);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
