/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy: URLs in their one spelling, and what a rule about requests matches. */
#ifndef ABX_POLICY_HTTP_H
#define ABX_POLICY_HTTP_H

#include "policy/hostname.h"
#include "policy/match.h"

#include "base/vec.h"

#include <agentbox/agentbox.h>

#define METHOD_MAX 32u

/* A request's URL, taken apart.  The query is not kept: rules do not see it. */
struct http_url {
    struct host_pattern host;
    uint32_t port;
    bool ends_in_slash; /* and is not "/"; `split` is without it */
    struct path_split split; /* of `path` */
    char path[PATH_LENGTH_MAX + 2]; /* decoded */
    const char *bad_path; /* why two programs could understand the path differently; NULL: it is
                             plain, and only then path and split are there */
};

/* http or https, no user, no fragment.  False: it is no URL that a request could have. */
bool http_url_parse(const char *url, struct http_url *ret_url);

/* A segment that is an argument of the action. */
struct http_capture {
    char *name;
    uint32_t segment; /* from 0 */
};

/* One of a host entry's `http`. */
struct http_rule {
    char *methods; /* "GET HEAD", or "*" */
    char *path; /* the pattern as it is written */
    struct vec captures; /* struct http_capture: with an action, segments written "{name}" */
    char *action; /* or NULL */
    char *id;
    abx_verdict verdict; /* the entry's, or its action's if that is stricter */
    bool is_literal, ends_in_slash;
    bool is_open; /* its last component is "**" */
    struct path_pattern *pattern;
};

/* Copies the texts of `from` (pattern apart, which is compiled).  Fails with status POLICY. */
abx_status http_rule_copy(
        const struct http_rule *from, struct http_rule *ret_rule, struct fail *fail);
void http_rule_done(struct http_rule *rule);
/* http_action.c: the pattern that stands for what is written, with '*' for each capture, and the
 * captures.  Caller frees; NULL with `fail` set. */
char *http_captures_read(const char *written, struct vec *ret_captures, struct fail *fail);
void http_captures_done(struct vec *captures);
bool http_rule_has_method(const struct http_rule *rule, const char *method);
/* Whether it is about paths that end so: after a "**" alone one may end as it likes. */
bool http_rule_has_end(const struct http_rule *rule, bool ends_in_slash);
/* How much of the URL's path the rule matched, at least 1 (the longest way; a "**" at the end
 * counts as what stands before it), or -1: other path or method. */
int http_rule_match(const struct http_rule *rule, const char *method, const struct http_url *url);

#endif
