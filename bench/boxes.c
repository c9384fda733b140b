/* SPDX-License-Identifier: Apache-2.0
 * What two hundred open boxes cost, one row a line for run.py: memory for each (PSS of its init and
 * its share of the host's growth) and the start of a command in one of them beside the same with
 * one box. */
#include <agentbox/agentbox.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define BOXES 200
#define SPAWNS 101
#define KIB_GOAL 1024.0

static const char policy_text[] = "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/\"],"
                                  "\"deny\":[\"/etc/shadow\"]},\"write\":{\"allow\":[\"/tmp\"]}}}";

static void
die(const char *what, abx_error *error)
{
    fprintf(stderr, "%s: %s\n", what, abx_error_get_message(error));
    exit(1);
}

/* In KiB. */
static double
pss_of(const char *pid)
{
    char path[64], line[256];
    double pss = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%s/smaps_rollup", pid);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        sscanf(line, "Pss: %lf", &pss);
    }
    if (file != NULL) {
        fclose(file);
    }
    return pss;
}

static int
count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = -2;

    while (tasks != NULL && readdir(tasks) != NULL) {
        count++;
    }
    closedir(tasks);
    return count;
}

/* Of this process's children, which are the boxes' inits. */
static double
pss_of_children(void)
{
    char path[64], pid[32];
    double sum = 0;
    FILE *file;

    /* Boxes were opened by this thread. */
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "re");
    while (file != NULL && fscanf(file, "%31s", pid) == 1) {
        sum += pss_of(pid);
    }
    if (file != NULL) {
        fclose(file);
    }
    return sum;
}

static int
compare(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static double
spawn_once(abx_box *box)
{
    static const char *const argv[] = { "/bin/true", NULL };
    struct timespec start, end;
    abx_process *process = NULL;
    abx_error *error = NULL;
    abx_exit status = { .size = sizeof status };

    clock_gettime(CLOCK_MONOTONIC, &start);
    if (abx_box_spawn(box, argv, NULL, &process, &error) < 0) {
        die("spawn", error);
    }
    abx_process_wait(process, -1, &status);
    clock_gettime(CLOCK_MONOTONIC, &end);
    abx_process_unref(process);
    return (double)(end.tv_sec - start.tv_sec) * 1e6 + (double)(end.tv_nsec - start.tv_nsec) / 1e3;
}

static double
spawn_median(abx_box *box)
{
    double times[SPAWNS];

    for (int i = 0; i < SPAWNS; i++) {
        times[i] = spawn_once(box);
    }
    qsort(times, SPAWNS, sizeof times[0], compare);
    return times[SPAWNS / 2];
}

int
main(void)
{
    static abx_box *boxes[BOXES];
    abx_context *context = NULL;
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    struct rlimit files;
    double one = 0, many, host = 0, inits;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if (abx_context_new(NULL, &context, &error) < 0 ||
            abx_policy_from_json(policy_text, strlen(policy_text), &policy, &error) < 0) {
        die("start", error);
    }
    for (int i = 0; i < BOXES; i++) {
        if (abx_box_open(context, policy, NULL, &boxes[i], &error) < 0) {
            die("open", error);
        }
        if (i == 0) {
            one = spawn_median(boxes[0]);
            host = pss_of("self");
        }
    }
    many = spawn_median(boxes[BOXES / 2]);
    inits = pss_of_children();
    host = pss_of("self") - host;
    printf("memory of each of 200 boxes\t%.1f\t%.0f\tKiB\t<= 1\t1 MiB\n", (inits + host) / BOXES,
            KIB_GOAL);
    printf("command in one of 200 boxes\t%.1f\t%.1f\tus\t<= 1.3\tone box\n", many, one);
    printf("threads with 200 boxes\t%d\t2\t\t<= 2\tcaller, supervisor\n", count_threads());
    for (int i = 0; i < BOXES; i++) {
        abx_box_unref(boxes[i]);
    }
    abx_policy_unref(policy);
    abx_context_unref(context);
    return 0;
}
