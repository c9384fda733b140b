/* SPDX-License-Identifier: Apache-2.0
 * Reads requests one message at a time.  User names and passwords are read over: who connects is
 * known already. */
#include "egress/socks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#define TEXT_MAX 255u

enum {
    NO_PASSWORD = 0,
    PASSWORD = 2,
    NO_METHOD = 0xff,
    COMMAND_CONNECT = 1,
    ADDRESS_IPV4 = 1,
    ADDRESS_NAME = 3,
    ADDRESS_IPV6 = 4
};

static void
set_reply(struct socks *socks, uint8_t first, uint8_t second, size_t length)
{
    memset(socks->reply, 0, sizeof socks->reply);
    socks->reply[0] = first;
    socks->reply[1] = second;
    socks->reply_length = length;
}

/* A name as it was sent; what no name has becomes '?', so that it is refused as one. */
static void
set_name(struct socks *socks, const uint8_t *bytes, size_t length)
{
    memcpy(socks->host, bytes, length);
    socks->host[length] = '\0';
    for (size_t i = 0; i < length; i++) {
        socks->host[i] = (char)(socks->host[i] == '\0' ? '?' : socks->host[i]);
    }
}

/* ---- version 4 ---- */
static enum socks_result
refuse_4(struct socks *socks)
{
    set_reply(socks, 0, 91, 8);
    return SOCKS_REFUSED;
}

/* Where the text that begins there ends; 0: not yet; -1: it is too long. */
static int
text_end(const uint8_t *bytes, size_t length, size_t at)
{
    size_t left = length - at;
    const uint8_t *end = memchr(bytes + at, '\0', left < TEXT_MAX + 1 ? left : TEXT_MAX + 1);

    if (end != NULL) {
        return (int)(end - bytes);
    }
    return left > TEXT_MAX ? -1 : 0;
}

/* 4, command, port, address, user, NUL; with an address 0.0.0.x then name, NUL. */
static enum socks_result
read_4(struct socks *socks, const uint8_t *bytes, size_t length, size_t *ret_used)
{
    static const uint8_t name_follows[3] = { 0, 0, 0 };
    int user, name;

    if (length < 9) {
        return SOCKS_MORE;
    }
    user = text_end(bytes, length, 8);
    if (user == 0) {
        return SOCKS_MORE;
    }
    if (user < 0 || bytes[1] != COMMAND_CONNECT) {
        return refuse_4(socks);
    }
    socks->port = (uint16_t)(bytes[2] << 8 | bytes[3]);
    if (memcmp(bytes + 4, name_follows, sizeof name_follows) != 0 || bytes[7] == 0) {
        inet_ntop(AF_INET, bytes + 4, socks->host, sizeof socks->host);
        *ret_used = (size_t)user + 1;
        return SOCKS_CONNECT;
    }
    name = text_end(bytes, length, (size_t)user + 1);
    if (name == 0) {
        return SOCKS_MORE;
    }
    if (name < 0) {
        return refuse_4(socks);
    }
    set_name(socks, bytes + user + 1, (size_t)(name - user - 1));
    *ret_used = (size_t)name + 1;
    return SOCKS_CONNECT;
}

/* ---- version 5 ---- */
static enum socks_result
read_greeting(struct socks *socks, const uint8_t *bytes, size_t length, size_t *ret_used)
{
    const uint8_t *methods = bytes + 2;

    if (length < 2 || length < 2 + (size_t)bytes[1]) {
        return SOCKS_MORE;
    }
    *ret_used = 2 + (size_t)bytes[1];
    if (memchr(methods, NO_PASSWORD, bytes[1]) != NULL) {
        set_reply(socks, 5, NO_PASSWORD, 2);
        socks->stage = SOCKS_REQUEST;
        return SOCKS_GO_ON;
    }
    if (memchr(methods, PASSWORD, bytes[1]) != NULL) {
        set_reply(socks, 5, PASSWORD, 2);
        socks->stage = SOCKS_PASSWORD;
        return SOCKS_GO_ON;
    }
    set_reply(socks, 5, NO_METHOD, 2);
    return SOCKS_REFUSED;
}

/* 1, length, user, length, password. */
static enum socks_result
read_password(struct socks *socks, const uint8_t *bytes, size_t length, size_t *ret_used)
{
    size_t user, all;

    if (bytes[0] != 1) {
        return SOCKS_REFUSED;
    }
    user = length < 2 ? 0 : bytes[1];
    if (length < 3 + user) {
        return SOCKS_MORE;
    }
    all = 3 + user + bytes[2 + user];
    if (length < all) {
        return SOCKS_MORE;
    }
    *ret_used = all;
    set_reply(socks, 1, 0, 2);
    socks->stage = SOCKS_REQUEST;
    return SOCKS_GO_ON;
}

static enum socks_result
refuse_5(struct socks *socks, uint8_t code)
{
    set_reply(socks, 5, code, 10);
    socks->reply[3] = ADDRESS_IPV4;
    return SOCKS_REFUSED;
}

/* 5, command, 0, kind, address, port. */
static enum socks_result
read_request(struct socks *socks, const uint8_t *bytes, size_t length, size_t *ret_used)
{
    const uint8_t *address = bytes + 4;
    size_t size;

    if (length < 5) {
        return SOCKS_MORE;
    }
    if (bytes[0] != 5 || bytes[2] != 0) {
        return refuse_5(socks, 1);
    }
    if (bytes[1] != COMMAND_CONNECT) {
        return refuse_5(socks, 7);
    }
    switch (bytes[3]) {
    case ADDRESS_IPV4:
        size = 4;
        break;
    case ADDRESS_NAME:
        size = *address++;
        break;
    case ADDRESS_IPV6:
        size = 16;
        break;
    default:
        return refuse_5(socks, 8);
    }
    *ret_used = (size_t)(address - bytes) + size + 2;
    if (length < *ret_used) {
        return SOCKS_MORE;
    }
    socks->port = (uint16_t)(address[size] << 8 | address[size + 1]);
    if (bytes[3] == ADDRESS_NAME) {
        set_name(socks, address, size);
    } else {
        inet_ntop(bytes[3] == ADDRESS_IPV4 ? AF_INET : AF_INET6, address, socks->host,
                sizeof socks->host);
    }
    return SOCKS_CONNECT;
}

enum socks_result
socks_read(struct socks *socks, const uint8_t *bytes, size_t length, size_t *ret_used)
{
    socks->reply_length = 0;
    if (length == 0) {
        return SOCKS_MORE;
    }
    switch (socks->stage) {
    case SOCKS_GREETING:
        socks->version = bytes[0];
        if (bytes[0] == 4) {
            return read_4(socks, bytes, length, ret_used);
        }
        return bytes[0] == 5 ? read_greeting(socks, bytes, length, ret_used) : SOCKS_REFUSED;
    case SOCKS_PASSWORD:
        return read_password(socks, bytes, length, ret_used);
    case SOCKS_REQUEST:
        break;
    }
    return read_request(socks, bytes, length, ret_used);
}

void
socks_answer(struct socks *socks, int error)
{
    static const struct {
        int error;
        uint8_t code;
    } codes[] = { { 0, 0 }, { EACCES, 2 }, { ENETUNREACH, 3 }, { EHOSTUNREACH, 4 },
        { ECONNREFUSED, 5 }, { ETIMEDOUT, 6 } };
    uint8_t code = 1;

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        code = codes[i].error == error ? codes[i].code : code;
    }
    if (socks->version == 4) {
        set_reply(socks, 0, error == 0 ? 90 : 91, 8);
    } else {
        refuse_5(socks, code);
    }
}
