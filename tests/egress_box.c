/* SPDX-License-Identifier: Apache-2.0 */
#include "egress_box.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 10000
#define TOLD_MAX 64

struct egress *the_egress;
struct egress_box *the_box;

static abx_policy *policy;
static size_t descriptors;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
    char beginning[64];
    abx_verdict verdict;
} rules[8];
static size_t n_rules, n_asked, n_accepted, n_withdrawn, n_told, n_taken;
static uint64_t last_ticket;
static struct told told[TOLD_MAX];

static void
wait_locked(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_MS / 1000;
    ck_assert_int_eq(pthread_cond_timedwait(&changed, &lock, &until), 0);
}

static void
note(uint32_t type, const struct act *act, const char *rule, const char *reason,
        const char *alternative)
{
    struct told *place = &told[n_told % TOLD_MAX];

    *place = (struct told){ .type = type,
        .request = act->request,
        .layer = act->layer,
        .port = act->port,
        .status = act->reply == NULL ? 0 : act->reply->status };
    if (act->reply != NULL && act->reply->problem != NULL) {
        snprintf(place->problem, sizeof place->problem, "%s", act->reply->problem);
    }
    snprintf(place->target, sizeof place->target, "%s", act->target);
    snprintf(place->asked, sizeof place->asked, "%s", act->asked == NULL ? "" : act->asked);
    snprintf(place->action, sizeof place->action, "%s", act->action == NULL ? "" : act->action);
    snprintf(place->rule, sizeof place->rule, "%s", rule == NULL ? "" : rule);
    snprintf(place->reason, sizeof place->reason, "%s", reason == NULL ? "" : reason);
    snprintf(place->alternative, sizeof place->alternative, "%s",
            alternative == NULL ? "" : alternative);
    n_told++;
    pthread_cond_broadcast(&changed);
}

static char last_body[1024], last_bound[1024];
static uint64_t allowing;
static const char *next_key;

void
broker_gives_key(const char *key)
{
    next_key = key;
}

const char *
broker_body(void)
{
    static char copy[sizeof last_body];

    pthread_mutex_lock(&lock);
    memcpy(copy, last_body, sizeof copy);
    pthread_mutex_unlock(&lock);
    return copy;
}

const char *
broker_bound(void)
{
    static char copy[sizeof last_bound];

    pthread_mutex_lock(&lock);
    memcpy(copy, last_bound, sizeof copy);
    pthread_mutex_unlock(&lock);
    return copy;
}

void
broker_allows_by(uint64_t grant)
{
    pthread_mutex_lock(&lock);
    allowing = grant;
    pthread_mutex_unlock(&lock);
}

void
broker_takes_back(uint64_t grant, uint64_t ticket)
{
    egress_revoke_requests(the_box, grant, ticket);
}

