/* SPDX-License-Identifier: Apache-2.0
 * What was denied to one command, each distinct denial once with its count: a program that tries in
 * a loop makes few events, and the explanation is made from this.  Its owner's lock guards it. */
#ifndef ABX_SUPERVISE_DENIALS_H
#define ABX_SUPERVISE_DENIALS_H

#include "base/vec.h"
#include "supervise/outlet.h"

/* So many are kept to the end, for the explanation; what servers say takes no place of a denial. */
#define DENIALS_SHOWN 20u
#define REPLIES_SHOWN 6u

/* Equal attempts have all of these equal. */
struct denial_key {
    uint32_t type; /* ABX_EVENT_DENIAL or _NOTICE */
    uint32_t layer, request, access, port;
    uint64_t command;
    const char *target;
    const char *verb; /* the method of a request, the host of a credential, the arguments of an
                         action; else NULL */
    const char *asked; /* the request that an action was; else NULL */
    int status; /* of HTTP, of what a server refused; else 0 */
    const char *problem; /* what it said about it, or NULL */
    const char *reason; /* of what a server refused: why; else NULL */
    int32_t pid; /* one process is one program, until that is looked up again; 0: unknown */
    const char *program; /* NULL: not looked up; then only the same process counts as equal */
};

struct denials {
    struct vec entries; /* struct denial_entry */
    size_t next_victim; /* where one is looked for that is not kept */
    unsigned int n_kept, n_replies_kept;
    uint64_t total; /* attempts denied */
};

void denials_init(struct denials *denials);
void denials_done(struct denials *denials);
/* Counts `times` attempts for which an event stands that waits or came less than a second ago;
 * false: nothing was counted, an event is needed. */
bool denials_count(struct denials *denials, struct outlet *outlet, const struct denial_key *key,
        uint64_t times);
/* Counts `times` attempts and queues an event, unless one that waits or came less than a second ago
 * stands for it. */
void denials_record(struct denials *denials, struct outlet *outlet, const struct denial_key *key,
        struct event_draft *draft, uint64_t times);
/* Forgets what a server refused, whatever it said and whoever asked. */
void denials_forget(struct denials *denials, struct outlet *outlet, const struct denial_key *key,
        const char *asked);
/* Queues events for what was counted and not told yet. */
void denials_flush(struct denials *denials, struct outlet *outlet);

/* The distinct denials and notices that are kept, oldest first: NULL after the last one. */
abx_event *denials_get(const struct denials *denials, size_t i, uint64_t *ret_times);

#endif
