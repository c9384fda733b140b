/* SPDX-License-Identifier: Apache-2.0
 * Input: a policy in the notation of tests/policy, a newline, requests, one a line.  The index and
 * the plain implementation give the same verdict. */
#include "policy/notation.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX 1024u
#define STARS_MAX 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The plain one tries every way, takes bytes for characters and knows no address but dotted ones.
 */
static bool
is_plain(const struct note *note)
{
    for (size_t i = 0; i < note->n_rules; i++) {
        int stars = 0;

        for (const char *at = note->rules[i].pattern; *at != '\0'; at++) {
            stars += *at == '*';
            if ((unsigned char)*at >= 0x80 || (at[0] == '\\' && at[1] == 'x')) {
                return false;
            }
        }
        if (stars > STARS_MAX || note->rules[i].kind == ABX_REQUEST_CONNECT ||
                note->rules[i].kind == ABX_REQUEST_LISTEN) {
            return false;
        }
    }
    return true;
}

static void
compare(const struct note *note, abx_policy *policy, const char *line)
{
    struct note_request r;
    struct ruling ruling;

    if (!note_parse_request(line, &r) || !policy_request_is_valid(&r.request) ||
            r.request.kind == ABX_REQUEST_LISTEN || r.request.kind == ABX_REQUEST_CONNECT ||
            r.request.kind == ABX_REQUEST_HTTP || r.request.kind == ABX_REQUEST_ACTION ||
            r.target[0] == '@') {
        return;
    }
    for (const char *at = r.target; *at != '\0'; at++) {
        if (!isascii(*at)) {
            return;
        }
    }
    note_decide(policy, &r, &ruling);
    if (ruling.verdict != slow_decide(note, &r)) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct note note;
    char text[LINE_MAX];
    struct fail fail = { 0 };
    abx_policy *policy = NULL;
    char *rest = text;

    if (size >= sizeof text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    if (note_parse(strsep(&rest, "\n"), &note) && is_plain(&note)) {
        policy = note_policy(&note, &fail);
    }
    while (policy != NULL && rest != NULL) {
        compare(&note, policy, strsep(&rest, "\n"));
    }
    abx_policy_unref(policy);
    return 0;
}
