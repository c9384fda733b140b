/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/egress only: what everything that is under way for a box has in common.  All of it
 * belongs to the egress thread, unless it says otherwise. */
#ifndef ABX_EGRESS_BOX_H
#define ABX_EGRESS_BOX_H

#include "egress/hosts.h"
#include "egress/thread.h"

#include <stdatomic.h>
#include <stddef.h>

/* A connection, a program that waits for one, or whatever else must end with its box.  Embedded in
 * what it stands for. */
struct part {
    struct egress_box *box;
    struct part *next, *previous;
    struct errand *errand; /* who wants to go where; owned; NULL: nobody, or the proxy */
    bool is_looked_at; /* while a grant is taken back */
    /* A grant for requests was taken back: ends what it or the question that it came from let
     * through; NULL: nothing ever is. */
    void (*revoke)(struct part *part, uint64_t grant, uint64_t ticket);
    void (*end)(struct part *part); /* the box closes: ends it, tells who waits, and frees it */
};

struct egress_box {
    struct egress *egress;
    abx_policy *policy; /* any thread: it never changes */
    const struct broker *broker; /* any thread */
    const char *backend;
    const char *identity; /* see struct egress_setup */
    struct gateway gateway;
    struct upstream *upstream; /* NULL: everything is dialled */
    struct trust *trust; /* who is believed outside; NULL: no requests are read */
    char *extra_ca; /* whom the policy adds, PEM; NULL: nobody */
    struct secrets *secrets;
    struct hosts hosts;
    struct named *named;
    struct part *parts;
    size_t n_parts;
    struct decision *decisions; /* that wait for an answer */
    struct dialled *dialled; /* connections outside that nobody took yet */
    uint64_t last_dialled;
    uint64_t last_unseen; /* request that is asked about without its body */
    size_t kept; /* bytes of bodies, by sessions (session_room.c) */
    bool has_refused_login; /* a server did once, so what is accepted may have been told of */
    bool stopped; /* nothing new begins */
    struct post lost_answer;
    atomic_bool answer_is_lost; /* any thread: lost_answer is posted */
};

/* Takes part in the box from now on; false: it is stopped, or has too many already, which then has
 * its event (not with `subject` NULL). */
bool part_add(struct part *part, struct egress_box *box, void (*end)(struct part *part),
        const struct subject *subject, const struct destination *destination);
/* From now on it is about another destination.  False: no memory. */
bool part_goes_to(
        struct part *part, const struct subject *subject, const struct destination *destination);
/* Harmless if it is not there. */
void part_remove(struct part *part);

struct event_base *egress_base(const struct egress_box *box);
/* Room to read into, shared by all: its content is gone with the return to the loop. */
#define SCRATCH_SIZE (256u << 10)
uint8_t *egress_scratch(const struct egress_box *box);
/* A pipe, shared by all, that is empty again with the return to the loop; {-1, -1}: there is none.
 */
const int *egress_pipe(const struct egress_box *box);
void egress_pipe_spoil(struct egress_box *box); /* something stays in it: it is used no more */

/* Who wants to go where, copied into one block. */
struct errand {
    struct subject subject;
    struct destination destination;
    const struct upstream_proxy *relay; /* the proxy outside whose own the connection outside is;
                                           NULL: it is the destination's.  Not copied */
};
struct errand *errand_new(const struct subject *subject, const struct destination *destination);

/* The event of a refusal that is made here: a denial of connect to that name and port.  `address`
 * (or NULL) is what the name turned out to be, or how it was spelled. */
void tell_denial(struct egress_box *box, const struct subject *subject,
        const struct destination *destination, const char *address, const struct refusal *refusal);
/* Texts that are NULL stay what they are. */
void refusal_set(
        struct refusal *refusal, const char *rule, const char *reason, const char *alternative);

void refusal_revoked(struct refusal *refusal); /* by a grant that was taken back */

/* Whether the name of a destination is an address. */
bool is_address(const char *name);

/* Closes so that the peer sees a reset. */
void close_with_reset(int fd);

/* gateway.c */
void gateway_init(struct egress_box *box);

#endif
