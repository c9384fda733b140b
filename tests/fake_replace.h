/* SPDX-License-Identifier: Apache-2.0
 * Takes the place of lib/egress/replace.c: "STANDIN" becomes "THE-SECRET" on the way out, and back
 * in answers, byte by byte.  A test says what else happens. */
#ifndef ABX_TESTS_FAKE_REPLACE_H
#define ABX_TESTS_FAKE_REPLACE_H

#include <stdbool.h>

struct fake_replace {
    bool wants_body, changes_answers;
    bool waits, body_waits; /* until fake_replace_go_on */
    bool refuses_head, refuses_body, refuses_answer, refuses_watch;
    const char *sent; /* the credential that a request has; or NULL */
};
extern struct fake_replace fake_replace; /* set while nothing runs */

void fake_replace_go_on(void); /* egress thread: whoever waits is ready */
unsigned fake_replace_alive(void); /* of replace_new, not freed yet */

#endif
