/* SPDX-License-Identifier: Apache-2.0
 * The target of a request.  A path that a server could take for another one (dot segments,
 * backslashes, bytes that end a string) is refused.  Encoded slashes are a matter of the policy,
 * which denies them where it has rules about paths: registries of packages live of them. */
#include "egress/http_target.h"

#include "base/str.h"
#include "egress/http_fields.h"

#include <string.h>

#define HOST_MAX 254u /* a name of 253 and the dot at its end */

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_name_char(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_';
}

/* The length of what stands in brackets at the start of `text`, or 0: no address. */
static size_t
bracketed(struct span text)
{
    size_t colons = 0;

    for (size_t i = 1; i < text.length; i++) {
        if (text.at[i] == ']') {
            return colons >= 2 ? i - 1 : 0;
        }
        if (text.at[i] == ':') {
            colons++;
        } else if (hex_digit(text.at[i]) < 0 && text.at[i] != '.') {
            return 0;
        }
    }
    return 0;
}

bool
http_authority_parse(struct span text, struct span *ret_host, uint16_t *ret_port)
{
    struct span host = text;
    uint32_t port = 0;
    size_t end;

    *ret_port = 0;
    if (text.length > 0 && text.at[0] == '[') {
        host.at++;
        host.length = bracketed(text);
        end = host.length + 2;
    } else {
        for (host.length = 0; host.length < text.length && is_name_char(text.at[host.length]);) {
            host.length++;
        }
        end = host.length;
    }
    if (host.length == 0 || host.length > HOST_MAX) {
        return false;
    }
    if (end < text.length &&
            (text.at[end] != ':' || !port_read(text.at + end + 1, text.length - end - 1, &port))) {
        return false;
    }
    *ret_port = (uint16_t)port;
    *ret_host = host;
    return true;
}

/* The byte that stands at `i`, decoded, and *i behind it; -1: no valid encoding. */
static int
decoded(struct span path, size_t *i)
{
    int byte;

    if (path.at[*i] != '%') {
        return (unsigned char)path.at[(*i)++];
    }
    if (path.length - *i < 3) {
        return -1;
    }
    byte = hex_byte(path.at + *i + 1);
    *i += 3;
    return byte;
}

static bool
is_dots(const char *segment, size_t length)
{
    return (length == 1 || length == 2) && memcmp(segment, "..", length) == 0;
}

/* Whether two bytes begin an overlong form of UTF-8, which careless decoders take for ASCII. */
static bool
is_overlong(int first, int second)
{
    return ((first == 0xc0 || first == 0xc1) && second >= 0x80 && second <= 0xbf) ||
           (first == 0xe0 && second >= 0x80 && second <= 0x9f) ||
           (first == 0xf0 && second >= 0x80 && second <= 0x8f);
}

/* NULL: the path is what it seems.  A parameter (";") is no part of a segment: some servers take
 * it off first. */
static const char *
why_path_is_odd(struct span path)
{
    char start[3]; /* of a segment, decoded */
    size_t n = 0;
    bool in_parameter = false;
    int before = 0;

    for (size_t i = 0; i < path.length;) {
        int c = decoded(path, &i);

        if (c < 0) {
            return "the path has an invalid percent-encoding";
        }
        if (c == '\\') {
            return "the path has an encoded backslash";
        }
        if (c < 0x20 || c == 0x7f) {
            return "the path has an encoded control character";
        }
        if (is_overlong(before, c)) {
            return "the path has an overlong encoding";
        }
        before = c;
        if (c == '/' || c == ';') {
            if (!in_parameter && is_dots(start, n)) {
                return "the path has a dot segment";
            }
            in_parameter = c == ';';
            n = 0;
        } else if (!in_parameter && n < sizeof start) {
            start[n++] = (char)c;
        }
    }
    return !in_parameter && is_dots(start, n) ? "the path has a dot segment" : NULL;
}

/* A path that begins with a slash, and its query. */
static int
read_path(struct http_head *head, struct span path, const char **ret_why)
{
    const char *question = memchr(path.at, '?', path.length);
    struct span alone = { path.at, question != NULL ? (size_t)(question - path.at) : path.length };
    const char *why;

    if (path.at[0] != '/') {
        return http_refuse(400, "the path does not begin with a slash", ret_why);
    }
    why = why_path_is_odd(alone);
    if (why != NULL) {
        return http_refuse(400, why, ret_why);
    }
    for (size_t i = alone.length; i < path.length;) {
        if (decoded(path, &i) < 0) {
            return http_refuse(400, "the query has an invalid percent-encoding", ret_why);
        }
    }
    head->path = path;
    return 0;
}

static int
read_absolute(struct http_head *head, size_t scheme, const char **ret_why)
{
    struct span rest = { head->target.at + scheme, head->target.length - scheme };
    struct span authority = { rest.at, 0 };

    head->form = HTTP_ABSOLUTE;
    while (authority.length < rest.length && strchr("/?", rest.at[authority.length]) == NULL) {
        authority.length++;
    }
    if (!http_authority_parse(authority, &head->host, &head->port)) {
        return http_refuse(400, "the target's authority is no host and port", ret_why);
    }
    if (authority.length == rest.length) {
        head->path = (struct span){ "/", 1 };
        return 0;
    }
    return read_path(head,
            (struct span){ rest.at + authority.length, rest.length - authority.length }, ret_why);
}

/* Whether `text` begins with these letters, in any case. */
static bool
begins(struct span text, const char *with)
{
    size_t length = strlen(with);

    return text.length >= length && span_is((struct span){ text.at, length }, with);
}

int
http_target_parse(struct http_head *head, const char **ret_why)
{
    struct span target = head->target;

    for (size_t i = 0; i < target.length; i++) {
        if (target.at[i] <= ' ' || target.at[i] > '~' || target.at[i] == '\\' ||
                target.at[i] == '#') {
            return http_refuse(400, "the target has a character that belongs in none", ret_why);
        }
    }
    if (span_is(head->method, "CONNECT")) {
        head->form = HTTP_AUTHORITY;
        return http_authority_parse(target, &head->host, &head->port) && head->port != 0
                       ? 0
                       : http_refuse(400, "CONNECT wants a host and a port", ret_why);
    }
    if (target.at[0] == '/') {
        head->form = HTTP_ORIGIN;
        return read_path(head, target, ret_why);
    }
    head->is_https = begins(target, "https://");
    if (head->is_https || begins(target, "http://")) {
        return read_absolute(head, head->is_https ? 8 : 7, ret_why);
    }
    return span_is(target, "*") ? http_refuse(501, "'*' is not passed on", ret_why)
                                : http_refuse(400, "the target is no path and no URL", ret_why);
}
