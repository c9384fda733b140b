/* SPDX-License-Identifier: Apache-2.0
 * Owns the commands of a simulated box.  A command's arguments are one step, or, as a shell has it
 * ("sh -c LINE"), several; nothing is executed.  The supervisor thread takes a step at a time, so
 * that what is printed is read in between. */
#include "simulated/simulated.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRINT_MAX 4096u /* what a pipe that can be written to takes at once */

enum step_kind { STEP_ATTEMPT, STEP_PRINT, STEP_EXIT, STEP_PAUSE };

struct step {
    enum step_kind kind;
    struct attempt *attempt;
    char *text; /* PRINT: what; ATTEMPT: what its program would say of a refusal */
    int32_t code;
};

struct player {
    struct player *next;
    struct boundary *boundary;
    uint64_t id;
    struct vec steps; /* struct step */
    size_t done;
    int output, errors; /* or -1 */
    int32_t code; /* of the last step */
    struct loop_timer next_step;
    bool over;
};

/* ---- steps from words ---- */
struct verb {
    const char *name;
    enum step_kind kind;
    uint32_t request, access;
    size_t words; /* after it, at least */
};

static const struct verb verbs[] = {
    { "read", STEP_ATTEMPT, ABX_REQUEST_PATH, ABX_ACCESS_READ, 1 },
    { "write", STEP_ATTEMPT, ABX_REQUEST_PATH, ABX_ACCESS_WRITE, 1 },
    { "exec", STEP_ATTEMPT, ABX_REQUEST_EXEC, ABX_ACCESS_EXEC, 1 },
    { "connect", STEP_ATTEMPT, ABX_REQUEST_CONNECT, 0, 1 },
    { "request", STEP_ATTEMPT, ABX_REQUEST_HTTP, 0, 2 },
    { "print", STEP_PRINT, 0, 0, 0 },
    { "exit", STEP_EXIT, 0, 0, 1 },
    { "pause", STEP_PAUSE, 0, 0, 0 },
};

static const struct verb *
find_verb(const char *name)
{
    for (size_t i = 0; i < N_ELEMENTS(verbs); i++) {
        if (strcmp(verbs[i].name, name) == 0) {
            return &verbs[i];
        }
    }
    return NULL;
}

static void attempt_is_over(void *data, abx_verdict verdict);

static abx_status
refuse(const char *word, int error, struct fail *fail)
{
    fail_set(fail, ABX_ERR_EXEC, error, "exec:simulated",
            "'%.200s' is no step: no program runs in a simulated box", word);
    fail_remedy(fail, "its commands are: read PATH, write PATH, exec PATH, connect HOST:PORT, "
                      "request METHOD URL, print TEXT, exit CODE, pause");
    return fail->status;
}

/* "host:port", "[address]:port". */
static bool
split_endpoint(char *endpoint, abx_request *request)
{
    char *colon = strrchr(endpoint, ':');
    size_t length = colon == NULL ? 0 : (size_t)(colon - endpoint);

    if (length == 0 || !port_read(colon + 1, strlen(colon + 1), &request->port)) {
        return false;
    }
    *colon = '\0';
    request->target = endpoint;
    if (endpoint[0] == '[' && endpoint[length - 1] == ']') {
        endpoint[length - 1] = '\0';
        request->target = endpoint + 1;
    }
    return true;
}

static abx_status
make_attempt(struct player *player, struct step *step, const struct verb *verb, char **words,
        const char *cwd, struct fail *fail)
{
    abx_request request = {
        .size = sizeof request, .kind = verb->request, .access = verb->access, .target = words[1]
    };
    AUTO(freep) char *endpoint = strdup(words[1]);
    AUTO(freep) char *path = words[1][0] == '/' ? strdup(words[1]) : path_join(cwd, words[1]);
    struct str text = { 0 };

    str_printf(&text, "%s: %s: Permission denied\n", words[0], words[verb->words]);
    step->text = str_steal(&text, NULL);
    if (endpoint == NULL || path == NULL || step->text == NULL) {
        return fail_nomem(fail);
    }
    if (verb->request == ABX_REQUEST_CONNECT && !split_endpoint(endpoint, &request)) {
        return fail_set(fail, ABX_ERR_EXEC, EINVAL, "exec:simulated",
                "'%.200s' is no host with a port: ports go from 1 to 65535", words[1]);
    }
    if (verb->request == ABX_REQUEST_HTTP) {
        request.verb = words[1];
        request.target = words[2];
    } else if (verb->access != 0) {
        request.target = path;
    }
    step->attempt =
            attempt_new(player->boundary, player->id, &request, attempt_is_over, player, fail);
    if (step->attempt != NULL) {
        return ABX_OK;
    }
    if (fail->status == ABX_ERR_INVALID) {
        fail->status = ABX_ERR_EXEC;
    }
    return fail->status;
}

