/* SPDX-License-Identifier: Apache-2.0
 * What the two files of the slow implementation share. */
#ifndef ABX_TESTS_POLICY_SLOW_H
#define ABX_TESTS_POLICY_SLOW_H

#include "policy/notation.h"

/* Whether all of the pattern is exactly the first n components of the path (both without their
 * first slash). */
bool slow_matches(const char *pattern, const char *path, int n);
int slow_components(const char *path);
int slow_strictness(abx_verdict verdict);
/* How much of the host the rule matched, if it has a say about this port; else -1. */
int slow_host_matched(
        const struct note *note, const struct note_rule *rule, const char *host, uint32_t port);
/* Whether one of the rules that matched most of the host is about requests. */
bool slow_reads_requests(const struct note *note, uint32_t layer, const char *host, uint32_t port);
bool slow_has_section(const struct note *note, uint32_t layer, uint32_t kind, uint32_t access);

/* slow_http.c; -1: the layer has no opinion. */
int slow_http(const struct note *note, uint32_t layer, const struct note_request *request);

#endif
