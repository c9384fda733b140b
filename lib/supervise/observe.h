/* SPDX-License-Identifier: Apache-2.0
 * Observe mode: a box whose policy is widened (policy_observe) remembers what its commands did. */
#ifndef ABX_SUPERVISE_OBSERVE_H
#define ABX_SUPERVISE_OBSERVE_H

#include "supervise/box.h"

/* How the reason begins of a notice of what the strict policy would deny. */
#define OBSERVED_REASON "would be denied: "

/* One thing that was done, however often. */
struct observation {
    uint32_t request, access, port;
    char *target;
    struct str programs; /* names that did it */
};

struct observed {
    abx_policy *strict; /* what the box would have had */
    pthread_mutex_t lock; /* guards all below */
    struct vec list; /* struct observation, sorted */
    bool is_lost; /* there was more than is kept */
};

/* Fills box->resolved with the wider policy, and box->observed. */
abx_status observe_open(abx_box *box, struct fail *fail);
void observed_free(struct observed *observed);
/* Adds a copy of each observation; the caller ends them, also after a failure.  ABX_ERR_STATE:
 * there were more than are kept. */
abx_status observed_copy(struct observed *observed, struct vec *copies, struct fail *fail);
void observations_done(struct vec *observations);
/* The policy of the box allows this: remembers it, and tells what the strict one would not allow.
 * Nothing where the box does not observe.  False: it cannot be recorded, and so not be done. */
bool observe(abx_box *box, const struct subject *subject, const struct act *act);

/* Adds names with ", " between (NULL: none), each once, up to a bound. */
void programs_add(struct str *programs, const char *names);

/* suggest.c: a document; caller frees. */
abx_status box_suggest(abx_box *box, char **ret_json, size_t *ret_length, struct fail *fail);

#endif
