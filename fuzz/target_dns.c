/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a question to the name server: what is read is a name, what is answered fits and is
 * about that question. */
#include "linux/net/dns.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool is_so)
{
    if (!is_so) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dns_question question;
    struct dns_record record = { .type = DNS_A, .length = 4 };
    uint8_t out[DNS_ANSWER_MAX];
    int code = dns_parse(data, size, &question);
    size_t length;

    if (code < 0) {
        return 0;
    }
    must(question.end <= size && (code != DNS_OK || question.end > 0));
    if (code == DNS_OK) {
        must(strlen(question.name) < DNS_NAME_MAX);
        for (const char *p = question.name; *p != '\0'; p++) {
            must(strchr("abcdefghijklmnopqrstuvwxyz0123456789-_.", *p) != NULL);
        }
        if (question.type == DNS_PTR && question.name[0] != '\0') {
            must(dns_record_name(&record, question.name));
        }
    }
    length = dns_answer(data, &question, code, &record, out);
    must(length >= 12 && length <= sizeof out && memcmp(out, data, 2) == 0);
    must((out[2] & 0x80) != 0 && (out[3] & 15) == code);
    must(memcmp(out + 12, data + 12, question.end > 12 ? question.end - 12 : 0) == 0);
    return 0;
}
