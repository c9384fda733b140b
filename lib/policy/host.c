/* SPDX-License-Identifier: Apache-2.0
 * Owns host names, host patterns and addresses: one spelling for each, and matching.  Looks nothing
 * up.  Every spelling of an IPv4 address (octal, decimal, mapped, NAT64) becomes the dotted one, so
 * that no rule is dodged by writing it otherwise.  Pure, any thread. */
#include "policy/hostname.h"

#include "base/mem.h"
#include "base/str.h"
#include "policy/rules.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t mapped_prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
static const uint8_t nat64_prefix[12] = { 0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0 };

static abx_status
invalid(struct fail *fail, const char *host, const char *why)
{
    return fail_set(fail, ABX_ERR_POLICY, 0, "", "'%.253s' is no valid host: %s", host, why);
}

/* Numbers of a dotted address may be decimal, octal or hexadecimal, and fewer than four, as
 * inet_aton(3) and every resolver take them. */
static bool
parse_ipv4(const char *text, uint8_t bytes[16])
{
    struct in_addr address;

    /* inet_aton stops at white space and takes what comes before. */
    if (strpbrk(text, " \t\r\n\v\f") != NULL || inet_aton(text, &address) == 0) {
        return false;
    }
    memcpy(bytes, mapped_prefix, sizeof mapped_prefix);
    memcpy(bytes + 12, &address, 4);
    return true;
}

static bool
parse_address(const char *text, uint8_t bytes[16])
{
    struct in6_addr address;

    if (strchr(text, ':') == NULL) {
        return parse_ipv4(text, bytes);
    }
    if (inet_pton(AF_INET6, text, &address) != 1) {
        return false;
    }
    memcpy(bytes, &address, 16);
    if (memcmp(bytes, nat64_prefix, sizeof nat64_prefix) == 0) {
        memcpy(bytes, mapped_prefix, sizeof mapped_prefix);
    }
    return true;
}

static bool
is_ipv4(const struct host_pattern *pattern)
{
    return pattern->prefix >= 96 &&
           memcmp(pattern->bytes, mapped_prefix, sizeof mapped_prefix) == 0;
}

/* An address or block; the bits after the prefix are cleared. */
static abx_status
parse_block(const char *host, const char *text, const char *bits, struct host_pattern *out,
        struct fail *fail)
{
    bool is_short = strchr(text, ':') == NULL;
    uint32_t prefix = 0;

    if (!parse_address(text, out->bytes)) {
        return invalid(fail, host, "neither a name nor an address");
    }
    out->form = HOST_ADDRESS;
    out->prefix = 128;
    if (bits == NULL) {
        return ABX_OK;
    }
    if (*bits == '\0' || strlen(bits) > 3 || strspn(bits, "0123456789") != strlen(bits)) {
        return invalid(fail, host, "the length after '/' is no number");
    }
    for (; *bits != '\0'; bits++) {
        prefix = prefix * 10 + (uint32_t)(*bits - '0');
    }
    if (prefix > (is_short ? 32u : 128u)) {
        return invalid(fail, host, "the length after '/' is too large");
    }
    out->prefix = is_short ? prefix + 96 : prefix;
    for (uint32_t bit = out->prefix; bit < 128; bit++) {
        out->bytes[bit / 8] &= (uint8_t) ~(0x80u >> bit % 8);
    }
    return ABX_OK;
}

static bool
is_label_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* One label in lower case, as an A-label, to the end of out->name. */
static bool
add_label(struct host_pattern *out, const char *label, size_t length)
{
    char ascii[64];
    bool is_plain = true;

    for (size_t i = 0; i < length; i++) {
        is_plain = is_plain && (unsigned char)label[i] < 0x80;
    }
    if (!is_plain) {
        if (!idn_to_ascii(label, length, ascii)) {
            return false;
        }
        label = ascii;
        length = strlen(ascii);
    }
    if (length == 0 || length > 63 || label[0] == '-' || label[length - 1] == '-' ||
            out->length + length + 1 > HOST_NAME_MAX_BYTES + 1) {
        return false;
    }
    if (out->length > 0) {
        out->name[out->length++] = '.';
    }
    for (size_t i = 0; i < length; i++) {
        char c = label[i];

        c = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        if (!is_label_character(c) || out->length == HOST_NAME_MAX_BYTES) {
            return false;
        }
        out->name[out->length++] = c;
    }
    out->name[out->length] = '\0';
    return true;
}