static abx_verdict
decide(void *data, const struct subject *subject, const struct act *act, uint64_t *ret_ticket)
{
    abx_verdict verdict = ABX_VERDICT_ALLOW;

    pthread_mutex_lock(&lock);
    n_asked++;
    snprintf(last_body, sizeof last_body, "%.*s", (int)act->body_length,
            act->body == NULL ? "" : act->body);
    if (act->unreadable != NULL) {
        snprintf(last_body, sizeof last_body, "%s", act->unreadable);
    }
    if (act->key != NULL && next_key != NULL) {
        snprintf(act->key, ACTION_KEY_SIZE, "%s", next_key);
    }
    for (size_t i = 0; i < n_rules; i++) {
        if (strncmp(act->target, rules[i].beginning, strlen(rules[i].beginning)) == 0) {
            verdict = rules[i].verdict;
        }
    }
    if (verdict == ABX_VERDICT_ALLOW && allowing != 0 && act->by != NULL) {
        *act->by = allowing;
    }
    if (verdict != ABX_VERDICT_ALLOW && act->refusal != NULL) {
        *act->refusal = (struct refusal){
            .rule = "/network/deny/0", .reason = "the test says no", .alternative = "ask the test"
        };
    }
    if (verdict == ABX_VERDICT_DENY && !act->quiet) {
        note(0, act, "/network/deny/0", "the test says no", "ask the test");
    }
    if (verdict == ABX_VERDICT_ASK && !act->quiet) {
        snprintf(last_bound, sizeof last_bound, "%s", act->bound == NULL ? "" : act->bound);
        *ret_ticket = ++last_ticket;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return verdict;
}

static void
revoked(void *data, const struct subject *subject, const struct act *act)
{
    pthread_mutex_lock(&lock);
    note(0, act, "grant:revoked", "the host took the grant back", NULL);
    pthread_mutex_unlock(&lock);
}

static void
withdraw(void *data, uint64_t ticket)
{
    pthread_mutex_lock(&lock);
    n_withdrawn++;
    pthread_mutex_unlock(&lock);
}

static void
accepted(void *data, const struct subject *subject, const struct act *act)
{
    pthread_mutex_lock(&lock);
    n_accepted++;
    pthread_mutex_unlock(&lock);
}

size_t
broker_accepted(void)
{
    size_t n;

    pthread_mutex_lock(&lock);
    n = n_accepted;
    pthread_mutex_unlock(&lock);
    return n;
}

static void
report(void *data, uint32_t type, const struct subject *subject, const struct act *act,
        const char *rule, const char *reason, const char *alternative)
{
    pthread_mutex_lock(&lock);
    note(type, act, rule, reason, alternative);
    pthread_mutex_unlock(&lock);
}

static const struct broker broker = { .decide = decide,
    .revoked = revoked,
    .withdraw = withdraw,
    .report = report,
    .accepted = accepted };

void
broker_says(const char *beginning, abx_verdict verdict)
{
    pthread_mutex_lock(&lock);
    snprintf(rules[n_rules].beginning, sizeof rules[0].beginning, "%s", beginning);
    rules[n_rules++].verdict = verdict;
    pthread_mutex_unlock(&lock);
}

static size_t
read_locked(const size_t *number)
{
    size_t value;

    pthread_mutex_lock(&lock);
    value = *number;
    pthread_mutex_unlock(&lock);
    return value;
}

size_t
broker_asked(void)
{
    return read_locked(&n_asked);
}

size_t
broker_withdrawn(void)
{
    return read_locked(&n_withdrawn);
}

uint64_t
broker_ticket(void)
{
    uint64_t ticket;

    pthread_mutex_lock(&lock);
    while (last_ticket == 0) {
        wait_locked();
    }
    ticket = last_ticket;
    pthread_mutex_unlock(&lock);
    return ticket;
}

void
broker_tells(struct told *ret_told)
{
    pthread_mutex_lock(&lock);
    while (n_taken == n_told) {
        wait_locked();
    }
    *ret_told = told[n_taken++ % TOLD_MAX];
    pthread_mutex_unlock(&lock);
}

bool
broker_is_quiet(void)
{
    bool quiet;

    pthread_mutex_lock(&lock);
    quiet = n_taken == n_told;
    pthread_mutex_unlock(&lock);
    return quiet;
}

/* ---- a resolver and a network without a network: these take the place of libc's ---- */
static bool is_quick;
static size_t n_slow, n_lookups;

void
resolver_be_quick(void)
{
    pthread_mutex_lock(&lock);
    is_quick = true;
    pthread_cond_broadcast(&changed);
    while (n_slow > 0) {
        wait_locked();
    }
    pthread_mutex_unlock(&lock);
}

size_t
resolver_is_busy_with(void)
{
    return read_locked(&n_slow);
}

size_t
resolver_was_asked(void)
{
    return read_locked(&n_lookups);
}

static void
wait_until_quick(void)
{
    pthread_mutex_lock(&lock);
    n_slow++;
    while (!is_quick) {
        wait_locked();
    }
    n_slow--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void
add_answer(struct addrinfo **list, const char *address, const char *service)
{
    struct {
        struct addrinfo info;
        struct sockaddr_in in;
    } *answer = calloc(1, sizeof *answer);

    ck_assert_ptr_nonnull(answer);
    answer->in.sin_family = AF_INET;
    answer->in.sin_port = htons((uint16_t)atoi(service));
    ck_assert_int_eq(inet_pton(AF_INET, address, &answer->in.sin_addr), 1);
    answer->info = (struct addrinfo){ .ai_family = AF_INET,
        .ai_socktype = SOCK_STREAM,
        .ai_addr = (struct sockaddr *)&answer->in,
        .ai_addrlen = sizeof answer->in };
    while (*list != NULL) {
        list = &(*list)->ai_next;
    }
    *list = &answer->info;
}

int
getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
        struct addrinfo **ret_list)
{
    static const char *const known[][3] = { { "localhost", "127.0.0.1" },
        { "public.test", "8.8.8.8" }, { "mixed.test", "10.0.0.1", "8.8.8.8" },
        { "private.test", "10.0.0.1" } };

    pthread_mutex_lock(&lock);
    n_lookups++;
    pthread_mutex_unlock(&lock);
    *ret_list = NULL;
    if (strncmp(node, "slow", 4) == 0) {
        wait_until_quick();
        add_answer(ret_list, "127.0.0.1", service);
        return 0;
    }
    for (size_t i = 0; i < N_ELEMENTS(known); i++) {
        for (size_t j = 1; strcmp(known[i][0], node) == 0 && j < 3 && known[i][j] != NULL; j++) {
            add_answer(ret_list, known[i][j], service);
        }
    }
    return *ret_list == NULL ? EAI_NONAME : 0;
}

void
freeaddrinfo(struct addrinfo *list)
{
    while (list != NULL) {
        struct addrinfo *next = list->ai_next;

        free(list);
        list = next;
    }
}

int
connect(int fd, const struct sockaddr *address, socklen_t length)
{
    struct sockaddr_in in;

    if (address->sa_family == AF_INET) {
        memcpy(&in, address, sizeof in);
        if (in.sin_addr.s_addr == htonl(0x08080808)) {
            in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        }
        address = (const struct sockaddr *)&in;
        length = sizeof in;
    }
    return (int)syscall(SYS_connect, fd, address, length);
}

/* ---- the box ---- */
static size_t
count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t n = 0;

    ck_assert_ptr_nonnull(folder);
    while (readdir(folder) != NULL) {
        n++;
    }
    closedir(folder);
    return n;
}

