/* SPDX-License-Identifier: Apache-2.0
 * What stands for secrets becomes one in its place of a request to its host, and nowhere else; and
 * in the answer the other way round, however the bytes are cut. */
#include "egress_box.h"

#include "base/mem.h"
#include "base/str.h"
#include "egress/replace.h"
#include "egress/secrets.h"
#include "egress/thread.h"
#include "unit/main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECRET "zzre/al+12\"34567890"
#define SECRET_IN_URL "zzre%2Fal%2B12%2234567890"
#define DECOY_KEY "wJalrXUtnFEMIdecoyK7MDENGbPxRfiCYDECOYKEY1"

static const char policy[] =
        "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"hr.com\",\"other.com\","
        "\"plain.com\",\"s3.com\"]},\"credentials\":["
        "{\"name\":\"hr\",\"env\":\"HR\",\"hosts\":[\"hr.com\"]},"
        "{\"name\":\"git\",\"env\":\"GITHUB_TOKEN\",\"hosts\":[\"hr.com\"],\"as\":[\"basic\","
        "\"bearer\"]},"
        "{\"name\":\"user\",\"env\":\"U\",\"hosts\":[\"hr.com\"],\"as\":\"basic\",\"user\":\"x-"
        "token\"},"
        "{\"name\":\"all\",\"env\":\"ALL\",\"hosts\":[\"hr.com\",\"plain.com\"],\"as\":[\"header\","
        "\"query\",\"body\"],\"header\":\"X-Key\",\"query\":\"key\",\"clear_text\":true},"
        "{\"name\":\"s3\",\"hosts\":[\"s3.com\"],\"as\":\"sigv4\"}]}";
enum { HR, GIT, USER, ALL, S3 };

/* One request, and what became of it. */
struct run {
    const char *host;
    bool tls;
    const char *head, *body; /* with {hr} and so on for stand-ins */
    enum replace_result result;
    int status;
    struct refusal refusal;
    char *new_head, *new_body;
    bool wants_body;
};

static const struct subject somebody = { .command = 7, .pid = 4711, .program = "/usr/bin/curl" };

static char *
text_of(struct evbuffer *buffer)
{
    size_t length = evbuffer_get_length(buffer);
    char *text = malloc(length + 1);

    evbuffer_copyout(buffer, text, length);
    text[length] = '\0';
    return text;
}

/* Puts in what stands for the names in braces. */
static char *
fill(const char *text)
{
    static const char *const names[] = { "{hr}", "{git}", "{user}", "{all}", "{s3}", "{id}" };
    struct secrets *secrets = egress_secrets(the_box);
    struct str out = { 0 };

    while (*text != '\0') {
        bool known = false;

        for (size_t i = 0; i < N_ELEMENTS(names) && !known; i++) {
            if (strncmp(text, names[i], strlen(names[i])) == 0) {
                str_add(&out, i == 5 ? secrets_key_id(secrets, S3) : secrets_stand_in(secrets, i));
                text += strlen(names[i]);
                known = true;
            }
        }
        if (!known) {
            str_add_bytes(&out, text++, 1);
        }
    }
    return str_steal(&out, NULL);
}

static void
never_ready(void *data)
{
}

static struct replace *
start(const char *host, bool tls, void (*ready)(void *data), void *data)
{
    return replace_new(&(struct replace_setup){ .box = the_box,
            .subject = &somebody,
            .host = host,
            .port = tls ? 443 : 80,
            .tls = tls,
            .ready = ready,
            .data = data });
}

static void
run_here(void *data)
{
    struct run *run = data;
    struct replace *replace = start(run->host, run->tls, never_ready, NULL);
    struct evbuffer *head = evbuffer_new(), *body = evbuffer_new();

    evbuffer_add(head, run->head, strlen(run->head));
    if (run->body != NULL) {
        evbuffer_add(body, run->body, strlen(run->body));
    }
    run->wants_body = replace_wants_body(replace);
    run->result = replace_request(replace, head, run->body == NULL ? NULL : body);
    if (run->result == REPLACE_REFUSED) {
        run->status = replace_status(replace);
        run->refusal = *replace_refusal(replace);
    }
    run->new_head = text_of(head);
    run->new_body = text_of(body);
    evbuffer_free(head);
    evbuffer_free(body);
    replace_free(replace);
}

