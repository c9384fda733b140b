/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/linux only: reads a question for a name server and writes its answer.  Pure; packets
 * may be hostile. */
#ifndef ABX_LINUX_DNS_H
#define ABX_LINUX_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_NAME_MAX 254u /* with its NUL */
#define DNS_QUERY_MAX 512u /* longer ones are no question of a resolver */
#define DNS_ANSWER_MAX 1024u

enum dns_type { DNS_A = 1, DNS_PTR = 12, DNS_AAAA = 28, DNS_ANY = 255 };
enum dns_code {
    DNS_OK = 0,
    DNS_MALFORMED = 1,
    DNS_NO_NAME = 3,
    DNS_NO_SUPPORT = 4,
    DNS_REFUSED = 5
};

struct dns_question {
    char name[DNS_NAME_MAX]; /* lower case, no trailing dot; "" is the root */
    uint16_t type;
    size_t end; /* of the question in the packet; 0: not read that far */
    bool has_edns;
};

/* DNS_OK, the code to answer with, or -1: no answer at all (no question, or too short). */
int dns_parse(const uint8_t *packet, size_t length, struct dns_question *ret_question);

/* What is answered: an address of 4 or 16 bytes, or a name (PTR); nothing with length 0. */
struct dns_record {
    uint16_t type;
    uint8_t data[DNS_NAME_MAX + 1]; /* as on the wire */
    size_t length;
};
/* `name` in wire form; false if it is none. */
bool dns_record_name(struct dns_record *record, const char *name);

/* The answer to `query`, which dns_parse read; its length.  `out` has DNS_ANSWER_MAX bytes. */
size_t dns_answer(const uint8_t *query, const struct dns_question *question, int code,
        const struct dns_record *record, uint8_t *out);

#endif
