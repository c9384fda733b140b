/* SPDX-License-Identifier: Apache-2.0
 * A small HTTP client for network.py, which runs it bare and in a box.  It waits in its calls, as
 * most programs do; who wants more connections gets a process for each.
 *
 *   http bulk HOST PORT PATH                               bytes in a second, of one large answer
 *   http rate HOST PORT PATH keep|close PROCESSES SECONDS  answers in a second, all
 *   http latency HOST PORT PATH TIMES                      us of connect, and until the answer ends
 *   http idle HOST PORT COUNT                              connections that say nothing
 *   http stuck HOST PORT PATH COUNT                        connections that ask and do not read
 *
 * The last two print a line when all stand, and end with standard input. */
#include "client.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD_MAX 4096u

static const char *request;

/* ---- one connection ---- */
static void
ask(int fd)
{
    if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request)) {
        die("send", strerror(errno));
    }
}

/* How many bytes the body has; a head that says it is there in a piece or two. */
static size_t
read_answer(int fd)
{
    static char bytes[1u << 18];
    size_t have = 0, body, length;
    const char *end = NULL, *field;

    while (end == NULL) {
        ssize_t n = recv(fd, bytes + have, HEAD_MAX - have, 0);

        if (n <= 0) {
            die("recv", strerror(errno));
        }
        have += (size_t)n;
        end = memmem(bytes, have, "\r\n\r\n", 4);
    }
    field = memmem(bytes, (size_t)(end - bytes), "Content-Length: ", 16);
    if (field == NULL || strncmp(bytes, "HTTP/1.1 200", 12) != 0) {
        fprintf(stderr, "%.200s\n", bytes);
        exit(1);
    }
    length = strtoull(field + 16, NULL, 10);
    body = have - (size_t)(end + 4 - bytes);
    while (body < length) {
        ssize_t n = recv(fd, bytes, sizeof bytes, 0);

        if (n <= 0) {
            die("recv", strerror(errno));
        }
        body += (size_t)n;
    }
    return length;
}

/* ---- what is measured ---- */
static void
bulk(void)
{
    int fd = open_connection();
    double start;
    size_t length;

    ask(fd);
    start = now_us();
    length = read_answer(fd);
    printf("%.0f\n", (double)length / (now_us() - start) * 1e6);
    close(fd);
}

static void
ask_until(double end, bool keeps, atomic_ulong *count)
{
    int fd = keeps ? open_connection() : -1;

    while (now_us() < end) {
        if (!keeps) {
            fd = open_connection();
        }
        ask(fd);
        read_answer(fd);
        if (!keeps) {
            close(fd);
        }
        atomic_fetch_add(count, 1);
    }
}

static void
rate(bool keeps, int processes, double seconds)
{
    atomic_ulong *count =
            mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double start = now_us();
    int status;

    if (count == MAP_FAILED) {
        die("mmap", strerror(errno));
    }
    for (int i = 0; i < processes; i++) {
        if (fork() == 0) {
            ask_until(start + seconds * 1e6, keeps, count);
            exit(0);
        }
    }
    while (wait(&status) > 0) {
        if (status != 0) {
            exit(1);
        }
    }
    printf("%.1f %lu\n", (double)atomic_load(count) / (now_us() - start) * 1e6, atomic_load(count));
}

static void
latency(int times)
{
    double *connected = calloc((size_t)times, sizeof *connected);
    double *answered = calloc((size_t)times, sizeof *answered);

    for (int i = 0; i < times; i++) {
        double start = now_us();
        int fd = open_connection();

        connected[i] = now_us() - start;
        ask(fd);
        read_answer(fd);
        answered[i] = now_us() - start;
        close(fd);
    }
    printf("%.1f %.1f\n", median(connected, (size_t)times), median(answered, (size_t)times));
    free(connected);
    free(answered);
}

static void
hold(int count, bool asks)
{
    struct rlimit files;

    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    for (int i = 0; i < count; i++) {
        int fd = open_connection();

        if (asks) {
            ask(fd);
        }
    }
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF) {
    }
}

int
main(int argc, char *argv[])
{
    const char *mode = argc > 4 ? argv[1] : "";

    if (argc > 4) {
        set_place(argv[2], argv[3]);
        request = request_for(argv[4]);
    }
    if (strcmp(mode, "bulk") == 0) {
        bulk();
    } else if (strcmp(mode, "rate") == 0 && argc == 8) {
        rate(strcmp(argv[5], "keep") == 0, atoi(argv[6]), atof(argv[7]));
    } else if (strcmp(mode, "latency") == 0 && argc == 6) {
        latency(atoi(argv[5]));
    } else if (strcmp(mode, "idle") == 0) {
        hold(atoi(argv[4]), false);
    } else if (strcmp(mode, "stuck") == 0 && argc == 6) {
        hold(atoi(argv[5]), true);
    } else {
        fprintf(stderr, "http: what to do?\n");
        return 2;
    }
    return 0;
}