static void
run_request(struct run *run)
{
    char *head = fill(run->head), *body = run->body == NULL ? NULL : fill(run->body);

    run->head = head;
    run->body = body;
    egress_call(the_egress, run_here, run);
    free(head);
    free(body);
}

static void
run_done(struct run *run)
{
    free(run->new_head);
    free(run->new_body);
}

static void
give(const char *name, const char *secret)
{
    struct fail fail = { 0 };

    ck_assert_msg(egress_set_secret(the_box, name, secret, strlen(secret), 0, &fail) == ABX_OK,
            "%s", fail.text);
}

static void
open_box(void)
{
    struct fail fail;

    egress_box_open("%s", policy);
    ck_assert_int_eq(secrets_add_decoy(egress_secrets(the_box), "/home/u/.aws/credentials",
                             "[default]\naws_secret_access_key = " DECOY_KEY "\n", &fail),
            ABX_OK);
}

static void
open_with_secrets(void)
{
    open_box();
    give("hr", SECRET);
    give("git", "ghp_real1234");
    give("user", "real password");
    give("all", SECRET);
    give("s3", "AKIAREALREALREALREAL:realSecretKey0123456789");
}

static const struct request_case {
    const char *name, *host;
    bool tls;
    const char *head, *body, *new_head, *new_body;
} request_cases[] = {
    { "a bearer", "hr.com", true,
            "GET / HTTP/1.1\r\nHost: hr.com\r\nAuthorization: Bearer {hr}\r\n\r\n", NULL,
            "GET / HTTP/1.1\r\nHost: hr.com\r\nAuthorization: Bearer " SECRET
            "\r\nAccept-Encoding: identity\r\n\r\n",
            "" },
    { "a token of GitHub's", "hr.com", true,
            "GET / HTTP/1.1\r\nauthorization:token {git} \r\nAccept-Encoding: gzip, br\r\n\r\n",
            NULL,
            "GET / HTTP/1.1\r\nauthorization:token ghp_real1234 \r\nAccept-Encoding: "
            "identity\r\n\r\n",
            "" },
    { "nothing to replace, and an answer that will be read", "hr.com", true,
            "GET / HTTP/1.1\r\nHost: hr.com\r\n\r\n", NULL,
            "GET / HTTP/1.1\r\nHost: hr.com\r\nAccept-Encoding: identity\r\n\r\n", "" },
    { "a host without credentials", "other.com", true,
            "GET /zz HTTP/1.1\r\nAccept-Encoding: gzip\r\n\r\n", NULL,
            "GET /zz HTTP/1.1\r\nAccept-Encoding: gzip\r\n\r\n", "" },
    { "a field", "hr.com", true, "GET / HTTP/1.1\r\nx-key: {all}\r\n\r\n", NULL,
            "GET / HTTP/1.1\r\nx-key: " SECRET "\r\nAccept-Encoding: identity\r\n\r\n", "" },
    { "a parameter", "hr.com", true, "GET /a?b=c&key={all}&d HTTP/1.1\r\n\r\n", NULL,
            "GET /a?b=c&key=" SECRET_IN_URL "&d HTTP/1.1\r\nAccept-Encoding: identity\r\n\r\n",
            "" },
    { "a body", "hr.com", true, "POST / HTTP/1.1\r\nContent-Length: 51\r\n\r\n", "<{all}>",
            "POST / HTTP/1.1\r\nContent-Length: 21\r\nAccept-Encoding: identity\r\n\r\n",
            "<" SECRET ">" },
    { "a form", "hr.com", true,
            "POST / HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: "
            "51\r\n\r\n",
            "k={all}",
            "POST / HTTP/1.1\r\nContent-Type: "
            "application/x-www-form-urlencoded\r\nContent-Length: 27\r\nAccept-Encoding: "
            "identity\r\n\r\n",
            "k=" SECRET_IN_URL },
    { "JSON, twice", "hr.com", true,
            "POST / HTTP/1.1\r\nContent-Type: application/json; "
            "charset=utf-8\r\nContent-Length: 51\r\n\r\n",
            "[\"{all}\",\"{all}\"]",
            "POST / HTTP/1.1\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: "
            "47\r\nAccept-Encoding: identity\r\n\r\n",
            "[\"zzre/al+12\\\"34567890\",\"zzre/al+12\\\"34567890\"]" },
    { "without TLS, where that is allowed", "plain.com", false,
            "GET / HTTP/1.1\r\nX-Key: {all}\r\n\r\n", NULL,
            "GET / HTTP/1.1\r\nX-Key: " SECRET "\r\nAccept-Encoding: identity\r\n\r\n", "" },
};

