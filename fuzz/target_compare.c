/* SPDX-License-Identifier: Apache-2.0
 * Input: two policies in the notation of tests/policy, a line each, then requests, one a line. What
 * the two decide otherwise is in the relation that a comparison finds. */
#include "policy/compare.h"
#include "policy/notation.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 1024u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
ask(abx_policy *before, abx_policy *after, uint32_t relation, const char *line)
{
    static const int more[] = { 0, 2, 1 };
    struct note_request r;
    int a, b;
    struct ruling ruling;

    if (!note_parse_request(line, &r) || !policy_request_is_valid(&r.request) ||
            r.name[0] != '\0') {
        return;
    }
    policy_decide(before, &r.request, &ruling);
    a = more[ruling.verdict];
    policy_decide(after, &r.request, &ruling);
    b = more[ruling.verdict];
    if ((b > a && (relation & ABX_RELATION_WIDER) == 0) ||
            (b < a && (relation & ABX_RELATION_NARROWER) == 0)) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct note note;
    char text[TEXT_MAX];
    struct fail fail = { 0 };
    abx_policy *before = NULL, *after = NULL;
    struct findings findings;
    uint32_t relation;
    char *rest = text;

    if (size >= sizeof text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    before = note_parse(strsep(&rest, "\n"), &note) ? note_policy(&note, &fail) : NULL;
    after = before != NULL && rest != NULL && note_parse(strsep(&rest, "\n"), &note)
                    ? note_policy(&note, &fail)
                    : NULL;
    if (after != NULL) {
        abx_status r = policy_compare(before, after, &relation, &findings, &fail);

        if (r == ABX_ERR_INTERNAL) {
            abort();
        }
        while (r == ABX_OK && rest != NULL) {
            ask(before, after, relation, strsep(&rest, "\n"));
        }
        if (r == ABX_OK) {
            findings_done(&findings);
        }
    }
    abx_policy_unref(before);
    abx_policy_unref(after);
    return 0;
}
