/* SPDX-License-Identifier: Apache-2.0
 * Reads what proxies there are and what is excepted from them, in the spelling of the variables
 * HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
#include "egress/upstream.h"

#include "egress/box.h"
#include "egress/forms.h"

#include "base/str.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PORT_DEFAULT 80
#define PORT_PLAIN 80
#define LOGIN_MAX 1024u

struct upstream {
    struct upstream_proxy *plain, *tunnel; /* NULL: dialled */
    char *exceptions; /* NULL: none */
};

static void
proxy_free(struct upstream_proxy *proxy)
{
    if (proxy != NULL) {
        vault_unref(proxy->authorization);
        free(proxy);
    }
}
DEFINE_CLEANUP(proxy_free, struct upstream_proxy)

/* ---- URLs ---- */
static abx_status
wrong(struct fail *fail, const char *why)
{
    return fail_set(fail, ABX_ERR_POLICY, 0, "open:upstream", "/network/upstream: %s", why);
}

/* What stands before the "@", decoded, into a secret of its own. */
static abx_status
read_login(struct upstream_proxy *proxy, const char *login, size_t length, struct fail *fail)
{
    static const char start[] = "Proxy-Authorization: Basic ";
    char plain[LOGIN_MAX], encoded[sizeof start + LOGIN_MAX * 4 / 3 + 8];
    size_t n = 0, at = sizeof start - 1;

    if (length >= sizeof plain) {
        return wrong(fail, "its user and password are too long");
    }
    for (size_t i = 0; i < length; i++) {
        const int byte = login[i] == '%' && i + 2 < length ? hex_byte(login + i + 1) : -1;

        plain[n++] = byte >= 0 ? (char)byte : login[i];
        i += byte >= 0 ? 2 : 0;
    }
    if (memchr(login, ':', length) == NULL) {
        plain[n++] = ':'; /* a user alone has an empty password */
    }
    memcpy(encoded, start, at);
    at += base64_encode(plain, n, encoded + at);
    memcpy(encoded + at, "\r\n", 2);
    proxy->authorization = vault_of(encoded, at + 2);
    explicit_bzero(plain, sizeof plain);
    explicit_bzero(encoded, sizeof encoded);
    return proxy->authorization == NULL ? fail_nomem(fail) : ABX_OK;
}

/* False: it is none. */
static bool
read_port(const char *text, size_t length, uint16_t *ret_port)
{
    uint32_t port = 0;

    for (size_t i = 0; i < length && port <= UINT16_MAX; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        port = port * 10 + (uint32_t)(text[i] - '0');
    }
    *ret_port = (uint16_t)port;
    return length > 0 && port > 0 && port <= UINT16_MAX;
}

/* HOST, HOST:PORT, [IPV6] or [IPV6]:PORT. */
static bool
read_authority(struct upstream_proxy *proxy, const char *text, size_t length)
{
    char host[POLICY_HOST_SIZE];
    const char *end = text + length, *close = memchr(text, ']', length);
    const bool is_bracketed = length > 0 && text[0] == '[' && close != NULL;
    const char *from = is_bracketed ? close + 1 : text;
    const char *colon = memchr(from, ':', (size_t)(end - from));
    const char *host_end = is_bracketed ? close : colon != NULL ? colon : end;
    const char *host_start = text + is_bracketed;

    if (host_end - host_start >= (ptrdiff_t)sizeof host || host_end == host_start ||
            (is_bracketed && colon != close + 1 && close + 1 != end)) {
        return false;
    }
    memcpy(host, host_start, (size_t)(host_end - host_start));
    host[host_end - host_start] = '\0';
    proxy->port = PORT_DEFAULT;
    return policy_host_spelling(host, proxy->host) &&
           (colon == NULL || read_port(colon + 1, (size_t)(end - colon - 1), &proxy->port));
}

/* NULL or "": none. */
static abx_status
read_proxy(const char *url, struct upstream_proxy **ret_proxy, struct fail *fail)
{
    AUTO(proxy_freep) struct upstream_proxy *proxy = NULL;
    const char *scheme, *text, *at;
    size_t length;

    if (url == NULL || url[0] == '\0') {
        return ABX_OK;
    }
    scheme = strstr(url, "://");
    if (scheme != NULL && (scheme - url != 4 || strncasecmp(url, "http", 4) != 0)) {
        fail_set(fail, ABX_ERR_UNSUPPORTED, 0, "open:upstream",
                "/network/upstream: a proxy is spoken to by plain HTTP only");
        fail_remedy(fail, "give a proxy whose URL begins with http://");
        return ABX_ERR_UNSUPPORTED;
    }
    proxy = calloc(1, sizeof *proxy);
    if (proxy == NULL) {
        return fail_nomem(fail);
    }
    text = scheme == NULL ? url : scheme + 3;
    length = strcspn(text, "/?#");
    at = memrchr(text, '@', length);
    if (at != NULL) {
        if (read_login(proxy, text, (size_t)(at - text), fail) < 0) {
            return fail->status;
        }
        length -= (size_t)(at + 1 - text);
        text = at + 1;
    }
    if (!read_authority(proxy, text, length) ||
            (text[length] != '\0' && text[length + 1] != '\0')) {
        return wrong(fail, "it is no URL of a proxy, http://[USER:PASSWORD@]HOST[:PORT]");
    }
    *ret_proxy = steal_ptr(&proxy);
    return ABX_OK;
}

