/* SPDX-License-Identifier: Apache-2.0
 * Every call and every allocation of an audit log, and of redacting it, fails once, or from there
 * on: what was accepted is in the log, which is whole and goes on, and what was redacted is gone.
 */
#include "audit/log.h"
#include "audit/redact.h"
#include "audit/verify.h"
#include "base/mem.h"
#include "failing_malloc.h"
#include "points.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS = 8 };

static char folder[] = "/tmp/agentbox-points-XXXXXX";
static char path[64], list[32];

/* Calls `fn` for the files of the log, oldest first. */
static void
each_file(void (*fn)(const char *file, void *data), void *data)
{
    struct dirent **names;
    int n = scandir(folder, &names, NULL, alphasort);

    for (int i = 0; i < n; i++) {
        char file[512];

        snprintf(file, sizeof file, "%s/%s", folder, names[i]->d_name);
        if (strncmp(names[i]->d_name, "log.0", 5) == 0) {
            fn(file, data);
        }
        free(names[i]);
    }
    free(names);
    fn(path, data);
}

static void
remove_file(const char *file, void *data)
{
    ck_assert_ptr_null(data);
    unlink(file);
}

struct seen {
    bool records[RECORDS];
    struct chain chain;
};

static bool
see(void *data, const struct record *record)
{
    struct seen *seen = data;
    char body[32] = "";
    int i;

    if (record->body != NULL && record->body_length < sizeof body) {
        memcpy(body, record->body, record->body_length);
        if (sscanf(body, "{\"i\":%d}", &i) == 1) {
            seen->records[i] = true;
        }
    }
    return true;
}

static void
read_file(const char *file, void *data)
{
    struct seen *seen = data;
    const struct audit_visitor visitor = { see, seen };
    AUTO(closep) int fd = open(file, O_RDONLY | O_CLOEXEC);
    struct audit_file found;
    struct fail fail = { 0 };

    ck_assert_int_eq(audit_read(fd, &seen->chain, &visitor, &found, &fail), ABX_OK);
    ck_assert_msg(found.state == ABX_AUDIT_WHOLE, "%s: %s", file, found.problem);
}

static size_t
open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    size_t n = 0;

    while (readdir(directory) != NULL) {
        n++;
    }
    closedir(directory);
    return n;
}

/* A life of a log with a failure in it; false: nothing failed. */
static bool
live(enum points_kind kind, size_t n, bool lasting)
{
    const struct audit_options options = { .most = 700, .syncs = true };
    size_t descriptors = open_descriptors();
    bool accepted[RECORDS] = { false }, failed;
    struct audit_log *log = NULL;
    struct seen seen = { 0 };
    struct fail fail = { 0 };
    abx_status r;

    points_arm(kind, n, lasting);
    r = audit_open(path, &options, &log, &fail);
    for (int i = 0; r == ABX_OK && i < RECORDS; i++) {
        char body[32];

        snprintf(body, sizeof body, "{\"i\":%d}", i);
        accepted[i] = audit_append(log, body, &fail) == ABX_OK;
    }
    audit_close(log);
    failed = points_disarm();
    ck_assert(r == ABX_OK || (failed && (r == ABX_ERR_IO || r == ABX_ERR_NOMEM)));

    log = NULL;
    ck_assert_msg(audit_open(path, &options, &log, &fail) == ABX_OK, "%zu: %s", n, fail.text);
    ck_assert_int_eq(audit_append(log, "{}", &fail), ABX_OK);
    audit_close(log);
    chain_begin(&seen.chain);
    each_file(read_file, &seen);
    for (int i = 0; i < RECORDS; i++) {
        ck_assert_msg(!accepted[i] || seen.records[i], "point %zu: record %d is lost", n, i);
    }
    ck_assert_uint_eq(open_descriptors(), descriptors);
    each_file(remove_file, NULL);
    return failed;
}

/* A log that is redacted with a failure in it; false: nothing failed. */
static bool
redact(enum points_kind kind, size_t n, bool lasting)
{
    const struct audit_options options = { .most = 1500 };
    const bool kept[RECORDS] = { [0] = true, [RECORDS - 1] = true };
    size_t descriptors = open_descriptors();
    struct audit_log *log = NULL;
    struct seen seen = { 0 };
    struct fail fail = { 0 };
    struct vec files;
    bool failed;
    abx_status r;

    ck_assert_int_eq(audit_open(path, &options, &log, &fail), ABX_OK);
    for (int i = 0; i < RECORDS; i++) {
        char body[32];

        snprintf(body, sizeof body, "{\"i\":%d}", i);
        ck_assert_int_eq(audit_append(log, body, &fail), ABX_OK);
    }
    snprintf(list, sizeof list, "2-%d", (int)log->chain.n - 1);
    points_arm(kind, n, lasting);
    r = audit_redact(path, list, &files, &fail);
    redacted_done(&files);
    failed = points_disarm();
    ck_assert(r == ABX_OK || (failed && (r == ABX_ERR_IO || r == ABX_ERR_NOMEM)));

    ck_assert_msg(audit_append(log, "{}", &fail) == ABX_OK, "%zu: %s", n, fail.text);
    audit_close(log);
    chain_begin(&seen.chain);
    each_file(read_file, &seen);
    for (int i = 0; i < RECORDS; i++) {
        ck_assert_msg(seen.records[i] || !kept[i], "point %zu: record %d is lost", n, i);
        ck_assert_msg(!seen.records[i] || kept[i] || r < 0, "point %zu: record %d is there", n, i);
    }
    ck_assert_uint_eq(open_descriptors(), descriptors);
    each_file(remove_file, NULL);
    return failed;
}

static bool
memory_fails(const void *caller)
{
    return caller != NULL && point_fails(POINTS_MEMORY, ENOMEM);
}

static void
fail_each(bool (*life)(enum points_kind, size_t, bool), int i)
{
    static const enum points_kind kinds[] = { POINTS_CALLS, POINTS_MEMORY };
    size_t n = 1;

    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/log", folder);
    malloc_fail_if(memory_fails);
    while (life(kinds[i / 2], n, i % 2 == 1)) {
        n++;
    }
    malloc_fail_if(NULL);
    ck_assert_uint_gt(n, 10);
    ck_assert_int_eq(rmdir(folder), 0);
}

START_TEST(what_was_accepted_is_in_the_log_whatever_fails)
{
    fail_each(live, _i);
}
END_TEST

START_TEST(redacting_loses_nothing_whatever_fails)
{
    fail_each(redact,
            _i == 0 ? 0 : _i + 1); /* a read that is interrupted is made again, also for ever */
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("audit_points");
    TCase *tcase = tcase_create("audit_points");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, what_was_accepted_is_in_the_log_whatever_fails, 0, 4);
    tcase_add_loop_test(tcase, redacting_loses_nothing_whatever_fails, 0, 3);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
