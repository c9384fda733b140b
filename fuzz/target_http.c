/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a connection of HTTP: what is read lies within them, says one thing only, and is the
 * same however it is cut. */
#include "egress/http_body.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool is_so)
{
    if (!is_so) {
        abort();
    }
}

static void
must_be_within(struct span span, const char *bytes, size_t length)
{
    must(span.length <= length);
    must(span.length == 0 || (span.at >= bytes && span.at + span.length <= bytes + length) ||
            span_is(span, "/"));
    must(span.length == 0 || memchr(span.at, '\n', span.length) == NULL);
}

static void
check_head(const struct http_head *head, const char *bytes, size_t length)
{
    must(head->length <= length && head->n_fields <= HTTP_FIELDS_MAX);
    must(memcmp(bytes + head->length - 4, "\r\n\r\n", 4) == 0);
    must(memchr(bytes, '\0', head->length) == NULL);
    must(head->minor == 1 || head->framing != HTTP_CHUNKED);
    for (size_t i = 0; i < head->n_fields; i++) {
        must(span_is_token(head->fields[i].name));
        must_be_within(head->fields[i].name, bytes, length);
        must_be_within(head->fields[i].value, bytes, length);
    }
    if (head->is_request) {
        must(head->framing != HTTP_UNTIL_CLOSE);
        must(head->minor == 0 || head->host.length > 0);
        must(head->form == HTTP_AUTHORITY ? head->port != 0 : head->path.at[0] == '/');
        must_be_within(head->method, bytes, length);
        must_be_within(head->path, bytes, length);
        must_be_within(head->host, bytes, length);
        must(head->path.length == 0 || memchr(head->path.at, '\\', head->path.length) == NULL);
    } else {
        must(head->status >= 100 && head->status <= 599);
    }
}

/* Reads a body in pieces of that many bytes: a sum over what it held, and how much was used. */
static ssize_t
read_body(const struct http_head *head, const char *bytes, size_t length, size_t piece,
        uint32_t *ret_sum)
{
    struct http_body body;
    size_t used = 0;

    *ret_sum = 0;
    http_body_start(&body, head);
    while (used < length && !http_body_is_over(&body)) {
        size_t left = length - used;
        struct span got;
        const char *why = NULL;
        ssize_t r = http_body_read(&body, bytes + used, left < piece ? left : piece, &got, &why);

        if (r < 0) {
            must(why != NULL);
            return -1;
        }
        must(r > 0 && (size_t)r <= left);
        for (size_t i = 0; i < got.length; i++) {
            *ret_sum = *ret_sum * 31 + (unsigned char)got.at[i];
        }
        used += (size_t)r;
    }
    return (ssize_t)used;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct http_head head;
    const char *bytes = (const char *)data, *why = NULL;
    bool is_answer = size > 5 && memcmp(data, "HTTP/", 5) == 0;
    struct span method = { "GET", 3 };
    uint32_t whole, cut;
    ssize_t used;
    int r;

    for (size_t times = 0; times < 16 && size > 0; times++) {
        r = is_answer ? http_response_parse(bytes, size, method, &head, &why)
                      : http_request_parse(bytes, size, &head, &why);
        must(r >= 0 || why != NULL);
        if (r <= 0) {
            break;
        }
        must((size_t)r == head.length);
        check_head(&head, bytes, size);
        bytes += r;
        size -= (size_t)r;
        used = read_body(&head, bytes, size, size, &whole);
        must(used == read_body(&head, bytes, size, 1, &cut) && (used < 0 || whole == cut));
        if (used < 0) {
            break;
        }
        bytes += used;
        size -= (size_t)used;
    }
    return 0;
}
