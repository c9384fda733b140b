/* SPDX-License-Identifier: Apache-2.0
 * The ClientHello of TLS 1.0 to 1.3 (RFC 8446, RFC 6066, RFC 7301), as far as it says where to.
 * Owns nothing; every byte read is checked against the end of what surrounds it. */
#include "egress/hello.h"

#include <string.h>

#define RECORD_HEADER 5u
#define RECORD_MAX 16384u
#define TYPE_HANDSHAKE 22u
#define TYPE_CLIENT_HELLO 1u
#define MESSAGE_HEADER 4u
#define EXTENSION_NAME 0u
#define EXTENSION_ALPN 16u
#define EXTENSION_ECH 0xfe0du
#define EXTENSION_ESNI 0xffceu /* what came before ECH */
#define NAME_MAX_BYTES 253u
#define LABEL_MAX 63u

/* What is left of a message or of a part of it.  Reading beyond the end marks it, and gives zero.
 */
struct reader {
    const uint8_t *at;
    size_t left;
    bool failed;
};

static const uint8_t *
take(struct reader *reader, size_t length)
{
    const uint8_t *at = reader->at;

    if (reader->failed || length > reader->left) {
        reader->failed = true;
        reader->left = 0;
        return NULL;
    }
    reader->at += length;
    reader->left -= length;
    return at;
}

static uint32_t
number(struct reader *reader, size_t bytes)
{
    const uint8_t *at = take(reader, bytes);
    uint32_t value = 0;

    for (size_t i = 0; at != NULL && i < bytes; i++) {
        value = value << 8 | at[i];
    }
    return value;
}

/* A part whose length stands before it, in that many bytes. */
static struct reader
part(struct reader *reader, size_t length_bytes)
{
    size_t length = number(reader, length_bytes);
    struct reader inner = { take(reader, length), length, false };

    inner.failed = inner.at == NULL;
    inner.left = inner.failed ? 0 : length;
    return inner;
}

static bool
whole(const struct reader *reader)
{
    return !reader->failed && reader->left == 0;
}

/* A host name in lower case; no dot at its end (RFC 6066), nothing that another program could take
 * for the end of it. */
static bool
copy_name(const struct reader *from, char name[256])
{
    size_t label = 0;

    if (from->left == 0 || from->left > NAME_MAX_BYTES) {
        return false;
    }
    for (size_t i = 0; i < from->left; i++) {
        uint8_t c = from->at[i];

        if (c == '.') {
            if (label == 0) {
                return false;
            }
            label = 0;
        } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   c == '-' || c == '_') {
            label++;
        } else {
            return false;
        }
        if (label > LABEL_MAX) {
            return false;
        }
        name[i] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    name[from->left] = '\0';
    return label > 0;
}

/* Exactly one entry, and it is a host name: where there are two, servers choose differently. */
static bool
read_name(struct reader extension, char name[256])
{
    struct reader list = part(&extension, 2);
    uint32_t kind = number(&list, 1);
    struct reader host = part(&list, 2);

    return whole(&extension) && whole(&list) && kind == 0 && !host.failed && copy_name(&host, name);
}

static bool
read_alpn(struct reader extension, struct hello *hello)
{
    struct reader list = part(&extension, 2);

    hello->has_alpn = true;
    if (list.left == 0 || !whole(&extension)) {
        return false;
    }
    while (list.left > 0) {
        struct reader protocol = part(&list, 1);

        if (protocol.left == 0) {
            return false;
        }
        hello->offers_http1 |= protocol.left == 8 && memcmp(protocol.at, "http/1.1", 8) == 0;
        hello->offers_http2 |= protocol.left == 2 && memcmp(protocol.at, "h2", 2) == 0;
    }
    return !list.failed;
}

