/* SPDX-License-Identifier: Apache-2.0
 * Compares two policies and prints what differs, a line each. */
#include "cli.h"

#include <string.h>

static void
print_column(abx_report *report, size_t row, const char *before, const char *column)
{
    fputs(before, stdout);
    print_escaped(stdout, abx_report_get_string(report, row, column));
}

static void
print_example(abx_report *report, size_t row)
{
    putchar(' ');
    print_name(stdout, abx_report_get_string(report, row, "example"));
}

static void
print_rows(abx_report *report)
{
    for (size_t i = 0; i < abx_report_get_count(report); i++) {
        print_column(report, i, "", "change");
        print_column(report, i, " ", "request");
        print_example(report, i);
        if (strcmp(abx_report_get_string(report, i, "change"), "idle") != 0) {
            print_column(report, i, ": ", "before");
            print_column(report, i, " -> ", "after");
        }
        if (abx_report_get_string(report, i, "rule_after")[0] != '\0') {
            print_column(report, i, "  (", "rule_before");
            print_column(report, i, " -> ", "rule_after");
            fputs(")", stdout);
        }
        putchar('\n');
    }
}

/* Both documents, or a document and the policy that the options name. */
static bool
load(const struct options *options, abx_policy *policies[2], abx_error **ret_error)
{
    bool has_two = options->rest[1] != NULL;

    return (has_two ? policy_read(options, options->rest[0], &policies[0], ret_error)
                    : policy_load(options, &policies[0], ret_error)) &&
           policy_read(options, options->rest[has_two ? 1 : 0], &policies[1], ret_error);
}

int
command_compare(int argc, char **argv)
{
    static const char *const words[] = { [ABX_RELATION_EQUAL] = "equal",
        [ABX_RELATION_WIDER] = "wider",
        [ABX_RELATION_NARROWER] = "narrower",
        [ABX_RELATION_NEITHER] = "neither" };
    struct options options;
    abx_policy *policies[2] = { NULL, NULL };
    abx_report *report = NULL;
    abx_error *error = NULL;
    abx_status relation;

    if (!options_parse(&options, TAKES_POLICY, argc, argv)) {
        return EXIT_REFUSED;
    }
    if (options.rest[0] == NULL || (options.rest[1] != NULL && options.rest[2] != NULL)) {
        fputs("usage: agentbox policy compare [OPTIONS] [BEFORE] AFTER\n", stderr);
        return EXIT_REFUSED;
    }
    relation = load(&options, policies, &error)
                       ? abx_policy_compare(policies[0], policies[1], &report, &error)
                       : -1;
    abx_policy_unref(policies[0]);
    abx_policy_unref(policies[1]);
    if (relation < 0) {
        return report_refusal(error);
    }
    puts(words[relation]);
    print_rows(report);
    abx_report_unref(report);
    return (int)relation;
}