struct egress_upstream egress_box_upstream;
const char *egress_box_identity;

struct egress_setup
egress_box_setup(void)
{

    return (struct egress_setup){ .policy = policy,
        .broker = &broker,
        .backend = "test",
        .upstream = egress_box_upstream,
        .identity = egress_box_identity };
}

void
egress_box_open(const char *format, ...)
{
    struct egress_setup setup;
    struct fail fail = { 0 };
    abx_error *error = NULL;
    char *json;
    va_list arguments;

    va_start(arguments, format);
    ck_assert_int_gt(vasprintf(&json, format, arguments), 0);
    va_end(arguments);
    pthread_mutex_lock(&lock);
    n_rules = n_asked = n_accepted = n_withdrawn = n_told = n_taken = 0;
    last_ticket = allowing = 0;
    is_quick = false;
    pthread_mutex_unlock(&lock);
    descriptors = descriptors == 0 ? count_descriptors() : descriptors;
    ck_assert_msg(abx_policy_from_json(json, strlen(json), &policy, &error) == ABX_OK, "%s",
            abx_error_get_message(error));
    free(json);
    setup = egress_box_setup();
    ck_assert_msg(egress_new(&the_egress, &fail) == ABX_OK, "%s", fail.text);
    ck_assert_msg(egress_open(the_egress, &setup, &the_box, &fail) == ABX_OK, "%s", fail.text);
}

void
egress_box_close(void)
{
    egress_close(the_box);
    egress_free(the_egress);
    abx_policy_unref(policy);
}

void
egress_box_left_nothing(void)
{
    ck_assert_uint_eq(count_descriptors(), descriptors);
}

