/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_replace.h"

#include "egress/replace.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTSIDE "THE-SECRET"
#define INSIDE "STANDIN"

struct replace {
    struct replace_setup setup;
    struct refusal refusal;
};

struct fake_replace fake_replace;
static struct replace *waiting;
static atomic_uint alive;

struct replace *
replace_new(const struct replace_setup *setup)
{
    struct replace *replace = calloc(1, sizeof *replace);

    replace->setup = *setup;
    snprintf(replace->refusal.rule, sizeof replace->refusal.rule, "credential:fake");
    snprintf(replace->refusal.reason, sizeof replace->refusal.reason, "the fake says no");
    alive++;
    return replace;
}

void
replace_free(struct replace *replace)
{
    waiting = waiting == replace ? NULL : waiting;
    free(replace);
    alive--;
}

unsigned
fake_replace_alive(void)
{
    return alive;
}

void
fake_replace_go_on(void)
{
    struct replace *replace = waiting;

    fake_replace.waits = fake_replace.body_waits = false;
    waiting = NULL;
    if (replace != NULL) {
        replace->setup.ready(replace->setup.data);
    }
}

/* How many of the last bytes may be the beginning of `what`. */
static size_t
beginning(struct evbuffer *from, const char *what)
{
    size_t length = evbuffer_get_length(from), most = strlen(what) - 1;
    const char *bytes = (const char *)evbuffer_pullup(from, -1);

    for (size_t n = length < most ? length : most; n > 0; n--) {
        if (memcmp(bytes + length - n, what, n) == 0) {
            return n;
        }
    }
    return 0;
}

/* Moves what is known, replaced. */
static void
move(struct evbuffer *from, struct evbuffer *to, const char *what, const char *by, bool is_last)
{
    size_t length = strlen(what);

    for (;;) {
        struct evbuffer_ptr at = evbuffer_search(from, what, length, NULL);

        if (at.pos < 0) {
            evbuffer_remove_buffer(
                    from, to, evbuffer_get_length(from) - (is_last ? 0 : beginning(from, what)));
            return;
        }
        evbuffer_remove_buffer(from, to, (size_t)at.pos);
        evbuffer_drain(from, length);
        evbuffer_add(to, by, strlen(by));
    }
}

static void
change(struct evbuffer *whole, const char *what, const char *by)
{
    struct evbuffer *changed = evbuffer_new();

    move(whole, changed, what, by, true);
    evbuffer_add_buffer(whole, changed);
    evbuffer_free(changed);
}

bool
replace_wants_body(const struct replace *replace)
{
    return fake_replace.wants_body;
}

enum replace_result
replace_request(struct replace *replace, struct evbuffer *head, struct evbuffer *body)
{
    if (fake_replace.waits) {
        waiting = replace;
        return REPLACE_WAIT;
    }
    if (fake_replace.refuses_head) {
        return REPLACE_REFUSED;
    }
    change(head, INSIDE, OUTSIDE);
    if (body != NULL) {
        char before[64], after[64];

        snprintf(before, sizeof before, "Content-Length: %zu\r\n", evbuffer_get_length(body));
        change(body, INSIDE, OUTSIDE);
        snprintf(after, sizeof after, "Content-Length: %zu\r\n", evbuffer_get_length(body));
        change(head, before, after);
    }
    return REPLACE_DONE;
}

enum replace_result
replace_request_body(struct replace *replace, struct evbuffer *from, bool keeps_length,
        bool is_last, struct evbuffer *to)
{
    if (fake_replace.refuses_body) {
        return REPLACE_REFUSED;
    }
    if (fake_replace.body_waits) {
        waiting = replace;
        return REPLACE_WAIT;
    }
    move(from, to, INSIDE, OUTSIDE, is_last);
    return REPLACE_DONE;
}

const char *
replace_sent(const struct replace *replace)
{
    return fake_replace.sent;
}

bool
replace_changes_answer(const struct replace *replace)
{
    return fake_replace.changes_answers;
}

enum replace_result
replace_answer(struct replace *replace, struct evbuffer *head)
{
    if (fake_replace.refuses_answer) {
        return REPLACE_REFUSED;
    }
    change(head, OUTSIDE, INSIDE);
    return REPLACE_DONE;
}

enum replace_result
replace_answer_body(
        struct replace *replace, struct evbuffer *from, bool is_last, struct evbuffer *to)
{
    if (fake_replace.changes_answers) {
        move(from, to, OUTSIDE, INSIDE, is_last);
    } else {
        evbuffer_add_buffer(to, from);
    }
    return REPLACE_DONE;
}

enum replace_result
replace_watch(struct replace *replace, bool is_answer, const void *bytes, size_t length)
{
    return fake_replace.refuses_watch && memmem(bytes, length, "STANDIN", 7) != NULL
                   ? REPLACE_REFUSED
                   : REPLACE_DONE;
}

bool
replace_refuses(struct egress_box *box, const struct subject *subject, const char *host,
        uint16_t port, const void *bytes, size_t length, struct refusal *ret_refusal)
{
    return false;
}

const struct refusal *
replace_refusal(const struct replace *replace)
{
    return &replace->refusal;
}

int
replace_status(const struct replace *replace)
{
    return fake_replace.refuses_answer ? 502 : 403;
}
