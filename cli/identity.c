/* SPDX-License-Identifier: Apache-2.0
 * On whose behalf a command runs: --principal and what belongs to it. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FOREVER_S = 1000000000 };

static bool
refuse(const char *what, const char *detail)
{
    fprintf(stderr, "agentbox: %s '", what);
    print_escaped(stderr, detail);
    fputs("'\n", stderr);
    return false;
}

/* "Z", "+01:30": seconds east of UTC. */
static bool
read_offset(const char *text, long *ret_seconds)
{
    unsigned int hours, minutes;
    char sign, rest;

    if ((text[0] == 'Z' || text[0] == 'z') && text[1] == '\0') {
        *ret_seconds = 0;
        return true;
    }
    if (strlen(text) != 6 || strspn(text + 1, "0123456789:") != 5 ||
            sscanf(text, "%c%2u:%2u%c", &sign, &hours, &minutes, &rest) != 3 ||
            (sign != '+' && sign != '-') || hours > 23 || minutes > 59) {
        return false;
    }
    *ret_seconds = (long)(hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
    return true;
}

/* RFC 3339, "2026-05-01T18:00:00Z", after 1970; a fraction of a second is left out, so it is never
 * later. */
static bool
read_time(const char *text, int64_t *ret_ms)
{
    struct tm tm = { 0 }, again;
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    long offset;
    time_t seconds;

    if (end == NULL || end - text != (ptrdiff_t)strlen("2026-05-01T18:00:00") ||
            strchr(text, ' ') != NULL) {
        return false;
    }
    if (end[0] == '.' && strspn(end + 1, "0123456789") > 0) {
        end += 1 + strspn(end + 1, "0123456789");
    }
    if (!read_offset(end, &offset)) {
        return false;
    }
    again = tm;
    seconds = timegm(&again);
    if (again.tm_mday != tm.tm_mday) { /* a 30th of February is no day */
        return false;
    }
    *ret_ms = (int64_t)(seconds - offset) * 1000;
    return *ret_ms > 0; /* 0 would be never */
}

/* "+600": seconds from now. */
static bool
read_seconds(const char *text, int64_t *ret_ms)
{
    struct timespec now;
    char *end;
    double seconds;

    if (text[0] != '+' || strspn(text + 1, "0123456789.") != strlen(text + 1)) {
        return false;
    }
    seconds = strtod(text + 1, &end);
    if (end == text + 1 || *end != '\0' || seconds > FOREVER_S) {
        return false;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    *ret_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + (int64_t)(seconds * 1000);
    return true;
}

bool
identity_make(const struct options *options, abx_identity **ret_identity, abx_error **ret_error)
{
    const char *when = options->delegation_expires;
    int64_t expires_ms = 0;

    *ret_identity = NULL;
    if (options->principal == NULL && options->agent_session == NULL &&
            options->delegation == NULL && when == NULL) {
        return true;
    }
    if (options->principal == NULL || options->agent_session == NULL) {
        return refuse("who asked and which agent session acts belong together: give also",
                options->principal == NULL ? "--principal" : "--agent-session");
    }
    if (when != NULL && options->delegation == NULL) {
        return refuse("what expires is a delegation: give also", "--delegation");
    }
    if (when != NULL && !read_time(when, &expires_ms) && !read_seconds(when, &expires_ms)) {
        return refuse("--delegation-expires wants a time such as 2026-05-01T18:00:00Z, or "
                      "+SECONDS from now, not",
                when);
    }
    return abx_identity_new(options->principal, options->agent_session, options->delegation,
                   expires_ms, ret_identity, ret_error) >= 0;
}