START_TEST(a_stand_in_becomes_the_secret_in_its_place)
{
    const struct request_case *c = &request_cases[_i];
    struct run run = { .host = c->host, .tls = c->tls, .head = c->head, .body = c->body };

    open_with_secrets();
    run_request(&run);
    ck_assert_msg(run.result == REPLACE_DONE, "%s: %s", c->name, run.refusal.reason);
    ck_assert_msg(strcmp(run.new_head, c->new_head) == 0, "%s: %s", c->name, run.new_head);
    ck_assert_msg(strcmp(run.new_body, c->new_body) == 0, "%s: %s", c->name, run.new_body);
    ck_assert_msg(run.wants_body == (strcmp(c->host, "other.com") != 0), "%s", c->name);
    ck_assert(broker_is_quiet());
    run_done(&run);
    egress_box_close();
}
END_TEST

static const struct refused_case {
    const char *name, *host;
    bool tls;
    const char *head, *body;
    const char *target, *rule, *reason, *alternative; /* of the event */
} refused_cases[] = {
    { "another host", "other.com", true, "GET / HTTP/1.1\r\nAuthorization: Bearer {hr}\r\n\r\n",
            NULL, "hr", NULL, "the test says no", "ask the test" },
    { "without TLS", "hr.com", false, "GET / HTTP/1.1\r\nAuthorization: Bearer {hr}\r\n\r\n", NULL,
            "hr", "/credentials/0", "does not send this credential without TLS", "https" },
    { "a path", "hr.com", true, "GET /{hr} HTTP/1.1\r\n\r\n", NULL, "hr", "/credentials/0",
            "in another place", "send it only as bearer" },
    { "a parameter that is not its own", "hr.com", true, "GET /?kez={all} HTTP/1.1\r\n\r\n", NULL,
            "all", "/credentials/3", "in another place",
            "send it only as header 'X-Key' or query 'key' or body" },
    { "the name of a parameter", "hr.com", true, "GET /?{all}=key HTTP/1.1\r\n\r\n", NULL, "all",
            "/credentials/3", "in another place", "" },
    { "a parameter behind another", "hr.com", true, "GET /?key=a&{all} HTTP/1.1\r\n\r\n", NULL,
            "all", "/credentials/3", "in another place", "" },
    { "a field that is not its own", "hr.com", true, "GET / HTTP/1.1\r\nX-Debug: {hr}\r\n\r\n",
            NULL, "hr", "/credentials/0", "in another place", "" },
    { "the name of a field", "hr.com", true, "GET / HTTP/1.1\r\n{all}: X-Key\r\n\r\n", NULL, "all",
            "/credentials/3", "in another place", "" },
    { "a scheme", "hr.com", true, "GET / HTTP/1.1\r\nAuthorization: {hr}\r\n\r\n", NULL, "hr",
            "/credentials/0", "in another place", "" },
    { "a cookie", "hr.com", true, "GET / HTTP/1.1\r\nCookie: a={hr}\r\n\r\n", NULL, "hr",
            "/credentials/0", "in another place", "" },
    { "a body", "hr.com", true, "POST / HTTP/1.1\r\nContent-Length: 40\r\n\r\n", "{hr}", "hr",
            "/credentials/0", "in another place", "" },
    { "a decoy's secret", "other.com", true, "GET /?a=" DECOY_KEY " HTTP/1.1\r\n\r\n", NULL,
            "/home/u/.aws/credentials", "decoy", "made-up secret", "" },
    { "a decoy's secret in a body", "hr.com", true, "POST / HTTP/1.1\r\n\r\n", "x" DECOY_KEY,
            "/home/u/.aws/credentials", "decoy", "made-up secret", "" },
    { "two fields of authorization", "hr.com", true,
            "GET / HTTP/1.1\r\nAuthorization: Bearer {hr}\r\nAuthorization: Bearer mine\r\n\r\n",
            NULL, "credentials", "boundary:credential", "several Authorization fields", "" },
    { "a key that is not for this", "s3.com", true,
            "GET / HTTP/1.1\r\nAuthorization: Bearer {s3}\r\n\r\n", NULL, "s3", "/credentials/4",
            "in another place", "send it only as sigv4" },
    { "the id of a key", "s3.com", true, "GET / HTTP/1.1\r\nX: {id}\r\n\r\n", NULL, "s3",
            "/credentials/4", "in another place", "" },
    { "a signature that does not verify", "s3.com", true,
            "GET / HTTP/1.1\r\nHost: s3.com\r\nx-amz-date: 20130524T000000Z\r\nAuthorization: "
            "AWS4-HMAC-SHA256 Credential={id}/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;x-amz-date, Signature=98ad\r\n\r\n",
            NULL, "s3", "/credentials/4", "does not verify", "" },
};

