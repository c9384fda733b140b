/* SPDX-License-Identifier: Apache-2.0
 * A secret in an answer, and what stands for one in a request, are found in whatever spelling their
 * characters are, each in its own, however the bytes are cut. */
#include "egress_box.h"

#include "base/mem.h"
#include "base/str.h"
#include "egress/forms.h"
#include "egress/replace.h"
#include "egress/secrets.h"
#include "egress/spelling.h"
#include "egress/thread.h"
#include "unit/main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char policy[] =
        "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[\"hr.com\",\"other.com\"]},"
        "\"credentials\":[{\"name\":\"hr\",\"hosts\":[\"hr.com\"],\"as\":[\"query\",\"body\"],"
        "\"query\":\"key\"}]}";

static const struct subject somebody = { .command = 7, .pid = 4711, .program = "/usr/bin/curl" };

/* ---- one character ---- */

static const struct spelling_case {
    const char *text, *character;
    size_t length;
} spelling_cases[] = {
    { "%2F", "/", 3 },
    { "%2f", "/", 3 },
    { "%aB", "\xab", 3 },
    { "%g0", "", 0 },
    { "%2 ", "", 0 },
    { "+", " ", 1 },
    { "\\/", "/", 2 },
    { "\\\"", "\"", 2 },
    { "\\\\", "\\", 2 },
    { "\\n", "\n", 2 },
    { "\\t", "\t", 2 },
    { "\\q", "q", 2 },
    { "\\'", "'", 2 },
    { "\\-", "-", 2 },
    { "\\0", "", 0 },
    { "\\\xc3", "", 0 },
    { "\\u{41}", "A", 6 },
    { "\\u{0000000000000041}", "A", 20 },
    { "\\u{00000000000000041}", "", 0 },
    { "\\u{1F600}", "\xf0\x9f\x98\x80", 9 },
    { "\\u{110000}", "", 0 },
    { "\\u{ffffffffffffffff}", "", 0 },
    { "\\u{}", "", 0 },
    { "\\u{4g}", "", 0 },
    { "\\u0041", "A", 6 },
    { "\\u00Fc", "\xc3\xbc", 6 },
    { "\\u20ac", "\xe2\x82\xac", 6 },
    { "\\ud83d\\uDE00", "\xf0\x9f\x98\x80", 12 },
    { "\\ud83dx", "", 0 },
    { "\\ud83d\\n", "", 0 },
    { "\\ud83d\\u0041", "", 0 },
    { "\\ude00", "", 0 },
    { "\\u00g1", "", 0 },
    { "&amp;", "&", 5 },
    { "&lt;", "<", 4 },
    { "&gt;", ">", 4 },
    { "&quot;", "\"", 6 },
    { "&apos;", "'", 6 },
    { "&#39;", "'", 5 },
    { "&#0000065;", "A", 10 },
    { "&#00000065;", "A", 11 },
    { "&#0000000000000065;", "A", 19 },
    { "&#00000000000000065;", "", 0 },
    { "&#4294967361;", "", 0 },
    { "&#x1F600;", "\xf0\x9f\x98\x80", 9 },
    { "&#X2f;", "/", 6 },
    { "&#1114112;", "", 0 },
    { "&#55296;", "", 0 },
    { "&#65 ", "A", 4 },
    { "&#x41g", "A", 5 },
    { "&#65&", "A", 4 },
    { "&#00000000000000651", "", 0 },
    { "&sol;", "/", 5 },
    { "&commat;", "@", 8 },
    { "&comma;", ",", 7 },
    { "&DiacriticalGrave;", "`", 18 },
    { "&AMP;", "&", 5 },
    { "&amp-", "&", 4 },
    { "&QUOTa", "\"", 5 },
    { "&sol-", "", 0 },
    { "&Sol;", "", 0 },
    { "\\x41", "A", 4 },
    { "\\xfC", "\xc3\xbc", 4 },
    { "\\x4g", "", 0 },
    { "&#;", "", 0 },
    { "&#x;", "", 0 },
    { "&#4a;", "\x04", 3 },
    { "&amq;", "", 0 },
    { "a", "", 0 },
};

