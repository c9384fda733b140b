/* SPDX-License-Identifier: Apache-2.0
 * The business's own verbs: what a request asks for, how often it was done in this box, and the key
 * by which a server knows it again. */
#ifndef ABX_SUPERVISE_ACTIONS_H
#define ABX_SUPERVISE_ACTIONS_H

#include "supervise/box.h"
#include "supervise/telling.h"

/* How often a box, or one command in it, has done an action; the box's lock guards them. */
struct action_count {
    char *name;
    uint64_t command; /* 0: the box */
    uint32_t n;
};
void action_counts_done(struct vec *counts);
void action_counts_end_command(struct vec *counts, uint64_t command);

/* An act as an action; what is not one stays as it is. */
struct asked_action {
    struct act act; /* what is decided, shown and granted */
    char *name, *asked, *arguments; /* owned; name NULL: no action */
};
/* False: it cannot be read as what the policy declares, and `fail` says where and why; what is
 * known of it is there. */
bool action_read(
        abx_box *box, const struct act *act, struct asked_action *ret_asked, struct fail *fail);
void asked_action_done(struct asked_action *asked);

/* Why an action that the policy allows is not done after all: `layer` is LIMIT, AUDIT, or
 * ACTION for lack of memory. */
struct grounds action_refused_grounds(abx_box *box, const struct ruling *ruling, const char *name,
        uint32_t layer, const char *reason);
/* Whether an action may be done `times` more; else `reason` says why not. */
bool action_has_room(abx_box *box, const char *name, uint64_t command, uint32_t times, char *reason,
        size_t reason_room);
/* Counts it as done `times` times and tells that in one event, with its key.  0, or the layer in
 * which it is denied: there is no room (see above), or it cannot be counted or recorded. */
uint32_t action_begin(abx_box *box, const struct subject *subject, const struct act *act,
        const struct grounds *grounds, uint32_t times, uint64_t ticket, char *reason,
        size_t reason_room);
/* The key of what is allowed under a ticket, or (0) of something new. */
void action_key(abx_box *box, uint64_t ticket, char ret_key[ACTION_KEY_SIZE]);

/* Asks for an action in the host's own name.  ABX_NONE: it is asked about. */
abx_status action_request(abx_box *box, const char *name, const char *arguments,
        abx_decision *ret_decision, uint64_t *ret_ticket, char **ret_json, struct fail *fail);

#endif