/* The dots that IDNA takes for one (RFC 3490, 3.1); returns its length, 0 if there is none. */
static size_t
dot_length(const char *at)
{
    static const char *const wide_dots[] = { "\xe3\x80\x82", "\xef\xbc\x8e", "\xef\xbd\xa1" };

    if ((unsigned char)*at < 0x80) {
        return *at == '.';
    }
    for (size_t i = 0; i < N_ELEMENTS(wide_dots); i++) {
        if (strncmp(at, wide_dots[i], 3) == 0) {
            return 3;
        }
    }
    return 0;
}

static abx_status
parse_name(const char *host, const char *text, struct host_pattern *out, struct fail *fail)
{
    const char *last;

    out->length = 0;
    while (*text != '\0') {
        const char *end = text;

        while (*end != '\0' && dot_length(end) == 0) {
            end++;
        }
        if (!add_label(out, text, (size_t)(end - text))) {
            fail_remedy(fail, "write the name in ASCII, labels of other scripts as xn--...");
            return invalid(fail, host, "a label is empty, too long or has other characters");
        }
        text = *end == '\0' ? end : end + dot_length(end);
    }
    if (out->length == 0) {
        return invalid(fail, host, "it is empty");
    }
    /* A name whose last label is a number is taken for an address by every URL parser. */
    last = strrchr(out->name, '.');
    last = last == NULL ? out->name : last + 1;
    if (last[strspn(last, "0123456789")] == '\0' ||
            (last[0] == '0' && last[1] == 'x' &&
                    last[2 + strspn(last + 2, "0123456789abcdef")] == '\0')) {
        return parse_block(host, out->name, NULL, out, fail);
    }
    return ABX_OK;
}

static abx_status
parse_as_written(const char *host, struct host_pattern *ret_pattern, struct fail *fail)
{
    struct host_pattern out = { .form = HOST_NAME };
    AUTO(freep) char *copy = NULL;
    size_t length = strlen(host);
    const char *text = host;
    abx_status r;

    if (length == 0 || length > 4 * HOST_NAME_MAX_BYTES) {
        return invalid(fail, "", length == 0 ? "it is empty" : "it is too long");
    }
    if (strcmp(host, "*") == 0) {
        out.form = HOST_ANY_PUBLIC;
        *ret_pattern = out;
        return ABX_OK;
    }
    if (strchr(host, ':') != NULL || strchr(host, '/') != NULL || host[0] == '[') {
        char *slash;

        copy = strdup(host[0] == '[' ? host + 1 : host);
        if (copy == NULL) {
            return fail_nomem(fail);
        }
        if (host[0] == '[') {
            char *bracket = strchr(copy, ']');

            if (bracket == NULL || bracket[1] != '\0') {
                return invalid(fail, host, "'[' needs its ']' at the end");
            }
            *bracket = '\0';
        }
        slash = strchr(copy, '/');
        if (slash != NULL) {
            *slash++ = '\0';
        }
        r = parse_block(host, copy, slash, &out, fail);
    } else {
        if (strncmp(host, "**.", 3) == 0) {
            out.form = HOST_BOTH;
            text += 3;
        } else if (strncmp(host, "*.", 2) == 0) {
            out.form = HOST_SUBDOMAINS;
            text += 2;
        }
        r = parse_name(host, text, &out, fail);
        if (r == ABX_OK && text != host && out.form == HOST_ADDRESS) {
            r = invalid(fail, host, "a star before an address");
        }
    }
    if (r == ABX_OK) {
        *ret_pattern = out;
    }
    return r;
}

/* What every name of the loopback of the machine is for a rule. */
static void
be_loopback(struct host_pattern *pattern)
{
    static const uint8_t ipv4[16] = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 };

    *pattern = (struct host_pattern){ .form = HOST_ADDRESS, .prefix = 128 };
    memcpy(pattern->bytes, ipv4, sizeof ipv4);
}

abx_status
host_parse(const char *host, struct host_pattern *ret_pattern, struct fail *fail)
{
    abx_status r = parse_as_written(host, ret_pattern, fail);

    if (r == ABX_OK &&
            ((ret_pattern->form == HOST_NAME && strcmp(ret_pattern->name, "localhost") == 0) ||
                    (ret_pattern->form == HOST_ADDRESS && ret_pattern->prefix == 128 &&
                            memcmp(ret_pattern->bytes, &in6addr_loopback, 16) == 0))) {
        be_loopback(ret_pattern);
    }
    return r;
}

