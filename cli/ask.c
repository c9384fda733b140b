/* SPDX-License-Identifier: Apache-2.0
 * Puts questions to a person on the terminal, or to a program that is started once a question.
 * Anything but a well-formed positive answer is a denial. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

extern char **environ;

enum { QUESTIONS_MAX = 64, ANSWER_MAX = 4096 };

struct question {
    abx_event *event;
    int answer; /* pipe from the program, or -1: waits for the terminal */
    pid_t pid; /* of the program, or 0 */
    char *agreed; /* who said yes before, where two must; or NULL */
    size_t length;
    char text[ANSWER_MAX + 1]; /* may have evidence */
};

struct asker {
    abx_context *context;
    const char *how; /* as it was given; its name */
    const char *program; /* the file; NULL: none */
    int tty; /* -1: none */
    bool shown; /* the first question stands on the terminal */
    size_t n_questions;
    struct question questions[QUESTIONS_MAX];
};

static bool
is_program(const char *file)
{
    struct stat st;

    if (stat(file, &st) < 0) {
        return false;
    }
    errno = EACCES;
    return S_ISREG(st.st_mode) && access(file, X_OK) == 0;
}

/* Looks through PATH, as execvp does; the result is for free().  NULL: errno says why. */
static char *
find_in_path(const char *name)
{
    const char *path = getenv("PATH") != NULL ? getenv("PATH") : "/usr/bin:/bin";
    char file[PATH_MAX];
    int length;

    for (const char *end;; path = end + 1) {
        end = strchrnul(path, ':');
        length = end == path
                         ? snprintf(file, sizeof file, "./%s", name)
                         : snprintf(file, sizeof file, "%.*s/%s", (int)(end - path), path, name);
        if (length < (int)sizeof file && is_program(file)) {
            return realpath(file, NULL);
        }
        if (*end == '\0') {
            errno = ENOENT;
            return NULL;
        }
    }
}

char *
asker_find(const char *how, bool *ret_good)
{
    char *file = NULL;

    *ret_good = true;
    if (how == NULL || strcmp(how, "deny") == 0 || strcmp(how, "tty") == 0) {
        return NULL;
    }
    /* What it is now it stays: a command cannot put another one at its place in PATH. */
    if (strchr(how, '/') == NULL) {
        file = find_in_path(how);
    } else if (is_program(how)) {
        file = realpath(how, NULL);
    }
    if (file == NULL) {
        *ret_good = false;
        fprintf(stderr,
                "agentbox: --ask: the program '%s' cannot be started: %s\n"
                "agentbox: name deny, tty, or a program that is there and executable\n",
                how, strerror(errno));
    }
    return file;
}

struct asker *
asker_new(abx_context *context, const char *how, const char *program)
{
    struct asker *asker = calloc(1, sizeof *asker);

    if (asker == NULL) {
        fputs("agentbox: out of memory\n", stderr);
        return NULL;
    }
    asker->context = context;
    asker->how = how;
    asker->program = program;
    asker->tty = -1;
    if (how != NULL && strcmp(how, "tty") == 0) {
        asker->tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NONBLOCK);
        if (asker->tty < 0) {
            fprintf(stderr, "agentbox: --ask tty: no terminal: %s\n", strerror(errno));
            free(asker);
            return NULL;
        }
    }
    return asker;
}

static abx_status
answer(struct asker *asker, abx_event *event, const abx_answer *given, abx_error **ret_error)
{
    return abx_context_answer(
            asker->context, (uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET), given, ret_error);
}

/* Nobody answered. */
static void
refuse(struct asker *asker, abx_event *event, const char *message)
{
    abx_answer given = { .size = sizeof given, .verdict = ABX_VERDICT_DENY, .message = message };

    answer(asker, event, &given, NULL);
}

