/* SPDX-License-Identifier: Apache-2.0
 * Heads of HTTP/1.1 messages (RFC 9110, RFC 9112).  Nothing is repaired: what is no head of today's
 * grammar, or says twice how long the body is, is refused.  http_target.c reads where to. */
#include "egress/http_head.h"

#include "egress/http_fields.h"
#include "egress/http_target.h"

#include <string.h>

#define METHOD_MAX 24u

/* Where the head ends, or the first line of it that ends otherwise than with CR LF: whoever reads
 * the lines refuses it then, at once, since some take that for the end.  0: not there yet; -1: too
 * long, or too many lines. */
static int
find_end(const char *bytes, size_t length)
{
    size_t most = length < HTTP_HEAD_MAX ? length : HTTP_HEAD_MAX;
    size_t lines = 0;

    for (size_t at = 0; at < most;) {
        const char *end = memchr(bytes + at, '\n', most - at);
        size_t line = end == NULL ? most - at : (size_t)(end - (bytes + at));
        const char *cr = memchr(bytes + at, '\r', line);

        if (end == NULL && (cr == NULL || cr + 1 == bytes + most)) {
            break;
        }
        at += end == NULL ? line : line + 1;
        if (line == 1 || cr == NULL || cr + 1 != end) {
            return (int)at;
        }
        if (++lines > HTTP_FIELDS_MAX + 1) {
            return -1;
        }
    }
    return most == HTTP_HEAD_MAX ? -1 : 0;
}

/* "HTTP/1.0" or "HTTP/1.1", and nothing that is nearly so. */
static bool
read_version(struct span text, int *ret_minor)
{
    if (text.length != 8 || memcmp(text.at, "HTTP/1.", 7) != 0 ||
            (text.at[7] != '0' && text.at[7] != '1')) {
        return false;
    }
    *ret_minor = text.at[7] - '0';
    return true;
}

/* Servers differ in whether "get" is "GET". */
static bool
is_method(struct span method)
{
    for (size_t i = 0; i < method.length; i++) {
        if (method.at[i] >= 'a' && method.at[i] <= 'z') {
            return false;
        }
    }
    return method.length <= METHOD_MAX && span_is_token(method);
}

static int
read_request_line(struct http_head *head, struct span line, const char **ret_why)
{
    if (line.length == 0) {
        return http_refuse(400, "an empty line before the request", ret_why);
    }
    head->method = span_until_space(&line);
    head->target = span_until_space(&line);
    if (!is_method(head->method)) {
        return http_refuse(400, "the method is no word of capital letters", ret_why);
    }
    if (head->target.length == 0) {
        return http_refuse(400, "the request has no target", ret_why);
    }
    if (head->target.length > HTTP_TARGET_MAX) {
        return http_refuse(414, "the target is too long", ret_why);
    }
    return read_version(line, &head->minor) ? http_target_parse(head, ret_why)
                                            : http_refuse(505, "this is not HTTP/1.1", ret_why);
}

/* Host against the target. */
static int
read_host(struct http_head *head, struct span field, const char **ret_why)
{
    uint16_t scheme = head->is_https ? 443 : 80;
    uint16_t port;
    struct span host;

    if (field.at == NULL) {
        return head->minor == 0 ? 0 : http_refuse(400, "there is no Host", ret_why);
    }
    if (!http_authority_parse(field, &host, &port)) {
        return http_refuse(400, "Host is no host and port", ret_why);
    }
    if (head->form == HTTP_ORIGIN) {
        head->host = host;
        head->port = port;
        return 0;
    }
    /* Some clients leave the port away in the Host of a CONNECT. */
    if (!span_is_same(host, head->host) ||
            (head->form == HTTP_AUTHORITY ? port != 0 && port != head->port
                                          : (port == 0 ? scheme : port) !=
                                                    (head->port == 0 ? scheme : head->port))) {
        return http_refuse(421, "Host is not that of the target", ret_why);
    }
    return 0;
}

