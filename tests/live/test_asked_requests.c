/* SPDX-License-Identifier: Apache-2.0
 * HTTP requests of real boxes that somebody is asked about: a yes is for the body, what was granted
 * is over when it is taken back, and who waits for an answer can be interrupted. */
#include "abxtest.h"
#include "base/digest.h"
#include "unit/main.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct abxtest test;

/* ---- a server that takes requests and answers none; every name is it (fake_outside.c) ---- */
static int listener, told[2];
static uint16_t port;
static pthread_t thread;

/* One byte for each "end" that it read. */
static void *
serve(void *data)
{
    int fd;

    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        char text[4096] = "";
        size_t length = 0;
        ssize_t n;

        while ((n = recv(fd, text + length, sizeof text - 1 - length, 0)) > 0) {
            length += (size_t)n;
            text[length] = '\0';
            if (strstr(text, "end") != NULL && write(told[1], text, 1) != 1) {
                break;
            }
        }
        close(fd);
    }
    return NULL;
}

static void
open_box(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t length = sizeof address;
    char json[512];

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 4), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    ck_assert_int_eq(pipe(told), 0);
    port = ntohs(address.sin_port);
    pthread_create(&thread, NULL, serve, NULL);
    snprintf(json, sizeof json,
            "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},\"write\":{\"allow\":"
            "[\"${workspace}\"]}},\"network\":{\"mode\":\"filtered\",\"allow\":[{\"host\":"
            "\"a.test:%u\",\"http\":[{\"methods\":[\"*\"],\"path\":\"/**\",\"action\":\"send\"}]}]}"
            ",\"actions\":[{\"name\":\"send\",\"verdict\":\"ask\"}]}",
            port);
    abxtest_open(&test, json);
}

static void
close_box(void)
{
    abxtest_close(&test);
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);
    close(told[0]);
    close(told[1]);
}

/* ---- a program that sends bodies, one after the other ---- */
static abx_process *
put(const char *bodies, const abx_spawn_options *options)
{
    char script[1024];

    snprintf(script, sizeof script,
            "exec python3 -c '\n"
            "import http.client, signal, sys\n"
            "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
            "for body in sys.argv[2:]:\n"
            "    c = http.client.HTTPConnection(\"a.test\", int(sys.argv[1]))\n"
            "    c.request(\"PUT\", \"/x\", body)\n"
            "    r = c.getresponse()\n"
            "    t = r.read().decode()\n"
            "    print(r.status, [w for w in (\"grant:revoked\", \"not today\") if w in t])\n"
            "' %u %s",
            port, bodies);
    return abxtest_spawn(&test, script, options);
}

/* The next question, which is for this body. */
static uint64_t
wait_for_question(const char *body)
{
    abx_event *event = abxtest_wait_event(&test, ABX_EVENT_APPROVAL);
    char hex[DIGEST_HEX_SIZE], expected[128];

    digest_hex(body, strlen(body), hex);
    snprintf(expected, sizeof expected, "{\"body\":{\"sha256\":\"%s\",\"length\":%zu}}", hex,
            strlen(body));
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_BOUND), expected);
    return (uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET);
}

static abx_status
answer(uint64_t ticket, abx_verdict verdict, uint32_t scope, const char *message)
{
    const abx_answer reply = { .size = sizeof reply,
        .verdict = verdict,
        .scope = scope,
        .approver = "test",
        .message = message };

    return abx_context_answer(test.context, ticket, &reply, NULL);
}

static void
wait_until_told(void)
{
    char byte;

    ck_assert_int_eq(read(told[0], &byte, 1), 1);
}

/* The egress sees that the program has gone a moment after that. */
static void
wait_until_abandoned(void)
{
    abx_stats stats = { .size = sizeof stats };

    do {
        sched_yield();
        ck_assert_int_eq(abx_context_stats(test.context, &stats), ABX_OK);
    } while (stats.abandoned == 0);
}

