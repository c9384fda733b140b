/* SPDX-License-Identifier: Apache-2.0
 * The fixture of tests of sessions: a box (egress_box.h), one session in it, and an origin that is
 * "localhost" at some port.  In texts '@' stands for "localhost:PORT". */
#ifndef ABX_TESTS_SESSION_BOX_H
#define ABX_TESTS_SESSION_BOX_H

#include <stdint.h>

extern int listener; /* the origin's */
extern uint16_t port;
extern int program; /* the program's end */
extern int origin; /* the origin's end, once it was accepted, else -1 */

void session_box_open(void); /* with a session to localhost */
/* The same, with more rules about requests, and more sections of the policy; each with a comma
 * before it. */
void session_box_open_with(const char *http_rules, const char *sections);
void session_box_close(void); /* expects that nothing is left */
/* Another one takes its place; `name` "": the proxy.  `outside`: dialled already, or -1. */
void start_session(const char *name, int outside);
void close_and_start(const char *name); /* the same, after the one that was there */

const char *fill(const char *text); /* good until the fourth call after it */
void say(const char *text); /* the program does */
void expect_request(const char *text); /* the origin gets it; accepts its connection first */
void expect_answer(const char *text); /* the program gets it */
const char *read_to_end(void); /* the rest of what it gets, until its connection ends */
void expect_problem(int status, const char *has); /* all that is left is a problem; NULL: any */
void expect_told(const char *rule, const char *has); /* the next event */
void nobody_came(void); /* to the origin */

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

#endif