abx_status
upstream_new(const struct egress_upstream *given, struct upstream **ret_upstream, struct fail *fail)
{
    struct upstream *upstream = calloc(1, sizeof *upstream);
    abx_status r;

    if (upstream == NULL) {
        return fail_nomem(fail);
    }
    r = read_proxy(given->plain, &upstream->plain, fail);
    r = r < 0 ? r : read_proxy(given->tunnel, &upstream->tunnel, fail);
    if (r >= 0 && given->exceptions != NULL) {
        upstream->exceptions = strdup(given->exceptions);
        r = upstream->exceptions == NULL ? fail_nomem(fail) : ABX_OK;
    }
    if (r < 0 || (upstream->plain == NULL && upstream->tunnel == NULL)) {
        upstream_free(upstream);
        return r;
    }
    *ret_upstream = upstream;
    return ABX_OK;
}

void
upstream_free(struct upstream *upstream)
{
    if (upstream != NULL) {
        proxy_free(upstream->plain);
        proxy_free(upstream->tunnel);
        free(upstream->exceptions);
        free(upstream);
    }
}

/* ---- what is excepted ---- */

/* Whether the first bits of two addresses are the same. */
static bool
has_bits(const uint8_t *address, const uint8_t *range, unsigned bits)
{
    const unsigned whole = bits / 8, rest = bits % 8;

    return memcmp(address, range, whole) == 0 &&
           (rest == 0 || (address[whole] ^ range[whole]) >> (8 - rest) == 0);
}

/* "10.0.0.0/8": of a destination that is an address. */
static bool
is_in_range(const char *range, const char *name)
{
    uint8_t address[16], base[16];
    char text[INET6_ADDRSTRLEN];
    const char *slash = strchr(range, '/');
    const int family = strchr(range, ':') != NULL ? AF_INET6 : AF_INET;
    uint16_t bits = 0; /* which is no port, and all addresses */

    if (slash == NULL || slash - range >= (ptrdiff_t)sizeof text ||
            (strcmp(slash + 1, "0") != 0 && !read_port(slash + 1, strlen(slash + 1), &bits)) ||
            bits > (family == AF_INET ? 32 : 128)) {
        return false;
    }
    memcpy(text, range, (size_t)(slash - range));
    text[slash - range] = '\0';
    return inet_pton(family, text, base) == 1 && inet_pton(family, name, address) == 1 &&
           has_bits(address, base, bits);
}

/* "example.com", ".example.com" and "*.example.com" are the name and all below it. */
static bool
covers(const char *entry, const char *name)
{
    size_t length, name_length = strlen(name);

    if (is_address(name)) {
        return strcasecmp(entry, name) == 0 || is_in_range(entry, name);
    }
    entry += entry[0] == '*' && entry[1] == '.' ? 2 : entry[0] == '.' ? 1 : 0;
    length = strlen(entry);
    return length > 0 && length <= name_length &&
           strcasecmp(name + name_length - length, entry) == 0 &&
           (length == name_length || name[name_length - length - 1] == '.');
}

/* One entry, which may have a port. */
static bool
excepts(const char *from, size_t length, const struct destination *destination)
{
    char entry[POLICY_HOST_SIZE];
    char *colon;
    uint16_t port;

    if (length == 0 || length >= sizeof entry) {
        return false;
    }
    memcpy(entry, from, length);
    entry[length] = '\0';
    colon = strrchr(entry, ':');
    if (colon != NULL && (strchr(entry, ':') == colon || colon[-1] == ']') &&
            read_port(colon + 1, strlen(colon + 1), &port)) {
        *colon = '\0';
        if (port != destination->port) {
            return false;
        }
    }
    if (entry[0] == '[' && entry[strlen(entry) - 1] == ']') {
        entry[strlen(entry) - 1] = '\0';
        return covers(entry + 1, destination->name);
    }
    return strcmp(entry, "*") == 0 || covers(entry, destination->name);
}

static bool
is_excepted(const struct upstream *upstream, const struct destination *destination)
{
    static const char between[] = ", \t";
    const char *at = upstream->exceptions;

    while (at != NULL && *at != '\0') {
        size_t length = strcspn(at, between);

        if (excepts(at, length, destination)) {
            return true;
        }
        at += length;
        at += strspn(at, between);
    }
    return false;
}

const struct upstream_proxy *
upstream_of(const struct upstream *upstream, const struct destination *destination, bool is_plain)
{
    if (upstream == NULL || destination->way == WAY_HOST_LOOPBACK ||
            is_excepted(upstream, destination)) {
        return NULL;
    }
    return is_plain ? upstream->plain : upstream->tunnel;
}

bool
upstream_is_plain(const struct destination *destination)
{
    return destination->way == WAY_TRANSPARENT && destination->port == PORT_PLAIN;
}

const struct upstream_proxy *
upstream_relay(const struct upstream *upstream, const struct destination *destination)
{
    return upstream_is_plain(destination) ? upstream_of(upstream, destination, true) : NULL;
}

void
upstream_refusal(const struct upstream_proxy *proxy, int status, struct refusal *ret_refusal)
{
    char reason[sizeof ret_refusal->reason];

    snprintf(reason, sizeof reason, "the proxy outside, '%.100s' port %u, answered %d%s",
            proxy->host, proxy->port, status,
            status == 407 ? ": it wants a user and password that are right" : "");
    *ret_refusal = (struct refusal){ .status = status };
    refusal_set(ret_refusal, "network:upstream", reason,
            status == 407
                    ? "whoever runs this puts the right user and password into the URL of the "
                      "proxy; nothing in the box can"
                    : "ask whoever runs the proxy");
}