static abx_status
make_print(struct step *step, char **words, size_t count, struct fail *fail)
{
    struct str text = { 0 };

    for (size_t i = 1; i < count; i++) {
        str_printf(&text, i == 1 ? "%s" : " %s", words[i]);
    }
    str_add(&text, "\n");
    step->text = str_steal(&text, NULL);
    return step->text == NULL ? fail_nomem(fail) : ABX_OK;
}

static abx_status
make_exit(struct step *step, const char *word, struct fail *fail)
{
    size_t length = strlen(word);
    unsigned long code = strtoul(word, NULL, 10);

    if (length > 3 || strspn(word, "0123456789") != length || code > 255) {
        return fail_set(fail, ABX_ERR_EXEC, EINVAL, "exec:simulated",
                "'%.200s' is no exit code: these go from 0 to 255", word);
    }
    step->code = (int32_t)code;
    return ABX_OK;
}

static abx_status
add_step(struct player *player, char **words, size_t count, const char *cwd, struct fail *fail)
{
    const struct verb *verb = find_verb(words[0]);
    struct step *step;

    if (verb == NULL || count <= verb->words) {
        return refuse(words[0], verb == NULL ? ENOENT : EINVAL, fail);
    }
    step = vec_add(&player->steps);
    if (step == NULL) {
        return fail_nomem(fail);
    }
    *step = (struct step){ .kind = verb->kind };
    switch (verb->kind) {
    case STEP_ATTEMPT:
        return make_attempt(player, step, verb, words, cwd, fail);
    case STEP_PRINT:
        return make_print(step, words, count, fail);
    case STEP_EXIT:
        return make_exit(step, words[1], fail);
    case STEP_PAUSE:
        break;
    }
    return ABX_OK;
}

/* The words of one step, which it takes apart. */
static abx_status
add_step_of_text(struct player *player, char *text, const char *cwd, struct fail *fail)
{
    struct vec words = VEC(char *);
    abx_status r = ABX_OK;
    char *rest = NULL;

    for (char *word = strtok_r(text, " \t", &rest); word != NULL && r == ABX_OK;
            word = strtok_r(NULL, " \t", &rest)) {
        char **place = vec_add(&words);

        if (place == NULL) {
            r = fail_nomem(fail);
        } else {
            *place = word;
        }
    }
    if (r == ABX_OK && words.count > 0) {
        r = add_step(player, words.data, words.count, cwd, fail);
    }
    vec_done(&words);
    return r;
}

static abx_status
add_line(struct player *player, const char *line, const char *cwd, struct fail *fail)
{
    AUTO(freep) char *text = strdup(line);
    char *rest = NULL;
    abx_status r = text == NULL ? fail_nomem(fail) : ABX_OK;

    if (r < 0) {
        return r;
    }
    for (char *step = strtok_r(text, ";\n", &rest); step != NULL && r == ABX_OK;
            step = strtok_r(NULL, ";\n", &rest)) {
        r = add_step_of_text(player, step, cwd, fail);
    }
    return r;
}

static abx_status
add_steps(struct player *player, const struct command *command, struct fail *fail)
{
    const char *const *argv = command->argv;
    struct vec words = VEC(char *);
    abx_status r = ABX_OK;
    size_t count = 0;

    while (argv[count] != NULL) {
        count++;
    }
    if (count == 3 && strcmp(argv[1], "-c") == 0) {
        return add_line(player, argv[2], command->cwd, fail);
    }
    for (size_t i = 0; i < count && r == ABX_OK; i++) {
        char **word = vec_add(&words);

        if (word == NULL) {
            r = fail_nomem(fail);
        } else {
            *word = strdup(argv[i]);
            r = *word == NULL ? fail_nomem(fail) : ABX_OK;
        }
    }
    if (r == ABX_OK) {
        r = add_step(player, words.data, words.count, command->cwd, fail);
    }
    for (size_t i = 0; i < words.count; i++) {
        free(*vec_at(&words, char *, i));
    }
    vec_done(&words);
    return r;
}

