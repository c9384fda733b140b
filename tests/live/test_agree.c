/* SPDX-License-Identifier: Apache-2.0
 * The promise of the simulated backend: the same requests, tried by a program in a real box and
 * only said in a simulated one, come to the same verdicts, events and questions. */
#include "abxtest.h"
#include "unit/main.h"

#include "base/str.h"
#include "base/vec.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUESTS_MAX 512
#define PYTHON "/usr/bin/python3"

static const char rules[] =
        "{\"version\":1,\"name\":\"agree\",\"filesystem\":{"
        "\"read\":{\"allow\":[\"/\",\"${workspace}/secret/open\"],"
        "\"deny\":[{\"path\":\"${workspace}/secret\",\"id\":\"keep\",\"reason\":\"keep out\","
        "\"instead\":\"ask for a copy\"}],\"ask\":[\"${workspace}/askread\"]},"
        "\"write\":{\"allow\":[\"${workspace}\",\"${workspace}/fixed/hole\"],"
        "\"deny\":[{\"path\":\"${workspace}/fixed\",\"reason\":\"it is released\"},\"**/.env\"],"
        "\"ask\":[\"${workspace}/ask\"]},"
        "\"exec\":{\"deny\":[{\"path\":\"${workspace}/noexec\",\"instead\":\"use the tool\"}]}},"
        "\"network\":{\"mode\":\"filtered\",\"host_loopback\":[%u],"
        "\"allow\":[\"allowed.test\",\"*.wild.test:8443\",{\"host\":\"127.0.0.1:%u\",\"http\":["
        "{\"methods\":[\"GET\"],\"path\":\"/open/**\"},{\"methods\":[\"GET\"],\"path\":"
        "\"/act/{id}\",\"action\":\"see\"},{\"methods\":[\"POST\"],\"path\":\"/open/"
        "in\"},{\"methods\":[\"*\"],\"path\":\"/ask/**\",\"action\":\"send\"},"
        "{\"methods\":[\"*\"],\"path\":\"/sign/{id}\",\"action\":\"sign\"}]}],"
        "\"ask\":[\"ask.test\"],"
        "\"deny\":[{\"host\":\"no.wild.test\",\"id\":\"no\",\"reason\":\"closed\"}]},"
        "\"actions\":[{\"name\":\"see\",\"verdict\":\"allow\",\"arguments\":{\"id\":{\"type\":"
        "\"string\"},\"level\":{\"type\":\"integer\",\"maximum\":9,\"optional\":true}}},"
        "{\"name\":\"send\",\"verdict\":\"ask\"},{\"name\":\"sign\",\"verdict\":\"ask\","
        "\"arguments\":{\"id\":{\"type\":\"string\"}}}],"
        "\"environment\":{\"set\":{\"PATH\":\"/usr/bin:/bin\"}},"
        "\"approvals\":{\"timeout_ms\":60000,\"per_minute\":10000}}";

static struct request {
    abx_request request;
    char target[200];
    char line[256]; /* for the program */
    abx_verdict simulated;
} requests[REQUESTS_MAX];
static size_t n_requests;

static struct abxtest test;
static int listener;
static uint16_t port;

/* ---- what is tried ---- */
static void
add(const char *verb, uint32_t kind, uint32_t access, const char *target, uint32_t to,
        const char *method)
{
    struct request *one = &requests[n_requests++];

    ck_assert_uint_le(n_requests, REQUESTS_MAX);
    snprintf(one->target, sizeof one->target, "%s", target);
    one->request = (abx_request){ .size = sizeof one->request,
        .kind = kind,
        .access = access,
        .port = to,
        .target = one->target,
        .verb = method };
    if (method != NULL) {
        snprintf(one->line, sizeof one->line, "%s %s %s\n", verb, method, target);
    } else if (to != 0) {
        snprintf(one->line, sizeof one->line, "%s %s:%u\n", verb, target, to);
    } else {
        snprintf(one->line, sizeof one->line, "%s %s\n", verb, target);
    }
}

