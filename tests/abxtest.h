/* SPDX-License-Identifier: Apache-2.0
 * The fixture of tests through the public API: a context, a policy with a workspace of its own, a
 * box, commands in it, and what they left behind. */
#ifndef ABX_TESTS_ABXTEST_H
#define ABX_TESTS_ABXTEST_H

#include <agentbox/agentbox.h>
#include <stdbool.h>
#include <stddef.h>

/* What a host process has open; compared before and after. */
struct abxtest_traces {
    size_t descriptors, threads, children, mounts;
};
struct abxtest_traces abxtest_look(void);

struct abxtest {
    abx_context *context;
    abx_policy *policy;
    abx_box *box;
    char workspace[64]; /* a new directory */
    abx_event *events[512]; /* taken from the queue, oldest first */
    size_t n_events;
    struct abxtest_traces before;
};

/* How one command ended. */
struct abxtest_result {
    abx_exit exit;
    char *output, *errors; /* captured */
    char *explain; /* as text */
    uint64_t id;
};

/* Opens a box; `json` uses ${workspace}.  Fails the test if that is not possible. */
void abxtest_open(struct abxtest *test, const char *json);
/* The same without a box. */
void abxtest_start(struct abxtest *test, const char *json);
/* Releases all, removes the workspace, and expects that nothing is left. */
void abxtest_close(struct abxtest *test);

/* Runs `sh -c script` with captured output and waits for it. */
void abxtest_run(struct abxtest *test, const char *script, struct abxtest_result *result);
void abxtest_result_done(struct abxtest_result *result);
/* Starts it only; `options` NULL: captured output. */
abx_process *abxtest_spawn(
        struct abxtest *test, const char *script, const abx_spawn_options *options);

/* Takes what is queued. */
void abxtest_take_events(struct abxtest *test);
/* Waits until an event of this type comes, 10 s at most. */
abx_event *abxtest_wait_event(struct abxtest *test, uint32_t type);
/* An event of this type whose target is this; NULL: none. */
abx_event *abxtest_find(struct abxtest *test, uint32_t type, const char *target);
/* Fails the test, with all events, unless there is one, or unless there is none. */
abx_event *abxtest_expect_denial(struct abxtest *test, const char *target);
void abxtest_expect_no_denial(struct abxtest *test);

/* A file below the workspace. */
const char *abxtest_path(struct abxtest *test, const char *name); /* valid until the next call */
void abxtest_write(struct abxtest *test, const char *name, const char *content);
/* Its content, or NULL; the caller frees. */
char *abxtest_read(struct abxtest *test, const char *name);

#endif
