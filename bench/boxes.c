/* SPDX-License-Identifier: Apache-2.0
 * What two hundred open boxes cost, one row a line for run.py: memory for each (PSS of its init and
 * its share of the host's growth) and the start of a command in one of them beside the same with
 * one box. */
#include <agentbox/agentbox.h>

#include <dirent.h>
#include <fcntl.h>
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

/* ---- another process with one box, which starts a command there when it is told to ---- */
struct other {
    int ask, answer; /* pipe ends */
};

static abx_box *
open_one(abx_context *context, abx_policy *policy)
{
    abx_error *error = NULL;
    abx_box *box = NULL;

    if (abx_box_open(context, policy, NULL, &box, &error) < 0) {
        die("open", error);
    }
    return box;
}

static void
start(abx_context **ret_context, abx_policy **ret_policy)
{
    abx_error *error = NULL;

    if (abx_context_new(NULL, ret_context, &error) < 0 ||
            abx_policy_from_json(policy_text, strlen(policy_text), ret_policy, &error) < 0) {
        die("start", error);
    }
}

static void
serve(int ask, int answer)
{
    abx_context *context = NULL;
    abx_policy *policy = NULL;
    abx_box *box;
    char byte;

    start(&context, &policy);
    box = open_one(context, policy);
    while (read(ask, &byte, 1) == 1) {
        const double time = spawn_once(box);

        if (write(answer, &time, sizeof time) != sizeof time) {
            break;
        }
    }
    abx_box_unref(box);
    abx_policy_unref(policy);
    abx_context_unref(context);
}

static struct other
start_other(void)
{
    int ask[2], answer[2];

    if (pipe2(ask, O_CLOEXEC) < 0 || pipe2(answer, O_CLOEXEC) < 0) {
        perror("pipe");
        exit(1);
    }
    if (fork() == 0) {
        close(ask[1]);
        serve(ask[0], answer[1]);
        exit(0);
    }
    close(ask[0]);
    close(answer[1]);
    return (struct other){ .ask = ask[1], .answer = answer[0] };
}

static double
spawn_in_other(const struct other *other)
{
    double time = 0;

    if (write(other->ask, "", 1) != 1 || read(other->answer, &time, sizeof time) != sizeof time) {
        fputs("the process with one box is gone\n", stderr);
        exit(1);
    }
    return time;
}

static double
median(double times[SPAWNS])
{
    qsort(times, SPAWNS, sizeof times[0], compare);
    return times[SPAWNS / 2];
}

int
main(void)
{
    static abx_box *boxes[BOXES];
    double ours[SPAWNS], theirs[SPAWNS];
    const struct other other = start_other();
    abx_context *context = NULL;
    abx_policy *policy = NULL;
    struct rlimit files;
    double host, inits;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    start(&context, &policy);
    boxes[0] = open_one(context, policy);
    spawn_once(boxes[0]);
    host = pss_of("self");
    for (int i = 1; i < BOXES; i++) {
        boxes[i] = open_one(context, policy);
    }
    spawn_in_other(&other);
    inits = pss_of_children();
    host = pss_of("self") - host;
    printf("memory of each of 200 boxes\t%.1f\t%.0f\tKiB\t<= 1\t1 MiB\n", (inits + host) / BOXES,
            KIB_GOAL);
    for (int i = 0; i < SPAWNS; i++) {
        ours[i] = spawn_once(boxes[BOXES / 2]);
        theirs[i] = spawn_in_other(&other);
    }
    printf("command in one of 200 boxes\t%.1f\t%.1f\tus\t<= 1.3\tone box\n", median(ours),
            median(theirs));
    printf("threads with 200 boxes\t%d\t2\t\t<= 2\tcaller, supervisor\n", count_threads());
    close(other.ask);
    for (int i = 0; i < BOXES; i++) {
        abx_box_unref(boxes[i]);
    }
    abx_policy_unref(policy);
    abx_context_unref(context);
    return 0;
}
