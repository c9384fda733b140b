/* SPDX-License-Identifier: Apache-2.0 */
#include "life.h"

#include "outside.h"
#include "points.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define UNTOUCHED(type) ((type)(uintptr_t)&untouched)

static const char untouched;
static char top[64], workspace[80], logs[80], audit_path[96];

_Noreturn void
life_fails(const char *what, int line)
{
    points_disarm();
    fprintf(stderr, "line %d: %s\n", line, what);
    points_show();
    _exit(1);
}

/* ---- the workspace ---- */
static void
make(const char *name)
{
    int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

    EXPECT(fd >= 0);
    close(fd);
}

void
life_make_workspace(void)
{
    snprintf(top, sizeof top, "/tmp/abx-torture-XXXXXX");
    EXPECT(mkdtemp(top) != NULL);
    snprintf(workspace, sizeof workspace, "%s/w", top);
    snprintf(logs, sizeof logs, "%s/logs", top);
    snprintf(audit_path, sizeof audit_path, "%s/log", logs);
    EXPECT(mkdir(logs, 0700) == 0 && mkdir(workspace, 0700) == 0 && chdir(workspace) == 0);
    make("secret");
    make("kept");
    make("asked");
    EXPECT(mkdir(".git", 0700) == 0 && mkdir(".git/hooks", 0700) == 0);
    make(".git/HEAD");
}

