/* SPDX-License-Identifier: Apache-2.0
 * Heads and bodies of HTTP/1.1: what is read, and what is refused because two programs could read
 * it differently. */
#include "base/mem.h"
#include "egress/http_body.h"

#include "unit/main.h"

#include <stdio.h>
#include <string.h>

#define HOST "Host: a.example\r\n"
#define TEXT(text) text, sizeof(text) - 1

/* ---- requests ------------------------------------------------------------------------------- */
static const struct request_case {
    const char *name;
    const char *text;
    size_t length;
    int status; /* 0: it is read */
} request_cases[] = {
    { "a request", TEXT("GET / HTTP/1.1\r\n" HOST "\r\n"), 0 },
    { "with fields",
            TEXT("GET /a?b=/../c HTTP/1.1\r\n" HOST "A: b\r\nB:c \r\nC:\r\nD:\t\xe4 \r\n\r\n"), 0 },
    { "with a length", TEXT("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n"), 0 },
    { "with chunks", TEXT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: Chunked\r\n\r\n"), 0 },
    { "HTTP/1.0 without Host", TEXT("GET / HTTP/1.0\r\n\r\n"), 0 },
    { "an absolute target", TEXT("GET http://A.example:80/x HTTP/1.1\r\n" HOST "\r\n"), 0 },
    { "an absolute target without path", TEXT("GET http://a.example HTTP/1.1\r\n" HOST "\r\n"), 0 },
    { "CONNECT", TEXT("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n"), 0 },
    { "CONNECT, Host without port", TEXT("CONNECT a.example:443 HTTP/1.1\r\n" HOST "\r\n"), 0 },
    { "CONNECT as HTTP/1.0", TEXT("CONNECT a.example:443 HTTP/1.0\r\n\r\n"), 0 },
    { "an IPv6 address", TEXT("GET / HTTP/1.1\r\nHost: [fd00::1]:80\r\n\r\n"), 0 },
    { "two Connections",
            TEXT("GET / HTTP/1.1\r\n" HOST "Connection: a\r\nConnection: , close\r\n\r\n"), 0 },
    { "an encoded letter", TEXT("GET /%61%C3%A4?%2f HTTP/1.1\r\n" HOST "\r\n"), 0 },
    { "dots that are a name", TEXT("GET /.../.a/..b/a.. HTTP/1.1\r\n" HOST "\r\n"), 0 },
    /* lines */
    { "bare LF", TEXT("GET / HTTP/1.1\nHost: a.example\n\n"), 400 },
    { "bare LF after the first line", TEXT("GET / HTTP/1.1\n" HOST "\r\n"), 400 },
    { "bare LF in a field", TEXT("GET / HTTP/1.1\r\n" HOST "A: b\nC: d\r\n\r\n"), 400 },
    { "bare LF at the end", TEXT("GET / HTTP/1.1\r\n" HOST "\n"), 400 },
    { "bare CR in a field", TEXT("GET / HTTP/1.1\r\n" HOST "A: b\rC: d\r\n\r\n"), 400 },
    { "bare CR in the first line", TEXT("GET /\r HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "two CR", TEXT("GET / HTTP/1.1\r\r\n" HOST "\r\n"), 400 },
    /* and before all of it is there, since some take it for the end */
    { "bare CR instead of the end", TEXT("GET / HTTP/1.1\r\n" HOST "\r-"), 400 },
    { "bare CR, a line that ends later", TEXT("GET / HTTP/1.1\r\n" HOST "\r-\n"), 400 },
    { "bare CR in a first line without end", TEXT("GET /\r HTTP/1.1"), 400 },
    { "bare LF without end", TEXT("GET / HTTP/1.1\n" HOST), 400 },
    { "an empty line first", TEXT("\r\nGET / HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "a line that goes on", TEXT("GET / HTTP/1.1\r\n" HOST "A: b\r\n c\r\n\r\n"), 400 },
    { "a first field that goes on", TEXT("GET / HTTP/1.1\r\n " HOST "\r\n"), 400 },
    { "a tab that goes on", TEXT("GET / HTTP/1.1\r\n" HOST "\tA: b\r\n\r\n"), 400 },
    /* the first line */
    { "two blanks", TEXT("GET  / HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "two blanks later", TEXT("GET /  HTTP/1.1\r\n" HOST "\r\n"), 505 },
    { "a tab", TEXT("GET\t/ HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "a blank at the end", TEXT("GET / HTTP/1.1 \r\n" HOST "\r\n"), 505 },
    { "a blank first", TEXT(" GET / HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "HTTP/0.9", TEXT("GET /\r\n\r\n"), 505 },
    { "HTTP/1.2", TEXT("GET / HTTP/1.2\r\n" HOST "\r\n"), 505 },
    { "HTTP/2", TEXT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505 },
    { "HTTP/01.1", TEXT("GET / HTTP/01.1\r\n" HOST "\r\n"), 505 },
    { "http/1.1", TEXT("GET / http/1.1\r\n" HOST "\r\n"), 505 },
    { "a method in small letters", TEXT("get / HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "a method with a colon", TEXT("GE:T / HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "a method with a zero byte", TEXT("GE\0T / HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "a method without end", TEXT("GETGETGETGETGETGETGETGETG / HTTP/1.1\r\n" HOST "\r\n"), 400 },
    /* the target */
    { "no slash", TEXT("GET a HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "an asterisk", TEXT("OPTIONS * HTTP/1.1\r\n" HOST "\r\n"), 501 },
    { "another scheme", TEXT("GET ftp://a.example/ HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "a scheme in capitals", TEXT("GET HTTP://a.example/ HTTP/1.1\r\n" HOST "\r\n"), 0 },
    { "one slash", TEXT("GET http:/a.example/ HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "no host", TEXT("GET http:///x HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "a query right after the host", TEXT("GET http://a.example?x HTTP/1.1\r\n" HOST "\r\n"),
            400 },
    { "user information", TEXT("GET http://a.example@b.example/ HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "user information with a port",
            TEXT("GET http://a.example:80@b.example/ HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "a backslash before an at",
            TEXT("GET http://b.example\\@a.example/ HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "an encoded host", TEXT("GET http://%61.example/ HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "a fragment", TEXT("GET /#x HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "a backslash", TEXT("GET /a\\b HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "a backslash in the query", TEXT("GET /?a\\b HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "no ASCII", TEXT("GET /\xc3\xa4 HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "no ASCII in the query", TEXT("GET /?\xe4 HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "a zero byte", TEXT("GET /\0 HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "a dot segment", TEXT("GET /a/./b HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "two dots", TEXT("GET /a/../b HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "two dots at the end", TEXT("GET /a/.. HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "two dots before the query", TEXT("GET /a/..?b HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "encoded dots", TEXT("GET /a/%2e%2E/b HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "half encoded dots", TEXT("GET /a/.%2e/b HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "dots with a parameter", TEXT("GET /a/..;x=1/b HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "dots with an encoded parameter", TEXT("GET /a/..%3bx/b HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "dots of an absolute target", TEXT("GET http://a.example/../b HTTP/1.1\r\n" HOST "\r\n"),
            400 },
    { "an encoded slash is the policy's matter", TEXT("GET /@a%2Fb HTTP/1.1\r\n" HOST "\r\n"), 0 },
    { "dots behind an encoded slash", TEXT("GET /a%2F..%2fb HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "an encoded backslash", TEXT("GET /a%5cb HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "an encoded zero byte", TEXT("GET /a%00b HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "an encoded line end", TEXT("GET /a%0d%0ab HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "an overlong slash", TEXT("GET /a%c0%afb HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "an overlong dot", TEXT("GET /a%e0%80%aeb HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "half an encoding", TEXT("GET /a%2 HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "no encoding", TEXT("GET /a%zz HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "no encoding in the query", TEXT("GET /?a%zz HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "CONNECT without port", TEXT("CONNECT a.example HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "CONNECT with a URL", TEXT("CONNECT http://a.example:80/ HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "CONNECT with a zero byte", TEXT("CONNECT b.example\0.a.example:80 HTTP/1.1\r\n" HOST "\r\n"),
            400 },
    { "CONNECT with too large a port", TEXT("CONNECT a.example:65536 HTTP/1.1\r\n" HOST "\r\n"),
            400 },
    { "CONNECT with a zone", TEXT("CONNECT [::1%25lo]:80 HTTP/1.1\r\n" HOST "\r\n"), 400 },
    { "CONNECT with a body",
            TEXT("CONNECT a.example:80 HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\n"), 400 },
    { "CONNECT, another Host", TEXT("CONNECT b.example:80 HTTP/1.1\r\n" HOST "\r\n"), 421 },
    { "CONNECT, another port in Host",
            TEXT("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:80\r\n\r\n"), 421 },
    /* fields */
    { "no colon", TEXT("GET / HTTP/1.1\r\n" HOST "A\r\n\r\n"), 400 },
    { "no name", TEXT("GET / HTTP/1.1\r\n" HOST ": a\r\n\r\n"), 400 },
    { "a blank before the colon", TEXT("GET / HTTP/1.1\r\n" HOST "A : b\r\n\r\n"), 400 },
    { "a tab before the colon", TEXT("GET / HTTP/1.1\r\n" HOST "A\t: b\r\n\r\n"), 400 },
    { "a blank in a name", TEXT("GET / HTTP/1.1\r\n" HOST "A b: c\r\n\r\n"), 400 },
    { "a zero byte in a name", TEXT("GET / HTTP/1.1\r\n" HOST "A\0: b\r\n\r\n"), 400 },
    { "no ASCII in a name", TEXT("GET / HTTP/1.1\r\n" HOST "\xe4: b\r\n\r\n"), 400 },
    { "a zero byte in a value", TEXT("GET / HTTP/1.1\r\n" HOST "A: b\0c\r\n\r\n"), 400 },
    { "a control character in a value", TEXT("GET / HTTP/1.1\r\n" HOST "A: b\x1b\r\n\r\n"), 400 },
    { "DEL in a value", TEXT("GET / HTTP/1.1\r\n" HOST "A: b\x7f\r\n\r\n"), 400 },
    { "two Authorizations",
            TEXT("GET / HTTP/1.1\r\n" HOST "Authorization: a\r\nauthorization: b\r\n\r\n"), 400 },
    { "two types", TEXT("GET / HTTP/1.1\r\n" HOST "Content-Type: a\r\nContent-Type: a\r\n\r\n"),
            400 },
    /* Host */
    { "no Host", TEXT("GET / HTTP/1.1\r\n\r\n"), 400 },
    { "an empty Host", TEXT("GET / HTTP/1.1\r\nHost:\r\n\r\n"), 400 },
    { "two Hosts", TEXT("GET / HTTP/1.1\r\n" HOST HOST "\r\n"), 400 },
    { "two names in Host", TEXT("GET / HTTP/1.1\r\nHost: a.example, b.example\r\n\r\n"), 400 },
    { "a path in Host", TEXT("GET / HTTP/1.1\r\nHost: a.example/x\r\n\r\n"), 400 },
    { "user information in Host", TEXT("GET / HTTP/1.1\r\nHost: x@a.example\r\n\r\n"), 400 },
    { "an empty port", TEXT("GET / HTTP/1.1\r\nHost: a.example:\r\n\r\n"), 400 },
    { "port 0", TEXT("GET / HTTP/1.1\r\nHost: a.example:0\r\n\r\n"), 400 },
    { "a port with a sign", TEXT("GET / HTTP/1.1\r\nHost: a.example:+80\r\n\r\n"), 400 },
    { "an address without brackets", TEXT("GET / HTTP/1.1\r\nHost: fd00::1\r\n\r\n"), 400 },
    { "a name in brackets", TEXT("GET / HTTP/1.1\r\nHost: [a.b]\r\n\r\n"), 400 },
    { "Host is another than the target's", TEXT("GET http://b.example/ HTTP/1.1\r\n" HOST "\r\n"),
            421 },
    { "Host has another port than the target",
            TEXT("GET http://a.example:81/ HTTP/1.1\r\n" HOST "\r\n"), 421 },
    /* the body's length */
    { "two lengths",
            TEXT("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n"),
            400 },
    { "one length twice",
            TEXT("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"),
            400 },
    { "a list of lengths", TEXT("POST / HTTP/1.1\r\n" HOST "Content-Length: 5, 5\r\n\r\n"), 400 },
    { "no length", TEXT("POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n"), 400 },
    { "a sign", TEXT("POST / HTTP/1.1\r\n" HOST "Content-Length: +5\r\n\r\n"), 400 },
    { "a minus", TEXT("POST / HTTP/1.1\r\n" HOST "Content-Length: -5\r\n\r\n"), 400 },
    { "a blank in it", TEXT("POST / HTTP/1.1\r\n" HOST "Content-Length: 5 0\r\n\r\n"), 400 },
    { "hexadecimal", TEXT("POST / HTTP/1.1\r\n" HOST "Content-Length: 0x5\r\n\r\n"), 400 },
    { "octal", TEXT("POST / HTTP/1.1\r\n" HOST "Content-Length: 010\r\n\r\n"), 400 },
    { "too large", TEXT("POST / HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551617\r\n\r\n"),
            400 },
    { "length and chunks",
            TEXT("POST / HTTP/1.1\r\n" HOST
                 "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
            400 },
    { "chunks in HTTP/1.0", TEXT("POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"),
            400 },
    { "chunks twice",
            TEXT("POST / HTTP/1.1\r\n" HOST
                 "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
            400 },
    { "chunks in chunks",
            TEXT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, chunked\r\n\r\n"), 501 },
    { "another coding", TEXT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n"),
            501 },
    { "identity", TEXT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: identity\r\n\r\n"), 501 },
    { "nearly chunked", TEXT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n"),
            501 },
    { "chunked in quotes",
            TEXT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: \"chunked\"\r\n\r\n"), 501 },
    { "chunked with a vertical tab",
            TEXT("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding:\vchunked\r\n\r\n"), 400 },
    { "an underscore for a hyphen", TEXT("POST / HTTP/1.1\r\n" HOST "Content_Length: 5\r\n\r\n"),
            400 },
    { "an underscore in an encoding",
            TEXT("POST / HTTP/1.1\r\n" HOST "TRANSFER_ENCODING: chunked\r\n\r\n"), 400 },
    /* the connection */
    { "Connection takes Host away", TEXT("GET / HTTP/1.1\r\n" HOST "Connection: host\r\n\r\n"),
            400 },
    { "Connection takes the length away",
            TEXT("GET / HTTP/1.1\r\n" HOST "Connection: close, Content-Length\r\n\r\n"), 400 },
    { "Connection takes a credential away",
            TEXT("GET / HTTP/1.1\r\n" HOST "Connection: Authorization\r\n\r\n"), 400 },
    { "Connection says both",
            TEXT("GET / HTTP/1.0\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n"), 400 },
    { "Connection says both in a list",
            TEXT("GET / HTTP/1.1\r\n" HOST "Connection: keep-alive, close\r\n\r\n"), 400 },
    { "an upgrade in HTTP/1.0",
            TEXT("GET / HTTP/1.0\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n"),
            400 },
    { "Connection is no list", TEXT("GET / HTTP/1.1\r\n" HOST "Connection: close;x\r\n\r\n"), 400 },
    { "Expect", TEXT("GET / HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\n\r\n"), 0 },
    { "another Expect", TEXT("GET / HTTP/1.1\r\n" HOST "Expect: 200-ok\r\n\r\n"), 417 },
};

START_TEST(requests_are_read_or_refused)
{
    const struct request_case *c = &request_cases[_i];
    struct http_head head;
    const char *why = NULL;
    int r = http_request_parse(c->text, c->length, &head, &why);

    ck_assert_msg(
            r == (c->status == 0 ? (int)c->length : -c->status), "%s: %d %s", c->name, r, why);
    ck_assert_msg(c->status == 0 || why != NULL, "%s", c->name);
}
END_TEST

START_TEST(a_request_that_is_cut_wants_more)
{
    const struct request_case *c = &request_cases[_i];
    struct http_head head;
    const char *why;

    for (size_t cut = 0; cut < c->length; cut++) {
        AUTO(freep) char *exact = malloc(cut + 1);
        int r;

        memcpy(exact, c->text, cut);
        r = http_request_parse(exact, cut, &head, &why);
        ck_assert_msg(r == 0 || (r < 0 && c->status != 0), "%s cut at %zu: %d", c->name, cut, r);
    }
}
END_TEST

static void
expect_span(struct span span, const char *text)
{
    ck_assert_msg(span.length == strlen(text) && memcmp(span.at, text, span.length) == 0,
            "'%.*s' is not '%s'", (int)span.length, span.at, text);
}

static void
parse(struct http_head *head, const char *text)
{
    const char *why = "";
    int r = http_request_parse(text, strlen(text), head, &why);

    ck_assert_msg(r == (int)strlen(text), "%d %s", r, why);
}

START_TEST(a_head_says_where_to_and_how)
{
    struct http_head head;

    parse(&head, "POST /a/b?c=d HTTP/1.1\r\nHost: A.example:8080\r\nContent-Length: 12\r\n"
                 "Expect: 100-continue\r\nX-A:  b c \r\n\r\n");
    expect_span(head.method, "POST");
    expect_span(head.host, "A.example");
    expect_span(head.path, "/a/b?c=d");
    ck_assert(head.form == HTTP_ORIGIN && head.port == 8080 && head.minor == 1 && head.keep_alive);
    ck_assert(head.framing == HTTP_LENGTH && head.content_length == 12 && head.expects_continue);
    ck_assert_uint_eq(head.n_fields, 4);
    expect_span(http_field_get(&head, "x-a")->value, "b c");
    ck_assert_ptr_null(http_field_get(&head, "x-b"));

    parse(&head, "GET http://[FD00::1]:81/x HTTP/1.1\r\nHost: [fd00::1]:81\r\nConnection: "
                 "close\r\n\r\n");
    expect_span(head.host, "FD00::1");
    ck_assert(head.form == HTTP_ABSOLUTE && head.port == 81 && !head.keep_alive && !head.is_https);
    ck_assert(head.framing == HTTP_NO_BODY);

    parse(&head, "GET https://a.example HTTP/1.1\r\nHost: a.example:443\r\n\r\n");
    ck_assert(head.is_https && head.port == 0);
    expect_span(head.path, "/");

    parse(&head, "CONNECT a.example:22 HTTP/1.0\r\n\r\n");
    expect_span(head.host, "a.example");
    ck_assert(head.form == HTTP_AUTHORITY && head.port == 22 && !head.keep_alive);

    parse(&head, "GET / HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n\r\n");
    ck_assert(head.host.length == 0 && head.keep_alive && !head.expects_continue);

    parse(&head, "GET / HTTP/1.1\r\n" HOST
                 "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n");
    expect_span(head.upgrade, "websocket");
    parse(&head, "GET / HTTP/1.1\r\n" HOST "Upgrade: websocket\r\n\r\n");
    ck_assert_uint_eq(head.upgrade.length, 0);
}
END_TEST

START_TEST(what_belongs_to_the_connection_is_known)
{
    struct http_head head;
    static const char *const hop[] = { "Connection", "Keep-Alive", "X-A", "Proxy-Authorization",
        "TE", "Upgrade" };

    parse(&head, "GET / HTTP/1.1\r\n" HOST
                 "Connection: x-a , close\r\nKeep-Alive: 5\r\nX-A: b\r\nX-Ab: c\r\n"
                 "Proxy-Authorization: d\r\nTE: trailers\r\nUpgrade: e\r\nAccept: f\r\n\r\n");
    for (size_t i = 0; i < head.n_fields; i++) {
        bool is_hop = false;

        for (size_t k = 0; k < N_ELEMENTS(hop); k++) {
            is_hop |= span_is(head.fields[i].name, hop[k]);
        }
        ck_assert_msg(http_field_is_hop(&head, &head.fields[i]) == is_hop, "%.*s",
                (int)head.fields[i].name.length, head.fields[i].name.at);
    }
}
END_TEST

START_TEST(connection_names_only_so_many_fields)
{
    for (size_t more = 0; more < 2; more++) {
        char text[1024];
        struct http_head head;
        const char *why;
        size_t length =
                (size_t)snprintf(text, sizeof text, "GET / HTTP/1.1\r\n" HOST "Connection: ");

        for (size_t i = 0; i < HTTP_CONNECTION_MAX + more; i++) {
            length += (size_t)snprintf(text + length, sizeof text - length, "a,");
        }
        length += (size_t)snprintf(text + length, sizeof text - length, "\r\n\r\n");
        ck_assert_int_eq(
                http_request_parse(text, length, &head, &why), more == 0 ? (int)length : -400);
    }
}
END_TEST

START_TEST(sizes_are_bounded)
{
    static char text[HTTP_HEAD_MAX + 1024];
    struct http_head head;
    const char *why;
    size_t length;

    /* the head */
    memset(text, 'a', sizeof text);
    memcpy(text, "GET / HTTP/1.1\r\nA: ", 19);
    ck_assert_int_eq(http_request_parse(text, HTTP_HEAD_MAX - 1, &head, &why), 0);
    ck_assert_int_eq(http_request_parse(text, HTTP_HEAD_MAX, &head, &why), -431);
    /* the target */
    for (size_t more = 0; more < 2; more++) {
        length = (size_t)snprintf(text, sizeof text, "GET /%0*d HTTP/1.1\r\n" HOST "\r\n",
                (int)(HTTP_TARGET_MAX - 1 + more), 0);
        ck_assert_int_eq(
                http_request_parse(text, length, &head, &why), more == 0 ? (int)length : -414);
    }
    /* fields; Host is one of them */
    for (size_t more = 0; more < 2; more++) {
        length = (size_t)snprintf(text, sizeof text, "GET / HTTP/1.1\r\n" HOST);
        for (size_t i = 0; i < HTTP_FIELDS_MAX - 1 + more; i++) {
            length += (size_t)snprintf(text + length, sizeof text - length, "A: b\r\n");
        }
        length += (size_t)snprintf(text + length, sizeof text - length, "\r\n");
        ck_assert_int_eq(
                http_request_parse(text, length, &head, &why), more == 0 ? (int)length : -431);
    }
    /* lines that never end in an empty one are not waited for */
    length = 0;
    for (size_t i = 0; i < HTTP_FIELDS_MAX + 2; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "A: b\r\n");
    }
    ck_assert_int_eq(http_request_parse(text, length, &head, &why), -431);
    /* a host */
    for (size_t more = 0; more < 2; more++) {
        length = (size_t)snprintf(
                text, sizeof text, "GET / HTTP/1.1\r\nHost: %0*d\r\n\r\n", (int)(254 + more), 0);
        ck_assert_int_eq(
                http_request_parse(text, length, &head, &why), more == 0 ? (int)length : -400);
    }
}
END_TEST

/* ---- responses ------------------------------------------------------------------------------ */
static const struct response_case {
    const char *name;
    const char *method;
    const char *text;
    size_t length;
    int framing; /* -1: refused */
    bool keep_alive;
} response_cases[] = {
    { "a length", "GET", TEXT("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"), HTTP_LENGTH, true },
    { "chunks", "GET", TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), HTTP_CHUNKED,
            true },
    { "neither", "GET", TEXT("HTTP/1.1 200 OK\r\n\r\n"), HTTP_UNTIL_CLOSE, false },
    { "no reason", "GET", TEXT("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"), HTTP_LENGTH, true },
    { "no reason and no blank", "GET", TEXT("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"),
            HTTP_LENGTH, true },
    { "HTTP/1.0", "GET", TEXT("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n"), HTTP_LENGTH, false },
    { "close", "GET", TEXT("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: Close\r\n\r\n"),
            HTTP_LENGTH, false },
    { "HEAD", "HEAD", TEXT("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"), HTTP_NO_BODY, true },
    { "HEAD with chunks", "HEAD", TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            HTTP_NO_BODY, true },
    { "304", "GET", TEXT("HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n"), HTTP_NO_BODY,
            true },
    { "204", "GET", TEXT("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"), HTTP_NO_BODY,
            true },
    { "100", "POST", TEXT("HTTP/1.1 100 Continue\r\n\r\n"), HTTP_NO_BODY, true },
    { "CONNECT", "CONNECT", TEXT("HTTP/1.1 200 Fine\r\nContent-Length: 3\r\n\r\n"), HTTP_NO_BODY,
            true },
    { "CONNECT refused", "CONNECT", TEXT("HTTP/1.1 407 No\r\nContent-Length: 3\r\n\r\n"),
            HTTP_LENGTH, true },
    { "a field that is no ASCII", "GET",
            TEXT("HTTP/1.1 200 \xe4\r\nA: \xe4\r\nContent-Length: 3\r\n\r\n"), HTTP_LENGTH, true },
    { "204 with a body", "GET", TEXT("HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n"), -1,
            false },
    { "100 with a body", "GET", TEXT("HTTP/1.1 100 Continue\r\nTransfer-Encoding: chunked\r\n\r\n"),
            -1, false },
    { "length and chunks", "GET",
            TEXT("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"), -1,
            false },
    { "two lengths", "GET",
            TEXT("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n"), -1, false },
    { "another coding", "GET", TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"), -1,
            false },
    { "chunks in HTTP/1.0", "GET", TEXT("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            -1, false },
    { "bare LF", "GET", TEXT("HTTP/1.1 200 OK\nContent-Length: 3\n\n"), -1, false },
    { "a line that goes on", "GET", TEXT("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"), -1, false },
    { "HTTP/2", "GET", TEXT("HTTP/2 200 OK\r\n\r\n"), -1, false },
    { "a status of two digits", "GET", TEXT("HTTP/1.1 20 OK\r\n\r\n"), -1, false },
    { "a status of letters", "GET", TEXT("HTTP/1.1 2x0 OK\r\n\r\n"), -1, false },
    { "status 099", "GET", TEXT("HTTP/1.1 099 OK\r\n\r\n"), -1, false },
    { "no status", "GET", TEXT("HTTP/1.1\r\n\r\n"), -1, false },
    { "a zero byte", "GET", TEXT("HTTP/1.1 200 O\0K\r\n\r\n"), -1, false },
    { "an error of a shell", "GET", TEXT("sh: not found\r\n\r\n"), -1, false },
};

START_TEST(responses_are_read_or_refused)
{
    const struct response_case *c = &response_cases[_i];
    struct http_head head;
    const char *why = NULL;
    int r = http_response_parse(
            c->text, c->length, (struct span){ c->method, strlen(c->method) }, &head, &why);

    ck_assert_msg(r == (c->framing < 0 ? -502 : (int)c->length), "%s: %d", c->name, r);
    if (c->framing >= 0) {
        ck_assert_msg(
                (int)head.framing == c->framing && head.keep_alive == c->keep_alive, "%s", c->name);
    } else {
        ck_assert_msg(why != NULL, "%s", c->name);
    }
}
END_TEST

/* ---- bodies --------------------------------------------------------------------------------- */
static const struct body_case {
    const char *name;
    const char *text;
    size_t length;
    int framing;
    uint64_t content_length;
    const char *body; /* NULL: refused */
    size_t rest; /* bytes that belong to the next message */
} body_cases[] = {
    { "none", TEXT("GET "), HTTP_NO_BODY, 0, "", 4 },
    { "a length", TEXT("helloGET "), HTTP_LENGTH, 5, "hello", 4 },
    { "length 0", TEXT("GET "), HTTP_LENGTH, 0, "", 4 },
    { "until the end", TEXT("hello"), HTTP_UNTIL_CLOSE, 0, "hello", 0 },
    { "a chunk", TEXT("5\r\nhello\r\n0\r\n\r\nGET "), HTTP_CHUNKED, 0, "hello", 4 },
    { "chunks", TEXT("2\r\nhe\r\n003\r\nllo\r\n00\r\n\r\n"), HTTP_CHUNKED, 0, "hello", 0 },
    { "large digits", TEXT("A\r\nhellohello\r\na\r\nhellohello\r\n0\r\n\r\n"), HTTP_CHUNKED, 0,
            "hellohellohellohello", 0 },
    { "CR LF in a chunk", TEXT("4\r\n\r\n\r\n\r\n0\r\n\r\n"), HTTP_CHUNKED, 0, "\r\n\r\n", 0 },
    { "an extension", TEXT("5;a=b;c\r\nhello\r\n0;d\r\n\r\n"), HTTP_CHUNKED, 0, "hello", 0 },
    { "a trailer", TEXT("5\r\nhello\r\n0\r\nA: b\r\nX-Sum:\r\n\r\nGET "), HTTP_CHUNKED, 0, "hello",
            4 },
    { "nothing", TEXT("0\r\n\r\n"), HTTP_CHUNKED, 0, "", 0 },
    { "a sign", TEXT("+5\r\nhello\r\n0\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "a minus", TEXT("-1\r\nhello\r\n0\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "0x", TEXT("0x5\r\nhello\r\n0\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "a blank first", TEXT(" 5\r\nhello\r\n0\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "a blank after it", TEXT("5 \r\nhello\r\n0\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "a blank before the extension", TEXT("5 ;a\r\nhello\r\n0\r\n\r\n"), HTTP_CHUNKED, 0, NULL,
            0 },
    { "no size", TEXT("\r\nhello\r\n0\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "no size but an extension", TEXT(";a\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "a size of 2^64 and 5", TEXT("10000000000000005\r\nhello\r\n0\r\n\r\n"), HTTP_CHUNKED, 0,
            NULL, 0 },
    { "bare LF after the size", TEXT("5\nhello\r\n0\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "bare CR after the size", TEXT("5\rhello\r\n0\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "bare LF after an extension", TEXT("5;a\nhello\r\n0\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "a quoted extension", TEXT("5;a=\"\r\n\"\r\nhello\r\n0\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "bare LF after a chunk", TEXT("5\r\nhello\n0\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "a chunk that is longer", TEXT("4\r\nhello\r\n0\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "no end of the last", TEXT("0\r\nGET / HTTP/1.1\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "bare LF at the end", TEXT("0\r\n\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "a framing trailer", TEXT("0\r\nContent-Length: 5\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "a framing trailer in disguise", TEXT("0\r\ntransfer_Encoding: x\r\n\r\n"), HTTP_CHUNKED, 0,
            NULL, 0 },
    { "Host as a trailer", TEXT("0\r\nHOST: a\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "a credential as a trailer", TEXT("0\r\nAuthorization: a\r\n\r\n"), HTTP_CHUNKED, 0, NULL,
            0 },
    { "a trailer that goes on", TEXT("0\r\nA: b\r\n c\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "a blank before the colon", TEXT("0\r\nA : b\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "no colon in a trailer", TEXT("0\r\nA\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
    { "bare LF in a trailer", TEXT("0\r\nA: b\nC: d\r\n\r\n"), HTTP_CHUNKED, 0, NULL, 0 },
};

/* Reads the text in pieces of that size; the body, or NULL if it is refused. */
static char *
read_body(const struct body_case *c, size_t piece, struct http_body *body, size_t *ret_used)
{
    struct http_head head = { .framing = (enum http_framing)c->framing,
        .content_length = c->content_length };
    char *text = calloc(1, c->length + 1);
    size_t length = 0;

    http_body_start(body, &head);
    *ret_used = 0;
    while (*ret_used < c->length && !http_body_is_over(body)) {
        size_t left = c->length - *ret_used;
        struct span got;
        const char *why = NULL;
        ssize_t used =
                http_body_read(body, c->text + *ret_used, left < piece ? left : piece, &got, &why);

        if (used < 0) {
            ck_assert_ptr_nonnull(why);
            free(text);
            return NULL;
        }
        ck_assert_int_gt(used, 0);
        memcpy(text + length, got.at, got.length);
        length += got.length;
        *ret_used += (size_t)used;
    }
    return text;
}

START_TEST(bodies_are_read_however_they_are_cut)
{
    const struct body_case *c = &body_cases[_i];

    for (size_t piece = 1; piece <= c->length; piece++) {
        struct http_body body;
        size_t used;
        AUTO(freep) char *text = read_body(c, piece, &body, &used);

        ck_assert_msg((text == NULL) == (c->body == NULL), "%s in pieces of %zu", c->name, piece);
        if (text != NULL) {
            ck_assert_msg(strcmp(text, c->body) == 0, "%s: '%s'", c->name, text);
            ck_assert_msg(c->length - used == c->rest, "%s: %zu", c->name, used);
            ck_assert_msg(http_body_may_end(&body), "%s", c->name);
        }
    }
}
END_TEST

START_TEST(a_body_that_is_cut_is_no_body)
{
    static const struct body_case cut[] = {
        { "a length", TEXT("hell"), HTTP_LENGTH, 5, "hell", 0 },
        { "chunks", TEXT("5\r\nhello\r\n"), HTTP_CHUNKED, 0, "hello", 0 },
        { "chunks without their end", TEXT("5\r\nhello\r\n0\r\n"), HTTP_CHUNKED, 0, "hello", 0 },
    };

    for (size_t i = 0; i < N_ELEMENTS(cut); i++) {
        struct http_body body;
        size_t used;
        AUTO(freep) char *text = read_body(&cut[i], 1, &body, &used);

        ck_assert_ptr_nonnull(text);
        ck_assert_msg(!http_body_is_over(&body) && !http_body_may_end(&body), "%s", cut[i].name);
    }
}
END_TEST

START_TEST(chunks_say_only_so_much_besides_the_body)
{
    static const char *const units[] = { "1;abcdefgh\r\nx\r\n", "A: bcdefgh\r\n" };

    for (size_t i = 0; i < N_ELEMENTS(units); i++) {
        struct http_head head = { .framing = HTTP_CHUNKED };
        struct http_body body;
        const char *why = NULL;
        size_t times = 0;
        ssize_t used = 1;

        http_body_start(&body, &head);
        if (i == 1) {
            struct span piece;

            http_body_read(&body, "0\r\n", 3, &piece, &why);
        }
        for (; used >= 0 && times < HTTP_CHUNK_EXTRAS_MAX; times++) {
            for (size_t at = 0; used >= 0 && at < strlen(units[i]); at += (size_t)used) {
                struct span piece;

                used = http_body_read(&body, units[i] + at, strlen(units[i]) - at, &piece, &why);
            }
        }
        ck_assert_uint_gt(times, 500);
        ck_assert_uint_lt(times, 2000);
        ck_assert_ptr_nonnull(why);
    }
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("http");
    TCase *heads = tcase_create("heads"), *bodies = tcase_create("bodies");

    tcase_set_timeout(heads, 30);
    tcase_add_loop_test(heads, requests_are_read_or_refused, 0, N_ELEMENTS(request_cases));
    tcase_add_loop_test(heads, a_request_that_is_cut_wants_more, 0, N_ELEMENTS(request_cases));
    tcase_add_test(heads, a_head_says_where_to_and_how);
    tcase_add_test(heads, what_belongs_to_the_connection_is_known);
    tcase_add_test(heads, connection_names_only_so_many_fields);
    tcase_add_test(heads, sizes_are_bounded);
    tcase_add_loop_test(heads, responses_are_read_or_refused, 0, N_ELEMENTS(response_cases));
    suite_add_tcase(suite, heads);
    tcase_add_loop_test(bodies, bodies_are_read_however_they_are_cut, 0, N_ELEMENTS(body_cases));
    tcase_add_test(bodies, a_body_that_is_cut_is_no_body);
    tcase_add_test(bodies, chunks_say_only_so_much_besides_the_body);
    suite_add_tcase(suite, bodies);
    return suite;
}

UNIT_MAIN(make_suite)
