/* SPDX-License-Identifier: Apache-2.0
 * What a command in a real box is told about why it failed, where a server or a terminal is the
 * reason: before it ends, with what to do next, and nothing that is not known. */
#include "abxtest.h"
#include "unit/main.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECRET "zzreal1234567890"
#define NO_FILE "Content-Length: 0\r\n\r\n"
#define PROBLEM                                                                                    \
    "{\"title\":\"Too late\",\"detail\":\"May is paid\",\"errors\":[{\"pointer\":\"#/month\"}]}"

static struct abxtest test;
static struct abxtest_result result;

/* ---- a server outside (fake_outside.c): what is asked for says how it answers ---- */
static int listener;
static pthread_t server;

static void
answer(int fd)
{
    char request[4096], text[1024];
    size_t length = 0;
    int status = 200;

    do {
        const ssize_t n = recv(fd, request + length, sizeof request - 1 - length, 0);

        if (n <= 0) {
            return;
        }
        length += (size_t)n;
        request[length] = '\0';
    } while (strstr(request, "\r\n\r\n") == NULL);
    if (strncmp(request, "PUT ", 4) == 0) {
        snprintf(text, sizeof text,
                "HTTP/1.1 422 No\r\nContent-Type: application/problem+json\r\n"
                "Content-Length: %zu\r\nConnection: close\r\n\r\n" PROBLEM,
                strlen(PROBLEM));
    } else {
        status = strncmp(request, "GET /login ", 11) == 0 && strstr(request, SECRET) == NULL ? 401
                                                                                             : 200;
        sscanf(request, "GET /%d", &status);
        snprintf(text, sizeof text, "HTTP/1.1 %d X\r\nConnection: close\r\n" NO_FILE, status);
    }
    send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static void *
serve(void *data)
{
    int fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        answer(fd);
        close(fd);
    }
    return NULL;
}

static void
set_up(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    char json[2048];
    unsigned port;

    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 16), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    port = ntohs(address.sin_port);
    ck_assert_int_eq(pthread_create(&server, NULL, serve, NULL), 0);
    snprintf(json, sizeof json,
            "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},\"write\":{\"allow\":["
            "\"${workspace}\"]}},\"environment\":{\"set\":{\"PATH\":\"/usr/bin:/bin\",\"no_proxy\":"
            "\"*\",\"URL\":\"http://hr.test:%u\",\"PLAIN\":\"http://plain.test:%u\"}},"
            "\"network\":{\"mode\":\"filtered\",\"allow\":[\"plain.test:%u\",{\"host\":\"hr.test:%"
            "u\","
            "\"http\":[{\"methods\":[\"GET\"],\"path\":\"/**\"},{\"methods\":[\"PUT\"],\"path\":"
            "\"/v1/{id}\",\"action\":\"update\"}]}]},"
            "\"actions\":[{\"name\":\"update\",\"verdict\":\"allow\",\"arguments\":{\"id\":{"
            "\"type\":\"string\"}}}],"
            "\"credentials\":[{\"name\":\"hr\",\"env\":\"TOK\",\"hosts\":[\"hr.test:%u\"],\"as\":["
            "\"bearer\"],\"clear_text\":true}]}",
            port, port, port, port, port);
    abxtest_open(&test, json);
    ck_assert_int_eq(
            abx_box_set_credential(test.box, "hr", SECRET, strlen(SECRET), 0, NULL), ABX_OK);
}

static void
tear_down(void)
{
    abxtest_result_done(&result);
    result = (struct abxtest_result){ .output = NULL };
    abxtest_close(&test);
    shutdown(listener, SHUT_RDWR);
    pthread_join(server, NULL);
    close(listener);
}

