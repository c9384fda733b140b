/* SPDX-License-Identifier: Apache-2.0
 * Tells TLS, HTTP and the rest apart.  HTTP is told by its first line as a whole, so that no other
 * protocol of lines (SMTP, FTP, IRC) is taken for it; a client of those ends its line anyway.  Of
 * HTTP only 1.0 and 1.1 name their host in a way that is read here; HTTP/2 without TLS has a kind
 * of its own, and other versions are refused. */
#include "egress/greeting.h"

#include "base/mem.h"
#include "egress/hello.h"
#include "egress/http_head.h"
#include "policy/policy.h"

#include <string.h>
#include <strings.h>

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

/* Servers pass over empty lines before a request. */
static size_t
empty_lines(const char *bytes, size_t length)
{
    size_t n = 0;

    while (n < length && (bytes[n] == '\r' || bytes[n] == '\n')) {
        n++;
    }
    return n;
}

/* Whether a line without its end could be that of a request: else a client that says a word and
 * waits would wait for ever. */
static bool
could_be_request(const char *bytes, size_t length)
{
    static const char *const methods[] = { "GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ",
        "PATCH ", "CONNECT ", "TRACE ", "PROPFIND ", "REPORT ", "MKCOL ", "COPY ", "MOVE ",
        "PURGE ", "PRI " };

    for (size_t i = 0; i < N_ELEMENTS(methods); i++) {
        size_t n = strlen(methods[i]);

        if (memcmp(bytes, methods[i], length < n ? length : n) == 0) {
            return true;
        }
    }
    return false;
}

/* What stands behind "HTTP/" in a line, or NULL: no request has none. */
static const char *
version_of(const char *line, size_t length)
{
    static const char name[] = "HTTP/";
    const size_t n = sizeof name - 1;

    for (size_t i = 1; i + n <= length; i++) {
        if ((line[i - 1] == ' ' || line[i - 1] == '\t') && strncasecmp(line + i, name, n) == 0) {
            return line + i + n;
        }
    }
    return NULL;
}

static void
fail_http(struct greeting *greeting, int status, const char *why)
{
    greeting->kind = GREETING_BAD_HTTP;
    greeting->status = status;
    greeting->why = why;
}

/* A line of "METHOD target HTTP/1.x"; whether it is spelled well the reader says. */
static void
read_line(const char *bytes, size_t length, struct greeting *greeting)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n";
    const char *end = memchr(bytes, '\n', length);
    const char *version;

    greeting->kind = GREETING_OTHER;
    if (end == NULL && could_be_request(bytes, length)) {
        greeting->kind = GREETING_MORE;
    }
    if (end == NULL) {
        return;
    }
    if (length >= sizeof preface - 1 && memcmp(bytes, preface, sizeof preface - 1) == 0) {
        greeting->kind = GREETING_HTTP2;
        return;
    }
    version = version_of(bytes, (size_t)(end - bytes));
    if (version != NULL && end - version >= 2 && version[0] == '1' && version[1] == '.') {
        greeting->kind = GREETING_HTTP;
    } else if (version != NULL) {
        fail_http(greeting, 505, "its version is not 1.0 or 1.1, so its host is not known");
    }
}

static void
read_http(const char *bytes, size_t length, struct greeting *greeting)
{
    size_t skipped = empty_lines(bytes, length);
    struct http_head head;
    int r = 0;

    read_line(bytes + skipped, length - skipped, greeting);
    if (greeting->kind == GREETING_HTTP) {
        r = http_request_parse(bytes + skipped, length - skipped, &head, &greeting->why);
        greeting->kind = r == 0 ? GREETING_MORE : GREETING_HTTP;
    }
    if (greeting->kind == GREETING_MORE && length >= GREETING_MAX) {
        fail_http(greeting, 431, "its head is too large");
    }
    greeting->could_be_http = greeting->kind == GREETING_MORE;
    if (greeting->kind != GREETING_HTTP) {
        return;
    }
    if (r < 0) {
        fail_http(greeting, -r, greeting->why);
    } else if (!set_host(greeting, head.host.at, head.host.length)) {
        fail_http(greeting, 400, "its host is no valid name");
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