static void
add_files(void)
{
    static const char *const directories[] = { "", "plain/", "plain/deep/", "secret/",
        "secret/open/", "secret/open/deep/", "askread/", "fixed/", "fixed/hole/", "ask/", "noexec/",
        "noexec/deep/" };
    static const char *const names[] = { "tool", "yes", "no", ".env", ".bashrc" };
    char path[200];

    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
            snprintf(path, sizeof path, "%s/%s%s", test.workspace, directories[i], names[j]);
            add("read", ABX_REQUEST_PATH, ABX_ACCESS_READ, path, 0, NULL);
            if (strcmp(directories[i], "askread/") == 0) {
                continue; /* what may not always be read cannot be written or run, asked or not */
            }
            add("write", ABX_REQUEST_PATH, ABX_ACCESS_WRITE, path, 0, NULL);
            add("exec", ABX_REQUEST_EXEC, ABX_ACCESS_EXEC, path, 0, NULL);
        }
    }
    add("read", ABX_REQUEST_PATH, ABX_ACCESS_READ, "/etc/hosts", 0, NULL);
    add("read", ABX_REQUEST_PATH, ABX_ACCESS_READ, "/dev/null", 0, NULL);
    add("write", ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/dev/null", 0, NULL);
    add("write", ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/etc/hosts", 0, NULL);
    add("write", ABX_REQUEST_PATH, ABX_ACCESS_WRITE, "/usr/agree", 0, NULL);
}

static void
add_connections(void)
{
    static const char *const hosts[] = { "allowed.test", "Sub.allowed.test", "one.wild.test",
        "no.wild.test", "ask.test", "192.0.2.7", "10.1.2.3", "169.254.169.254" };
    static const uint32_t ports[] = { 80, 443, 8443 };
    static const char *const methods[] = { "GET", "POST", "DELETE" };
    static const char *const paths[] = { "/open/a", "/open/in", "/closed", "/", "/closed?a=b",
        "/act/1", "/act/1?level=3", "/act/1?level=10", "/act/1?level=3;id=2", "/act/1?x=y",
        "/ask/yes", "/ask/no", "/ask/granted/a", "/ask/granted/a?b", "/ask/granted", "/ask/one",
        "/ask/one?a=b", "/sign/1", "/sign/2" };
    char url[200];

    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        for (size_t j = 0; j < sizeof ports / sizeof *ports; j++) {
            add("connect", ABX_REQUEST_CONNECT, 0, hosts[i], ports[j], NULL);
        }
    }
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        for (size_t j = 0; j < sizeof paths / sizeof *paths; j++) {
            snprintf(url, sizeof url, "http://127.0.0.1:%u%s", port, paths[j]);
            add("request", ABX_REQUEST_HTTP, 0, url, 0, methods[i]);
            snprintf(url, sizeof url, "http://localhost:%u%s", port, paths[j]);
            add("request", ABX_REQUEST_HTTP, 0, url, 0, methods[i]);
        }
    }
}

/* Every file is there, as a program, but some of the workspace itself. */
static void
make_files(void)
{
    static const char *const directories[] = { "plain", "plain/deep", "secret", "secret/open",
        "secret/open/deep", "askread", "fixed", "fixed/hole", "ask", "noexec", "noexec/deep" };
    char command[400];

    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        ck_assert_int_eq(mkdir(abxtest_path(&test, directories[i]), 0755), 0);
    }
    snprintf(command, sizeof command,
            "cd %s && for d in %s; do for n in tool yes no .env .bashrc; do cp /usr/bin/true "
            "$d/$n; done; "
            "done && cp /usr/bin/true tool && cp /usr/bin/true yes",
            test.workspace,
            "plain plain/deep secret secret/open secret/open/deep askread fixed fixed/hole ask "
            "noexec noexec/deep");
    ck_assert_int_eq(system(command), 0);
}

/* ---- outside ---- */

/* No name leads anywhere: what may connect is known before. */
int
getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
        struct addrinfo **ret_list)
{
    return EAI_NONAME;
}

static void *
serve(void *data)
{
    static const char answer[] = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
    char buffer[4096];
    int fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        if (read(fd, buffer, sizeof buffer) > 0) {
            (void)!write(fd, answer, sizeof answer - 1);
        }
        close(fd);
    }
    return NULL;
}

static void
listen_somewhere(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t length = sizeof address;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 64), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    port = ntohs(address.sin_port);
}

/* ---- a harness ---- */

/* Allows all but what is called "no", and port 443. */
static void
answer(abx_event *event)
{
    const char *target = abx_event_get_string(event, ABX_FIELD_TARGET);
    bool is_refused = strcmp(target + strlen(target) - 3, "/no") == 0 ||
                      abx_event_get_int(event, ABX_FIELD_PORT) == 443;
    abx_answer said = { .size = sizeof said,
        .verdict = is_refused ? ABX_VERDICT_DENY : ABX_VERDICT_ALLOW,
        .message = is_refused ? "not this one" : NULL };

    ck_assert_int_eq(abx_context_answer(test.context,
                             (uint64_t)abx_event_get_int(event, ABX_FIELD_TICKET), &said, NULL),
            ABX_OK);
}

