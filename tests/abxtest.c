/* SPDX-License-Identifier: Apache-2.0
 * Implements the fixture.  Events are kept until the end, so that a failing test can show them. */
#include "abxtest.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 10000

/* ---- traces ---- */
static size_t
count_entries(const char *directory)
{
    DIR *dir = opendir(directory);
    size_t count = 0;

    if (dir == NULL) {
        return 0;
    }
    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count;
}

static size_t
count_lines(const char *path)
{
    FILE *file = fopen(path, "re");
    size_t count = 0;
    int c;

    if (file == NULL) {
        return 0;
    }
    while ((c = getc(file)) != EOF) {
        count += c == '\n';
    }
    fclose(file);
    return count;
}

/* Threads of the library, by their names: a sanitizer has some of its own. */
static size_t
count_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    const struct dirent *entry;
    size_t count = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char path[300], name[32] = "";
        FILE *file;

        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        file = fopen(path, "re");
        if (file != NULL) {
            count += fgets(name, sizeof name, file) != NULL && strncmp(name, "abx-", 4) == 0;
            fclose(file);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return count;
}

/* Processes whose parent is this one, zombies too. */
static size_t
count_children(void)
{
    char path[64];
    FILE *file;
    size_t count = 0;
    int pid;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "re");
    while (file != NULL && fscanf(file, "%d", &pid) == 1) {
        count++;
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

struct abxtest_traces
abxtest_look(void)
{
    return (struct abxtest_traces){
        .descriptors = count_entries("/proc/self/fd"),
        .threads = count_threads(),
        .children = count_children(),
        .mounts = count_lines("/proc/self/mountinfo"),
    };
}

/* ---- opening and closing ---- */
static void
fail_with(abx_error *error, const char *what)
{
    ck_abort_msg("%s: %s: %s [%s] %s", what, abx_status_name(abx_error_get_status(error)),
            abx_error_get_message(error), abx_error_get_step(error), abx_error_get_remedy(error));
}

void
abxtest_start(struct abxtest *test, const char *json)
{
    abx_policy_builder *builder = NULL;
    abx_error *error = NULL;

    *test = (struct abxtest){ .before = abxtest_look() };
    strcpy(test->workspace, "/tmp/abxtest-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(test->workspace));
    if (abx_context_new(NULL, &test->context, &error) < 0 ||
            abx_policy_builder_new(NULL, &builder, &error) < 0) {
        fail_with(error, "start");
    }
    abx_policy_builder_variable(builder, "workspace", test->workspace);
    abx_policy_builder_variable(builder, "home", "/nonexistent-home");
    abx_policy_builder_merge_json(builder, json, strlen(json));
    if (abx_policy_builder_build(builder, &test->policy, &error) < 0) {
        fail_with(error, "policy");
    }
    abx_policy_builder_unref(builder);
}

void
abxtest_open(struct abxtest *test, const char *json)
{
    abx_error *error = NULL;

    abxtest_start(test, json);
    if (abx_box_open(test->context, test->policy, NULL, &test->box, &error) < 0) {
        fail_with(error, "box");
    }
}

static int
remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    return remove(path);
}

void
abxtest_close(struct abxtest *test)
{
    struct abxtest_traces after;

    abx_box_unref(test->box);
    for (size_t i = 0; i < test->n_events; i++) {
        abx_event_unref(test->events[i]);
    }
    abx_policy_unref(test->policy);
    abx_context_unref(test->context);
    ck_assert_int_eq(nftw(test->workspace, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    after = abxtest_look();
    /* pthread_join returns before the kernel has taken the thread out of the list. */
    for (int i = 0; i < 10000 && after.threads != test->before.threads; i++) {
        sched_yield();
        after.threads = count_threads();
    }
    ck_assert_uint_eq(after.descriptors, test->before.descriptors);
    ck_assert_uint_eq(after.threads, test->before.threads);
    ck_assert_uint_eq(after.children, test->before.children);
    ck_assert_uint_le(after.mounts, test->before.mounts); /* others may have taken one away */
}

/* ---- commands ---- */
abx_process *
abxtest_spawn(struct abxtest *test, const char *script, const abx_spawn_options *options)
{
    static const abx_spawn_options captured = {
        .size = sizeof captured,
        .stdio = { ABX_STDIO_NULL, ABX_STDIO_CAPTURE, ABX_STDIO_CAPTURE },
    };
    const char *const argv[] = { "sh", "-c", script, NULL };
    abx_process *process = NULL;
    abx_error *error = NULL;

    if (abx_box_spawn(test->box, argv, options == NULL ? &captured : options, &process, &error) <
            0) {
        fail_with(error, script);
    }
    return process;
}

void
abxtest_run(struct abxtest *test, const char *script, struct abxtest_result *result)
{
    abx_process *process = abxtest_spawn(test, script, NULL);
    const char *output, *errors;

    *result = (struct abxtest_result){ .exit = { .size = sizeof result->exit } };
    ck_assert_msg(abx_process_wait(process, WAIT_MS, &result->exit) == ABX_OK, "'%s' did not end",
            script);
    result->id = abx_process_get_id(process);
    output = abx_process_get_output(process, 1, NULL);
    errors = abx_process_get_output(process, 2, NULL);
    ck_assert_ptr_nonnull(output);
    ck_assert_ptr_nonnull(errors);
    result->output = strdup(output);
    result->errors = strdup(errors);
    ck_assert_int_eq(abx_process_explain(process, "text", &result->explain, NULL), ABX_OK);
    abx_process_unref(process);
    abxtest_take_events(test);
}

void
abxtest_result_done(struct abxtest_result *result)
{
    free(result->output);
    free(result->errors);
    abx_free(result->explain);
}

/* ---- events ---- */
void
abxtest_take_events(struct abxtest *test)
{
    abx_event *event;

    while (abx_context_next_event(test->context, &event) == ABX_OK) {
        ck_assert_uint_lt(test->n_events, sizeof test->events / sizeof test->events[0]);
        test->events[test->n_events++] = event;
    }
}

abx_event *
abxtest_wait_event(struct abxtest *test, uint32_t type)
{
    struct pollfd wait = { .events = POLLIN };
    size_t seen = test->n_events;

    wait.fd = (int)abx_context_take_wait_handle(test->context);
    for (;;) {
        abxtest_take_events(test);
        for (; seen < test->n_events; seen++) {
            if (abx_event_get_type(test->events[seen]) == type) {
                close(wait.fd);
                return test->events[seen];
            }
        }
        ck_assert_msg(poll(&wait, 1, WAIT_MS) == 1, "no event of type %u", type);
    }
}

static void
print_events(struct abxtest *test)
{
    for (size_t i = 0; i < test->n_events; i++) {
        char *json;

        if (abx_event_to_json(test->events[i], &json, NULL) == ABX_OK) {
            fprintf(stderr, "  %s\n", json);
            abx_free(json);
        }
    }
}

abx_event *
abxtest_find(struct abxtest *test, uint32_t type, const char *target)
{
    for (size_t i = 0; i < test->n_events; i++) {
        const char *found = abx_event_get_string(test->events[i], ABX_FIELD_TARGET);

        if (abx_event_get_type(test->events[i]) == type && found != NULL &&
                strcmp(found, target) == 0) {
            return test->events[i];
        }
    }
    return NULL;
}

abx_event *
abxtest_expect_denial(struct abxtest *test, const char *target)
{
    abx_event *event = abxtest_find(test, ABX_EVENT_DENIAL, target);

    if (event == NULL) {
        print_events(test);
        ck_abort_msg("no denial of '%s'", target);
    }
    return event;
}

void
abxtest_expect_no_denial(struct abxtest *test)
{
    for (size_t i = 0; i < test->n_events; i++) {
        if (abx_event_get_type(test->events[i]) == ABX_EVENT_DENIAL) {
            print_events(test);
            ck_abort_msg("a denial nobody expects");
        }
    }
}

/* ---- files ---- */
const char *
abxtest_path(struct abxtest *test, const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", test->workspace, name);
    return path;
}

void
abxtest_write(struct abxtest *test, const char *name, const char *content)
{
    FILE *file = fopen(abxtest_path(test, name), "we");

    ck_assert_ptr_nonnull(file);
    fputs(content, file);
    fclose(file);
}

char *
abxtest_read(struct abxtest *test, const char *name)
{
    FILE *file = fopen(abxtest_path(test, name), "re");
    char *content = calloc(1, 65536);

    if (file == NULL || content == NULL) {
        free(content);
        return NULL;
    }
    content[fread(content, 1, 65535, file)] = '\0';
    fclose(file);
    return content;
}
