/* SPDX-License-Identifier: Apache-2.0
 * Tells TLS, HTTP/1 and the rest apart.  HTTP is told by its first line as a whole, so that no
 * other protocol of lines (SMTP, FTP, IRC) is taken for it; a client of those ends its line anyway.
 */
#include "egress/greeting.h"

#include "base/mem.h"
#include "egress/hello.h"
#include "egress/http_head.h"
#include "policy/policy.h"

#include <string.h>

_Static_assert(sizeof((struct greeting *)0)->host >= POLICY_HOST_SIZE, "a host fits");

static bool
set_host(struct greeting *greeting, const char *host, size_t length)
{
    char text[4 * POLICY_HOST_SIZE];

    greeting->host[0] = '\0';
    if (length == 0) {
        return true;
    }
    if (length >= sizeof text || memchr(host, '\0', length) != NULL) {
        return false;
    }
    memcpy(text, host, length);
    text[length] = '\0';
    return policy_host_spelling(text, greeting->host);
}

/* Whether this could be the beginning of a request: else a client that says a word and waits would
 * wait for ever. */
static bool
could_be_request(const char *bytes, size_t length)
{
    static const char *const methods[] = { "GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ",
        "PATCH ", "CONNECT ", "TRACE ", "PROPFIND ", "REPORT ", "MKCOL ", "COPY ", "MOVE " };

    for (size_t i = 0; i < N_ELEMENTS(methods); i++) {
        size_t n = strlen(methods[i]);

        if (memcmp(bytes, methods[i], length < n ? length : n) == 0) {
            return true;
        }
    }
    return false;
}

/* A line of "METHOD target HTTP/1.x"; whether it is spelled well the reader says. */
static enum greeting_kind
first_line(const char *bytes, size_t length)
{
    static const char version[] = " HTTP/1.";
    const char *end = memchr(bytes, '\n', length);
    size_t line;

    if (end == NULL) {
        return length < GREETING_MAX && could_be_request(bytes, length) ? GREETING_MORE
                                                                        : GREETING_OTHER;
    }
    line = (size_t)(end - bytes);
    line -= line > 0 && bytes[line - 1] == '\r' ? 1 : 0;
    return line > sizeof version &&
                           memcmp(bytes + line - sizeof version, version, sizeof version - 1) == 0
                   ? GREETING_HTTP
                   : GREETING_OTHER;
}

static void
read_http(const char *bytes, size_t length, struct greeting *greeting)
{
    struct http_head head;
    int r;

    greeting->kind = first_line(bytes, length);
    if (greeting->kind != GREETING_HTTP) {
        return;
    }
    r = http_request_parse(bytes, length, &head, &greeting->why);
    if (r == 0 && length < GREETING_MAX) {
        greeting->kind = GREETING_MORE;
    } else if (r <= 0) {
        greeting->kind = GREETING_BAD_HTTP;
        greeting->status = r == 0 ? 431 : -r;
        greeting->why = r == 0 ? "its head is too large" : greeting->why;
    } else if (!set_host(greeting, head.host.at, head.host.length)) {
        greeting->kind = GREETING_BAD_HTTP;
        greeting->status = 400;
        greeting->why = "its host is no valid name";
    }
}

void
greeting_read(const uint8_t *bytes, size_t length, struct greeting *ret_greeting)
{
    struct hello hello;

    *ret_greeting = (struct greeting){ .kind = GREETING_MORE };
    if (length == 0) {
        return;
    }
    switch (hello_parse(bytes, length, &hello)) {
    case HELLO_MORE:
        ret_greeting->could_be_tls = true;
        return;
    case HELLO_OTHER:
        read_http((const char *)bytes, length, ret_greeting);
        return;
    case HELLO_TLS:
        ret_greeting->kind = GREETING_TLS;
        ret_greeting->has_ech = hello.has_ech;
        if (set_host(ret_greeting, hello.name, strlen(hello.name))) {
            return;
        }
        ret_greeting->why = "its server name is no valid name";
        break;
    case HELLO_BAD:
        ret_greeting->why = "it cannot be read";
        break;
    }
    ret_greeting->kind = GREETING_BAD_TLS;
}