static void
write_file(const char *path, const void *bytes, size_t size, mode_t mode)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, mode);

    EXPECT(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

const char *
life_make_init(struct failing_init **ret_shared)
{
    static char path[96], bytes[256 << 10];
    const struct failing_init nothing = { 0 };
    char shared_path[96];
    int fd = open(FAILING_INIT, O_RDONLY | O_CLOEXEC);
    ssize_t size = read(fd, bytes, sizeof bytes);
    char *mark = size <= 0 ? NULL
                           : memmem(bytes, (size_t)size, FAILING_INIT_MARK,
                                     sizeof FAILING_INIT_MARK - 1);

    EXPECT(mark != NULL && size < (ssize_t)sizeof bytes);
    close(fd);
    snprintf(shared_path, sizeof shared_path, "%s/shared", top);
    strcpy(mark + sizeof FAILING_INIT_MARK - 1, shared_path);
    write_file(shared_path, &nothing, sizeof nothing, 0600);
    snprintf(path, sizeof path, "%s/init", top);
    write_file(path, bytes, (size_t)size, 0700);
    fd = open(shared_path, O_RDWR | O_CLOEXEC);
    *ret_shared = mmap(NULL, sizeof **ret_shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT(*ret_shared != MAP_FAILED);
    close(fd);
    return path;
}

static int
remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    return remove(path);
}

void
life_remove_workspace(void)
{
    EXPECT(nftw(top, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

bool
life_is_mounted(void)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char line[1024];
    bool found = false;

    EXPECT(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        found = found || strstr(line, top) != NULL;
    }
    fclose(file);
    return found;
}

static bool
exists(const char *name)
{
    bool is_there;

    points_pass(true);
    is_there = access(name, F_OK) == 0;
    points_pass(false);
    return is_there;
}

/* ---- a life ---- */

/* The statuses of each function, up to ABX_OK. */
static const abx_status of_policy[] = { ABX_ERR_NOMEM, ABX_OK };
static const abx_status of_context[] = { ABX_ERR_NOMEM, ABX_ERR_IO, ABX_OK };
static const abx_status of_open[] = { ABX_ERR_NOMEM, ABX_ERR_SETUP, ABX_OK };
static const abx_status of_recorded_open[] = { ABX_ERR_NOMEM, ABX_ERR_SETUP, ABX_ERR_IO, ABX_OK };
static const abx_status of_spawn[] = { ABX_ERR_NOMEM, ABX_ERR_EXEC, ABX_ERR_IO, ABX_ERR_STATE,
    ABX_OK };

static bool
starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Where memory lacks that is the status, else never; and the errno is that of what failed.
 * But not where a command tells (the canary, and the program that is to run) for want of what its
 * own calls were refused, or init tells what it lacks; a thread says EAGAIN for memory, too; and
 * there may be no memory for an error that has a step. */
static bool
is_status_of_cause(const struct life *life, abx_status r, abx_error *error)
{
    const char *step = abx_error_get_step(error);
    const int cause = points_error();
    const int code = abx_error_get_os_code(error);

    if (starts_with(step, "canary:") || starts_with(step, "exec:") || life->init_path != NULL) {
        return true;
    }
    if (cause == ENOMEM && starts_with(step, "start:") && code == EAGAIN) {
        return true;
    }
    if (cause == ENOMEM) {
        return r == ABX_ERR_NOMEM || (life->is_lasting && step[0] == '\0');
    }
    return r != ABX_ERR_NOMEM && code == cause;
}

static bool
is_right(const struct life *life, abx_status r, abx_error *error, const abx_status *right)
{
    while (*right != ABX_OK && *right != r) {
        right++;
    }
    return *right == r && is_status_of_cause(life, r, error);
}

/* What is returned when something failed: a status that says so, and an error that says the same.
 */
static void
expect_failure(struct life *life, abx_status r, abx_error *error, const abx_status *right)
{
    if (!is_right(life, r, error, right)) {
        fprintf(stderr, "%s: %s [%s], for %d\n", abx_status_name(r), abx_error_get_message(error),
                abx_error_get_step(error), points_error());
        EXPECT(false);
    }
    EXPECT(error != NULL);
    EXPECT(abx_error_get_status(error) == r);
    EXPECT(abx_error_get_message(error)[0] != '\0');
    EXPECT(points_error() != 0 || life->init_path != NULL);
    life->flaw = __LINE__;
    abx_error_unref(error);
}

static const char *
put_port(const struct life *life)
{
    static char json[4096];
    const char *rest = life->policy_text->json, *place;
    size_t length = 0;

    while ((place = strstr(rest, "PORT")) != NULL) {
        length += (size_t)snprintf(json + length, sizeof json - length, "%.*s%u",
                (int)(place - rest), rest, life->port);
        rest = place + strlen("PORT");
    }
    snprintf(json + length, sizeof json - length, "%s", rest);
    return json;
}

static abx_policy *
make_policy(struct life *life)
{
    const char *json = put_port(life);
    abx_policy_builder *builder = UNTOUCHED(abx_policy_builder *);
    abx_policy *policy = UNTOUCHED(abx_policy *);
    abx_error *error = NULL;
    abx_status r = abx_policy_builder_new(NULL, &builder, &error);

    if (r < 0) {
        EXPECT(builder == UNTOUCHED(abx_policy_builder *));
        expect_failure(life, r, error, of_policy);
        return NULL;
    }
    abx_policy_builder_variable(builder, "workspace", workspace);
    abx_policy_builder_variable(builder, "home", "/nonexistent-home");
    abx_policy_builder_variable(builder, "logs", logs);
    abx_policy_builder_merge_json(builder, json, strlen(json));
    r = abx_policy_builder_build(builder, &policy, &error);
    abx_policy_builder_unref(builder);
    if (r < 0) {
        EXPECT(policy == UNTOUCHED(abx_policy *));
        expect_failure(life, r, error, of_policy);
        return NULL;
    }
    return policy;
}

static abx_context *
make_context(struct life *life)
{
    const abx_context_options options = {
        .size = sizeof options,
        .init_path = life->init_path,
        .audit_path = life->policy_text->has_log ? audit_path : NULL,
        .audit_sync = life->policy_text->has_log ? ABX_AUDIT_SYNC_RECORD : 0,
    };
    abx_context *context = UNTOUCHED(abx_context *);
    abx_error *error = NULL;
    abx_status r = abx_context_new(&options, &context, &error);

    if (r < 0) {
        EXPECT(context == UNTOUCHED(abx_context *));
        expect_failure(life, r, error, of_context);
        return NULL;
    }
    return context;
}

static void
say_yes(abx_context *context, abx_event *event)
{
    const abx_answer answer = {
        .size = sizeof answer,
        .verdict = ABX_VERDICT_ALLOW,
        .scope = ABX_SCOPE_COMMAND,
    };
    const uint64_t ticket = (uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET);
    abx_error *error = NULL;

    if (abx_context_answer(context, ticket, &answer, &error) < 0) {
        EXPECT(error != NULL);
    }
    abx_error_unref(error);
}

static void
give_secret(abx_context *context, abx_event *event)
{
    const uint64_t ticket = (uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET);
    abx_status r =
            abx_context_supply(context, ticket, OUTSIDE_SECRET, strlen(OUTSIDE_SECRET), 0, NULL);

    EXPECT(r == ABX_OK || r == ABX_ERR_NOMEM || r == ABX_ERR_STATE);
}

static void
take_events(abx_context *context)
{
    abx_event *event = NULL;
    abx_status r;

    while ((r = abx_context_next_event(context, &event)) != ABX_NONE) {
        char *json = NULL;

        if (r < 0) {
            EXPECT(r == ABX_ERR_NOMEM);
            return;
        }
        if (abx_event_get_type(event) == ABX_EVENT_APPROVAL) {
            say_yes(context, event);
        }
        if (abx_event_get_type(event) == ABX_EVENT_CREDENTIAL) {
            give_secret(context, event);
        }
        r = abx_event_to_json(event, &json, NULL);
        EXPECT(r == ABX_OK || r == ABX_ERR_NOMEM);
        if (r == ABX_OK) {
            EXPECT(strstr(json, OUTSIDE_SECRET) == NULL);
            abx_free(json);
        }
        abx_event_unref(event);
    }
}

/* Until it ends; who waits too long is stopped by the alarm. */
static abx_exit
wait_for(abx_context *context, abx_process *process)
{
    abx_exit result = { .size = sizeof result };
    abx_status r;

    while ((r = abx_process_wait(process, 5, &result)) == ABX_NONE) {
        take_events(context);
    }
    EXPECT(r == ABX_OK);
    return result;
}

/* It ended by itself, and did what is denied nowhere; or it was killed, since it could not be
 * served. */
static void
expect_end(struct life *life, const abx_exit *result)
{
    if (result->reason == ABX_EXIT_CODE) {
        if (result->code != 0) {
            fprintf(stderr, "the command could do what is denied: %d\n", result->code);
        }
        EXPECT(result->code == 0);
        if (life->policy_text->has_network && (!exists("answered") || !exists("greeted"))) {
            life->flaw = __LINE__;
        }
        life->flaw = result->denials < life->policy_text->denials ? __LINE__ : life->flaw;
    } else {
        life->flaw = __LINE__;
        EXPECT(result->code == SIGKILL || result->code == SIGSYS);
    }
}

/* Whether it was started. */
static bool
use_command(struct life *life, abx_box *box, const abx_spawn_options *options)
{
    char port[8];
    const char *const argv[] = { TEMPT, life->policy_text->mode, port, NULL };
    abx_process *process = UNTOUCHED(abx_process *);
    abx_error *error = NULL;
    abx_exit result;
    char *text = NULL;
    abx_status r;

    snprintf(port, sizeof port, "%u", life->port);
    r = abx_box_spawn(box, argv, options, &process, &error);
    if (r < 0) {
        EXPECT(process == UNTOUCHED(abx_process *));
        EXPECT(!exists("ran"));
        expect_failure(life, r, error, of_spawn);
        return false;
    }
    result = wait_for(life->context, process);
    r = abx_process_explain(process, "json", &text, NULL);
    EXPECT(r == ABX_OK || r == ABX_ERR_NOMEM);
    if (r == ABX_OK) {
        abx_free(text);
    }
    expect_end(life, &result);
    abx_process_unref(process);
    return true;
}

static void
use_commands(struct life *life, abx_box *box)
{
    const abx_spawn_options captured = {
        .size = sizeof captured,
        .stdio = { ABX_STDIO_NULL, ABX_STDIO_CAPTURE, ABX_STDIO_PIPE },
        .timeout_ms = 60000,
        .label = "call",
    };

    if (!use_command(life, box, &captured)) {
        EXPECT(!exists("ran"));
    }
}

/* What enforces and what is weaker; the rest is of this box. */
static void
keep_receipt(struct life *life, abx_box *box)
{
    char *json = NULL;
    abx_status r = abx_box_receipt(box, &json, NULL);

    EXPECT(r == ABX_OK || r == ABX_ERR_NOMEM);
    life->flaw = r == ABX_OK ? life->flaw : __LINE__;
    if (r == ABX_OK) {
        const char *start = strstr(json, "\"mechanisms\"");
        const char *end = strstr(json, ",\"canary\"");

        EXPECT(start != NULL && end > start && (size_t)(end - start) < sizeof life->receipt);
        memset(life->receipt, 0, sizeof life->receipt);
        memcpy(life->receipt, start, (size_t)(end - start));
        abx_free(json);
    }
}

static void
use_box(struct life *life)
{
    abx_box *box = UNTOUCHED(abx_box *);
    abx_error *error = NULL;
    abx_status r = abx_box_open(life->context, life->policy, NULL, &box, &error);

    if (r < 0) {
        EXPECT(box == UNTOUCHED(abx_box *));
        expect_failure(life, r, error, life->policy_text->has_log ? of_recorded_open : of_open);
        EXPECT(!exists("ran"));
        return;
    }
    keep_receipt(life, box);
    use_commands(life, box);
    abx_box_unref(box);
    take_events(life->context);
}

void
life_live(struct life *life)
{
    life->flaw = 0;
    if (life->policy == NULL) {
        life->policy = make_policy(life);
    }
    if (life->policy != NULL && life->context == NULL) {
        life->context = make_context(life);
    }
    if (life->context != NULL) {
        use_box(life);
    }
    EXPECT(!exists("lock") && !exists("../outside") && !exists("moved") && exists("kept"));
    unlink("ran");
    unlink("ask");
    unlink("answered");
    unlink("greeted");
}

static size_t
count_of(const char *text, const char *word)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        n++;
    }
    return n;
}

void
life_expect_log(const struct life *life)
{
    const char *const paths[] = { audit_path };
    char *text = NULL;

    if (!life->policy_text->has_log) {
        return;
    }
    EXPECT(abx_audit_render(paths, 1, "json", NULL, &text, NULL, NULL) == ABX_AUDIT_WHOLE);
    /* The second life is perfect; the first may have ended anywhere. */
    EXPECT(count_of(text, "\"type\":\"opened\"") >= 1);
    EXPECT(count_of(text, "\"type\":\"spawn\"") >= 1);
    EXPECT(count_of(text, "\"type\":\"exited\"") >= 1);
    EXPECT(count_of(text, "\"type\":\"denial\"") >= life->policy_text->denials);
    abx_free(text);
}

void
life_end(struct life *life)
{
    abx_context_unref(life->context);
    abx_policy_unref(life->policy);
}
