/* SPDX-License-Identifier: Apache-2.0
 * What the clients of the group `network` share: a connection, a request, times. */
#ifndef ABX_BENCH_CLIENT_H
#define ABX_BENCH_CLIENT_H

#include <stddef.h>

/* Says what failed, and why. */
void die(const char *what, const char *why) __attribute__((noreturn));
double now_us(void);
/* Sorts them. */
double median(double *times, size_t n);

/* Where open_connection leads from then on. */
void set_place(const char *host, const char *port);
int open_connection(void);
/* Asks that place for `path`; the text stays. */
const char *request_for(const char *path);

#endif