/* The head's length and its first line, 0, or a negative status. */
static int
read_head(struct http_head *head, struct span bytes, struct span *ret_first, struct span *ret_rest,
        const char **ret_why)
{
    int end = find_end(bytes.at, bytes.length);

    if (end < 0) {
        return http_refuse(431, "the head is too long", ret_why);
    }
    if (end == 0) {
        return 0;
    }
    *head = (struct http_head){ .length = (size_t)end };
    *ret_rest = (struct span){ bytes.at, (size_t)end };
    return http_line_next(ret_rest, ret_first)
                   ? end
                   : http_refuse(400, "a line does not end with CR LF", ret_why);
}

int
http_request_parse(
        const char *bytes, size_t length, struct http_head *ret_head, const char **ret_why)
{
    struct span first, rest, host;
    int end = read_head(ret_head, (struct span){ bytes, length }, &first, &rest, ret_why);
    int r;

    if (end <= 0) {
        return end;
    }
    ret_head->is_request = true;
    r = read_request_line(ret_head, first, ret_why);
    r = r < 0 ? r : http_fields_read(ret_head, rest, &host, ret_why);
    r = r < 0 ? r : read_host(ret_head, host, ret_why);
    if (r == 0 && ret_head->form == HTTP_AUTHORITY && ret_head->framing != HTTP_NO_BODY) {
        r = http_refuse(400, "CONNECT has a body", ret_why);
    }
    return r < 0 ? r : end;
}

static int
read_status_line(struct http_head *head, struct span line, const char **ret_why)
{
    struct span version = span_until_space(&line), status = span_until_space(&line);

    if (!read_version(version, &head->minor)) {
        return http_refuse(502, "this is not HTTP/1.1", ret_why);
    }
    for (size_t i = 0; i < status.length; i++) {
        if (status.length != 3 || status.at[i] < '0' || status.at[i] > '9') {
            return http_refuse(502, "the status is no number", ret_why);
        }
        head->status = head->status * 10 + (status.at[i] - '0');
    }
    if (head->status < 100 || head->status > 599) {
        return http_refuse(502, "the status is no number", ret_why);
    }
    for (size_t i = 0; i < line.length; i++) {
        if (((unsigned char)line.at[i] < ' ' && line.at[i] != '\t') || line.at[i] == 0x7f) {
            return http_refuse(502, "the status line has a control character", ret_why);
        }
    }
    head->reason = line;
    return 0;
}

/* What the status and the request's method make of the body. */
static int
settle_body(struct http_head *head, struct span method, const char **ret_why)
{
    bool is_empty = head->status < 200 || head->status == 204;

    if (span_is(method, "CONNECT") && head->status / 100 == 2) {
        head->framing = HTTP_NO_BODY;
        return 0;
    }
    if (is_empty && (head->framing == HTTP_CHUNKED || head->content_length > 0)) {
        return http_refuse(502, "an answer that has no body says that it has one", ret_why);
    }
    if (is_empty || head->status == 304 || span_is(method, "HEAD")) {
        head->framing = HTTP_NO_BODY;
    } else if (head->framing == HTTP_NO_BODY) {
        head->framing = HTTP_UNTIL_CLOSE;
        head->keep_alive = false;
    }
    return 0;
}

int
http_response_parse(const char *bytes, size_t length, struct span method,
        struct http_head *ret_head, const char **ret_why)
{
    struct span first, rest, host;
    int end = read_head(ret_head, (struct span){ bytes, length }, &first, &rest, ret_why);
    int r = end;

    if (end > 0) {
        r = read_status_line(ret_head, first, ret_why);
        r = r < 0 ? r : http_fields_read(ret_head, rest, &host, ret_why);
        r = r < 0 ? r : settle_body(ret_head, method, ret_why);
    }
    return r < 0 ? -502 : end;
}
