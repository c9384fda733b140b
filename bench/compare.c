/* SPDX-License-Identifier: Apache-2.0
 * What a comparison costs with 1,000 rules a side, of each kind and of the mix that
 * bench/evaluate.c has: with a policy that is a little different, and with one that is entirely.
 * The baseline of the latter is the least that its differences cost: each asked of both policies
 * and made a row.  Prints rows for run.py; exits 1 above the limit. */
#include "base/mem.h"
#include "base/str.h"
#include "policy/compare.h"
#include "policy/notation.h"
#include "supervise/report.h"

#include <agentbox/agentbox.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT_MS 5.0
#define ROUNDS 5
#define RULES 1000u
#define OTHER 5000u /* where the numbers of an entirely different policy begin */

DEFINE_CLEANUP(abx_policy_unref, abx_policy)
DEFINE_CLEANUP(abx_report_unref, abx_report)

/* ---- policies, numbered from `first` ---- */

static void
add_list(struct str *out, const char *name, unsigned first, unsigned n, const char *head,
        const char *tail)
{
    str_printf(out, "%s\"%s\":[", out->data[out->length - 1] == '{' ? "" : ",", name);
    for (unsigned i = first; i < first + n; i++) {
        str_printf(out, "%s\"%s%u%s\"", i == first ? "" : ",", head, i, tail);
    }
    str_add(out, "]");
}

static void
write_mix(struct str *out, unsigned first)
{
    str_add(out, "\"filesystem\":{\"read\":{");
    add_list(out, "allow", first, 150, "/home/user/project/module/", "/private");
    add_list(out, "deny", first, 200, "**/.secret", "");
    add_list(out, "ask", first, 150, "/home/user/project/asked/", "");
    str_add(out, "},\"write\":{");
    add_list(out, "allow", first, 250, "/home/user/project/part", "");
    add_list(out, "deny", first, 50, "/home/user/project/part", "/closed");
    str_add(out, "}},\"network\":{\"mode\":\"filtered\"");
    add_list(out, "allow", first, 100, "host", ".example.com");
    add_list(out, "deny", first, 100, "*.zone", ".example.com");
    str_add(out, "}");
}

static void
write_paths(struct str *out, unsigned first)
{
    str_add(out, "\"filesystem\":{\"read\":{");
    add_list(out, "allow", first, RULES / 2, "/srv/tenant", "/data");
    add_list(out, "deny", first, RULES / 2, "/srv/tenant", "/data/private");
    str_add(out, "}}");
}

static void
write_patterns(struct str *out, unsigned first)
{
    str_add(out, "\"filesystem\":{\"read\":{\"allow\":[\"/\"]");
    add_list(out, "deny", first, RULES / 2, "**/.secret", "");
    add_list(out, "ask", first, RULES / 2, "**/build", "/*.o");
    str_add(out, "}}");
}

static void
write_globs(struct str *out, unsigned first)
{
    str_add(out, "\"filesystem\":{\"read\":{\"allow\":[\"/\"]");
    add_list(out, "deny", first, RULES, "**/*.key", "");
    str_add(out, "}}");
}

static void
write_hosts(struct str *out, unsigned first)
{
    str_add(out, "\"network\":{\"mode\":\"filtered\"");
    add_list(out, "allow", first, RULES / 2, "host", ".example.com");
    add_list(out, "deny", first, RULES / 2, "*.zone", ".example.com");
    str_add(out, "}");
}

static void
write_blocks(struct str *out, unsigned first)
{
    str_add(out,
            "\"network\":{\"mode\":\"filtered\",\"deny\":[\"*.example.com\"],\"allow\":[\"*\"");
    for (unsigned i = first; i < first + RULES; i++) {
        str_printf(out, ",\"93.%u.%u.0/24\"", i / 200, i % 200);
    }
    str_add(out, "]}");
}

static void
write_requests(struct str *out, unsigned first)
{
    static const char *const methods[] = { "GET", "POST", "PUT", "DELETE" };

    str_add(out, "\"network\":{\"mode\":\"filtered\",\"allow\":[");
    for (unsigned host = 0; host < 10; host++) {
        str_printf(out, "%s{\"host\":\"api%u.example.com\",\"http\":[", host == 0 ? "" : ",", host);
        for (unsigned i = first; i < first + RULES / 10; i++) {
            str_printf(out, "%s{\"methods\":[\"%s\"],\"path\":\"/v1/kind%u/*\"}",
                    i == first ? "" : ",", methods[i % 4], i);
        }
        str_add(out, "]}");
    }
    str_add(out, "]}");
}

static void
write_actions(struct str *out, unsigned first)
{
    str_add(out, "\"actions\":[");
    for (unsigned i = first; i < first + RULES; i++) {
        str_printf(out, "%s{\"name\":\"act%u\",\"verdict\":\"%s\"}", i == first ? "" : ",", i,
                i % 2 == 0 ? "ask" : "allow");
    }
    str_add(out, "]");
}

