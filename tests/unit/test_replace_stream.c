/* SPDX-License-Identifier: Apache-2.0
 * Bodies and answers that come in pieces: what is found does not depend on where they were cut, and
 * an answer has no secret in any form that servers echo requests in. */
#include "egress_box.h"

#include "base/mem.h"
#include "base/str.h"
#include "egress/forms.h"
#include "egress/replace.h"
#include "egress/secrets.h"
#include "egress/sigv4.h"
#include "egress/thread.h"
#include "unit/main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECRET "zzre/al+12\"34567890"
#define KEY_ID "AKIAREALREALREALREAL"
#define KEY_SECRET "real/Secret+Key0123456789"
#define KEY_TOKEN "a-session/token+that/is/long"

static const char policy[] =
        "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"hr.com\",\"s3.com\"]},"
        "\"credentials\":[{\"name\":\"hr\",\"hosts\":[\"hr.com\"],\"as\":[\"body\",\"basic\"]},"
        "{\"name\":\"s3\",\"hosts\":[\"s3.com\"],\"as\":\"sigv4\"}]}";
enum { HR, S3 };

static const struct subject somebody = { .command = 7, .pid = 4711, .program = "/usr/bin/curl" };

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
    egress_box_open("%s", policy);
    give("hr", SECRET);
    give("s3", KEY_ID ":" KEY_SECRET ":" KEY_TOKEN);
}

static void
never_ready(void *data)
{
}

static struct replace *
start(const char *host)
{
    return replace_new(&(struct replace_setup){ .box = the_box,
            .subject = &somebody,
            .host = host,
            .port = 443,
            .tls = true,
            .ready = never_ready });
}

static char *
text_of(struct evbuffer *buffer)
{
    size_t length = evbuffer_get_length(buffer);
    char *text = malloc(length + 1);

    evbuffer_copyout(buffer, text, length);
    text[length] = '\0';
    return text;
}

static uint32_t random_state;

