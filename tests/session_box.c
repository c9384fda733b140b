/* SPDX-License-Identifier: Apache-2.0 */
#include "session_box.h"

#include "base/mem.h"
#include "egress_box.h"
#include "fake_replace.h"

#include "egress/session.h"

#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define POLICY                                                                                     \
    "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"*\","                          \
    "{\"host\":\"localhost:%u\",\"http\":[{\"methods\":[\"*\"],\"path\":\"/**\"}%s]}],"            \
    "\"host_loopback\":[%u]}%s}"

int listener, program, origin;
uint16_t port;

static char authority[32]; /* "localhost:PORT" */

/* ---- a session ---- */
struct start {
    const char *name;
    int inside, outside;
};

static void
start_on_thread(void *data)
{
    struct start *start = data;
    struct errand errand = {
        .subject = { .command = 7, .pid = 4711, .program = "/usr/bin/test" },
        .destination = { .way = start->name[0] == '\0' ? WAY_PROXY : WAY_TRANSPARENT,
                .name = start->name,
                .port = start->name[0] == '\0' ? 0 : port },
    };
    struct session_setup setup = { .box = the_box, .errand = &errand };

    session_start(&setup, start->inside, start->outside);
}

void
start_session(const char *name, int outside)
{
    struct start start = { .name = name, .outside = outside };

    tcp_pair(&program, &start.inside);
    egress_call(the_egress, start_on_thread, &start);
}

void
close_and_start(const char *name)
{
    close_fd(program);
    start_session(name, -1);
}

void
session_box_open_with(const char *http_rules, const char *sections)
{
    fake_replace = (struct fake_replace){ 0 };
    listener = listen_on_loopback(16, &port);
    snprintf(authority, sizeof authority, "localhost:%u", port);
    egress_box_open(POLICY, port, http_rules, port, sections);
    start_session("localhost", -1);
    origin = -1;
}

void
session_box_open(void)
{
    session_box_open_with("", "");
}

void
session_box_close(void)
{
    egress_box_close();
    close_fd(program);
    close_fd(origin);
    ck_assert_uint_eq(fake_replace_alive(), 0);
    egress_box_left_nothing();
    close(listener);
}

const char *
fill(const char *text)
{
    static char filled[4][8192];
    static size_t turn;
    char *to = filled[turn++ % 4], *start = to;

    for (; *text != '\0'; text++) {
        if (*text == '@') {
            to += sprintf(to, "%s", authority);
        } else {
            *to++ = *text;
        }
    }
    *to = '\0';
    return start;
}

void
say(const char *text)
{
    send_text(program, fill(text));
}

void
expect_answer(const char *text)
{
    expect_text(program, fill(text));
}

void
expect_request(const char *text)
{
    if (origin < 0) {
        origin = accept_one(listener);
    }
    expect_text(origin, fill(text));
}

const char *
read_to_end(void)
{
    static char text[16384];
    size_t length = 0;
    ssize_t n;

    do {
        struct pollfd ready = { .fd = program, .events = POLLIN };

        ck_assert_int_eq(poll(&ready, 1, 10000), 1);
        n = recv(program, text + length, sizeof text - 1 - length, 0);
        ck_assert_int_ge(n, 0);
        length += (size_t)n;
    } while (n > 0);
    text[length] = '\0';
    return text;
}

void
expect_problem(int status, const char *has)
{
    const char *text = read_to_end();
    char line[32];

    snprintf(line, sizeof line, "HTTP/1.1 %d ", status);
    ck_assert_msg(strncmp(text, line, strlen(line)) == 0, "%s", text);
    ck_assert_msg(strstr(text, "application/problem+json") != NULL, "%s", text);
    ck_assert_msg(has == NULL || strstr(text, has) != NULL, "%s", text);
}

void
expect_told(const char *rule, const char *has)
{
    struct told told;

    broker_tells(&told);
    ck_assert_str_eq(told.rule, rule);
    ck_assert_msg(strstr(told.reason, has) != NULL, "%s", told.reason);
}

void
nobody_came(void)
{
    struct pollfd ready = { .fd = listener, .events = POLLIN };

    ck_assert_int_eq(poll(&ready, 1, 0), 0);
}
