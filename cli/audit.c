/* SPDX-License-Identifier: Apache-2.0
 * agentbox audit: looks at audit logs. */
#include "cli.h"

#include <string.h>

static int
usage(void)
{
    fputs("usage: agentbox audit verify FILE...\n"
          "       agentbox audit show [--json] [--layer LAYER] FILE...\n"
          "       agentbox audit report --html FILE...\n"
          "       agentbox audit redact --record N[,M-K...] FILE\n",
            stderr);
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
    const char *redacted = abx_report_get_string(report, row, "redacted");

    print_escaped(stdout, abx_report_get_string(report, row, "file"));
    printf(": %s records, %s to %s, hash %s: %s\n", abx_report_get_string(report, row, "records"),
            abx_report_get_string(report, row, "first"), abx_report_get_string(report, row, "last"),
            abx_report_get_string(report, row, "hash"),
            abx_report_get_string(report, row, "state"));
    if (strcmp(redacted, "0") != 0) {
        printf("  %s redacted\n", redacted);
    }
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

/* The options of show and report, before the files; NULL: one is unknown. */
static char **
parse(char **argv, const char **ret_format, const char **ret_layer)
{
    for (; *argv != NULL && strncmp(*argv, "--", 2) == 0; argv++) {
        if (strcmp(*argv, "--json") == 0 || strcmp(*argv, "--html") == 0) {
            *ret_format = *argv + 2;
        } else if (strcmp(*argv, "--layer") == 0 && argv[1] != NULL) {
            *ret_layer = *++argv;
        } else {
            return NULL;
        }
    }
    return *argv == NULL ? NULL : argv;
}

static int
show(char **files, const char *format, const char *layer)
{
    abx_error *error = NULL;
    char *text = NULL;
    size_t length;
    abx_status outcome = abx_audit_render(
            (const char *const *)files, count(files), format, layer, &text, &length, &error);

    if (outcome < 0) {
        return report_refusal(error);
    }
    fwrite(text, 1, length, stdout);
    abx_free(text);
    return (int)outcome;
}

static int
redact(char **argv)
{
    abx_report *report = NULL;
    abx_error *error = NULL;

    if (argv[0] == NULL || strcmp(argv[0], "--record") != 0 || count(argv) != 3) {
        return usage();
    }
    if (abx_audit_redact(argv[2], argv[1], &report, &error) < 0) {
        return report_refusal(error);
    }
    for (size_t row = 0; row < abx_report_get_count(report); row++) {
        print_escaped(stdout, abx_report_get_string(report, row, "file"));
        printf(": %s redacted\n", abx_report_get_string(report, row, "records"));
    }
    if (abx_report_get_count(report) == 0) {
        puts("nothing was left to redact");
    }
    abx_report_unref(report);
    return 0;
}

int
command_audit(int argc, char **argv)
{
    const char *format = "text", *layer = NULL;
    char **files;

    if (argc < 2) {
        return usage();
    }
    if (strcmp(argv[0], "verify") == 0) {
        return verify(argv + 1);
    }
    if (strcmp(argv[0], "redact") == 0) {
        return redact(argv + 1);
    }
    files = parse(argv + 1, &format, &layer);
    if (files != NULL && strcmp(argv[0], "show") == 0 && strcmp(format, "html") != 0) {
        return show(files, format, layer);
    }
    if (files != NULL && strcmp(argv[0], "report") == 0 && strcmp(format, "html") == 0) {
        return show(files, format, layer);
    }
    return usage();
}