/* What of an event must be the same, on a line.  The verb is a real call's: a masked name is
 * refused when it is looked up. */
static char *
render(abx_event *event)
{
    static const uint32_t numbers[] = { ABX_FIELD_LAYER, ABX_FIELD_REQUEST, ABX_FIELD_ACCESS,
        ABX_FIELD_PORT, ABX_FIELD_RETRY };
    static const uint32_t texts[] = { ABX_FIELD_TARGET, ABX_FIELD_RULE, ABX_FIELD_SOURCE,
        ABX_FIELD_REASON, ABX_FIELD_ALTERNATIVE, ABX_FIELD_ADDS };
    struct str line = { 0 };

    str_printf(&line, "%s", abx_event_get_type(event) == ABX_EVENT_DENIAL ? "denied" : "asked");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        str_printf(&line, " %d", (int)abx_event_get_int(event, numbers[i]));
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = abx_event_get_string(event, texts[i]);

        str_printf(&line, " '%s'", text == NULL ? "" : text);
    }
    if (abx_event_get_int(event, ABX_FIELD_REQUEST) == ABX_REQUEST_HTTP) {
        const char *bound = abx_event_get_string(event, ABX_FIELD_BOUND);

        str_printf(&line, " %s", bound == NULL ? "" : bound); /* of files nothing is looked at */
    }
    return str_steal(&line, NULL);
}

/* Takes what is queued, and answers. */
static void
take_events(struct vec *told)
{
    abx_event *event;

    while (abx_context_next_event(test.context, &event) == ABX_OK) {
        uint32_t type = abx_event_get_type(event);

        if (type == ABX_EVENT_APPROVAL) {
            answer(event);
        }
        if (type == ABX_EVENT_APPROVAL || type == ABX_EVENT_DENIAL) {
            *(char **)vec_add(told) = render(event);
        }
        abx_event_unref(event);
    }
}

static void
say(struct vec *told)
{
    for (size_t i = 0; i < n_requests; i++) {
        abx_decision decision = { .size = sizeof decision };
        abx_error *error = NULL;
        uint64_t ticket;
        abx_status r =
                abx_box_attempt(test.box, NULL, &requests[i].request, &decision, &ticket, &error);

        ck_assert_msg(r >= 0, "%s%s", requests[i].line, abx_error_get_message(error));
        take_events(told);
        if (r == ABX_NONE) {
            ck_assert_int_eq(abx_box_outcome(test.box, ticket, -1, &decision.verdict), ABX_OK);
        }
        requests[i].simulated = decision.verdict;
    }
    take_events(told);
}

/* The program's answers, one a line; the caller frees. */
static char *
do_them(struct vec *told)
{
    const char *const argv[] = { PYTHON, abxtest_path(&test, "agree.py"), NULL };
    abx_spawn_options options = { .size = sizeof options,
        .stdio = { ABX_STDIO_PIPE, ABX_STDIO_CAPTURE, ABX_STDIO_CAPTURE } };
    abx_exit ended = { .size = sizeof ended };
    struct pollfd wait = { .fd = (int)abx_context_take_wait_handle(test.context),
        .events = POLLIN };
    abx_process *process;
    abx_error *error = NULL;
    char *output;
    int fd;

    ck_assert_msg(abx_box_spawn(test.box, argv, &options, &process, &error) == ABX_OK, "%s",
            abx_error_get_message(error));
    fd = (int)abx_process_take_stdio(process, 0);
    for (size_t i = 0; i < n_requests; i++) {
        size_t length = strlen(requests[i].line);

        ck_assert_int_eq(write(fd, requests[i].line, length), (ssize_t)length);
    }
    close(fd);
    while (abx_process_wait(process, 0, &ended) == ABX_NONE) {
        ck_assert_int_eq(poll(&wait, 1, 20000), 1);
        take_events(told);
    }
    take_events(told);
    close(wait.fd);
    ck_assert_msg(ended.code == 0, "%s", abx_process_get_output(process, 2, NULL));
    output = strdup(abx_process_get_output(process, 1, NULL));
    abx_process_unref(process);
    return output;
}