bool
host_is_single(const struct host_pattern *pattern)
{
    return pattern->form == HOST_NAME || (pattern->form == HOST_ADDRESS && pattern->prefix == 128);
}

bool
host_is_localhost(const struct host_pattern *host)
{
    struct host_pattern loopback;

    be_loopback(&loopback);
    return host->form == HOST_ADDRESS && host->prefix == loopback.prefix &&
           memcmp(host->bytes, loopback.bytes, sizeof loopback.bytes) == 0;
}

/* The spelling of a block; IPv4 dotted. */
static bool
print_block(const struct host_pattern *pattern, struct str *out)
{
    bool is_short = is_ipv4(pattern);
    char text[INET6_ADDRSTRLEN];

    if (inet_ntop(is_short ? AF_INET : AF_INET6, pattern->bytes + (is_short ? 12 : 0), text,
                sizeof text) == NULL) {
        return false;
    }
    str_add(out, text);
    if (pattern->prefix < 128) {
        str_printf(out, "/%u", pattern->prefix - (is_short ? 96 : 0));
    }
    return true;
}

char *
host_canonical(const char *host, struct fail *fail)
{
    static const char *const stars[] = { [HOST_SUBDOMAINS] = "*.", [HOST_BOTH] = "**." };
    AUTO(str_done) struct str out = { 0 };
    struct host_pattern pattern;
    char *text;

    if (parse_as_written(host, &pattern, fail) < 0) {
        return NULL;
    }
    switch (pattern.form) {
    case HOST_ANY_PUBLIC:
        str_add(&out, "*");
        break;
    case HOST_ADDRESS:
        if (!print_block(&pattern, &out)) {
            invalid(fail, host, "its address cannot be written");
            return NULL;
        }
        break;
    case HOST_SUBDOMAINS:
    case HOST_BOTH:
        str_add(&out, stars[pattern.form]);
        str_add(&out, pattern.name);
        break;
    case HOST_NAME:
        str_add(&out, pattern.name);
        break;
    }
    text = str_steal(&out, NULL);
    if (text == NULL) {
        fail_nomem(fail);
    }
    return text;
}

char *
host_address_text(const uint8_t bytes[16])
{
    AUTO(str_done) struct str out = { 0 };
    struct host_pattern address = { .form = HOST_ADDRESS, .prefix = 128 };

    memcpy(address.bytes, bytes, sizeof address.bytes);
    return print_block(&address, &out) ? str_steal(&out, NULL) : NULL;
}

bool
policy_host_spelling(const char *host, char ret_host[POLICY_HOST_SIZE])
{
    AUTO(str_done) struct str out = { 0 };
    struct host_pattern pattern;
    struct fail fail;

    if (parse_as_written(host, &pattern, &fail) < 0 || !host_is_single(&pattern)) {
        return false;
    }
    if (pattern.form == HOST_NAME) {
        str_add(&out, pattern.name);
    } else if (!print_block(&pattern, &out)) {
        return false;
    }
    if (out.failed || out.length >= POLICY_HOST_SIZE) {
        return false;
    }
    memcpy(ret_host, out.data, out.length + 1);
    return true;
}

/* Names that are of no public network, and what lies below them. */
static const char *const reserved_names[] = { "localhost", "local", "internal", "home.arpa",
    "localdomain", "lan", "intranet", "onion" };

const char *
host_reserved_name(size_t i)
{
    return i < N_ELEMENTS(reserved_names) ? reserved_names[i] : NULL;
}

bool
host_name_is_public(const char *name)
{
    size_t length = strlen(name);

    if (strchr(name, '.') == NULL) {
        return false;
    }
    for (size_t i = 0; i < N_ELEMENTS(reserved_names); i++) {
        size_t n = strlen(reserved_names[i]);

        if (length > n && name[length - n - 1] == '.' &&
                strcmp(name + length - n, reserved_names[i]) == 0) {
            return false;
        }
    }
    return strcmp(name, "home.arpa") != 0;
}

/* Special-purpose addresses (RFC 6890, RFC 8190); the first 32 bits decide. */
struct closed_block {
    uint32_t first, prefix;
};