static bool
read_extensions(struct reader all, struct hello *hello)
{
    bool has_name = false;

    while (all.left > 0) {
        uint32_t type = number(&all, 2);
        struct reader extension = part(&all, 2);

        if (extension.failed) {
            return false;
        }
        if (type == EXTENSION_NAME) {
            if (has_name || !read_name(extension, hello->name)) {
                return false;
            }
            has_name = true;
        } else if (type == EXTENSION_ALPN) {
            if (hello->has_alpn || !read_alpn(extension, hello)) {
                return false;
            }
        } else if (type == EXTENSION_ECH || type == EXTENSION_ESNI) {
            hello->has_ech = true;
        }
    }
    return !all.failed;
}

static bool
read_message(struct reader body, struct hello *hello)
{
    uint32_t version = number(&body, 2);
    struct reader session, ciphers, compressions, extensions;

    take(&body, 32); /* random */
    session = part(&body, 1);
    ciphers = part(&body, 2);
    compressions = part(&body, 1);
    if (body.failed || version >> 8 != 3 || session.left > 32 || ciphers.left < 2 ||
            ciphers.left % 2 != 0 || compressions.left == 0) {
        return false;
    }
    if (body.left == 0) {
        return true; /* as before TLS 1.2 */
    }
    extensions = part(&body, 2);
    return !extensions.failed && whole(&body) && read_extensions(extensions, hello);
}

/* Servers differ in whether they look at the version of the record, so one that is not 3 is no
 * sign of another protocol; the message's type is. */
static enum hello_result
looks_like_tls(const uint8_t *bytes, size_t length)
{
    if (length == 0) {
        return HELLO_MORE;
    }
    if (bytes[0] != TYPE_HANDSHAKE) {
        return HELLO_OTHER;
    }
    if (length <= RECORD_HEADER) {
        return HELLO_MORE;
    }
    if (bytes[RECORD_HEADER] != TYPE_CLIENT_HELLO) {
        return bytes[1] == 3 ? HELLO_BAD : HELLO_OTHER;
    }
    return bytes[1] == 3 ? HELLO_TLS : HELLO_BAD;
}

/* The message's length, once it is known; else 0. */
static size_t
message_length(const uint8_t *message, size_t length)
{
    struct reader header = { message, length, false };

    if (length < MESSAGE_HEADER) {
        return 0;
    }
    number(&header, 1);
    return MESSAGE_HEADER + number(&header, 3);
}

enum hello_result
hello_parse(const uint8_t *bytes, size_t length, struct hello *ret_hello)
{
    uint8_t message[HELLO_MAX];
    struct reader records = { bytes, length, false };
    struct hello hello = { 0 };
    size_t used = 0;
    enum hello_result first = looks_like_tls(bytes, length);

    if (first != HELLO_TLS) {
        return first;
    }
    for (size_t wanted = 0; wanted == 0 || used < wanted;) {
        uint32_t type, major, record, there;

        if (records.left < RECORD_HEADER) {
            return length < HELLO_BYTES_MAX ? HELLO_MORE : HELLO_BAD;
        }
        type = number(&records, 1);
        major = number(&records, 2) >> 8;
        record = number(&records, 2);
        if (type != TYPE_HANDSHAKE || major != 3 || record == 0 || record > RECORD_MAX ||
                record > sizeof message - used) {
            return HELLO_BAD;
        }
        there = record < records.left ? record : (uint32_t)records.left;
        if (there > 0) {
            memcpy(message + used, take(&records, there), there);
        }
        wanted = message_length(message, used + there);
        /* The greeting ends with its record: what follows it is of another state. */
        if (wanted > sizeof message || (wanted > 0 && used + record > wanted)) {
            return HELLO_BAD;
        }
        if (there < record) {
            return length < HELLO_BYTES_MAX ? HELLO_MORE : HELLO_BAD;
        }
        used += record;
    }
    if (!read_message((struct reader){ message + MESSAGE_HEADER, used - MESSAGE_HEADER, false },
                &hello)) {
        return HELLO_BAD;
    }
    *ret_hello = hello;
    return HELLO_TLS;
}
