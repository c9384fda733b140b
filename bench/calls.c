/* SPDX-License-Identifier: Apache-2.0
 * Median time of one kind of call, in nanoseconds: calls read|write|denied|denied-read FILE COUNT.
 * It is run bare and in a box, so it knows nothing of either. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

int
main(int argc, char **argv)
{
    int count = argc > 3 ? atoi(argv[3]) : 0;
    int wants_denial, flags;
    uint64_t *times;

    if (count < 1) {
        fputs("usage: calls read|write|denied|denied-read FILE COUNT\n", stderr);
        return 2;
    }
    wants_denial = strncmp(argv[1], "denied", strlen("denied")) == 0;
    flags = strstr(argv[1], "read") != NULL ? O_RDONLY : O_WRONLY;
    times = calloc((size_t)count, sizeof *times);
    if (times == NULL) {
        return 1;
    }
    for (int i = 0; i < count; i++) {
        uint64_t start = now_ns();
        int fd = open(argv[2], flags | O_CLOEXEC);

        if (fd >= 0) {
            close(fd);
        }
        times[i] = now_ns() - start;
        if ((fd < 0) != wants_denial) {
            fprintf(stderr, "%s: %s\n", argv[2], fd < 0 ? strerror(errno) : "opened");
            return 1;
        }
    }
    qsort(times, (size_t)count, sizeof *times, compare);
    printf("%llu\n", (unsigned long long)times[count / 2]);
    free(times);
    return 0;
}
