/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the command line tool share.  The tool uses the public API only. */
#ifndef AGENTBOX_CLI_H
#define AGENTBOX_CLI_H

#include <agentbox/agentbox.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { EXIT_REFUSED = 125, EXIT_TIMED_OUT = 124 };

void print_usage(void); /* main.c */

/* options.c: which options a command takes. */
enum {
    TAKES_DOCUMENT = 1 << 0, /* --policy */
    TAKES_PROFILE = 1 << 1, /* --profile, --managed */
    TAKES_VARIABLES = 1 << 2, /* --workspace, --var */
    TAKES_FILES =
            1 << 3, /* what the policy keeps from what runs: --events, --audit, --credential */
    TAKES_COMMAND = 1 << 4, /* how a command runs, and on whose behalf */
    TAKES_OUTPUT = 1 << 5, /* -o */
    TAKES_JSON = 1 << 6, /* --json */
    TAKES_POLICY = TAKES_DOCUMENT | TAKES_PROFILE | TAKES_VARIABLES | TAKES_FILES
};

/* What they say; pointers into argv. */
struct options {
    const char *policy; /* file */
    const char *profile;
    const char *managed; /* file */
    const char *workspace;
    const char *variables[32]; /* "NAME=value" */
    size_t n_variables;
    const char *credentials[32]; /* "NAME=env:VARIABLE" and so on */
    size_t n_credentials;
    const char *principal; /* on whose behalf; NULL: nobody's */
    const char *agent_session;
    const char *delegation;
    const char *delegation_expires; /* as it was given; identity.c reads it */
    const char *cwd;
    double timeout_s; /* 0 is none */
    bool tty;
    bool explain;
    bool json; /* of replay */
    const char *events;
    const char *audit; /* file */
    const char *ask; /* "tty", "deny" or a program */
    const char *output; /* of learn: where the suggestion goes */
    const char *approver; /* the program's file, or NULL; run.c finds it */
    char **rest; /* what follows the options, NULL-terminated */
};
/* False: an error was printed.  Where help is asked for, it is printed and the tool ends. */
bool options_parse(struct options *options, unsigned takes, int argc, char **argv);

/* policy.c: the policy that the options name.  False: *ret_error says why, or errno-style text was
 * put there by the library; the caller reports and releases it. */
bool policy_load(const struct options *options, abx_policy **ret_policy, abx_error **ret_error);
/* A document alone, to be looked at. */
bool policy_read(const struct options *options, const char *file, abx_policy **ret_policy,
        abx_error **ret_error);
/* Without a policy the current directory is the workspace; false, with a message: it is "/" or the
 * home directory, which nobody means to give away by not saying anything. */
bool policy_workspace_is_meant(const struct options *options);

/* guard.c: keeps the files that the tool trusts from what runs under the policy: the document (or
 * NULL) with its text, events and approver from being changed, secrets from being read.  False: an
 * error was printed. */
bool guard(abx_policy_builder *builder, const struct options *options, const char *document,
        const char *text);

/* report.c: errors for people and for the events file. */
void report_error(abx_error *error);
int report_refusal(
        abx_error *error); /* the same, and releases it (NULL is nothing); EXIT_REFUSED */
void events_write_setup(FILE *events, abx_error *error);
void events_write(FILE *events, abx_event *event);
/* A denial, on standard error. */
void report_denial(abx_event *event);
/* Prints text from outside so that it cannot move the cursor or pass for something else. */
void print_escaped(FILE *stream, const char *text);
/* The same of a name as events have it: in quotation marks where it could be read as a sentence. */
void print_name(FILE *stream, const char *name);

/* credential.c: gives the secrets that the options name.  False: *ret_error says why, or an error
 * was printed. */
bool credentials_give(const struct options *options, abx_box *box, abx_error **ret_error);
/* Answers an event for a secret that no option named. */
void credential_refuse(abx_context *context, abx_event *event);

/* identity.c: what the options say of on whose behalf the command runs; NULL where they say
 * nothing. False: *ret_error says why, or an error was printed. */
bool identity_make(
        const struct options *options, abx_identity **ret_identity, abx_error **ret_error);

/* ask.c: puts questions to a person or a program. */
struct asker;
struct pollfd;
/* The file of the program that `how` names, for free(); NULL: it names none (*ret_good) or an error
 * was printed. */
char *asker_find(const char *how, bool *ret_good);
/* `program` is what asker_find gave, borrowed.  NULL: an error was printed. */
struct asker *asker_new(abx_context *context, const char *how, const char *program);
/* Takes a question; the event is referenced as long as needed. */
void asker_take(struct asker *asker, abx_event *event);
/* The next thing that is typed is an answer, nothing for the command. */
bool asker_has_terminal(const struct asker *asker);
/* Descriptors to poll, at most `room`; and what to do after poll with the same entries. */
size_t asker_poll_set(struct asker *asker, struct pollfd *entries, size_t room);
void asker_ready(struct asker *asker, const struct pollfd *entries, size_t n_entries);
void asker_free(struct asker *asker);

/* terminal.c: the person's terminal while a command has one of its own. */
bool terminal_raw(void);
void terminal_restore(void); /* also called at exit */
bool terminal_size(uint32_t *ret_rows, uint32_t *ret_columns);

/* Commands: each returns the exit status of the tool. */
int command_run(int argc, char **argv);
int command_learn(int argc, char **argv); /* run.c, too */
int command_explain(int argc, char **argv);
int command_describe(int argc, char **argv);
int command_policy(int argc, char **argv);
int command_compare(int argc, char **argv); /* of command_policy */
int command_preflight(int argc, char **argv);
int command_audit(int argc, char **argv);
int command_replay(int argc, char **argv);

#endif
