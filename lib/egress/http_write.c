/* SPDX-License-Identifier: Apache-2.0
 * Fields are passed on in their order and spelling; Host, framing and Connection are ours.  Own
 * fields are before them, for those who take the first of a name. */
#include "egress/http_write.h"

#include <inttypes.h>
#include <string.h>

/* Said anew. */
static bool
is_ours(struct span name)
{
    static const char *const names[] = { "host", "content-length", "expect", NULL };

    return span_is_one_of(name, names);
}

/* Servers hand fields to programs as variables, in which all but letters and digits is '_'. */
static char
as_variable(char c)
{
    return !is_letter_or_digit(c) ? '_' : c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool
is_own(struct span name, const struct http_own *own, size_t n_own)
{
    for (size_t i = 0; i < n_own; i++) {
        size_t at = 0;

        while (at < name.length && own[i].name[at] != '\0' &&
                as_variable(name.at[at]) == as_variable(own[i].name[at])) {
            at++;
        }
        if (at == name.length && own[i].name[at] == '\0') {
            return true;
        }
    }
    return false;
}

static void
add_fields(struct str *out, const struct http_head *head, const struct http_own *own, size_t n_own)
{
    for (size_t i = 0; i < n_own; i++) {
        if (own[i].value != NULL) {
            str_printf(out, "%s: %s\r\n", own[i].name, own[i].value);
        }
    }
    for (size_t i = 0; i < head->n_fields; i++) {
        const struct http_field *field = &head->fields[i];

        if (is_ours(field->name) || http_field_is_hop(head, field) ||
                is_own(field->name, own, n_own)) {
            continue;
        }
        str_add_bytes(out, field->name.at, field->name.length);
        str_add(out, ": ");
        str_add_bytes(out, field->value.at, field->value.length);
        str_add(out, "\r\n");
    }
}

static void
add_frame(struct str *out, const struct http_head *head, const struct http_frame *frame)
{
    const struct http_field *length = http_field_get(head, "content-length");

    switch (frame->framing) {
    case HTTP_LENGTH:
        str_printf(out, "Content-Length: %" PRIu64 "\r\n", frame->length);
        break;
    case HTTP_CHUNKED:
        str_add(out, "Transfer-Encoding: chunked\r\n");
        break;
    case HTTP_NO_BODY:
        if (frame->keeps_length && length != NULL) {
            str_printf(
                    out, "Content-Length: %.*s\r\n", (int)length->value.length, length->value.at);
        }
        break;
    case HTTP_UNTIL_CLOSE:
        break;
    }
}

void
http_authority_write(struct str *out, const char *host, uint16_t port, bool is_tls)
{
    bool is_ipv6 = strchr(host, ':') != NULL;

    str_printf(out, "%s%s%s", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "");
    if (port != (is_tls ? 443 : 80)) {
        str_printf(out, ":%u", port);
    }
}

bool
http_upgrade_passes(const struct http_head *request)
{
    return span_is(request->upgrade, "websocket") && span_is(request->method, "GET") &&
           request->framing == HTTP_NO_BODY;
}

void
http_request_write(struct str *out, const struct http_head *request, const char *host,
        uint16_t port, bool is_tls, const struct http_frame *frame, bool expects,
        const struct http_own *own, size_t n_own)
{
    str_add_bytes(out, request->method.at, request->method.length);
    str_add(out, " ");
    str_add_bytes(out, request->path.at, request->path.length);
    str_add(out, " HTTP/1.1\r\nHost: ");
    http_authority_write(out, host, port, is_tls);
    str_add(out, "\r\n");
    add_fields(out, request, own, n_own);
    add_frame(out, request, frame);
    if (expects) {
        str_add(out, "Expect: 100-continue\r\n");
    }
    if (http_upgrade_passes(request)) {
        str_add(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
    }
    str_add(out, "\r\n");
}

void
http_answer_write(struct str *out, const struct http_head *answer, const struct http_frame *frame,
        bool keeps, int minor)
{
    str_printf(out, "HTTP/1.1 %d ", answer->status);
    str_add_bytes(out, answer->reason.at, answer->reason.length);
    str_add(out, "\r\n");
    add_fields(out, answer, NULL, 0);
    add_frame(out, answer, frame);
    if (answer->status == 101) {
        str_add(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
    } else if (answer->status >= 200 && (!keeps || minor == 0)) {
        str_add(out, keeps ? "Connection: keep-alive\r\n" : "Connection: close\r\n");
    }
    str_add(out, "\r\n");
}
