/* SPDX-License-Identifier: Apache-2.0
 * Owns URLs and rules about requests.  A path has one spelling here; where two servers could take
 * it for different things (dot segments, encoded slashes, empty segments) it is not plain, and
 * whoever has rules about paths denies it.  Pure, any thread. */
#include "policy/http.h"
#include "policy/policy.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* ---- URLs ---- */

/* "host", "host:80", "[fd00::1]:80"; no user. */
static bool
parse_authority(const char *text, size_t length, struct http_url *url)
{
    char host[HOST_NAME_MAX_BYTES + 8];
    const char *end = text + length;
    const char *colon = memrchr(text, ':', length);
    const char *bracket = memchr(text, ']', length);
    struct fail fail;
    size_t n;

    if (colon != NULL && bracket != NULL && colon < bracket) {
        colon = NULL;
    }
    if (colon != NULL && !port_read(colon + 1, (size_t)(end - colon) - 1, &url->port)) {
        return false;
    }
    n = (size_t)((colon == NULL ? end : colon) - text);
    if (n == 0 || n >= sizeof host || (text[0] != '[' && memchr(text, ':', n) != NULL)) {
        return false;
    }
    memcpy(host, text, n);
    host[n] = '\0';
    return host_parse(host, &url->host, &fail) == ABX_OK && host_is_single(&url->host);
}

/* What no URL has in it as it is. */
static bool
is_plain_byte(char c)
{
    switch (c) {
    case '"':
    case '<':
    case '>':
    case '\\':
    case '^':
    case '`':
    case '#':
        return false;
    default:
        return (unsigned char)c > ' ' && (unsigned char)c < 0x7f;
    }
}

static bool
is_encoded(const char *at)
{
    return at[0] == '%' && hex_byte(at + 1) >= 0;
}

/* Writes the path decoded; says what is wrong with it, or NULL. */
static const char *
decode_path(const char *path, size_t length, char *out)
{
    for (size_t i = 0; i < length; i++) {
        char byte = path[i];

        if (byte == '%') {
            if (i + 2 >= length || !is_encoded(path + i)) {
                return "a '%' in the path is not followed by two hexadecimal digits";
            }
            byte = (char)hex_byte(path + i + 1);
            i += 2;
            if (byte == '/' || byte == '\\') {
                return "the path has an encoded slash or backslash";
            }
            if (byte == '%') {
                return "the path is encoded twice";
            }
            if ((unsigned char)byte < ' ' || byte == 0x7f) {
                return "the path has an encoded control character";
            }
        }
        *out++ = byte;
    }
    *out = '\0';
    return NULL;
}

/* "." and "..", also with parameters, which some servers cut off: "..;a". */
static bool
has_dot_segment(const char *path)
{
    for (; *path != '\0'; path = strchrnul(path, '/')) {
        size_t length = strcspn(++path, "/;");

        if ((length == 1 && path[0] == '.') || (length == 2 && strncmp(path, "..", 2) == 0)) {
            return true;
        }
    }
    return false;
}

static const char *
parse_path(const char *path, size_t length, struct http_url *url)
{
    const char *wrong;

    if (length > PATH_LENGTH_MAX) {
        return "the path is too long";
    }
    wrong = decode_path(path, length, url->path);
    if (wrong != NULL) {
        return wrong;
    }
    if (has_dot_segment(url->path)) {
        return "the path has a dot segment";
    }
    if (strstr(url->path, "//") != NULL) {
        return "the path has an empty segment";
    }
    length = strlen(url->path);
    url->ends_in_slash = length > 1 && url->path[length - 1] == '/';
    if (url->ends_in_slash) {
        url->path[length - 1] = '\0';
    }
    return path_split(url->path, &url->split) ? NULL : "the path has too many segments";
}

bool
http_url_parse(const char *url, struct http_url *ret_url)
{
    static const struct {
        const char *prefix;
        uint32_t port;
    } schemes[] = { { "https://", 443 }, { "http://", 80 } };
    const char *path = NULL;
    size_t length;

    for (size_t i = 0; i < N_ELEMENTS(schemes) && path == NULL; i++) {
        if (strncmp(url, schemes[i].prefix, strlen(schemes[i].prefix)) == 0) {
            path = url + strlen(schemes[i].prefix);
            ret_url->port = schemes[i].port;
        }
    }
    if (path == NULL) {
        return false;
    }
    for (const char *at = path; *at != '\0'; at++) {
        if (!is_plain_byte(*at)) {
            return false;
        }
    }
    length = strcspn(path, "/?");
    if (!parse_authority(path, length, ret_url)) {
        return false;
    }
    path += length;
    length = strcspn(path, "?");
    ret_url->bad_path =
            length == 0 ? parse_path("/", 1, ret_url) : parse_path(path, length, ret_url);
    return true;
}

/* Scheme, host and port as they are written. */
static size_t
length_of_origin(const char *url)
{
    size_t scheme = (size_t)(strstr(url, "//") + 2 - url);

    return scheme + strcspn(url + scheme, "/?");
}

static bool
spell_host(const char *url, char ret_host[POLICY_HOST_SIZE])
{
    const char *host = strstr(url, "//") + 2;
    size_t length = host[0] == '[' ? strcspn(++host, "]") : strcspn(host, ":/?");
    char text[POLICY_HOST_SIZE];

    if (length >= sizeof text) {
        return false;
    }
    memcpy(text, host, length);
    text[length] = '\0';
    return policy_host_spelling(text, ret_host);
}