static void
end_program(struct question *question)
{
    if (question->answer >= 0) {
        close(question->answer);
    }
    if (question->pid > 0) {
        kill(question->pid, SIGKILL);
        waitpid(question->pid, NULL, 0);
    }
    question->answer = -1;
    question->pid = 0;
    question->length = 0;
    explicit_bzero(question->text, sizeof question->text);
}

static void
remove_question(struct asker *asker, size_t i)
{
    struct question *question = &asker->questions[i];

    end_program(question);
    free(question->agreed);
    abx_event_unref(question->event);
    asker->n_questions--;
    memmove(question, question + 1, (asker->n_questions - i) * sizeof *question);
    explicit_bzero(&asker->questions[asker->n_questions], sizeof *question);
    if (i == 0) {
        asker->shown = false;
    }
}

/* Starts the program with the question on its standard input.  False: it cannot be started. */
static bool
start_program(struct asker *asker, struct question *question)
{
    posix_spawn_file_actions_t actions;
    char *const argv[] = { (char *)(uintptr_t)asker->how, question->agreed, NULL };
    int in[2], out[2], error;
    char *json = NULL;
    size_t length = 0;
    bool good;

    if (pipe2(in, O_CLOEXEC) < 0) {
        return false;
    }
    if (pipe2(out, O_CLOEXEC) < 0) {
        close(in[0]);
        close(in[1]);
        return false;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    error = posix_spawn(&question->pid, asker->program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    good = error == 0;
    if (!good) {
        question->pid = 0;
        fprintf(stderr, "agentbox: --ask: '%s' cannot be started, so the answer is no: %s\n",
                asker->how, strerror(error));
    }
    close(in[0]);
    close(out[1]);
    if (good && abx_event_to_json(question->event, &json, &length) >= 0) {
        /* One event is far smaller than a pipe, so this does not block.  A program may answer
         * without reading it, and be gone. */
        dprintf(in[1], "%.*s\n", (int)length, json);
    }
    abx_free(json);
    close(in[1]);
    question->answer = out[0];
    fcntl(question->answer, F_SETFL, O_NONBLOCK);
    return good;
}

static void
show_question(struct asker *asker, abx_event *event)
{
    int fd = fcntl(asker->tty, F_DUPFD_CLOEXEC, 3);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");
    char *text;

    if (stream == NULL) {
        return;
    }
    if (abx_event_to_text(event, &text, NULL) < 0) {
        fclose(stream);
        return; /* it is not asked, and runs out */
    }
    tcflush(asker->tty, TCIFLUSH); /* what was typed before is no answer */
    fputs("\r\nagentbox: ", stream);
    for (const char *c = text; *c != '\0'; c++) {
        fputs(*c == '\n' ? "\r" : "", stream); /* the terminal may be raw */
        fputc(*c, stream);
    }
    abx_free(text);
    fputs("[o]nce, this [c]ommand, this [b]ox, [n]o? ", stream);
    fclose(stream);
    asker->shown = true;
}

/* An answer that does not count is a denial, which says why to the command and to whoever wrote the
 * program. */
static void
refuse_aloud(struct asker *asker, struct question *question, const char *message)
{
    fputs("agentbox: --ask: ", stderr);
    print_escaped(stderr, message);
    fputs(": the answer is no\n", stderr);
    refuse(asker, question->event, message);
}

/* `line` is the first that is not understood; it is not shown where it may be evidence. */
static void
answer_not_understood(struct asker *asker, struct question *question, const char *line)
{
    char message[320];

    if (question->length == 0) {
        snprintf(message, sizeof message, "the approver '%.80s' ended without an answer",
                asker->how);
    } else {
        snprintf(message, sizeof message,
                "the approver '%.80s' answered '%.40s', which is not understood: once, command, "
                "box, deny or deny TEXT, and a line's end, is; before it approver NAME and "
                "evidence TEXT, each a line",
                asker->how, strncmp(line, "evidence", 8) == 0 ? "evidence..." : line);
    }
    refuse_aloud(asker, question, message);
}

/* "once", "command", "box", "deny" or "deny TEXT". */
static bool
read_verdict(const char *line, abx_answer *given)
{
    static const char *const words[] = {
        [ABX_SCOPE_ONCE] = "once",
        [ABX_SCOPE_COMMAND] = "command",
        [ABX_SCOPE_BOX] = "box",
    };

    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(line, words[i]) == 0) {
            given->verdict = ABX_VERDICT_ALLOW;
            given->scope = i;
            return true;
        }
    }
    given->verdict = ABX_VERDICT_DENY;
    given->message = strncmp(line, "deny ", 5) == 0 ? line + 5 : NULL;
    return given->message != NULL || strcmp(line, "deny") == 0;
}

