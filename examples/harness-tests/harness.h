/* SPDX-License-Identifier: Apache-2.0
 * A small harness, and the least that one is: it runs what the model wants in a box, asks a person
 * about what the policy asks about, and says what stopped the command. */
#ifndef HARNESS_H
#define HARNESS_H

#include <agentbox/agentbox.h>
#include <stdbool.h>

/* A person is asked: true is yes.  The texts are those of the question. */
typedef bool (*harness_ask_fn)(void *person, const char *target, const char *reason);

struct harness {
    abx_box *box;
    abx_context *context;
    harness_ask_fn ask;
    void *person;
    bool is_strict; /* after the first no nothing is asked any more */
    unsigned int refusals;
};

/* Runs it; what the model sees: the output, and below it what stopped the command.  The caller
 * frees.  NULL: it was not started. */
char *harness_run_tool(struct harness *harness, const char *const *argv);

#endif