/* ---- what is told ---- */
static const struct failure_case {
    const char *name, *script;
    const char *told[3]; /* parts of the explanation; all NULL: it is empty */
} failure_cases[] = {
    { "no login", "curl -fsS $URL/401",
            { "What follows failed because of who asks",
                    "/401' by '/usr/bin/curl': the server answered 401: it wants a login, and the "
                    "credential 'hr' was not sent. ",
                    "Instead: send what the variable TOK holds, as it is.\n" } },
    { "a login that is not accepted", "curl -fsS -H \"Authorization: Bearer $TOK\" $URL/401",
            { "What follows failed because of who asks",
                    "the server answered 401: it does not accept the credential 'hr', which the "
                    "host gave.",
                    "Instead: ask for another credential 'hr' or a new login" } },
    { "no right", "curl -fsS -H \"Authorization: Bearer $TOK\" $URL/403",
            { "What follows failed because of who asks",
                    "the server answered 403: who has the credential 'hr' may not do this.",
                    "Instead: ask for the right" } },
    { "values of an action", "for i in 1 2; do curl -fsS -X PUT $URL/v1/7; done",
            { "That is not the sandbox: correct the values",
                    "/v1/7') by '/usr/bin/curl', 2 times: the server answered 422: it does not "
                    "take "
                    "the values of this action. It says: 'Too late', 'May is paid'. It does not "
                    "take: '#/month'.",
                    "Instead: correct the values by what the answer says" } },
    { "no terminal", "bash -c ': >/dev/tty'",
            { "What follows wanted to ask a person, who is not there",
                    "- write '/dev/tty' by '/usr/bin/bash': the command has no controlling "
                    "terminal.",
                    "Instead: use options with which it asks nobody" } },
    { "a look whether there is a terminal", "bash -c true; test -t 0; exit 1", { NULL } },
    { "a login that is sent when it is asked for",
            "curl -fsS $URL/login; curl -fsS -H \"Authorization: Bearer $TOK\" $URL/login && exit "
            "1",
            { NULL } },
    { "a login for something else",
            "curl -fsS $URL/401; curl -fsS -H \"Authorization: Bearer $TOK\" $URL/200; exit 1",
            { "the server answered 401: it wants a login" } },
    { "what is not there", "curl -fsS $URL/404", { NULL } },
    { "a fault of the server", "curl -fsS $URL/500", { NULL } },
    { "a host whose requests nobody reads", "curl -fsS $PLAIN/401", { NULL } },
    { "a fault of the command", "exit 3", { NULL } },
};

START_TEST(a_failure_is_told_by_its_class_with_what_to_do_next)
{
    const struct failure_case *c = &failure_cases[_i];

    abxtest_run(&test, c->script, &result);
    ck_assert_int_ne(result.exit.code, 0);
    ck_assert_uint_eq(result.exit.denials, 0);
    ck_assert_msg(
            c->told[0] != NULL || result.explain[0] == '\0', "%s: %s", c->name, result.explain);
    for (size_t i = 0; i < N_ELEMENTS(c->told) && c->told[i] != NULL; i++) {
        ck_assert_msg(strstr(result.explain, c->told[i]) != NULL, "%s: '%s' in %s\n%s", c->name,
                c->told[i], result.explain, result.errors);
    }
    ck_assert_ptr_null(strstr(result.explain, SECRET));
}
END_TEST

START_TEST(who_has_a_terminal_is_told_nothing)
{
    const abx_spawn_options options = { .size = sizeof options,
        .stdio = { ABX_STDIO_PTY, ABX_STDIO_PTY, ABX_STDIO_PTY } };
    abx_process *process = abxtest_spawn(&test, ": >/dev/tty", &options);
    abx_exit ended = { .size = sizeof ended };
    char *text;

    ck_assert_int_eq(abx_process_wait(process, 20000, &ended), ABX_OK);
    ck_assert_int_eq(ended.code, 0);
    ck_assert_int_eq(abx_process_explain(process, "text", &text, NULL), ABX_OK);
    ck_assert_str_eq(text, "");
    abx_free(text);
    abx_process_unref(process);
}
END_TEST

START_TEST(where_names_decide_about_reads_a_terminal_to_read_from_is_missed_too)
{
    abxtest_open(&test,
            "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"],\"deny\":[\"**/*.key\"]},"
            "\"write\":{\"allow\":[\"${workspace}\"]}}}");
    abxtest_run(&test, "bash -c ': </dev/tty'", &result);
    ck_assert_msg(strstr(result.explain,
                          "- read '/dev/tty' by '/usr/bin/bash': the command has no controlling "
                          "terminal. Instead: ") != NULL,
            "%s\n%s", result.explain, result.errors);
    ck_assert_ptr_nonnull(strstr(result.errors, "No such device or address"));
    abxtest_result_done(&result);
    result = (struct abxtest_result){ .output = NULL };
    abxtest_close(&test);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("live_failures");
    TCase *tcase = tcase_create("failures");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_failure_is_told_by_its_class_with_what_to_do_next, 0,
            (int)N_ELEMENTS(failure_cases));
    tcase_add_test(tcase, who_has_a_terminal_is_told_nothing);
    suite_add_tcase(suite, tcase);
    tcase = tcase_create("patterns");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, where_names_decide_about_reads_a_terminal_to_read_from_is_missed_too);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