/* What may stand before the answer, once each. */
static bool
read_who(const char *line, abx_answer *given)
{
    if (strncmp(line, "approver ", 9) == 0 && given->approver == NULL) {
        given->approver = line + 9;
        return true;
    }
    if (strncmp(line, "evidence ", 9) == 0 && given->evidence == NULL) {
        given->evidence = line + 9;
        return true;
    }
    return false;
}

/* NULL: it is an answer, in `given`; else the line that is none.  Cuts the text into its lines. */
static const char *
read_answer(struct question *question, abx_answer *given)
{
    char *line = question->text, *end;

    question->text[question->length] = '\0';
    while ((end = strchr(line, '\n')) != NULL) {
        *end = '\0';
        if (!read_who(line, given)) {
            return read_verdict(line, given) ? NULL : line;
        }
        line = end + 1;
    }
    return line;
}

/* The next one is told who agreed already.  False: the question is over. */
static bool
ask_another(struct asker *asker, struct question *question, const char *agreed)
{
    free(question->agreed);
    question->agreed = strdup(agreed);
    end_program(question); /* with what `agreed` points to */
    if (question->agreed != NULL && start_program(asker, question)) {
        return true;
    }
    refuse(asker, question->event, "the approver could not be started");
    return false;
}

/* False: another one is asked. */
static bool
take_answer(struct asker *asker, struct question *question)
{
    abx_answer given = { .size = sizeof given };
    const char *wrong = read_answer(question, &given);
    abx_error *error = NULL;
    abx_status r;

    if (wrong != NULL) {
        answer_not_understood(asker, question, wrong);
        return true;
    }
    if (given.approver == NULL && abx_event_get_int(question->event, ABX_FIELD_APPROVERS) <= 1) {
        given.approver = asker->how;
    }
    r = answer(asker, question->event, &given, &error);
    if (r == ABX_NONE) {
        return !ask_another(asker, question, given.approver);
    }
    if (r < 0 && r != ABX_ERR_STATE) { /* one that ran out meanwhile is answered already */
        refuse_aloud(asker, question, abx_error_get_message(error));
    }
    abx_error_unref(error);
    return true;
}

void
asker_take(struct asker *asker, abx_event *event)
{
    struct question *question;

    if (asker->program == NULL && asker->tty < 0) {
        refuse(asker, event,
                "nobody was asked, since agentbox was started without --ask tty or --ask PROGRAM");
        return;
    }
    if (asker->program == NULL && (abx_event_get_int(event, ABX_FIELD_APPROVERS) > 1 ||
                                          abx_event_get_int(event, ABX_FIELD_STEP_UP) != 0)) {
        refuse(asker, event,
                "the policy wants two approvers or evidence, and a terminal has one and none");
        return;
    }
    if (asker->n_questions == QUESTIONS_MAX) {
        refuse(asker, event, "too many questions are open");
        return;
    }
    question = &asker->questions[asker->n_questions++];
    *question = (struct question){ .event = abx_event_ref(event), .answer = -1 };
    if (asker->program != NULL && !start_program(asker, question)) {
        refuse(asker, event, "the approver could not be started");
        remove_question(asker, asker->n_questions - 1);
    }
}