abx_status
policy_url_spelling(const char *url, struct policy_url *ret_url, struct fail *fail)
{
    struct policy_url own = { .port = 0 };
    struct http_url parsed;
    struct str text = { 0 };
    const char *path;

    if (!http_url_parse(url, &parsed) || !spell_host(url, own.host)) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "url:", "it is no URL that a request could have");
    }
    if (parsed.bad_path != NULL) {
        return fail_set(fail, ABX_ERR_INVALID, 0, "url:", "%s", parsed.bad_path);
    }
    own.port = parsed.port;
    path = url + length_of_origin(url);
    str_add(&text, url[4] == 's' ? "https://" : "http://");
    str_printf(&text, strchr(own.host, ':') == NULL ? "%s" : "[%s]", own.host);
    if (own.port != (url[4] == 's' ? 443 : 80)) {
        str_printf(&text, ":%u", own.port);
    }
    str_add(&text, path[0] == '/' ? "" : "/");
    str_add(&text, path);
    own.text = str_steal(&text, NULL);
    if (own.text == NULL) {
        return fail_nomem(fail);
    }
    *ret_url = own;
    return ABX_OK;
}

bool
policy_url_is_below(const char *url, const char *base)
{
    size_t length = length_of_origin(base);
    struct http_url above, below;

    return strncmp(url, base, length) == 0 && url[length] == '/' && http_url_parse(url, &below) &&
           below.bad_path == NULL && http_url_parse(base, &above) &&
           path_is_below(below.path, above.path);
}

bool
http_method_is_valid(const char *method)
{
    size_t length = strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-");

    return length > 0 && length <= METHOD_MAX && method[length] == '\0';
}

/* ---- rules ---- */

static abx_status
compile(struct http_rule *rule, struct fail *fail)
{
    AUTO(freep)
    char *own = rule->action == NULL ? strdup(rule->path)
                                     : http_captures_read(rule->path, &rule->captures, fail);
    const char *path = own;
    size_t length;

    if (own == NULL) {
        return rule->action == NULL ? fail_nomem(fail) : fail->status;
    }
    length = strlen(path);
    if (path[0] != '/' || strstr(path, "//") != NULL) {
        return fail_set(fail, ABX_ERR_POLICY, 0, "",
                "'%.200s' is no path of a URL: it begins with '/' and has no empty segment", path);
    }
    if (strpbrk(path, "?#%") != NULL) {
        fail_set(fail, ABX_ERR_POLICY, 0, "", "'%.200s' has a '?', '#' or '%%'", path);
        fail_remedy(fail, "write the path alone, with its characters as they are: the query is not "
                          "matched, and '*' stands for any characters of a segment");
        return fail->status;
    }
    rule->pattern = path_pattern_new(path, fail);
    if (rule->pattern == NULL) {
        return fail->status;
    }
    rule->ends_in_slash = length > 1 && path[length - 1] == '/';
    length -= rule->ends_in_slash;
    rule->is_open = length >= 3 && strncmp(path + length - 3, "/**", 3) == 0;
    rule->is_literal = !rule->is_open && !path_pattern_has_wildcard(rule->pattern);
    return ABX_OK;
}

void
http_rule_done(struct http_rule *rule)
{
    free(rule->methods);
    free(rule->path);
    http_captures_done(&rule->captures);
    free(rule->action);
    free(rule->id);
    path_pattern_free(rule->pattern);
}

abx_status
http_rule_copy(const struct http_rule *from, struct http_rule *ret_rule, struct fail *fail)
{
    struct http_rule copy = { .verdict = from->verdict, .captures = VEC(struct http_capture) };
    abx_status r = ABX_OK;

    copy.methods = strdup(from->methods);
    copy.path = strdup(from->path);
    copy.action = from->action == NULL ? NULL : strdup(from->action);
    copy.id = strdup(from->id);
    if (copy.methods == NULL || copy.path == NULL || copy.id == NULL ||
            (from->action != NULL && copy.action == NULL)) {
        r = fail_nomem(fail);
    } else {
        r = compile(&copy, fail);
    }
    if (r < 0) {
        http_rule_done(&copy);
        return r;
    }
    *ret_rule = copy;
    return ABX_OK;
}

bool
http_rule_has_method(const struct http_rule *rule, const char *method)
{
    size_t length = strlen(method);

    for (const char *at = rule->methods; *at != '\0'; at += *at == ' ') {
        size_t n = strcspn(at, " ");

        if ((n == 1 && *at == '*') || (n == length && memcmp(at, method, n) == 0)) {
            return true;
        }
        at += n;
    }
    return false;
}

bool
http_rule_has_end(const struct http_rule *rule, bool ends_in_slash)
{
    return rule->ends_in_slash == ends_in_slash || (rule->is_open && !rule->ends_in_slash);
}

int
http_rule_match(const struct http_rule *rule, const char *method, const struct http_url *url)
{
    int matched;

    if (!http_rule_has_method(rule, method) || !http_rule_has_end(rule, url->ends_in_slash)) {
        return -1;
    }
    matched = path_pattern_match(rule->pattern, &url->split);
    if (matched < 0 || (!rule->is_open && (uint32_t)matched != url->split.n)) {
        return -1;
    }
    return matched + 1;
}