START_TEST(a_stand_in_anywhere_else_is_denied_and_told)
{
    const struct refused_case *c = &refused_cases[_i];
    struct run run = { .host = c->host, .tls = c->tls, .head = c->head, .body = c->body };
    struct told told;

    open_with_secrets();
    broker_says(c->target, c->rule == NULL ? ABX_VERDICT_DENY : ABX_VERDICT_ALLOW);
    run_request(&run);
    ck_assert_msg(run.result == REPLACE_REFUSED, "%s: %s", c->name, run.new_head);
    ck_assert_msg(run.status == 403 || run.status == 400, "%s: %d", c->name, run.status);
    broker_tells(&told);
    ck_assert_msg(strcmp(told.target, c->target) == 0, "%s: %s", c->name, told.target);
    ck_assert_msg(c->rule == NULL || strcmp(told.rule, c->rule) == 0, "%s: %s", c->name, told.rule);
    ck_assert_msg(strstr(told.reason, c->reason) != NULL, "%s: %s", c->name, told.reason);
    ck_assert_msg(strstr(run.refusal.alternative, c->alternative) != NULL, "%s: %s", c->name,
            run.refusal.alternative);
    ck_assert_ptr_null(strstr(run.new_head, SECRET));
    ck_assert(broker_is_quiet());
    run_done(&run);
    egress_box_close();
}
END_TEST

static void
encode(const char *text, char *out)
{
    FILE *pipe;
    char command[512];

    snprintf(command, sizeof command, "printf %%s '%s' | base64 -w0", text);
    pipe = popen(command, "re");
    ck_assert_ptr_nonnull(fgets(out, 1024, pipe));
    pclose(pipe);
}

static const struct basic_case {
    const char *name, *pair, *new_pair; /* NULL: denied */
} basic_cases[] = {
    { "a password", "x-access-token:{git}", "x-access-token:ghp_real1234" },
    { "a user who is given", "me:{user}", "x-token:real password" },
    { "no user", ":{git}", ":ghp_real1234" },
    { "a user name", "{git}:x", NULL },
    { "no colon", "{git}", NULL },
    { "another credential", "x:{hr}", NULL },
    { "a decoy", "x:" DECOY_KEY, NULL },
};

START_TEST(a_password_of_basic_is_replaced_although_it_is_encoded)
{
    const struct basic_case *c = &basic_cases[_i];
    char encoded[1024], head[2048], *pair;
    struct run run = { .host = "hr.com", .tls = true, .head = head };

    open_with_secrets();
    pair = fill(c->pair);
    encode(pair, encoded);
    free(pair);
    snprintf(head, sizeof head, "GET / HTTP/1.1\r\nAuthorization: basic %s\r\n\r\n", encoded);
    run_request(&run);
    ck_assert_msg((run.result == REPLACE_DONE) == (c->new_pair != NULL), "%s: %s", c->name,
            run.refusal.reason);
    if (c->new_pair != NULL) {
        encode(c->new_pair, encoded);
        snprintf(head, sizeof head, "Authorization: basic %s\r\n", encoded);
        ck_assert_msg(strstr(run.new_head, head) != NULL, "%s: %s", c->name, run.new_head);
    }
    run_done(&run);
    egress_box_close();
}
END_TEST

/* ---- asking ---- */

struct waiting {
    struct replace *replace;
    struct evbuffer *head;
    enum replace_result result;
    int n_ready;
    char reason[256];
};

static void
try_again(void *data)
{
    struct waiting *waiting = data;

    waiting->n_ready++;
    waiting->result = replace_request(waiting->replace, waiting->head, NULL);
    if (waiting->result == REPLACE_REFUSED) {
        snprintf(waiting->reason, sizeof waiting->reason, "%s",
                replace_refusal(waiting->replace)->reason);
    }
}