START_TEST(a_character_is_read_whole_or_more_bytes_are_wanted)
{
    const struct spelling_case *c = &spelling_cases[_i];
    const uint8_t *bytes = (const uint8_t *)c->text;
    struct spelling spelling;

    for (size_t n = 1; n < c->length; n++) {
        const enum spelling_result result = spelling_read(bytes, n, &spelling);

        ck_assert_msg(result == SPELLING_CUT || result == SPELLING_OPEN, "%zu of %s", n, c->text);
    }
    if (c->length == 0) {
        ck_assert_msg(
                spelling_read(bytes, strlen(c->text), &spelling) == SPELLING_NONE, "%s", c->text);
        return;
    }
    ck_assert(spelling_begins(bytes[0]) && c->length <= SPELLING_MAX);
    ck_assert_msg(spelling_read(bytes, strlen(c->text), &spelling) == SPELLING_READ, "%s", c->text);
    ck_assert_msg(spelling.length == c->length && spelling.n == strlen(c->character) &&
                          memcmp(spelling.bytes, c->character, spelling.n) == 0,
            "%s", c->text);
}
END_TEST

static const struct spelling_case twice_cases[] = {
    { "%2541", "A", 5 },
    { "%25%34%31", "A", 9 },
    { "\\\\u0041", "A", 7 },
    { "\\\\/", "/", 3 },
    { "%5Cu0041", "A", 8 },
    { "%5c%75%30%30%34%31", "A", 18 },
    { "\\&quot;", "\"", 7 },
    { "&amp;#65;", "A", 9 },
    { "&amp;lt;", "<", 8 },
    { "%26%23%78%34%31%3B", "A", 18 },
    { "\\u0026#65;", "A", 10 },
    { "&#37;41", "A", 7 },
    { "&#x25&#x34&#x31 ", "A", 15 },
    { "%2541%20", "A", 5 },
    { "\\u005c\\u0075\\u0030\\u0030\\u0034\\u0031", "", 0 }, /* longer than any */
    { "%41%42%43", "", 0 }, /* once */
    { "%25g1", "", 0 },
    { "%4141", "", 0 },
    { "a%2541", "", 0 },
};

START_TEST(a_spelling_within_another_is_read_whole_or_more_bytes_are_wanted)
{
    const struct spelling_case *c = &twice_cases[_i];
    const uint8_t *bytes = (const uint8_t *)c->text;
    struct spelling spelling;
    enum spelling_result result;

    for (size_t n = 1; n < c->length; n++) {
        result = spelling_read_twice(bytes, n, &spelling);
        ck_assert_msg(result == SPELLING_CUT || result == SPELLING_OPEN, "%zu of %s", n, c->text);
    }
    result = spelling_read_twice(bytes, strlen(c->text), &spelling);
    if (c->length == 0) {
        ck_assert_msg(result == SPELLING_NONE, "%s", c->text);
        return;
    }
    ck_assert_msg(result == SPELLING_READ, "%s: %d", c->text, (int)result);
    ck_assert_msg(spelling.length == c->length && spelling.n == strlen(c->character) &&
                          memcmp(spelling.bytes, c->character, spelling.n) == 0,
            "%s: %zu", c->text, spelling.length);
}
END_TEST

/* ---- texts that are drawn ---- */

static uint32_t random_state;

static size_t
draw(size_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

/* 8 to 60 characters. */
static void
draw_secret(struct str *out)
{
    static const char *const others[] = { "\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "%41",
        "\\n", "\\\\", "&amp;", "a b", "+", "=" };

    for (size_t n = 8 + draw(53); n > 0; n--) {
        char c = (char)('!' + draw('~' - '!' + 1));

        if (draw(6) == 0) {
            str_add(out, others[draw(N_ELEMENTS(others))]);
        } else {
            str_add_bytes(out, &c, 1);
        }
    }
}

enum family { AS_IT_IS, PERCENT, JSON, HTML, MIXED, TWICE, FAMILIES };

static void
spell_percent(struct str *out, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        str_printf(out, draw(2) == 0 ? "%%%02x" : "%%%02X", (unsigned char)bytes[i]);
    }
}