/* ---- playing; the loop thread ---- */
static void
close_streams(struct player *player)
{
    close_fd(steal_fd(&player->output));
    close_fd(steal_fd(&player->errors));
}

static void
finish(struct player *player, uint32_t reason, int32_t code)
{
    const struct broker *broker = player->boundary->broker;
    const struct exit_status status = { .reason = reason, .code = code };

    if (!player->over) {
        player->over = true;
        loop_timer_clear(player->boundary->loop, &player->next_step);
        close_streams(player);
        broker->exited(broker->data, player->id, &status);
    }
}

/* What a stream does not take at once is lost: nobody may wait here. */
static void
print(int fd, const char *text)
{
    struct pollfd ready = { .fd = fd, .events = POLLOUT };
    size_t length = strlen(text);

    if (fd >= 0 && poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0 &&
            (ready.revents & POLLERR) == 0) {
        (void)!write(fd, text, length < PRINT_MAX ? length : PRINT_MAX);
    }
}

static void take_step(void *data);

static void
go_on(struct player *player)
{
    loop_timer_set(player->boundary->loop, &player->next_step, 0, take_step, player);
}

static void
take_step(void *data)
{
    struct player *player = data;
    struct step *step;

    if (player->done == player->steps.count) {
        finish(player, ABX_EXIT_CODE, player->code);
        return;
    }
    step = vec_at(&player->steps, struct step, player->done);
    switch (step->kind) {
    case STEP_ATTEMPT:
        attempt_go(step->attempt);
        return;
    case STEP_EXIT:
        finish(player, ABX_EXIT_CODE, step->code);
        return;
    case STEP_PAUSE:
        return;
    case STEP_PRINT:
        print(player->output, step->text);
        break;
    }
    player->code = 0;
    player->done++;
    go_on(player);
}

static void
attempt_is_over(void *data, abx_verdict verdict)
{
    struct player *player = data;
    const struct step *step = vec_at(&player->steps, struct step, player->done);

    player->code = verdict == ABX_VERDICT_ALLOW ? 0 : 1;
    if (verdict != ABX_VERDICT_ALLOW) {
        print(player->errors, step->text);
    }
    player->done++;
    go_on(player);
}

static void
begin(void *data)
{
    struct player *player = data;

    player->next = player->boundary->players;
    player->boundary->players = player;
    go_on(player);
}

void
player_signal(struct boundary *boundary, uint64_t command, int32_t signal)
{
    for (struct player *player = boundary->players; player != NULL; player = player->next) {
        if (player->over || (command != 0 && player->id != command)) {
            continue;
        }
        for (size_t i = 0; i < player->steps.count; i++) {
            struct attempt *attempt = vec_at(&player->steps, struct step, i)->attempt;

            if (attempt != NULL) {
                attempt_give_up(attempt);
            }
        }
        finish(player, ABX_EXIT_SIGNAL, signal);
    }
}

/* ---- making and freeing ---- */
static void
player_free(struct player *player)
{
    for (size_t i = 0; i < player->steps.count; i++) {
        struct step *step = vec_at(&player->steps, struct step, i);

        attempt_free(step->attempt);
        free(step->text);
    }
    vec_done(&player->steps);
    close_streams(player);
    free(player);
}

void
player_free_all(struct boundary *boundary)
{
    while (boundary->players != NULL) {
        struct player *player = boundary->players;

        boundary->players = player->next;
        player_free(player);
    }
}

abx_status
player_start(struct boundary *boundary, const struct command *command, struct fail *fail)
{
    struct player *player;
    abx_status r;

    if (command->pty) {
        return fail_set(fail, ABX_ERR_EXEC, ENOTTY, "spawn:terminal",
                "a simulated command has no terminal");
    }
    player = calloc(1, sizeof *player);
    if (player == NULL) {
        return fail_nomem(fail);
    }
    player->boundary = boundary;
    player->id = command->id;
    player->steps = VEC(struct step);
    player->output = fcntl(command->stdio[1], F_DUPFD_CLOEXEC, 3);
    player->errors = fcntl(command->stdio[2], F_DUPFD_CLOEXEC, 3);
    r = player->output < 0 || player->errors < 0
                ? fail_set(fail, ABX_ERR_EXEC, errno, "spawn:stdio", "its streams cannot be kept")
                : add_steps(player, command, fail);
    if (r < 0) {
        player_free(player);
        return r;
    }
    loop_call(boundary->loop, begin, player);
    return ABX_OK;
}