static const struct closed_block short_blocks[] = { { 0x00000000, 8 }, { 0x0a000000, 8 },
    { 0x64400000, 10 }, { 0x7f000000, 8 }, { 0xa9fe0000, 16 }, { 0xac100000, 12 },
    { 0xc0000000, 24 }, { 0xc0000200, 24 }, { 0xc0586300, 24 }, { 0xc0a80000, 16 },
    { 0xc6120000, 15 }, { 0xc6336400, 24 }, { 0xcb007100, 24 }, { 0xe0000000, 3 } };

/* ::/32 (also compatible and local forms), 64:ff9b::/32, 100::/32, 2001::/23, documentation, 6to4,
 * SRv6, unique local, link-local with site-local, multicast. */
static const struct closed_block long_blocks[] = { { 0x00000000, 32 }, { 0x0064ff9b, 32 },
    { 0x01000000, 32 }, { 0x20010000, 23 }, { 0x20010db8, 32 }, { 0x20020000, 16 },
    { 0x3fff0000, 20 }, { 0x5f000000, 16 }, { 0xfc000000, 7 }, { 0xfe800000, 9 },
    { 0xff000000, 8 } };

bool
host_special_block(size_t i, struct host_pattern *ret_block)
{
    struct host_pattern block = { .form = HOST_ADDRESS };
    uint32_t first;

    if (i < 2) { /* IPv4, which is judged by itself, and its other spelling, which is none */
        memcpy(block.bytes, i == 0 ? mapped_prefix : nat64_prefix, sizeof mapped_prefix);
        block.prefix = 96;
    } else if (i - 2 < N_ELEMENTS(short_blocks)) {
        first = htonl(short_blocks[i - 2].first);
        memcpy(block.bytes, mapped_prefix, sizeof mapped_prefix);
        memcpy(block.bytes + 12, &first, sizeof first);
        block.prefix = 96 + short_blocks[i - 2].prefix;
    } else if (i - 2 - N_ELEMENTS(short_blocks) < N_ELEMENTS(long_blocks)) {
        first = htonl(long_blocks[i - 2 - N_ELEMENTS(short_blocks)].first);
        memcpy(block.bytes, &first, sizeof first);
        block.prefix = long_blocks[i - 2 - N_ELEMENTS(short_blocks)].prefix;
    } else {
        return false;
    }
    *ret_block = block;
    return true;
}

bool
host_is_closed(const struct host_pattern *address)
{
    uint32_t word;

    if (is_ipv4(address)) {
        memcpy(&word, address->bytes + 12, 4);
        for (size_t i = 0; i < N_ELEMENTS(short_blocks); i++) {
            if ((ntohl(word) ^ short_blocks[i].first) >> (32 - short_blocks[i].prefix) == 0) {
                return true;
            }
        }
        return false;
    }
    memcpy(&word, address->bytes, 4);
    for (size_t i = 0; i < N_ELEMENTS(long_blocks); i++) {
        if ((ntohl(word) ^ long_blocks[i].first) >> (32 - long_blocks[i].prefix) == 0) {
            return true;
        }
    }
    return false;
}

int
host_pattern_match(const struct host_pattern *pattern, const struct host_pattern *host)
{
    uint32_t more = host->length - pattern->length;
    bool is_suffix;

    if (pattern->form == HOST_ADDRESS || host->form == HOST_ADDRESS) {
        uint32_t whole = pattern->prefix / 8;
        uint8_t mask = (uint8_t)(0xff00u >> pattern->prefix % 8);

        return pattern->form == host->form && host->prefix >= pattern->prefix &&
                               memcmp(pattern->bytes, host->bytes, whole) == 0 &&
                               (mask == 0 ||
                                       ((pattern->bytes[whole] ^ host->bytes[whole]) & mask) == 0)
                       ? (int)pattern->prefix
                       : -1;
    }
    if (pattern->form == HOST_ANY_PUBLIC) {
        return host->form == HOST_NAME && host_name_is_public(host->name) ? 0 : -1;
    }
    if (host->form != HOST_NAME || host->length < pattern->length) {
        return -1;
    }
    is_suffix = memcmp(host->name + more, pattern->name, pattern->length) == 0 &&
                (more == 0 || host->name[more - 1] == '.');
    if (pattern->form == HOST_NAME) {
        return is_suffix && more == 0 ? (int)(HOST_NAME_MAX_BYTES + 1 + pattern->length) : -1;
    }
    return is_suffix && (more > 0 || pattern->form == HOST_BOTH) ? (int)pattern->length : -1;
}
