/* SPDX-License-Identifier: Apache-2.0
 * Asks a policy about the calls that an audit log tells of, and prints what it would decide in
 * another way. */
#include "cli.h"

#include <string.h>

static const char head[] = "replayed is what the log tells of: what was denied, asked about, only "
                           "observed, done as an "
                           "action,\nstarted or opened.  What a policy allowed left no record.\n";

static const char *
text_of(abx_report *report, size_t row, const char *column)
{
    return abx_report_get_string(report, row, column);
}

static void
print_column(abx_report *report, size_t row, const char *before, const char *column)
{
    if (text_of(report, row, column)[0] != '\0') {
        fputs(before, stdout);
        print_escaped(stdout, text_of(report, row, column));
    }
}

/* Of names that programs and hosts chose. */
static void
print_names(abx_report *report, size_t row, const char *before, const char *column)
{
    if (text_of(report, row, column)[0] != '\0') {
        fputs(before, stdout);
        print_name(stdout, text_of(report, row, column));
    }
}

/* "now denied: write /etc/motd, 3 times (was allowed)", by what, and whose calls they were. */
static void
print_change(abx_report *report, size_t row)
{
    print_column(report, row, "now ", "change");
    print_column(report, row, ": ", "request");
    print_names(report, row, " ", "target");
    print_column(report, row, ", ", "calls");
    print_column(report, row,
            strcmp(text_of(report, row, "calls"), "1") == 0 ? " time (was " : " times (was ",
            "before");
    print_column(report, row, ")\n  rule ", "rule");
    print_column(report, row, ": ", "reason");
    print_column(report, row, "\n  from record ", "first");
    print_column(report, row, ": ", "commands");
    print_column(report, row, "\n  program ", "programs");
    print_column(report, row, "\n  for ", "identities");
    putchar('\n');
}

static void
print_row(abx_report *report, size_t row)
{
    const char *change = text_of(report, row, "change");

    if (strcmp(change, "same") == 0) {
        print_column(report, row, "the same: ", "calls");
        putchar('\n');
    } else if (strcmp(change, "skipped") == 0) {
        print_column(report, row, "not replayed: ", "calls");
        print_column(report, row, ", ", "reason");
        putchar('\n');
    } else if (strcmp(change, "broken") == 0) {
        print_column(report, row, "NOT WHOLE: ", "reason");
        putchar('\n');
    } else {
        print_change(report, row);
    }
}

static abx_status
print_json(abx_report *report)
{
    size_t length;
    char *json;
    abx_status r = abx_report_to_json(report, &json, &length);

    if (r < 0) {
        return r;
    }
    puts(json);
    abx_free(json);
    return ABX_OK;
}

static void
print_text(abx_report *report)
{
    fputs(head, stdout);
    for (size_t row = 0; row < abx_report_get_count(report); row++) {
        print_row(report, row);
    }
}

int
command_replay(int argc, char **argv)
{
    struct options options;
    abx_policy *policy = NULL;
    abx_report *report = NULL;
    abx_error *error = NULL;
    size_t count = 0;
    abx_status outcome;

    if (!options_parse(&options, TAKES_POLICY | TAKES_JSON, argc, argv)) {
        return EXIT_REFUSED;
    }
    while (options.rest[count] != NULL) {
        count++;
    }
    if (count == 0) {
        fputs("usage: agentbox replay [OPTIONS] [--json] AUDIT...\n", stderr);
        return EXIT_REFUSED;
    }
    if (options.audit == NULL) {
        options.audit = options.rest[count - 1]; /* out of reach, as in every box that keeps it */
    }
    if (!policy_load(&options, &policy, &error)) {
        return report_refusal(error);
    }
    outcome = abx_audit_replay(policy, (const char *const *)options.rest, count, &report, &error);
    abx_policy_unref(policy);
    if (outcome < 0) {
        return report_refusal(error);
    }
    if (options.json) {
        outcome = print_json(report) < 0 ? EXIT_REFUSED : outcome;
    } else {
        print_text(report);
    }
    abx_report_unref(report);
    return (int)outcome;
}
