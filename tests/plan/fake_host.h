/* SPDX-License-Identifier: Apache-2.0
 * A file system that is a table, for tests: paths with what stands there, parents made by
 * themselves. */
#ifndef ABX_TESTS_PLAN_FAKE_HOST_H
#define ABX_TESTS_PLAN_FAKE_HOST_H

#include "base/host.h"

struct fake_host {
    struct vec entries; /* struct fake_entry */
    struct host_view view;
};

void fake_host_init(struct fake_host *host);
/* `what`: "dir", "file", "file TEXT", "other", "-> TARGET", or "gone". */
void fake_host_add(struct fake_host *host, const char *path, const char *what);
void fake_host_done(struct fake_host *host);

#endif
