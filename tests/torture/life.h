/* SPDX-License-Identifier: Apache-2.0
 * One life through the public API: a policy from its text, a context, a box, a command in it, the
 * end.  Nothing in it may go otherwise than the header says, whatever fails meanwhile. */
#ifndef ABX_TESTS_LIFE_H
#define ABX_TESTS_LIFE_H

#include <agentbox/agentbox.h>

#include "failing_init.h"

#include <stdbool.h>

/* A policy to live with. */
struct life_policy {
    const char *name;
    const char *json; /* ${workspace}; PORT is that of the server outside */
    const char *mode; /* argument of tempt */
    uint32_t denials; /* at least, of one command */
    bool has_network;
    bool has_log; /* everything is recorded, beside the workspace */
};

struct life {
    const struct life_policy *policy_text;
    const char *init_path; /* NULL: the carried one */
    uint16_t port; /* of the server outside */
    bool is_lasting; /* what fails goes on failing */
    abx_policy *policy;
    abx_context *context;
    char receipt[8192]; /* of the last box that opened */
    int flaw; /* 0, or the line at which something went wrong, though as it may */
};

/* The workspace with what stands in it, in a new directory, which becomes the working directory. */
void life_make_workspace(void);
void life_remove_workspace(void);
/* A failing program in the box, for this process: its path, and what is shared with it. */
const char *life_make_init(struct failing_init **ret_shared);
/* Whether anything is mounted there as this process sees it; others may mount elsewhere. */
bool life_is_mounted(void);
/* A box and a command in it; makes policy and context where they are not there yet. */
void life_live(struct life *life);
void life_end(struct life *life);
/* The log of a life is whole, and what happened in it is in there. */
void life_expect_log(const struct life *life);
/* On stderr: what was not as it should be; ends the process. */
_Noreturn void life_fails(const char *what, int line);

/* Check's macros allocate, which may fail now. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            life_fails(#condition, __LINE__);                                                      \
        }                                                                                          \
    } while (0)

#endif