static void
begin(void *data)
{
    struct waiting *waiting = data;
    char *text = fill("GET / HTTP/1.1\r\nAuthorization: Bearer {hr}\r\n\r\n");

    waiting->replace = start("hr.com", true, try_again, waiting);
    waiting->head = evbuffer_new();
    evbuffer_add(waiting->head, text, strlen(text));
    free(text);
    waiting->result = replace_request(waiting->replace, waiting->head, NULL);
}

static void
ask_again(void *data)
{
    struct waiting *waiting = data;

    waiting->result = replace_request(waiting->replace, waiting->head, NULL);
}

static void
finish(void *data)
{
    struct waiting *waiting = data;

    replace_free(waiting->replace);
    evbuffer_free(waiting->head);
}

/* Runs behind whatever was posted before. */
static void
nothing(void *data)
{
}

START_TEST(a_request_waits_for_its_secret_and_goes_on)
{
    struct waiting waiting = { 0 };
    char *head;

    open_box();
    broker_says("hr", ABX_VERDICT_ASK);
    egress_call(the_egress, begin, &waiting);
    ck_assert_int_eq(waiting.result, REPLACE_WAIT);
    egress_call(the_egress, ask_again, &waiting); /* too early */
    ck_assert_int_eq(waiting.result, REPLACE_WAIT);
    give("hr", SECRET);
    egress_answer(the_box, broker_ticket(), ABX_VERDICT_ALLOW, NULL);
    egress_call(the_egress, nothing, NULL);
    ck_assert_int_eq(waiting.n_ready, 1);
    ck_assert_int_eq(waiting.result, REPLACE_DONE);
    head = text_of(waiting.head);
    ck_assert_ptr_nonnull(strstr(head, "Bearer " SECRET "\r\n"));
    free(head);
    egress_call(the_egress, finish, &waiting);
    egress_box_close();
}
END_TEST

START_TEST(a_secret_that_is_refused_refuses_the_request)
{
    struct waiting waiting = { 0 };

    open_box();
    broker_says("hr", ABX_VERDICT_ASK);
    egress_call(the_egress, begin, &waiting);
    egress_answer(the_box, broker_ticket(), ABX_VERDICT_DENY, "not today");
    egress_call(the_egress, nothing, NULL);
    ck_assert_int_eq(waiting.result, REPLACE_REFUSED);
    ck_assert_str_eq(waiting.reason, "not today");
    egress_call(the_egress, finish, &waiting);
    egress_box_close();
}
END_TEST

START_TEST(an_answer_without_a_secret_refuses_the_request)
{
    struct waiting waiting = { 0 };

    open_box();
    broker_says("hr", ABX_VERDICT_ASK);
    egress_call(the_egress, begin, &waiting);
    egress_answer(the_box, broker_ticket(), ABX_VERDICT_ALLOW, NULL);
    egress_call(the_egress, nothing, NULL);
    ck_assert_int_eq(waiting.result, REPLACE_REFUSED);
    ck_assert_ptr_nonnull(strstr(waiting.reason, "nobody has given"));
    egress_call(the_egress, finish, &waiting);
    egress_box_close();
}
END_TEST

START_TEST(a_request_that_is_gone_waits_no_more)
{
    struct waiting waiting = { 0 };

    open_box();
    broker_says("hr", ABX_VERDICT_ASK);
    egress_call(the_egress, begin, &waiting);
    egress_call(the_egress, finish, &waiting);
    ck_assert_uint_eq(broker_withdrawn(), 1);
    egress_answer(the_box, broker_ticket(), ABX_VERDICT_ALLOW, NULL);
    egress_call(the_egress, nothing, NULL);
    ck_assert_int_eq(waiting.n_ready, 0);
    egress_box_close();
}
END_TEST

static int64_t
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
look_at_secret(void *data)
{
    struct vault *secret = secrets_get(egress_secrets(the_box), HR);

    *(bool *)data = secret != NULL;
    vault_unref(secret);
}

