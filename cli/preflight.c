/* SPDX-License-Identifier: Apache-2.0
 * What this host can enforce, as a table; status 1 if no box opens. */
#include "cli.h"

#include <string.h>

int
command_preflight(int argc, char **argv)
{
    struct options options;
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    abx_report *report = NULL;
    size_t n_rows;
    bool opens = true;

    if (!options_parse(&options, TAKES_POLICY, argc, argv)) {
        return EXIT_REFUSED;
    }
    if (((options.policy != NULL || options.profile != NULL) &&
                !policy_load(&options, &policy, &error)) ||
            abx_preflight(policy, &report, &error) < 0) {
        if (error != NULL) {
            report_error(error);
            abx_error_unref(error);
        }
        abx_policy_unref(policy);
        return EXIT_REFUSED;
    }
    n_rows = abx_report_get_count(report);
    for (size_t i = 0; i < n_rows; i++) {
        const char *feature = abx_report_get_string(report, i, "feature");
        const char *state = abx_report_get_string(report, i, "state");
        const char *remedy = abx_report_get_string(report, i, "remedy");

        opens = opens && !(strcmp(feature, "box") == 0 && strcmp(state, "yes") != 0);
        printf("%-24s %-10s %s\n", feature, state, abx_report_get_string(report, i, "detail"));
        if (remedy != NULL && *remedy != '\0') {
            printf("%-24s            %s\n", "", remedy);
        }
    }
    abx_report_unref(report);
    abx_policy_unref(policy);
    return opens ? 0 : 1;
}
