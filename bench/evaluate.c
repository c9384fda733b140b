/* SPDX-License-Identifier: Apache-2.0
 * What a decision costs with 1,000 rules: paths, patterns, hosts and layers mixed as policies have
 * them, next to one that looks at every rule.  Prints nanoseconds a decision, and the worst as
 * a row for run.py; exits 1 above the limit. */
#include "base/mem.h"
#include "policy/notation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT_NS 1000.0
#define ROUNDS 200000

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

/* 600 literal paths, 195 patterns with a literal name, 5 without, 200 hosts. */
static void
make_note(void)
{
    note.n_layers = 1;
    note.layers[0].network = NETWORK_FILTERED;
    note.layers[0].has_mode = true;
    note.layers[0].is_git_protected = true;
    for (unsigned i = 0; i < 300; i++) {
        add(ABX_REQUEST_PATH, ABX_ACCESS_WRITE, i % 3, "/home/user/project/part", i, "");
        add(ABX_REQUEST_PATH, ABX_ACCESS_READ, i % 3, "/home/user/project/module/", i, "/private");
    }
    for (unsigned i = 0; i < 195; i++) {
        add(ABX_REQUEST_PATH, ABX_ACCESS_READ, ABX_VERDICT_DENY, "**/.secret", i, "");
    }
    for (unsigned i = 0; i < 5; i++) {
        add(ABX_REQUEST_PATH, ABX_ACCESS_READ, ABX_VERDICT_DENY, "**/*.key", i, "");
    }
    for (unsigned i = 0; i < 100; i++) {
        add(ABX_REQUEST_CONNECT, 0, i % 2, "host", i, ".example.com");
        add(ABX_REQUEST_CONNECT, 0, i % 2, "*.zone", i, ".example.com");
    }
}

static double
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double
measure(abx_policy *policy, const char *text, bool slowly)
{
    int rounds = slowly ? ROUNDS / 1000 : ROUNDS;
    struct note_request r;
    struct ruling ruling;
    volatile abx_verdict verdict = 0;
    double start;

    if (!note_parse_request(text, &r)) {
        return -1;
    }
    start = now_ns();
    for (int i = 0; i < rounds; i++) {
        verdict = slowly ? slow_decide(&note, &r) : policy_decide(policy, &r.request, &ruling);
    }
    (void)verdict;
    return (now_ns() - start) / rounds;
}

int
main(void)
{
    static const char *const requests[] = { "read /home/user/project/module/17/private/file.c",
        "read /usr/lib/x86_64-linux-gnu/libc.so.6",
        "read /home/user/project/src/a/b/c/d/e/f/g/.secret7",
        "write /home/user/project/part200/build/main.o",
        "write /home/user/project/part1/.git/objects/ab/cdef by open", "exec /usr/bin/git",
        "connect host77.example.com:443", "connect a.b.zone42.example.com:443",
        "connect 93.184.216.34:443" };
    AUTO(abx_policy_unrefp) abx_policy *policy = NULL;
    struct fail fail = { 0 };
    double worst = 0;

    make_note();
    policy = note_policy(&note, &fail);
    if (policy == NULL) {
        fprintf(stderr, "%s\n", fail.text);
        return EXIT_FAILURE;
    }
    printf("%-64s %10s %12s\n", "evaluate, 1000 rules", "ns", "rule by rule");
    for (size_t i = 0; i < N_ELEMENTS(requests); i++) {
        double fast = measure(policy, requests[i], false);

        worst = fast > worst ? fast : worst;
        printf("%-64s %10.0f %12.0f\n", requests[i], fast, measure(policy, requests[i], true));
    }
    printf("worst of these decisions\t%.0f\t%.0f\tns\t<= 1\tlimit\n", worst, LIMIT_NS);
    return worst <= LIMIT_NS ? EXIT_SUCCESS : EXIT_FAILURE;
}