START_TEST(a_lease_ends_and_the_secret_is_asked_for_again)
{
    struct waiting waiting = { 0 };
    struct fail fail;
    bool there = false;
    const struct timespec over = { .tv_nsec = 120000000 };

    open_box();
    broker_says("hr", ABX_VERDICT_ASK);
    ck_assert_int_eq(
            egress_set_secret(the_box, "hr", SECRET, strlen(SECRET), now_ms() + 100, &fail),
            ABX_OK);
    egress_call(the_egress, look_at_secret, &there);
    ck_assert(there);
    nanosleep(&over, NULL);
    egress_call(the_egress, look_at_secret, &there);
    ck_assert(!there);
    egress_call(the_egress, begin, &waiting);
    ck_assert_int_eq(waiting.result, REPLACE_WAIT);
    egress_call(the_egress, finish, &waiting);
    egress_box_close();
}
END_TEST

static const struct wrong_secret {
    const char *name, *secret, *says;
    int64_t expires_ms;
} wrong_secrets[] = {
    { "other", SECRET, "has no credential 'other'", 0 },
    { "hr", "1234567", "shorter than 8 bytes", 0 },
    { "hr", "1234567\r\nX-Evil: 1", "control characters", 0 },
    { "hr", "1234567\x7f", "control characters", 0 },
    { "hr", " 12345678", "a space stands", 0 },
    { "hr", "12345678 ", "a space stands", 0 },
    { "hr", SECRET, "expired", 1 },
    { "s3", "AKIAREALREALREALREAL", "ID:SECRET", 0 },
    { "s3", "AKIAREALREALREALREAL:short", "ID:SECRET", 0 },
};

START_TEST(a_secret_that_no_request_can_carry_is_refused)
{
    const struct wrong_secret *c = &wrong_secrets[_i];
    struct fail fail = { 0 };

    open_box();
    ck_assert_int_eq(
            egress_set_secret(the_box, c->name, c->secret, strlen(c->secret), c->expires_ms, &fail),
            ABX_ERR_INVALID);
    ck_assert_msg(strstr(fail.text, c->says) != NULL, "%s", fail.text);
    ck_assert_msg(
            strcmp(c->name, "other") == 0 || strstr(fail.text, c->secret) == NULL, "%s", fail.text);
    egress_box_close();
}
END_TEST

START_TEST(what_stands_for_secrets_looks_like_them)
{
    const char *const *environment;

    open_box();
    environment = egress_environment(the_box);
    ck_assert_msg(strncmp(environment[0], "HR=", 3) == 0, "%s", environment[0]);
    ck_assert_uint_eq(strlen(environment[0]), 3 + 40);
    ck_assert_msg(strncmp(environment[1], "GITHUB_TOKEN=ghp_", 17) == 0, "%s", environment[1]);
    ck_assert_uint_eq(strlen(environment[1]), 13 + 40);
    ck_assert_msg(strncmp(environment[4], "AWS_SECRET_ACCESS_KEY=", 22) == 0, "%s", environment[4]);
    ck_assert_uint_eq(strlen(environment[4]), 22 + 40);
    ck_assert_msg(strncmp(environment[5], "AWS_ACCESS_KEY_ID=AKIA", 22) == 0, "%s", environment[5]);
    ck_assert_uint_eq(strlen(environment[5]), 18 + 20);
    ck_assert_ptr_null(environment[6]);
    egress_box_close();
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("replace");
    TCase *tcase = tcase_create("replace");

    tcase_add_loop_test(
            tcase, a_stand_in_becomes_the_secret_in_its_place, 0, N_ELEMENTS(request_cases));
    tcase_add_loop_test(
            tcase, a_stand_in_anywhere_else_is_denied_and_told, 0, N_ELEMENTS(refused_cases));
    tcase_add_loop_test(tcase, a_password_of_basic_is_replaced_although_it_is_encoded, 0,
            N_ELEMENTS(basic_cases));
    tcase_add_test(tcase, a_request_waits_for_its_secret_and_goes_on);
    tcase_add_test(tcase, a_secret_that_is_refused_refuses_the_request);
    tcase_add_test(tcase, an_answer_without_a_secret_refuses_the_request);
    tcase_add_test(tcase, a_request_that_is_gone_waits_no_more);
    tcase_add_test(tcase, a_lease_ends_and_the_secret_is_asked_for_again);
    tcase_add_loop_test(
            tcase, a_secret_that_no_request_can_carry_is_refused, 0, N_ELEMENTS(wrong_secrets));
    tcase_add_test(tcase, what_stands_for_secrets_looks_like_them);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