bool
asker_has_terminal(const struct asker *asker)
{
    return asker->tty >= 0 && asker->n_questions > 0;
}

size_t
asker_poll_set(struct asker *asker, struct pollfd *entries, size_t room)
{
    size_t n = 0;

    if (asker->tty >= 0) {
        if (asker->n_questions > 0 && n < room) {
            if (!asker->shown) {
                show_question(asker, asker->questions[0].event);
            }
            entries[n++] = (struct pollfd){ .fd = asker->tty, .events = POLLIN };
        }
        return n;
    }
    for (size_t i = 0; i < asker->n_questions && n < room; i++) {
        entries[n++] = (struct pollfd){ .fd = asker->questions[i].answer, .events = POLLIN };
    }
    return n;
}

/* One of the words or its first letter, and nothing else: "cancel" is no yes.  -1: none. */
static int
scope_of(const char *line, size_t length)
{
    static const char *const words[] = {
        [ABX_SCOPE_ONCE] = "once",
        [ABX_SCOPE_COMMAND] = "command",
        [ABX_SCOPE_BOX] = "box",
    };

    while (length > 0 && strchr("\r\n", line[length - 1]) != NULL) {
        length--;
    }
    for (int i = 0; i < (int)(sizeof words / sizeof words[0]); i++) {
        if ((length == 1 && line[0] == words[i][0]) ||
                (length == strlen(words[i]) && memcmp(line, words[i], length) == 0)) {
            return i;
        }
    }
    return -1;
}

static void
tty_ready(struct asker *asker)
{
    struct question *question = &asker->questions[0];
    char line[64];
    ssize_t length = read(asker->tty, line, sizeof line);
    int scope = length > 0 ? scope_of(line, (size_t)length) : -1;
    abx_answer given = { .size = sizeof given, .approver = "terminal" };

    if (length < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    given.verdict = scope >= 0 ? ABX_VERDICT_ALLOW : ABX_VERDICT_DENY;
    given.scope = scope >= 0 ? (uint32_t)scope : 0;
    answer(asker, question->event, &given, NULL);
    dprintf(asker->tty, "%s\r\n", scope >= 0 ? "yes" : "no");
    remove_question(asker, 0);
}

/* Whether a line has ended that is more than who answers. */
static bool
is_answered(struct question *question)
{
    const char *line = question->text, *end;

    question->text[question->length] = '\0';
    for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        if (strncmp(line, "approver ", 9) != 0 && strncmp(line, "evidence ", 9) != 0) {
            return true;
        }
    }
    return strlen(question->text) < question->length; /* a byte that no line has */
}

/* Reads what there is; true when the answer is complete or the program has ended. */
static bool
program_ready(struct question *question)
{
    size_t room = ANSWER_MAX - question->length;
    ssize_t n = room == 0 ? 0 : read(question->answer, question->text + question->length, room);

    if (n < 0) {
        return errno != EAGAIN && errno != EINTR;
    }
    question->length += (size_t)n;
    return n == 0 || is_answered(question);
}

void
asker_ready(struct asker *asker, const struct pollfd *entries, size_t n_entries)
{
    if (asker->tty >= 0) {
        if (n_entries > 0 && entries[0].revents != 0) {
            tty_ready(asker);
        }
        return;
    }
    for (size_t k = n_entries; k-- > 0;) {
        if (entries[k].revents != 0 && program_ready(&asker->questions[k]) &&
                take_answer(asker, &asker->questions[k])) {
            remove_question(asker, k);
        }
    }
}

void
asker_free(struct asker *asker)
{
    if (asker == NULL) {
        return;
    }
    while (asker->n_questions > 0) {
        remove_question(asker, asker->n_questions - 1);
    }
    if (asker->tty >= 0) {
        close(asker->tty);
    }
    free(asker);
}
