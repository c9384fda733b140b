/* SPDX-License-Identifier: Apache-2.0
 * Errors and events as text: on standard error for people, one JSON object a line for programs. */
#include "cli.h"

#include <string.h>
#include <time.h>

void
print_escaped(FILE *stream, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
        if (*p < 0x20 || *p >= 0x7f) {
            fprintf(stream, "\\x%02X", *p);
        } else {
            fputc(*p, stream);
        }
    }
}

static void
print_quoted(FILE *stream, const char *name)
{
    fputc('\'', stream);
    for (const char *p = name; *p != '\0'; p++) {
        const char one[] = { *p, '\0' };

        fputs(*p == '\'' ? "\\" : "", stream);
        print_escaped(stream, one);
    }
    fputc('\'', stream);
}

void
print_name(FILE *stream, const char *name)
{
    (strpbrk(name, " '") == NULL ? print_escaped : print_quoted)(stream, name);
}

void
report_error(abx_error *error)
{
    const char *step = abx_error_get_step(error);
    const char *remedy = abx_error_get_remedy(error);

    fputs("agentbox: ", stderr);
    print_escaped(stderr, abx_error_get_message(error));
    if (*step != '\0') {
        fputs(" [", stderr);
        print_escaped(stderr, step);
        fputc(']', stderr);
    }
    fputc('\n', stderr);
    if (*remedy != '\0') {
        fputs("agentbox: ", stderr);
        print_escaped(stderr, remedy);
        fputc('\n', stderr);
    }
}

int
report_refusal(abx_error *error)
{
    if (error != NULL) {
        report_error(error);
        abx_error_unref(error);
    }
    return EXIT_REFUSED;
}

void
report_denial(abx_event *event)
{
    static const struct {
        const char *before;
        uint32_t field;
        void (*print)(FILE *stream, const char *text);
    } parts[] = {
        { "agentbox: denied to ", ABX_FIELD_VERB, print_name },
        { " ", ABX_FIELD_TARGET, print_quoted },
        { " by rule ", ABX_FIELD_RULE, print_quoted },
        { " of ", ABX_FIELD_SOURCE, print_quoted },
        { ": ", ABX_FIELD_REASON, print_escaped },
        { "; instead: ", ABX_FIELD_ALTERNATIVE, print_escaped },
    };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *text = abx_event_get_string(event, parts[i].field);

        if (text != NULL) {
            fputs(parts[i].before, stderr);
            parts[i].print(stderr, text);
        }
    }
    fputc('\n', stderr);
}

static void
write_string(FILE *stream, const char *name, const char *text)
{
    fprintf(stream, ",\"%s\":\"", name);
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\') {
            fprintf(stream, "\\%c", *p);
        } else if (*p < 0x20 || *p >= 0x7f) {
            fprintf(stream, "\\\\x%02X", *p);
        } else {
            fputc(*p, stream);
        }
    }
    fputc('"', stream);
}

void
events_write_setup(FILE *events, abx_error *error)
{
    struct timespec now;
    struct tm tm;
    char seconds[32];

    if (events == NULL) {
        return;
    }
    /* RFC 3339 in UTC, as the library writes it. */
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &tm) == NULL ||
            strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &tm) == 0) {
        return;
    }
    fprintf(events, "{\"type\":\"setup\",\"time\":\"%s.%09ldZ\"", seconds, now.tv_nsec);
    write_string(events, "status", abx_status_name(abx_error_get_status(error)));
    write_string(events, "step", abx_error_get_step(error));
    write_string(events, "message", abx_error_get_message(error));
    write_string(events, "remedy", abx_error_get_remedy(error));
    fputs("}\n", events);
    fflush(events);
}

void
events_write(FILE *events, abx_event *event)
{
    char *json;
    size_t length;

    if (events == NULL || abx_event_to_json(event, &json, &length) < 0) {
        return;
    }
    fwrite(json, 1, length, events);
    fputc('\n', events);
    fflush(events);
    abx_free(json);
}