/* ---- the promise ---- */
static int
compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines that only one of them has; returns how many. */
static int
print_difference(struct vec *simulated, struct vec *real)
{
    size_t i = 0, j = 0;
    int count = 0;

    qsort(simulated->data, simulated->count, sizeof(char *), compare_lines);
    qsort(real->data, real->count, sizeof(char *), compare_lines);
    while (i < simulated->count || j < real->count) {
        const char *left = i < simulated->count ? *vec_at(simulated, char *, i) : NULL;
        const char *right = j < real->count ? *vec_at(real, char *, j) : NULL;
        int order = left == NULL ? 1 : right == NULL ? -1 : strcmp(left, right);

        if (order != 0) {
            fprintf(stderr, "only %s: %s\n", order < 0 ? "simulated" : "real",
                    order < 0 ? left : right);
            count++;
        }
        i += order <= 0;
        j += order >= 0;
    }
    return count;
}

static int
print_other_verdicts(char *output)
{
    char *rest = NULL;
    char *line = strtok_r(output, "\n", &rest);
    int count = 0;

    for (size_t i = 0; i < n_requests; i++) {
        const char *said = requests[i].simulated == ABX_VERDICT_ALLOW ? "allow" : "deny";

        if (line == NULL || strcmp(line, said) != 0) {
            fprintf(stderr, "simulated %s, real %s: %s", said, line == NULL ? "nothing" : line,
                    requests[i].line);
            count++;
        }
        line = line == NULL ? NULL : strtok_r(NULL, "\n", &rest);
    }
    return count;
}

static void
free_lines(struct vec *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        free(*vec_at(lines, char *, i));
    }
    vec_done(lines);
}

static void
give(uint32_t kind, const char *verb, const char *target)
{
    char url[200];
    const abx_request pattern = { .size = sizeof pattern,
        .kind = kind,
        .verb = verb,
        .target = kind == ABX_REQUEST_HTTP ? url : target };
    abx_error *error = NULL;
    uint64_t given;

    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", port, target);
    ck_assert_msg(abx_box_grant(test.box, &pattern, 0, 0, NULL, &given, &error) == ABX_OK, "%s",
            abx_error_get_message(error));
}

static void
open_box(uint32_t backend)
{
    abx_context_options options = { .size = sizeof options, .backend = backend };
    abx_error *error = NULL;

    abx_box_unref(test.box);
    abx_context_unref(test.context);
    ck_assert_int_eq(abx_context_new(&options, &test.context, &error), ABX_OK);
    ck_assert_msg(abx_box_open(test.context, test.policy, NULL, &test.box, &error) == ABX_OK, "%s",
            abx_error_get_message(error));
    give(ABX_REQUEST_HTTP, "GET", "/ask/granted/**");
    give(ABX_REQUEST_HTTP, "POST", "/ask/one?a=b");
    give(ABX_REQUEST_ACTION, "{\"id\":\"1\"}", "sign");
}

START_TEST(simulated_and_real_agree)
{
    struct vec simulated = VEC(char *), real = VEC(char *);
    pthread_t thread;
    char *output;
    int other;

    open_box(ABX_BACKEND_SIMULATED);
    say(&simulated);
    open_box(ABX_BACKEND_NATIVE);
    pthread_create(&thread, NULL, serve, NULL);
    output = do_them(&real);
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    ck_assert_uint_ge(n_requests, 200);
    ck_assert_uint_ge(simulated.count, 50);
    other = print_other_verdicts(output) + print_difference(&simulated, &real);
    ck_assert_int_eq(other, 0);
    free(output);
    free_lines(&simulated);
    free_lines(&real);
}
END_TEST

static void
set_up(void)
{
    char json[sizeof rules + 16], command[400];

    listen_somewhere();
    snprintf(json, sizeof json, rules, port, port);
    abxtest_start(&test, json);
    make_files();
    snprintf(command, sizeof command, "cp %s/tests/live/agree.py %s/", AGENTBOX_SOURCE_ROOT,
            test.workspace);
    ck_assert_int_eq(system(command), 0);
    add_files();
    add_connections();
}

static void
tear_down(void)
{
    close(listener);
    test.before.descriptors--; /* the listener stood before */
    abxtest_close(&test);
}

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("agree");
    TCase *tests = tcase_create("promise");

    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, simulated_and_real_agree);
    suite_add_tcase(suite, tests);
    return suite;
}

UNIT_MAIN(make_suite)
