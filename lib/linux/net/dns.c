/* SPDX-License-Identifier: Apache-2.0
 * The part of the name service protocol (RFC 1035, RFC 6891) that a resolver library speaks: one
 * question of class IN, one record in answer.  Owns nothing; every byte read is checked against the
 * packet's end. */
#include "linux/net/dns.h"

#include <string.h>

#define HEADER 12u
#define CLASS_IN 1u
#define TTL 60u
#define TYPE_OPT 41u
#define OPT_SIZE 11u
#define POINTER_TO_QUESTION 0xc00cu

static uint16_t
get16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static uint8_t *
put16(uint8_t *out, uint32_t value)
{
    out[0] = (uint8_t)(value >> 8);
    out[1] = (uint8_t)value;
    return out + 2;
}

/* Lower case of a character of a host name; 0 for what no name has. */
static char
letter(uint8_t byte)
{
    if (byte >= 'A' && byte <= 'Z') {
        return (char)(byte | 0x20);
    }
    if ((byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' ||
            byte == '_') {
        return (char)byte;
    }
    return 0;
}

/* Reads the name at *at and moves behind it.  Compressed names have no place in a question. */
static int
parse_name(const uint8_t *packet, size_t length, size_t *at, char *name)
{
    size_t used = 0;
    int code = DNS_OK;

    for (;;) {
        size_t label = *at < length ? packet[*at] : 64;

        if (label > 63 || *at + 1 + label > length) {
            return DNS_MALFORMED;
        }
        (*at)++;
        if (label == 0) {
            break;
        }
        if (used + label + 1 >= DNS_NAME_MAX) {
            return DNS_MALFORMED;
        }
        if (used > 0) {
            name[used++] = '.';
        }
        for (size_t i = 0; i < label; i++) {
            name[used] = letter(packet[(*at)++]);
            code = name[used++] == 0 ? DNS_NO_NAME : code;
        }
    }
    name[used] = '\0';
    return code;
}

int
dns_parse(const uint8_t *packet, size_t length, struct dns_question *ret_question)
{
    size_t at = HEADER;
    uint16_t class;
    int code;

    memset(ret_question, 0, sizeof *ret_question);
    if (length < HEADER || (packet[2] & 0x80) != 0) {
        return -1;
    }
    if ((packet[2] & 0x78) != 0) {
        return DNS_NO_SUPPORT;
    }
    if (length > DNS_QUERY_MAX || get16(packet + 4) != 1 || get16(packet + 6) != 0) {
        return DNS_MALFORMED;
    }
    code = parse_name(packet, length, &at, ret_question->name);
    if (code == DNS_MALFORMED || at + 4 > length) {
        return DNS_MALFORMED;
    }
    ret_question->type = get16(packet + at);
    class = get16(packet + at + 2);
    at += 4;
    ret_question->end = at;
    ret_question->has_edns = get16(packet + 10) == 1 && length - at >= OPT_SIZE &&
                             packet[at] == 0 && get16(packet + at + 1) == TYPE_OPT;
    if (code == DNS_OK && class != CLASS_IN && class != DNS_ANY) {
        return DNS_REFUSED;
    }
    return code;
}

bool
dns_record_name(struct dns_record *record, const char *name)
{
    size_t used = 0;

    while (*name != '\0') {
        size_t label = strcspn(name, ".");

        if (label == 0 || label > 63 || used + label + 2 > sizeof record->data) {
            return false;
        }
        record->data[used++] = (uint8_t)label;
        memcpy(record->data + used, name, label);
        used += label;
        name += label + (name[label] == '.');
    }
    record->data[used++] = 0;
    record->type = DNS_PTR;
    record->length = used;
    return true;
}

size_t
dns_answer(const uint8_t *query, const struct dns_question *question, int code,
        const struct dns_record *record, uint8_t *out)
{
    bool has_record = code == DNS_OK && record->length > 0;
    uint8_t *at;

    memset(out, 0, HEADER);
    memcpy(out, query, 2);
    out[2] =
            (uint8_t)(0x84 | (query[2] & 0x79)); /* answer, authoritative; opcode and RD as asked */
    out[3] = (uint8_t)(0x80 | (code & 15));
    put16(out + 4, question->end > 0);
    put16(out + 6, has_record);
    put16(out + 10, question->has_edns);
    if (question->end == 0) {
        return HEADER;
    }
    memcpy(out + HEADER, query + HEADER, question->end - HEADER);
    at = out + question->end;
    if (has_record) {
        at = put16(at, POINTER_TO_QUESTION);
        at = put16(at, record->type);
        at = put16(at, CLASS_IN);
        at = put16(put16(at, 0), TTL);
        at = put16(at, (uint32_t)record->length);
        memcpy(at, record->data, record->length);
        at += record->length;
    }
    if (question->has_edns) {
        memset(at, 0, OPT_SIZE);
        put16(at + 1, TYPE_OPT);
        put16(at + 3, DNS_QUERY_MAX);
        at += OPT_SIZE;
    }
    return (size_t)(at - out);
}
