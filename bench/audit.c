/* SPDX-License-Identifier: Apache-2.0
 * What recording costs: an append to an audit log, and the same with the record on the disk before
 * it returns. */
#include "audit/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_US 20.0
enum { RECORDS = 20000, SYNCED = 200 };

static const char body[] =
        "{\"type\":\"denial\",\"time\":\"2026-05-01T09:48:01.550193479Z\",\"sequence\":2,\"box\":1,"
        "\"command\":1,\"label\":\"tool-call-1\",\"pid\":4711,\"program\":\"/usr/bin/dash\","
        "\"layer\":\"filesystem\",\"request\":\"path\",\"access\":\"write\",\"target\":"
        "\"/etc/motd\",\"verb\":\"open\",\"rule\":\"default\",\"source\":\"workspace-write\","
        "\"reason\":\"no rule of the policy allows writing it\",\"backend\":\"linux\","
        "\"retry\":\"rerun\",\"repeats\":1,\"context\":\"3a2dff127aa50191\"}";

static double
now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int
compare_times(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* The median; negative: it failed. */
static double
measure(const char *path, int records, bool syncs)
{
    const struct audit_options options = { .syncs = syncs };
    double *times = calloc((size_t)records, sizeof *times), median = -1;
    struct audit_log *log = NULL;
    struct fail fail = { 0 };
    int n = 0;

    if (times != NULL && audit_open(path, &options, &log, &fail) == ABX_OK) {
        for (; n < records; n++) {
            double start = now_us();

            if (audit_append(log, body, &fail) != ABX_OK) {
                break;
            }
            times[n] = now_us() - start;
        }
    }
    if (n == records) {
        qsort(times, (size_t)n, sizeof *times, compare_times);
        median = times[n / 2];
    } else {
        fprintf(stderr, "%s\n", fail.text);
    }
    audit_close(log);
    unlink(path);
    free(times);
    return median;
}

int
main(void)
{
    char folder[] = "/var/tmp/agentbox-bench-XXXXXX", path[64];
    double plain, synced;

    if (mkdtemp(folder) == NULL) {
        return EXIT_FAILURE;
    }
    snprintf(path, sizeof path, "%s/log", folder);
    plain = measure(path, RECORDS, false);
    synced = measure(path, SYNCED, true);
    rmdir(folder);
    printf("audit record appended\t%.1f\t%.0f\tus\t<= 1\tlimit\n", plain, LIMIT_US);
    printf("audit record on the disk\t%.1f\t%.0f\tus\t-\tlimit\n", synced, LIMIT_US);
    return plain >= 0 && plain <= LIMIT_US && synced >= 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