static const struct kind_of_rules {
    const char *name;
    void (*write)(struct str *out, unsigned first);
} kinds[] = { { "rules", write_mix }, { "paths", write_paths }, { "patterns", write_patterns },
    { "endings of names", write_globs }, { "hosts", write_hosts },
    { "address blocks", write_blocks }, { "HTTP rules", write_requests },
    { "actions", write_actions } };

static abx_policy *
make_policy(const struct kind_of_rules *kind, unsigned first)
{
    AUTO(str_done) struct str text = { 0 };
    abx_policy *policy = NULL;
    abx_error *error = NULL;

    str_add(&text, "{\"version\":1,");
    kind->write(&text, first);
    str_add(&text, "}");
    if (abx_policy_from_json(text.data, text.length, &policy, &error) < 0) {
        fprintf(stderr, "%s: %s\n", kind->name, abx_error_get_message(error));
        abx_error_unref(error);
    }
    return policy;
}

/* ---- times ---- */

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
median(double times[ROUNDS])
{
    qsort(times, ROUNDS, sizeof times[0], compare_times);
    return times[ROUNDS / 2];
}

static double
measure(abx_policy *before, abx_policy *after, size_t *ret_rows)
{
    double times[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        AUTO(abx_report_unrefp) abx_report *report = NULL;
        abx_error *error = NULL;
        double start = now_ms();

        if (abx_policy_compare(before, after, &report, &error) < 0) {
            fprintf(stderr, "%s\n", abx_error_get_message(error));
            abx_error_unref(error);
            return -1;
        }
        times[i] = now_ms() - start;
        *ret_rows = abx_report_get_count(report);
    }
    return median(times);
}

/* ---- the least ---- */

static abx_report *
ask_all(abx_policy *before, abx_policy *after, const struct note_request *requests,
        const struct findings *findings)
{
    static const char *const columns[] = { "change", "request", "example", "before", "after",
        "rule_before", "rule_after" };
    abx_report *report = report_new(columns, N_ELEMENTS(columns));

    for (size_t i = 0; report != NULL && i < findings->rows.count; i++) {
        const struct finding *f = vec_at(&findings->rows, struct finding, i);
        struct ruling rulings[2];

        note_decide(before, &requests[i], &rulings[0]);
        note_decide(after, &requests[i], &rulings[1]);
        if (!report_add(report, (const char *const[]){ "wider", f->request, f->example, f->before,
                                        f->after, f->rule_before, f->rule_after })) {
            abx_report_unref(report);
            report = NULL;
        }
    }
    return report;
}

/* False: an example is no request, as that of a setting or an idle rule. */
static bool
parse_request(const struct finding *finding, struct note_request *ret_request)
{
    char text[NOTE_TEXT_MAX];
    bool is_address = strstr(finding->example, " of ") != NULL;

    snprintf(text, sizeof text, "%s %s", is_address ? "address" : finding->request,
            finding->example);
    return finding->change != FINDING_IDLE && note_parse_request(text, ret_request);
}

static double
measure_least(abx_policy *before, abx_policy *after)
{
    struct fail fail = { 0 };
    struct findings findings;
    uint32_t relation;
    double times[ROUNDS];
    struct note_request *requests;
    size_t n = 0;

    if (policy_compare(before, after, &relation, &findings, &fail) < 0) {
        return -1;
    }
    requests = calloc(findings.rows.count + 1, sizeof *requests);
    for (size_t i = 0; requests != NULL && i < findings.rows.count; i++) {
        struct finding *finding = vec_at(&findings.rows, struct finding, i);

        if (parse_request(finding, &requests[n])) {
            *vec_at(&findings.rows, struct finding, n++) = *finding;
        }
    }
    findings.rows.count = n;
    for (int i = 0; requests != NULL && i < ROUNDS; i++) {
        double start = now_ms();

        abx_report_unref(ask_all(before, after, requests, &findings));
        times[i] = now_ms() - start;
    }
    findings_done(&findings);
    free(requests);
    return requests == NULL ? -1 : median(times);
}

static bool
print_kind(const struct kind_of_rules *kind)
{
    AUTO(abx_policy_unrefp) abx_policy *before = make_policy(kind, 0);
    AUTO(abx_policy_unrefp) abx_policy *near = make_policy(kind, 1);
    AUTO(abx_policy_unrefp) abx_policy *other = make_policy(kind, OTHER);
    size_t rows_near = 0, rows_other = 0;
    double close, far, least;

    if (before == NULL || near == NULL || other == NULL) {
        return false;
    }
    close = measure(before, near, &rows_near);
    far = measure(before, other, &rows_other);
    least = measure_least(before, other);
    printf("compare 1,000 %s, %zu rows\t%.2f\t%.2f\tms\t<= 1\tlimit\n", kind->name, rows_near,
            close, LIMIT_MS);
    printf("compare 1,000 %s, all others, %zu rows\t%.2f\t%.2f\tms\t<= 5 ms\tasking and telling\n",
            kind->name, rows_other, far, least);
    return close >= 0 && close <= LIMIT_MS && far >= 0;
}

int
main(void)
{
    bool ok = true;

    for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
        ok &= print_kind(&kinds[i]);
    }
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