static size_t
draw(size_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

/* A body, how it is cut, and what came out. */
struct stream {
    bool is_answer, keeps_length;
    const char *head;
    const char *body;
    size_t length, most; /* bytes of a piece at most */
    enum replace_result result;
    int status;
    char *out;
};

static void
run_stream(void *data)
{
    struct stream *stream = data;
    struct replace *replace = start("hr.com");
    struct evbuffer *from = evbuffer_new(), *to = evbuffer_new();
    const char *head = stream->head == NULL
                               ? "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                               : stream->head;
    size_t at = 0;

    evbuffer_add(from, head, strlen(head));
    stream->result = stream->is_answer ? replace_answer(replace, from)
                                       : replace_request(replace, from, NULL);
    evbuffer_drain(from, evbuffer_get_length(from));
    while (stream->result == REPLACE_DONE && at <= stream->length) {
        size_t left = stream->length - at;
        size_t n = left == 0 ? 0 : 1 + draw(stream->most < left ? stream->most : left);
        bool is_last = n == left;

        evbuffer_add(from, stream->body + at, n);
        stream->result = stream->is_answer ? replace_answer_body(replace, from, is_last, to)
                                           : replace_request_body(replace, from,
                                                     stream->keeps_length, is_last, to);
        at += is_last ? n + 1 : n;
    }
    stream->status = stream->result == REPLACE_REFUSED ? replace_status(replace) : 0;
    stream->out = text_of(to);
    evbuffer_free(from);
    evbuffer_free(to);
    replace_free(replace);
}

/* Pieces of which bodies are made: needles, their beginnings and ends, and other text. */
static char *
draw_body(bool is_answer)
{
    const char *stand_in = secrets_stand_in(egress_secrets(the_box), HR);
    const char *needle = is_answer ? SECRET : stand_in;
    struct str body = { 0 };

    for (size_t n = 1 + draw(12); n > 0; n--) {
        switch (draw(6)) {
        case 0:
        case 1:
            str_add(&body, needle);
            break;
        case 2:
            str_add_bytes(&body, needle, draw(strlen(needle)));
            break;
        case 3:
            str_add(&body, needle + draw(strlen(needle)));
            break;
        case 4:
            str_add(&body, is_answer ? "zzre%2Fal%2b13" : "other text, \r\n");
            break;
        default:
            for (size_t i = draw(40); i > 0; i--) {
                str_add_bytes(&body, needle + draw(4), 1);
            }
            break;
        }
    }
    return str_steal(&body, NULL);
}

static size_t
count(const char *text, const char *needle)
{
    size_t n = 0;

    while ((text = strstr(text, needle)) != NULL) {
        text += strlen(needle);
        n++;
    }
    return n;
}

START_TEST(where_a_body_is_cut_makes_no_difference)
{
    bool is_answer = _i % 2 == 1;
    const char *stand_in, *from, *to;

    open_box();
    stand_in = secrets_stand_in(egress_secrets(the_box), HR);
    from = is_answer ? SECRET : stand_in;
    to = is_answer ? stand_in : SECRET;
    random_state = (uint32_t)_i + 1;
    for (int round = 0; round < 150; round++) {
        AUTO(freep) char *body = draw_body(is_answer);
        struct stream whole = {
            .is_answer = is_answer, .body = body, .length = strlen(body), .most = SIZE_MAX
        };

        if (is_answer) {
            whole.head = "HTTP/1.1 200 OK\r\n\r\n";
        }
        /* In one piece. */
        whole.most = strlen(body);
        egress_call(the_egress, run_stream, &whole);
        ck_assert_int_eq(whole.result, REPLACE_DONE);
        ck_assert_uint_eq(count(whole.out, to), count(body, from));
        for (size_t most = 1; most < 60; most += 1 + draw(9)) {
            struct stream cut = whole;

            cut.most = most;
            egress_call(the_egress, run_stream, &cut);
            ck_assert_int_eq(cut.result, REPLACE_DONE);
            ck_assert_msg(strcmp(cut.out, whole.out) == 0, "%s\n%s\n%s", body, whole.out, cut.out);
            free(cut.out);
        }
        free(whole.out);
    }
    egress_box_close();
}
END_TEST

START_TEST(a_body_whose_length_was_announced_keeps_it_or_is_refused)
{
    struct stream stream = { .keeps_length = true,
        .head = "POST / HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n",
        .most = 7 };
    AUTO(str_done) struct str body = { 0 };

    open_box();
    stream.body = "nothing in it";
    stream.length = strlen(stream.body);
    egress_call(the_egress, run_stream, &stream);
    ck_assert_int_eq(stream.result, REPLACE_DONE);
    ck_assert_str_eq(stream.out, stream.body);
    free(stream.out);
    str_printf(&body, "before %s after", secrets_stand_in(egress_secrets(the_box), HR));
    stream.body = body.data;
    stream.length = body.length;
    egress_call(the_egress, run_stream, &stream);
    ck_assert_int_eq(stream.result, REPLACE_REFUSED);
    ck_assert_int_eq(stream.status, 413);
    ck_assert_str_eq(stream.out, "before ");
    free(stream.out);
    egress_box_close();
}
END_TEST

/* ---- answers ---- */

struct answer {
    const char *host, *head, *body;
    bool noted; /* the secret was sent as the password of "x" */
    enum replace_result result;
    int status;
    char *new_head, *new_body;
};

static void
run_answer(void *data)
{
    struct answer *answer = data;
    struct replace *replace;
    struct evbuffer *head = evbuffer_new(), *from = evbuffer_new(), *to = evbuffer_new();

    if (answer->noted) {
        secrets_note_user(egress_secrets(the_box), HR, "x");
    }
    replace = start(answer->host);
    evbuffer_add(head, answer->head, strlen(answer->head));
    evbuffer_add(from, answer->body, strlen(answer->body));
    answer->result = replace_answer(replace, head);
    if (answer->result == REPLACE_DONE) {
        answer->result = replace_answer_body(replace, from, true, to);
    }
    answer->status = answer->result == REPLACE_REFUSED ? replace_status(replace) : 0;
    answer->new_head = text_of(head);
    answer->new_body = text_of(to);
    evbuffer_free(head);
    evbuffer_free(from);
    evbuffer_free(to);
    replace_free(replace);
}

static void
answer_done(struct answer *answer)
{
    free(answer->new_head);
    free(answer->new_body);
}

/* {} is what stands for the secret. */
static const struct answer_case {
    const char *name, *body, *new_body;
} answer_cases[] = {
    { "as it is", "a" SECRET "b", "a{}b" },
    { "twice", SECRET SECRET, "{}{}" },
    { "in a URL", "k=zzre%2Fal%2B12%2234567890&", "k={}&" },
    { "in small letters", "k=zzre%2fal%2b12%2234567890", "k={}" },
    { "in JSON", "{\"a\":\"zzre/al+12\\\"34567890\"}", "{\"a\":\"{}\"}" },
    { "in JSON of PHP", "{\"a\":\"zzre\\/al+12\\\"34567890\"}", "{\"a\":\"{}\"}" },
    { "as Basic", "Basic eDp6enJlL2FsKzEyIjM0NTY3ODkw", "Basic {x:}" },
    { "in base64 behind others", "YXp6cmUvYWwrMTIiMzQ1Njc4OTA=", "YXp6AAAAAAAAAAAAAAAAAAAAOTA=" },
    { "the beginning alone", "zzre/al+12\"3456789", "zzre/al+12\"3456789" },
    { "another key's id", "<" KEY_ID ">", "<{id}>" },
    { "another key", "<" KEY_SECRET ">", "<{s3}>" },
    { "a session's token", "<" KEY_TOKEN ">", "<{s3}>" },
    { "nothing", "", "" },
};

static char *
expected(const char *text)
{
    struct secrets *secrets = egress_secrets(the_box);
    const char *stand_in = secrets_stand_in(secrets, HR);
    char pair[128], encoded[256];
    struct str out = { 0 };

    snprintf(pair, sizeof pair, "x:%s", stand_in);
    encoded[base64_encode(pair, strlen(pair), encoded)] = '\0';
    while (*text != '\0') {
        const char *with = strncmp(text, "{}", 2) == 0     ? stand_in
                           : strncmp(text, "{x:}", 4) == 0 ? encoded
                           : strncmp(text, "{id}", 4) == 0 ? secrets_key_id(secrets, S3)
                           : strncmp(text, "{s3}", 4) == 0 ? secrets_stand_in(secrets, S3)
                                                           : NULL;

        if (with == NULL) {
            str_add_bytes(&out, text++, 1);
        } else {
            str_add(&out, with);
            text = strchr(text, '}') + 1;
        }
    }
    return str_steal(&out, NULL);
}

START_TEST(an_answer_has_no_secret_in_any_form)
{
    const struct answer_case *c = &answer_cases[_i];
    struct answer answer = {
        .host = "hr.com", .head = "HTTP/1.1 200 OK\r\n\r\n", .body = c->body, .noted = true
    };
    char *wanted;

    open_box();
    egress_call(the_egress, run_answer, &answer);
    wanted = expected(c->new_body);
    ck_assert_int_eq(answer.result, REPLACE_DONE);
    ck_assert_msg(strcmp(answer.new_body, wanted) == 0, "%s: %s, not %s", c->name, answer.new_body,
            wanted);
    free(wanted);
    answer_done(&answer);
    egress_box_close();
}
END_TEST

START_TEST(the_head_of_an_answer_has_no_secret)
{
    struct answer answer = { .host = "hr.com",
        .head = "HTTP/1.1 302 Found\r\nLocation: https://x/?k=" SECRET
                "\r\nContent-Encoding:  Identity \r\nContent-Length: 0\r\n\r\n",
        .body = "" };

    open_box();
    egress_call(the_egress, run_answer, &answer);
    ck_assert_int_eq(answer.result, REPLACE_DONE);
    ck_assert_ptr_null(strstr(answer.new_head, SECRET));
    ck_assert_ptr_nonnull(strstr(answer.new_head, secrets_stand_in(egress_secrets(the_box), HR)));
    answer_done(&answer);
    egress_box_close();
}
END_TEST

static const char *const encodings[] = { "gzip", "br", "deflate", "identity, gzip", "x" };

START_TEST(an_answer_that_cannot_be_read_is_refused)
{
    char head[128];
    struct answer answer = { .host = "hr.com", .head = head, .body = "\x1f\x8b" };

    open_box();
    snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\ncontent-ENCODING: %s\r\n\r\n", encodings[_i]);
    egress_call(the_egress, run_answer, &answer);
    ck_assert_int_eq(answer.result, REPLACE_REFUSED);
    ck_assert_int_eq(answer.status, 502);
    answer_done(&answer);
    answer.host = "other.com";
    egress_call(the_egress, run_answer, &answer);
    ck_assert_int_eq(answer.result, REPLACE_DONE);
    answer_done(&answer);
    egress_box_close();
}
END_TEST

/* ---- bytes that only pass ---- */

struct watched {
    bool is_answer;
    const char *bytes;
    size_t step;
    enum replace_result result;
};

static void
run_watch(void *data)
{
    struct watched *watched = data;
    struct replace *replace = start("hr.com");
    size_t length = strlen(watched->bytes);

    watched->result = REPLACE_DONE;
    for (size_t at = 0; at < length && watched->result == REPLACE_DONE; at += watched->step) {
        watched->result = replace_watch(replace, watched->is_answer, watched->bytes + at,
                length - at < watched->step ? length - at : watched->step);
    }
    replace_free(replace);
}

START_TEST(bytes_that_only_pass_are_looked_at_also_over_their_cuts)
{
    AUTO(str_done) struct str text = { 0 };
    struct watched watched = { .is_answer = _i % 2 == 1 };

    open_box();
    for (int i = 0; i < _i; i++) {
        str_add(&text, "something else ");
    }
    str_add(&text, watched.is_answer ? SECRET : secrets_stand_in(egress_secrets(the_box), HR));
    str_add(&text, " and more");
    watched.bytes = text.data;
    for (watched.step = 1; watched.step < text.length + 2; watched.step++) {
        egress_call(the_egress, run_watch, &watched);
        ck_assert_msg(watched.result == REPLACE_REFUSED, "pieces of %zu", watched.step);
    }
    text.data[text.length - strlen(" and more") - 1] ^= 1;
    for (watched.step = 1; watched.step < text.length + 2; watched.step++) {
        egress_call(the_egress, run_watch, &watched);
        ck_assert_msg(watched.result == REPLACE_DONE, "pieces of %zu", watched.step);
    }
    egress_box_close();
}
END_TEST

/* ---- signed chunks ---- */

#define CHUNKED_HEAD                                                                               \
    "PUT /b/k HTTP/1.1\r\nHost: s3.com\r\nx-amz-content-sha256: "                                  \
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD\r\nx-amz-date: 20130524T000000Z\r\nContent-Length: "       \
    "1\r\nAuthorization: AWS4-HMAC-SHA256 Credential=%s/20130524/us-east-1/s3/aws4_request, "      \
    "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=%064d\r\n\r\n"

struct upload {
    size_t step;
    enum replace_result result;
    char *head, *body;
};

static const size_t chunk_sizes[] = { 100, 1, 65536, 0 };

/* What a program sends that signs with this key: head, and body in chunks. */
static void
sign_upload(const struct sigv4_key *key, struct str *head, struct str *body)
{
    AUTO(str_done) struct str unsigned_head = { 0 };
    struct sigv4_scheme scheme = { 0 };
    struct sigv4_message message;
    struct sigv4_chain *chain;
    char signature[65], *data = malloc(65536);

    memset(data, 'a', 65536);
    str_printf(&unsigned_head, CHUNKED_HEAD, "AKIAOTHEROTHEROTHER1", 0);
    message = (struct sigv4_message){ unsigned_head.data, unsigned_head.length, NULL, 0 };
    ck_assert(sigv4_sign(&message, key, &scheme, head));
    message = (struct sigv4_message){ head->data, head->length, NULL, 0 };
    ck_assert(sigv4_is_chained(&message));
    chain = sigv4_chain_new(&message, key, &scheme);
    for (size_t i = 0; i < N_ELEMENTS(chunk_sizes); i++) {
        ck_assert(sigv4_chain_next(chain, data, chunk_sizes[i], signature));
        str_printf(body, "%zX;chunk-signature=%s\r\n", chunk_sizes[i], signature);
        str_add_bytes(body, data, chunk_sizes[i]);
        str_add(body, "\r\n");
    }
    sigv4_chain_free(chain);
    free(data);
}

static void
run_upload(void *data)
{
    struct upload *upload = data;
    struct secrets *secrets = egress_secrets(the_box);
    const char *id = secrets_key_id(secrets, S3), *secret = secrets_stand_in(secrets, S3);
    struct sigv4_key stand_in = { id, secret, NULL, strlen(id), strlen(secret), 0 };
    struct evbuffer *head = evbuffer_new(), *from = evbuffer_new(), *to = evbuffer_new();
    AUTO(str_done) struct str text = { 0 };
    AUTO(str_done) struct str body = { 0 };
    struct replace *replace = start("s3.com");
    size_t at = 0;

    sign_upload(&stand_in, &text, &body);
    evbuffer_add(head, text.data, text.length);
    upload->result = replace_request(replace, head, NULL);
    while (upload->result == REPLACE_DONE && at < body.length) {
        size_t n = body.length - at < upload->step ? body.length - at : upload->step;

        evbuffer_add(from, body.data + at, n);
        at += n;
        upload->result = replace_request_body(replace, from, true, at == body.length, to);
    }
    upload->head = text_of(head);
    upload->body = text_of(to);
    evbuffer_free(head);
    evbuffer_free(from);
    evbuffer_free(to);
    replace_free(replace);
}

START_TEST(signed_chunks_are_signed_again_one_by_one)
{
    static const size_t steps[] = { 1, 77, 5000, 1000000 };
    struct upload upload = { .step = steps[_i] };
    AUTO(str_done) struct str head = { 0 };
    AUTO(str_done) struct str body = { 0 };
    struct sigv4_key key;

    open_box();
    egress_call(the_egress, run_upload, &upload);
    ck_assert_int_eq(upload.result, REPLACE_DONE);
    ck_assert(sigv4_key_parse(
            KEY_ID ":" KEY_SECRET ":" KEY_TOKEN, strlen(KEY_ID KEY_SECRET KEY_TOKEN) + 2, &key));
    sign_upload(&key, &head, &body);
    ck_assert_msg(strcmp(upload.body, body.data) == 0, "%.300s\n%.300s", upload.body, body.data);
    ck_assert_ptr_nonnull(strstr(upload.head, "Credential=" KEY_ID "/"));
    ck_assert_ptr_nonnull(strstr(upload.head, "x-amz-security-token: " KEY_TOKEN "\r\n"));
    free(upload.head);
    free(upload.body);
    egress_box_close();
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("replace_stream");
    TCase *tcase = tcase_create("replace_stream");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, where_a_body_is_cut_makes_no_difference, 0, 8);
    tcase_add_test(tcase, a_body_whose_length_was_announced_keeps_it_or_is_refused);
    tcase_add_loop_test(tcase, an_answer_has_no_secret_in_any_form, 0, N_ELEMENTS(answer_cases));
    tcase_add_test(tcase, the_head_of_an_answer_has_no_secret);
    tcase_add_loop_test(tcase, an_answer_that_cannot_be_read_is_refused, 0, N_ELEMENTS(encodings));
    tcase_add_loop_test(tcase, bytes_that_only_pass_are_looked_at_also_over_their_cuts, 0, 6);
    tcase_add_loop_test(tcase, signed_chunks_are_signed_again_one_by_one, 0, 4);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
