/* SPDX-License-Identifier: Apache-2.0
 * agentbox audit: looks at audit logs. */
#include "cli.h"

#include <string.h>

static int
usage(void)
{
    fputs("usage: agentbox audit verify FILE...\n", stderr);
    return EXIT_REFUSED;
}

static size_t
count(char **files)
{
    size_t n = 0;

    while (files[n] != NULL) {
        n++;
    }
    return n;
}

/* "FILE: 12 records, 1 to 12, hash ...: whole", or where it breaks. */
static void
print_row(abx_report *report, size_t row)
{
    const char *problem = abx_report_get_string(report, row, "problem");

    print_escaped(stdout, abx_report_get_string(report, row, "file"));
    printf(": %s records, %s to %s, hash %s: %s\n", abx_report_get_string(report, row, "records"),
            abx_report_get_string(report, row, "first"), abx_report_get_string(report, row, "last"),
            abx_report_get_string(report, row, "hash"),
            abx_report_get_string(report, row, "state"));
    if (*problem != '\0') {
        printf("  line %s, byte %s: %s\n", abx_report_get_string(report, row, "line"),
                abx_report_get_string(report, row, "byte"), problem);
    }
}

static int
verify(char **files)
{
    abx_report *report = NULL;
    abx_error *error = NULL;
    abx_status outcome =
            abx_audit_verify((const char *const *)files, count(files), &report, &error);

    if (outcome < 0) {
        return report_refusal(error);
    }
    for (size_t row = 0; row < abx_report_get_count(report); row++) {
        print_row(report, row);
    }
    abx_report_unref(report);
    return (int)outcome;
}

int
command_audit(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[0], "verify") != 0) {
        return usage();
    }
    return verify(argv + 1);
}