static void
expect_output(abx_process *process, const char *expected)
{
    abx_exit ended = { .size = sizeof ended };

    ck_assert_int_eq(abx_process_wait(process, 10000, &ended), ABX_OK);
    ck_assert_msg(strcmp(abx_process_get_output(process, 1, NULL), expected) == 0, "%s%s",
            abx_process_get_output(process, 1, NULL), abx_process_get_output(process, 2, NULL));
    abx_process_unref(process);
}

START_TEST(a_request_that_was_granted_ends_when_the_grant_is_taken_back)
{
    abx_process *process;
    abx_event *event;
    uint64_t grant, ticket;
    char *listing;

    open_box();
    process = put("the-end", NULL);
    ticket = wait_for_question("the-end");
    ck_assert_int_eq(answer(ticket, ABX_VERDICT_ALLOW, ABX_SCOPE_BOX, NULL), ABX_OK);
    wait_until_told();
    ck_assert_int_eq(abx_box_grants(test.box, &listing, NULL), ABX_OK);
    ck_assert_int_eq(sscanf(listing, "[{\"grant\":%" SCNu64, &grant), 1);
    abx_free(listing);
    ck_assert_int_eq(abx_box_revoke(test.box, grant), ABX_OK);
    expect_output(process, "403 ['grant:revoked']\n");
    event = abxtest_wait_event(&test, ABX_EVENT_DENIAL);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_RULE), "grant:revoked");
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_REQUEST), ABX_REQUEST_ACTION);
    ck_assert_int_eq(strncmp(abx_event_get_string(event, ABX_FIELD_ASKED), "PUT http", 8), 0);
    close_box();
}
END_TEST

START_TEST(a_yes_for_once_is_for_one_body_and_a_no_has_words_for_the_program)
{
    abx_process *process;
    uint64_t first, second;

    open_box();
    process = put("one two", NULL);
    first = wait_for_question("one");
    ck_assert_int_eq(answer(first, ABX_VERDICT_DENY, ABX_SCOPE_ONCE, "not today"), ABX_OK);
    second = wait_for_question("two");
    ck_assert_uint_ne(first, second);
    ck_assert_int_eq(answer(second, ABX_VERDICT_DENY, ABX_SCOPE_ONCE, NULL), ABX_OK);
    expect_output(process, "403 ['not today']\n403 []\n");
    close_box();
}
END_TEST

START_TEST(ctrl_c_works_while_a_request_waits_for_an_answer)
{
    const abx_spawn_options options = { .size = sizeof options,
        .stdio = { ABX_STDIO_PTY, ABX_STDIO_PTY, ABX_STDIO_PTY },
        .rows = 24,
        .columns = 80,
        .cwd = test.workspace };
    abx_exit ended = { .size = sizeof ended };
    abx_process *process;
    uint64_t ticket;
    int terminal;

    open_box();
    process = put("one", &options);
    terminal = (int)abx_process_take_stdio(process, 1);
    ticket = wait_for_question("one");
    ck_assert_int_eq(write(terminal, "\003", 1), 1);
    ck_assert_int_eq(abx_process_wait(process, 10000, &ended), ABX_OK);
    ck_assert_uint_eq(ended.reason, ABX_EXIT_SIGNAL);
    ck_assert_int_eq(ended.code, 2);
    wait_until_abandoned();
    ck_assert_int_eq(answer(ticket, ABX_VERDICT_ALLOW, ABX_SCOPE_ONCE, NULL), ABX_ERR_STATE);
    close(terminal);
    abx_process_unref(process);
    close_box();
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("asked_requests");
    TCase *tcase = tcase_create("asked_requests");

    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, a_request_that_was_granted_ends_when_the_grant_is_taken_back);
    tcase_add_test(tcase, a_yes_for_once_is_for_one_body_and_a_no_has_words_for_the_program);
    tcase_add_test(tcase, ctrl_c_works_while_a_request_waits_for_an_answer);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
