/* SPDX-License-Identifier: Apache-2.0
 * The fixture of tests of the way out: an egress with one box, a broker that the test answers for,
 * and sockets on both sides. */
#ifndef ABX_TESTS_EGRESS_BOX_H
#define ABX_TESTS_EGRESS_BOX_H

#include "egress/egress.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct told {
    uint32_t type; /* ABX_EVENT_*; 0: it was asked about, and denied */
    char target[256], asked[256], action[64], rule[128], reason[256], alternative[256];
    uint32_t request, layer, port;
    int status; /* of act->reply, 0: it has none */
    char problem[4096];
};

extern struct egress *the_egress;
extern struct egress_box *the_box;

/* Of boxes that are opened from now on; nothing at first. */
extern struct egress_upstream egress_box_upstream;
extern const char *egress_box_identity; /* the same; NULL */
/* `format` makes the policy. */
void egress_box_open(const char *format, ...) __attribute__((format(printf, 1, 2)));
void egress_box_close(void);
struct egress_setup egress_box_setup(void); /* for another box of the same policy */
/* Expects that there are as many descriptors as before it was opened first. */
void egress_box_left_nothing(void);

/* What the broker says of targets that begin with this: else ALLOW.  A question has a ticket of its
 * own; equal ones do not share it. */
void broker_says(const char *beginning, abx_verdict verdict);
size_t broker_asked(void); /* how often decide was called */
/* What is decided about next are actions with this key; NULL: none is. */
void broker_gives_key(const char *key);
/* The body that was decided about last, or why there was none; "": neither. */
const char *broker_body(void);
/* What a yes to the last question is for. */
const char *broker_bound(void);
/* What is allowed from now on, this grant does; 0: the policy. */
void broker_allows_by(uint64_t grant);
/* The host takes a grant back, which came from the question with this ticket or, 0, from none. */
void broker_takes_back(uint64_t grant, uint64_t ticket);
size_t broker_accepted(void); /* how often what had been refused was */
size_t broker_withdrawn(void);
uint64_t broker_ticket(void); /* of the last question; waits until there is one */
void broker_tells(struct told *ret_told); /* the oldest that was not taken; waits for it */
bool broker_is_quiet(void); /* nothing was told that was not taken */

/* The resolver knows "localhost" (127.0.0.1), "public.test" (8.8.8.8), "mixed.test" (10.0.0.1 and
 * 8.8.8.8), "private.test" (10.0.0.1) and names that begin with "slow" (127.0.0.1, which it says
 * when this is called).  What is connected to 8.8.8.8 comes to 127.0.0.1. */
void resolver_be_quick(void);
size_t resolver_is_busy_with(void); /* slow names that it is asked for */
size_t resolver_was_asked(void); /* how often in all */

/* A listening socket on 127.0.0.1; `backlog` < 0: one that answers nothing (its queue is full). */
int listen_on_loopback(int backlog, uint16_t *ret_port);
int accept_one(int listener); /* waits 10 s at most */
/* Two ends of a TCP connection: the program's, and the one that was accepted for it. */
void tcp_pair(int *ret_program, int *ret_accepted);

/* As a call that waits. */
int dial_and_wait(const char *name, uint16_t port, enum way way, uint64_t *ret_dialled);
/* The program's end of a connection to there; what it is dialled to is 0 or a number. */
int connect_box(const char *name, uint16_t port, enum way way, uint64_t dialled);
/* A connection that stands: the program's end and the server's. */
void connect_both(const char *name, int listener, uint16_t port, int *ret_program, int *ret_server);

void send_text(int fd, const char *text);
void expect_text(int fd, const char *text); /* exactly that comes next */
void send_bytes(int fd, const void *bytes, size_t length);
void expect_bytes(int fd, const void *bytes, size_t length);
const char *receive_to_end(int fd); /* text; valid until the next call */
void expect_end(int fd); /* end of file */
void expect_reset(int fd);

#endif