/* ---- sockets ---- */
static void
set_non_blocking(int fd)
{
    ck_assert_int_eq(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

int
listen_on_loopback(int backlog, uint16_t *ret_port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(fd, backlog < 0 ? 0 : backlog), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

int
accept_one(int listener)
{
    struct pollfd ready = { .fd = listener, .events = POLLIN };
    int fd;

    ck_assert_int_eq(poll(&ready, 1, WAIT_MS), 1);
    fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static int
connect_to(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

void
tcp_pair(int *ret_program, int *ret_accepted)
{
    uint16_t port;
    int listener = listen_on_loopback(1, &port);

    *ret_program = connect_to(port);
    *ret_accepted = accept_one(listener);
    set_non_blocking(*ret_accepted);
    close(listener);
}

static const struct subject somebody = { .command = 7, .pid = 4711, .program = "/usr/bin/test" };

struct waiting {
    bool done;
    int error;
    uint64_t dialled;
};

static void
dial_done(void *data, int error, uint64_t dialled)
{
    struct waiting *waiting = data;

    pthread_mutex_lock(&lock);
    *waiting = (struct waiting){ true, error, dialled };
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

int
dial_and_wait(const char *name, uint16_t port, enum way way, uint64_t *ret_dialled)
{
    const struct gateway *gateway = egress_gateway(the_box);
    struct destination destination = { .way = way, .name = name, .port = port };
    struct waiting waiting = { 0 };

    gateway->dial(gateway->data, &somebody, &destination, dial_done, &waiting);
    pthread_mutex_lock(&lock);
    while (!waiting.done) {
        wait_locked();
    }
    pthread_mutex_unlock(&lock);
    *ret_dialled = waiting.dialled;
    return waiting.error;
}

int
connect_box(const char *name, uint16_t port, enum way way, uint64_t dialled)
{
    const struct gateway *gateway = egress_gateway(the_box);
    struct destination destination = { .way = way, .name = name, .port = port };
    int program, accepted;

    tcp_pair(&program, &accepted);
    gateway->connected(gateway->data, accepted, &somebody, &destination, dialled);
    return program;
}

void
connect_both(const char *name, int listener, uint16_t port, int *ret_program, int *ret_server)
{
    uint64_t dialled;

    ck_assert_int_eq(dial_and_wait(name, port, WAY_TRANSPARENT, &dialled), 0);
    *ret_server = accept_one(listener);
    *ret_program = connect_box(name, port, WAY_TRANSPARENT, dialled);
}

void
send_bytes(int fd, const void *bytes, size_t length)
{
    ck_assert_int_eq(send(fd, bytes, length, MSG_NOSIGNAL), (ssize_t)length);
}

void
send_text(int fd, const char *text)
{
    send_bytes(fd, text, strlen(text));
}

/* -1: a reset. */
static ssize_t
receive(int fd, char *buffer, size_t room)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    ssize_t n;

    ck_assert_int_eq(poll(&ready, 1, WAIT_MS), 1);
    n = recv(fd, buffer, room, 0);
    ck_assert(n >= 0 || errno == ECONNRESET);
    return n;
}

void
expect_bytes(int fd, const void *bytes, size_t length)
{
    size_t have = 0;
    char buffer[4096];

    ck_assert_uint_lt(length, sizeof buffer);
    while (have < length) {
        ssize_t n = receive(fd, buffer + have, length - have);

        ck_assert_int_gt(n, 0);
        have += (size_t)n;
    }
    ck_assert_mem_eq(buffer, bytes, length);
}

void
expect_text(int fd, const char *text)
{
    expect_bytes(fd, text, strlen(text));
}

const char *
receive_to_end(int fd)
{
    static char text[4096];
    size_t n = 0;
    ssize_t r;

    while ((r = receive(fd, text + n, sizeof text - 1 - n)) > 0) {
        n += (size_t)r;
    }
    text[n] = '\0';
    return text;
}

void
expect_end(int fd)
{
    char byte;

    ck_assert_int_eq(receive(fd, &byte, 1), 0);
}

void
expect_reset(int fd)
{
    char byte;

    ck_assert_int_eq(receive(fd, &byte, 1), -1);
}
