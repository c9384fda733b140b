/* SPDX-License-Identifier: Apache-2.0
 * What a comparison costs with 1,000 rules a side, of the mix that bench/evaluate.c has: with a
 * policy that is a little different, and with one that is entirely.  Prints rows for run.py; exits
 * 1 above the limit. */
#include "base/mem.h"
#include "policy/compare.h"
#include "policy/notation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT_MS 5.0
#define ROUNDS 41

DEFINE_CLEANUP(abx_policy_unref, abx_policy)

static struct note note;

static void
add(uint32_t kind, uint32_t access, abx_verdict verdict, const char *head, unsigned number,
        const char *tail)
{
    struct note_rule *rule = &note.rules[note.n_rules++];

    memset(rule, 0, sizeof *rule);
    rule->kind = kind;
    rule->access = access;
    rule->verdict = verdict;
    snprintf(rule->pattern, sizeof rule->pattern, "%s%u%s", head, number, tail);
}

/* 600 literal paths, 195 patterns with a literal name, 5 without, 200 hosts; numbered from `first`.
 */
static abx_policy *
make_policy(unsigned first, unsigned shift)
{
    struct fail fail = { 0 };

    memset(&note, 0, sizeof note);
    note.n_layers = 1;
    note.layers[0].network = NETWORK_FILTERED;
    note.layers[0].has_mode = true;
    note.layers[0].is_git_protected = true;
    for (unsigned i = first; i < first + 300; i++) {
        add(ABX_REQUEST_PATH, ABX_ACCESS_WRITE, (i + shift) % 3, "/home/user/project/part", i, "");
        add(ABX_REQUEST_PATH, ABX_ACCESS_READ, i % 3, "/home/user/project/module/", i, "/private");
    }
    for (unsigned i = first; i < first + 195; i++) {
        add(ABX_REQUEST_PATH, ABX_ACCESS_READ, ABX_VERDICT_DENY, "**/.secret", i, "");
    }
    for (unsigned i = first; i < first + 5; i++) {
        add(ABX_REQUEST_PATH, ABX_ACCESS_READ, ABX_VERDICT_DENY, "**/*.key", i, "");
    }
    for (unsigned i = first; i < first + 100; i++) {
        add(ABX_REQUEST_CONNECT, 0, i % 2, "host", i, ".example.com");
        add(ABX_REQUEST_CONNECT, 0, i % 2, "*.zone", i, ".example.com");
    }
    return note_policy(&note, &fail);
}

static double
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int
compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double
measure(abx_policy *before, abx_policy *after, size_t *ret_rows)
{
    double times[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        struct fail fail = { 0 };
        struct vec findings;
        uint32_t relation;
        double start = now_ms();

        if (policy_compare(before, after, &relation, &findings, &fail) < 0) {
            fprintf(stderr, "%s\n", fail.text);
            return LIMIT_MS + 1;
        }
        times[i] = now_ms() - start;
        *ret_rows = findings.count;
        findings_done(&findings);
    }
    qsort(times, ROUNDS, sizeof times[0], compare_times);
    return times[ROUNDS / 2];
}

int
main(void)
{
    AUTO(abx_policy_unrefp) abx_policy *before = make_policy(0, 0);
    AUTO(abx_policy_unrefp) abx_policy *near = make_policy(1, 0);
    AUTO(abx_policy_unrefp) abx_policy *other = make_policy(1000, 1);
    size_t rows_same, rows_near, rows_other;
    double same, close, far;

    if (before == NULL || near == NULL || other == NULL) {
        return EXIT_FAILURE;
    }
    same = measure(before, before, &rows_same);
    close = measure(before, near, &rows_near);
    far = measure(before, other, &rows_other);
    printf("compare 1,000 rules with the same\t%.2f\t%.2f\tms\t<= 1\tlimit\n", same, LIMIT_MS);
    printf("compare 1,000 rules, %zu rows\t%.2f\t%.2f\tms\t<= 1\tlimit\n", rows_near, close,
            LIMIT_MS);
    printf("compare 1,000 rules, %zu rows\t%.2f\t%.2f\tms\t-\tlimit\n", rows_other, far, LIMIT_MS);
    return same <= LIMIT_MS && close <= LIMIT_MS ? EXIT_SUCCESS : EXIT_FAILURE;
}
