/* SPDX-License-Identifier: Apache-2.0
 * Writes the response.  Its reason phrase is short and has the rule, since some clients print it
 * and nothing of the body; what comes from outside is escaped. */
#include "egress/problem.h"

#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char *
title_of(int status)
{
    static const struct {
        int status;
        const char *title;
    } titles[] = { { 400, "Bad request" }, { 403, "Denied by policy" },
        { 413, "Request too large" }, { 414, "Target too long" }, { 417, "Expectation failed" },
        { 421, "Misdirected request" }, { 431, "Head too large" }, { 501, "Not supported" },
        { 502, "Not reached" }, { 503, "Too busy" }, { 504, "No answer in time" },
        { 505, "Version not supported" } };

    for (size_t i = 0; i < N_ELEMENTS(titles); i++) {
        if (titles[i].status == status) {
            return titles[i].title;
        }
    }
    return "Refused";
}

/* What is no visible ASCII character becomes '?'. */
static void
add_phrase(struct str *out, const char *text)
{
    for (; *text != '\0'; text++) {
        str_add_bytes(out, *text > ' ' && *text < 0x7f ? text : "?", 1);
    }
}

static void
add_member(struct str *out, const char *name, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        str_printf(out, ",\"%s\":", name);
        str_add_json_bytes(out, text, false);
    }
}

static void
add_destination(struct str *out, const struct problem *problem)
{
    struct str text = { 0 };
    bool is_ipv6;

    if (problem->name == NULL || problem->name[0] == '\0') {
        return;
    }
    is_ipv6 = strchr(problem->name, ':') != NULL;
    str_printf(&text, "%s%s%s:%u", is_ipv6 ? "[" : "", problem->name, is_ipv6 ? "]" : "",
            problem->port);
    out->failed = out->failed || text.failed;
    add_member(out, "destination", text.data);
    str_done(&text);
}

static void
add_json(struct str *out, const struct problem *problem)
{
    const struct refusal *refusal = problem->refusal;
    struct str detail = { 0 };

    str_printf(&detail, "%s%s%s", problem->detail, refusal == NULL ? "" : ": ",
            refusal == NULL ? "" : refusal->reason);
    out->failed = out->failed || detail.failed;
    str_printf(out, "{\"type\":\"%s\",\"title\":\"%s\",\"status\":%d",
            refusal == NULL ? "about:blank" : "urn:agentbox:denied", title_of(problem->status),
            problem->status);
    add_member(out, "detail", detail.data);
    str_done(&detail);
    add_destination(out, problem);
    if (refusal != NULL) {
        add_member(out, "rule", refusal->rule);
        add_member(out, "reason", refusal->reason);
        add_member(out, "alternative", refusal->alternative);
    }
    add_member(out, "backend", problem->backend);
    if (refusal != NULL && refusal->ticket != 0) {
        str_printf(out, ",\"ticket\":%" PRIu64, refusal->ticket);
    }
    str_add(out, "}\n");
}

void
problem_response(const struct problem *problem, struct str *out)
{
    struct str json = { 0 };

    add_json(&json, problem);
    str_printf(out, "HTTP/1.1 %d %s", problem->status, title_of(problem->status));
    if (problem->refusal != NULL && problem->refusal->rule[0] != '\0') {
        str_add(out, ": rule ");
        add_phrase(out, problem->refusal->rule);
    }
    str_printf(out,
            "\r\nContent-Type: application/problem+json\r\nContent-Length: %zu\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
            json.length);
    if (!problem->only_head) {
        str_add(out, json.data == NULL ? "" : json.data);
    }
    out->failed = out->failed || json.failed;
    str_done(&json);
}

void
problem_of_errno(struct problem *problem, int error)
{
    static const struct {
        int error;
        const char *detail;
    } details[] = { { ECONNREFUSED, "the destination refused the connection" },
        { EHOSTUNREACH, "the destination cannot be reached, or the host does not know its name" },
        { ENETUNREACH, "the host has no network that leads to the destination" },
        { ETIMEDOUT, "the destination did not answer" } };

    problem->status = error == ETIMEDOUT ? 504 : 502;
    problem->detail = "the destination was not reached";
    for (size_t i = 0; i < N_ELEMENTS(details); i++) {
        problem->detail = details[i].error == error ? details[i].detail : problem->detail;
    }
}
