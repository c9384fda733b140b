/* SPDX-License-Identifier: Apache-2.0
 * What the forty-four calls in C share: policies, a box with one command, questions, and how each
 * is written as JSON.  A step that must work ends the program if it does not. */
#ifndef ABX_TESTS_CALLS_COMMON_H
#define ABX_TESTS_CALLS_COMMON_H

#include <agentbox/auto.h>
#include <jansson.h>
#include <stdbool.h>

#define NOTHING "{\"version\": 1}"
#define MOTD "echo x >/etc/motd"
#define COMMAND(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define SHELL(script) COMMAND("sh", "-c", script)

extern const char ASK[]; /* asks about ${workspace}/release, denies ${workspace}/never */
extern const char *workspace;

void must(int status);
const char *below(const char *name); /* of the workspace; valid until the next call but three */

/* ---- policies ---- */
abx_policy_builder *new_builder(const char *profile);
void set_variables(abx_policy_builder *builder);
abx_policy *new_policy(const char *document); /* merged over workspace-write */
abx_request path_request(const char *path, uint32_t access);
abx_request connect_request(const char *host, uint32_t port);
json_t *verdict(abx_policy *policy, abx_request request);
/* Status and step; takes the error.  NULL: the call gives none. */
json_t *refused(abx_status status, abx_error **error);
json_t *taken_key(char *text, size_t length, const char *key); /* of a JSON text; frees it */

/* ---- commands ---- */
struct session {
    abx_context *context;
    abx_box *box;
    abx_process *process; /* or NULL */
};
void session_open(struct session *session, const char *document);
void session_spawn(
        struct session *session, const char *const *argv, const abx_spawn_options *options);
void session_wait(struct session *session, abx_exit *ret_exit);
void session_close(struct session *session);

/* One command that ended. */
struct run {
    struct session session;
    abx_exit exit;
    char *explanation; /* once asked for */
};
abx_spawn_options captured(void);
void run_command(struct run *run, const char *document, const char *const *argv,
        const abx_spawn_options *options);
void run_shell(struct run *run, const char *document, const char *script); /* labelled call-1 */
const char *run_output(struct run *run, uint32_t which);
const char *run_explain(struct run *run);
json_t *run_done(struct run *run, json_t *result); /* gives `result` back */
json_t *ended(const abx_exit *found);
json_t *first_line(const char *text);

/* ---- events and questions ---- */
abx_event *next_event_of(abx_context *context, uint32_t type); /* queued now, or NULL */
abx_event *denial_of_motd(void);
void add_number(json_t *object, const char *key, int64_t value);
void add_text(json_t *object, const char *key, abx_event *event, uint32_t field);
abx_answer answer_with(abx_verdict given, uint32_t scope, const char *message);
/* Runs a script under ASK, gives each of its questions this answer and adds it to `questions`. */
void run_asked(struct run *run, const char *script, abx_answer answer, json_t *questions);

#endif