static uint32_t
point_of(const char *bytes, size_t n)
{
    uint32_t point = n == 1 ? (unsigned char)bytes[0] : (unsigned char)bytes[0] & (0x7fu >> n);

    for (size_t i = 1; i < n; i++) {
        point = point << 6 | ((unsigned char)bytes[i] & 0x3f);
    }
    return point;
}

static void
spell_json(struct str *out, const char *bytes, size_t n)
{
    uint32_t point = point_of(bytes, n);

    if (strchr("/\"\\", bytes[0]) != NULL && draw(2) == 0) {
        str_printf(out, "\\%c", bytes[0]);
    } else if (point >= 0x10000) {
        str_printf(out, "\\u%04X\\u%04x", 0xd7c0 + (point >> 10), 0xdc00 + (point & 0x3ff));
    } else if (point < 0x100 && draw(3) == 0) {
        str_printf(out, draw(2) == 0 ? "\\x%02x" : "\\x%02X", point);
    } else {
        str_printf(out, draw(2) == 0 ? "\\u%04x" : "\\u%04X", point);
    }
}

static void
spell_html(struct str *out, const char *bytes, size_t n)
{
    static const char named[] = "&<>\"'";
    static const char *const names[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&apos;" };
    const char *name = strchr(named, bytes[0]);

    if (name != NULL && draw(2) == 0) {
        str_add(out, names[name - named]);
    } else if (draw(4) == 0) { /* with a space: the next character may be a digit */
        str_printf(out, "&#%u", point_of(bytes, n));
    } else if (draw(2) == 0) {
        str_printf(out, "&#%0*u;", (int)draw(4), point_of(bytes, n));
    } else {
        str_printf(out, draw(2) == 0 ? "&#x%x;" : "&#X%04X;", point_of(bytes, n));
    }
}

/* What does not stand for itself in a text of that kind. */
static const char *const specials[] = { "", "%+", "\\\"", "&", "%+\\\"&" };

/* Whether the next digit would be one of an entity that stands last. */
static bool
is_unended(const struct str *out)
{
    size_t i = out->length;

    while (i > 0 && strchr("0123456789", out->data[i - 1]) != NULL) {
        i--;
    }
    return i >= 2 && i < out->length && memcmp(out->data + i - 2, "&#", 2) == 0;
}

/* In part or fully; `stays`: so many thirds of what may stay as it is. */
static void
spell_once(struct str *out, const char *text, size_t length, enum family family, size_t stays)
{
    static void (*const spellers[])(struct str * out, const char *bytes,
            size_t n) = { spell_percent, spell_json, spell_html };

    for (size_t i = 0, n; i < length; i += n) {
        n = utf8_sequence((const unsigned char *)text + i, length - i);
        ck_assert_uint_gt(n, 0);
        if (family == AS_IT_IS || (strchr(specials[family], text[i]) == NULL && draw(3) < stays)) {
            str_add(out, family >= HTML && is_unended(out) ? ";" : "");
            str_add_bytes(out, text + i, n);
        } else if (family == PERCENT && text[i] == ' ' && draw(2) == 0) {
            str_add(out, "+");
        } else {
            spellers[family == MIXED ? draw(3) : (size_t)family - PERCENT](out, text + i, n);
        }
    }
    str_add(out, family >= HTML && is_unended(out) ? ";" : ""); /* a digit may follow */
}

static void
spell(struct str *out, const char *text, size_t length, enum family family)
{
    AUTO(str_done) struct str inner = { 0 };

    if (family != TWICE) {
        spell_once(out, text, length, family, draw(4));
        return;
    }
    spell_once(&inner, text, length, PERCENT + (enum family)draw(3), draw(4));
    spell_once(out, inner.data, inner.length, PERCENT + (enum family)draw(3), 3);
}

/* ---- answers ---- */

struct answer {
    const char *head, *body;
    size_t length, most; /* bytes of a piece at most */
    char *new_head, *new_body;
};

static char *
text_of(struct evbuffer *buffer)
{
    size_t length = evbuffer_get_length(buffer);
    char *text = malloc(length + 1);

    evbuffer_copyout(buffer, text, length);
    text[length] = '\0';
    return text;
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

static void
run_answer(void *data)
{
    struct answer *answer = data;
    struct replace *replace = start("hr.com");
    struct evbuffer *head = evbuffer_new(), *from = evbuffer_new(), *to = evbuffer_new();
    size_t at = 0;

    evbuffer_add(head, answer->head, strlen(answer->head));
    ck_assert_int_eq(replace_answer(replace, head), REPLACE_DONE);
    while (at < answer->length) {
        size_t left = answer->length - at;
        size_t n = 1 + draw(answer->most < left ? answer->most : left);

        evbuffer_add(from, answer->body + at, n);
        at += n;
        ck_assert_int_eq(
                replace_answer_body(replace, from, at == answer->length, to), REPLACE_DONE);
    }
    answer->new_head = text_of(head);
    answer->new_body = text_of(to);
    evbuffer_free(head);
    evbuffer_free(from);
    evbuffer_free(to);
    replace_free(replace);
}

static void
give(const struct str *secret)
{
    struct fail fail = { 0 };

    ck_assert_msg(
            egress_set_secret(the_box, "hr", secret->data, secret->length, 0, &fail) == ABX_OK,
            "%s: %s", fail.text, secret->data);
}

static const char *
stand_in(void)
{
    return secrets_stand_in(egress_secrets(the_box), 0);
}

START_TEST(a_secret_in_any_spelling_becomes_what_stands_for_it)
{
    egress_box_open("%s", policy);
    for (int round = 0; round < 150; round++) {
        AUTO(str_done) struct str secret = { 0 };
        AUTO(str_done) struct str spelled = { 0 };
        AUTO(str_done) struct str head = { 0 };
        AUTO(str_done) struct str new_head = { 0 };
        AUTO(str_done) struct str body = { 0 };
        AUTO(str_done) struct str new_body = { 0 };
        struct answer answer = { 0 };

        random_state = (uint32_t)(1000 * _i + round);
        draw_secret(&secret);
        give(&secret);
        spell(&spelled, secret.data, secret.length, (enum family)_i);
        str_printf(&head, "HTTP/1.1 302 Found\r\nLocation: /|%s|\r\n\r\n", spelled.data);
        str_printf(&new_head, "HTTP/1.1 302 Found\r\nLocation: /|%s|\r\n\r\n", stand_in());
        str_printf(&body, "|%.*s|%s|%s|", (int)draw(8), secret.data, spelled.data, spelled.data);
        str_printf(&new_body, "%.*s|%s|%s|", (int)(strchr(body.data + 1, '|') - body.data),
                body.data, stand_in(), stand_in());
        answer = (struct answer){
            .head = head.data, .body = body.data, .length = body.length, .most = 1 + draw(40)
        };
        egress_call(the_egress, run_answer, &answer);
        ck_assert_msg(strcmp(answer.new_head, new_head.data) == 0, "%d: %s\n%s", round, head.data,
                answer.new_head);
        /* The beginning of a secret that was drawn may have a | of its own. */
        ck_assert_msg(memchr(secret.data, '|', secret.length) != NULL ||
                              strcmp(answer.new_body, new_body.data) == 0,
                "%d: %s\n%s", round, body.data, answer.new_body);
        ck_assert_ptr_null(strstr(answer.new_body, secret.data));
        free(answer.new_head);
        free(answer.new_body);
    }
    egress_box_close();
}
END_TEST

START_TEST(a_secret_whose_last_character_ends_with_the_body_is_found)
{
    struct str secret = { 0 };
    struct answer answer = {
        .head = "HTTP/1.1 200 OK\r\n\r\n", .body = "abcdefg&#104", .length = 12, .most = 3
    };

    egress_box_open("%s", policy);
    str_add(&secret, "abcdefgh");
    give(&secret);
    egress_call(the_egress, run_answer, &answer);
    ck_assert_str_eq(answer.new_body, stand_in());
    free(answer.new_head);
    free(answer.new_body);
    str_done(&secret);
    egress_box_close();
}
END_TEST

/* ---- base64 ---- */

static const char *const line_ends[] = { "", "\n", "\r\n", "\\n", "\\r\\n", " ", "\t", "\n ",
    "\\t" };

/* Base64 of either alphabet, in lines, its characters spelled. */
static void
encode(struct str *out, const char *plain, size_t length, bool for_urls, enum family family)
{
    AUTO(freep) char *text = malloc(BASE64_ROOM(length) + 1);
    const char *end = line_ends[draw(N_ELEMENTS(line_ends))];
    size_t line = 1 + draw(76), n = base64_encode(plain, length, text);

    for (size_t i = 0; for_urls && i < n; i++) {
        text[i] = text[i] == '+' ? '-' : text[i] == '/' ? '_' : text[i];
    }
    for (size_t i = 0; i < n; i += line) {
        spell(out, text + i, n - i < line ? n - i : line, family);
        str_add(out, end);
    }
}

/* A plus sign in base64 is no space. */
static void
read_character(const char *text, struct spelling *spelling)
{
    const uint8_t *bytes = (const uint8_t *)text;
    struct spelling twice;

    if (spelling_read_twice(bytes, strlen(text), &twice) >= SPELLING_OPEN &&
            twice.bytes[0] != ' ') {
        *spelling = twice;
    } else {
        spelling_read(bytes, strlen(text), spelling);
    }
}

/* Back again: what a program would make of it. */
static size_t
decode(const char *text, char *out)
{
    AUTO(str_done) struct str plain = { 0 };

    for (size_t i = 0; text[i] != '\0';) {
        struct spelling spelling = { .length = 1, .bytes = { (uint8_t)text[i] } };
        char c;

        if (text[i] != '+') {
            read_character(text + i, &spelling);
        }
        c = (char)spelling.bytes[0];
        c = c == '-' ? '+' : c == '_' ? '/' : c;
        if (strchr(" \t\r\n", c) == NULL) {
            str_add_bytes(&plain, &c, 1);
        }
        i += spelling.length;
    }
    return (size_t)base64_decode(plain.data, plain.length, out);
}

START_TEST(a_secret_inside_base64_is_not_read_out_of_it)
{
    egress_box_open("%s", policy);
    for (int round = 0; round < 150; round++) {
        AUTO(str_done) struct str secret = { 0 };
        AUTO(str_done) struct str plain = { 0 };
        AUTO(str_done) struct str body = { 0 };
        struct answer answer = { .head = "HTTP/1.1 200 OK\r\n\r\n" };
        char decoded[1024];
        size_t n;

        random_state = (uint32_t)(1000 * _i + round);
        draw_secret(&secret);
        give(&secret);
        str_printf(&plain, "%.*s", (int)draw(13), "\xff\xfe>?~~other");
        str_add(&plain, secret.data);
        str_printf(&plain, "%.*s", (int)draw(13), ">>>???and more");
        encode(&body, plain.data, plain.length, draw(2) == 0, (enum family)_i);
        answer.body = body.data;
        answer.length = body.length;
        answer.most = 1 + draw(40);
        n = decode(body.data, decoded);
        ck_assert_msg(n == plain.length, "%d: %s", round, body.data);
        ck_assert(memcmp(decoded, plain.data, plain.length) == 0);
        egress_call(the_egress, run_answer, &answer);
        n = decode(answer.new_body, decoded);
        /* What shares a group of three bytes with others stays: two at each end. */
        ck_assert_msg(n <= sizeof decoded &&
                              memmem(decoded, n, secret.data + 2, secret.length - 4) == NULL &&
                              memmem(decoded, n, secret.data + 2, 4) == NULL,
                "%d: %s\n%s", round, body.data, answer.new_body);
        free(answer.new_head);
        free(answer.new_body);
    }
    egress_box_close();
}
END_TEST

/* ---- requests ---- */

struct request {
    const char *host, *head, *body;
    bool streams;
    enum replace_result result;
    char *new_head;
};

static void
run_request(void *data)
{
    struct request *request = data;
    struct replace *replace = start(request->host);
    struct evbuffer *head = evbuffer_new(), *body = evbuffer_new(), *to = evbuffer_new();

    evbuffer_add(head, request->head, strlen(request->head));
    request->result = replace_request(replace, head, request->streams ? NULL : body);
    for (size_t i = 0; request->result == REPLACE_DONE && request->body[i] != '\0'; i++) {
        evbuffer_add(body, request->body + i, 1);
        request->result =
                replace_request_body(replace, body, false, request->body[i + 1] == '\0', to);
    }
    request->new_head = text_of(head);
    evbuffer_free(head);
    evbuffer_free(body);
    evbuffer_free(to);
    replace_free(replace);
}

static const struct request_case {
    const char *name, *head, *body; /* with {} for what stands for the secret */
} request_cases[] = {
    { "a path", "GET /a{}b HTTP/1.1\r\n\r\n", "" },
    { "a parameter", "GET /?key={} HTTP/1.1\r\n\r\n", "" },
    { "a field", "GET / HTTP/1.1\r\nX: {}\r\n\r\n", "" },
    { "a body", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "k={}&" },
};

static void
fill(struct str *out, const char *text, const char *with)
{
    const char *hole = strstr(text, "{}");

    if (hole == NULL) {
        str_add(out, text);
    } else {
        str_printf(out, "%.*s%s%s", (int)(hole - text), text, with, hole + 2);
    }
}

START_TEST(what_stands_for_a_secret_is_seen_in_any_spelling_on_its_way_elsewhere)
{
    const struct request_case *c = &request_cases[_i % (int)N_ELEMENTS(request_cases)];

    random_state = (uint32_t)_i;
    egress_box_open("%s", policy);
    broker_says("hr", ABX_VERDICT_DENY);
    for (int family = AS_IT_IS; family < FAMILIES; family++) {
        AUTO(str_done) struct str spelled = { 0 };
        AUTO(str_done) struct str head = { 0 };
        AUTO(str_done) struct str body = { 0 };
        struct request request = { .host = "other.com", .streams = true };
        struct told told;

        spell(&spelled, stand_in(), strlen(stand_in()), (enum family)family);
        fill(&head, c->head, spelled.data);
        fill(&body, c->body, spelled.data);
        request.head = head.data;
        request.body = body.data == NULL ? "" : body.data;
        egress_call(the_egress, run_request, &request);
        ck_assert_msg(
                request.result == REPLACE_REFUSED, "%s: %s%s", c->name, head.data, request.body);
        broker_tells(&told);
        ck_assert_str_eq(told.target, "hr");
        ck_assert(broker_is_quiet());
        free(request.new_head);
    }
    egress_box_close();
}
END_TEST

START_TEST(in_its_place_it_becomes_the_secret_however_it_is_spelled)
{
    AUTO(str_done) struct str secret = { 0 };
    AUTO(str_done) struct str spelled = { 0 };
    AUTO(str_done) struct str head = { 0 };
    struct request request = { .host = "hr.com", .body = "" };

    random_state = (uint32_t)_i;
    egress_box_open("%s", policy);
    str_add(&secret, "the/secret");
    give(&secret);
    spell(&spelled, stand_in(), strlen(stand_in()), PERCENT);
    fill(&head, "GET /?key={} HTTP/1.1\r\n\r\n", spelled.data);
    request.head = head.data;
    egress_call(the_egress, run_request, &request);
    ck_assert_int_eq(request.result, REPLACE_DONE);
    ck_assert_str_eq(request.new_head,
            "GET /?key=the%2Fsecret HTTP/1.1\r\nAccept-Encoding: identity\r\n\r\n");
    free(request.new_head);
    egress_box_close();
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("spelling");
    TCase *tcase = tcase_create("spelling");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_character_is_read_whole_or_more_bytes_are_wanted, 0,
            N_ELEMENTS(spelling_cases));
    tcase_add_loop_test(tcase, a_spelling_within_another_is_read_whole_or_more_bytes_are_wanted, 0,
            N_ELEMENTS(twice_cases));
    tcase_add_loop_test(tcase, a_secret_in_any_spelling_becomes_what_stands_for_it, 0, FAMILIES);
    tcase_add_test(tcase, a_secret_whose_last_character_ends_with_the_body_is_found);
    tcase_add_loop_test(tcase, a_secret_inside_base64_is_not_read_out_of_it, 0, FAMILIES);
    tcase_add_loop_test(tcase,
            what_stands_for_a_secret_is_seen_in_any_spelling_on_its_way_elsewhere, 0,
            2 * N_ELEMENTS(request_cases));
    tcase_add_loop_test(tcase, in_its_place_it_becomes_the_secret_however_it_is_spelled, 0, 4);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
