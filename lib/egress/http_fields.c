/* SPDX-License-Identifier: Apache-2.0
 * The fields of a head, and what they say about its body and its connection. */
#include "egress/http_fields.h"

#include <string.h>

#define LENGTH_DIGITS_MAX 18u

/* Fields that decide how a message is understood.  Where an underscore stands for a hyphen they are
 * refused: what runs behind a gateway (CGI, WSGI) takes one for the other. */
enum known {
    FIELD_AUTHORIZATION,
    FIELD_CONNECTION,
    FIELD_LENGTH,
    FIELD_TYPE,
    FIELD_EXPECT,
    FIELD_HOST,
    FIELD_ENCODING,
    FIELD_UPGRADE,
    FIELD_OTHER
};
static const char *const known_names[FIELD_OTHER] = {
    [FIELD_AUTHORIZATION] = "authorization",
    [FIELD_CONNECTION] = "connection",
    [FIELD_LENGTH] = "content-length",
    [FIELD_TYPE] = "content-type",
    [FIELD_EXPECT] = "expect",
    [FIELD_HOST] = "host",
    [FIELD_ENCODING] = "transfer-encoding",
    [FIELD_UPGRADE] = "upgrade",
};
/* Fields that belong to a connection although Connection may not say so. */
static const char *const hop_names[] = { "connection", "keep-alive", "proxy-authenticate",
    "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    "http2-settings", NULL };
/* Connection cannot take these away: the message would be another one. */
static const char *const end_to_end_names[] = { "authorization", "content-length", "content-type",
    "cookie", "expect", "host", "transfer-encoding", NULL };

/* What is known of a head while its fields are read. */
struct reading {
    struct http_head *head;
    unsigned seen; /* 1 << enum known */
    size_t n_connection;
    bool has_close, has_keep_alive, has_upgrade;
    struct span host, upgrade;
    const char *why;
};

static char
lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

const struct http_field *
http_field_get(const struct http_head *head, const char *name)
{
    for (size_t i = 0; i < head->n_fields; i++) {
        if (span_is(head->fields[i].name, name)) {
            return &head->fields[i];
        }
    }
    return NULL;
}

size_t
http_field_count(const struct http_head *head, const char *name)
{
    size_t n = 0;

    for (size_t i = 0; i < head->n_fields; i++) {
        n += span_is(head->fields[i].name, name);
    }
    return n;
}

bool
http_field_is_hop(const struct http_head *head, const struct http_field *field)
{
    if (span_is_one_of(field->name, hop_names)) {
        return true;
    }
    for (size_t i = 0; i < head->n_fields; i++) {
        struct span list = head->fields[i].value, element;

        while (span_is(head->fields[i].name, "connection") && span_next(&list, &element)) {
            if (element.length == field->name.length && element.length > 0 &&
                    strncasecmp(element.at, field->name.at, element.length) == 0) {
                return true;
            }
        }
    }
    return false;
}

bool
http_line_next(struct span *rest, struct span *ret_line)
{
    const char *end = memchr(rest->at, '\r', rest->length);

    if (end == NULL || (size_t)(end - rest->at) + 1 >= rest->length || end[1] != '\n' ||
            memchr(rest->at, '\n', (size_t)(end - rest->at)) != NULL) {
        return false;
    }
    *ret_line = (struct span){ rest->at, (size_t)(end - rest->at) };
    rest->at += ret_line->length + 2;
    rest->length -= ret_line->length + 2;
    return true;
}

int
http_refuse(int status, const char *why, const char **ret_why)
{
    *ret_why = why;
    return -status;
}

static int
refuse(struct reading *reading, int status, const char *why)
{
    return http_refuse(status, why, &reading->why);
}

static enum known
find_known(struct span name, bool *ret_has_underscore)
{
    for (size_t known = 0; known < FIELD_OTHER; known++) {
        const char *text = known_names[known];
        size_t i = 0;

        *ret_has_underscore = false;
        while (i < name.length && text[i] != '\0' &&
                (lower(name.at[i]) == text[i] || (name.at[i] == '_' && text[i] == '-'))) {
            *ret_has_underscore |= name.at[i] == '_';
            i++;
        }
        if (i == name.length && text[i] == '\0') {
            return (enum known)known;
        }
    }
    return FIELD_OTHER;
}

static int
read_length(struct reading *reading, struct span value)
{
    uint64_t length = 0;

    if (value.length == 0 || value.length > LENGTH_DIGITS_MAX ||
            (value.length > 1 && value.at[0] == '0')) {
        return refuse(reading, 400, "Content-Length is no plain number");
    }
    for (size_t i = 0; i < value.length; i++) {
        if (value.at[i] < '0' || value.at[i] > '9') {
            return refuse(reading, 400, "Content-Length is no plain number");
        }
        length = length * 10 + (uint64_t)(value.at[i] - '0');
    }
    reading->head->content_length = length;
    return 0;
}

static int
read_connection(struct reading *reading, struct span list)
{
    struct span element;

    while (span_next(&list, &element)) {
        if (++reading->n_connection > HTTP_CONNECTION_MAX) {
            return refuse(reading, 400, "Connection names too many fields");
        }
        if (element.length > 0 && !span_is_token(element)) {
            return refuse(reading, 400, "Connection is no list of names");
        }
        if (span_is_one_of(element, end_to_end_names)) {
            return refuse(reading, 400, "Connection names a field that must arrive");
        }
        reading->has_close |= span_is(element, "close");
        reading->has_keep_alive |= span_is(element, "keep-alive");
        reading->has_upgrade |= span_is(element, "upgrade");
    }
    return 0;
}

static int
read_known(struct reading *reading, enum known known, struct span value)
{
    if (known != FIELD_CONNECTION && (reading->seen & 1u << known) != 0) {
        return refuse(reading, 400, "a field that may stand once stands twice");
    }
    reading->seen |= 1u << known;
    switch (known) {
    case FIELD_CONNECTION:
        return read_connection(reading, value);
    case FIELD_LENGTH:
        return read_length(reading, value);
    case FIELD_EXPECT:
        if (!span_is(value, "100-continue")) {
            return refuse(reading, 417, "Expect wants what is not known");
        }
        reading->head->expects_continue = reading->head->minor > 0;
        return 0;
    case FIELD_HOST:
        reading->host = value;
        return 0;
    case FIELD_ENCODING:
        return span_is(value, "chunked")
                       ? 0
                       : refuse(reading, 501, "Transfer-Encoding is not 'chunked'");
    case FIELD_UPGRADE:
        reading->upgrade = value;
        return 0;
    case FIELD_AUTHORIZATION:
    case FIELD_TYPE:
    case FIELD_OTHER:
        break;
    }
    return 0;
}

bool
http_field_split(struct span line, struct http_field *ret_field, const char **ret_why)
{
    const char *colon = memchr(line.at, ':', line.length);
    struct http_field field;

    if (line.at[0] == ' ' || line.at[0] == '\t') {
        *ret_why = "a field goes on in the next line";
        return false;
    }
    if (colon == NULL) {
        *ret_why = "a field has no colon";
        return false;
    }
    field.name = (struct span){ line.at, (size_t)(colon - line.at) };
    field.value = span_trim((struct span){ colon + 1, line.length - field.name.length - 1 });
    if (!span_is_token(field.name)) {
        *ret_why = "a field's name has a character that belongs in none";
        return false;
    }
    for (size_t i = 0; i < field.value.length; i++) {
        unsigned char c = (unsigned char)field.value.at[i];

        if ((c < ' ' && c != '\t') || c == 0x7f) {
            *ret_why = "a field has a control character";
            return false;
        }
    }
    *ret_field = field;
    return true;
}

static int
read_field(struct reading *reading, struct span line)
{
    struct http_head *head = reading->head;
    struct http_field field;
    bool has_underscore;
    enum known known;

    if (head->n_fields == HTTP_FIELDS_MAX) {
        return refuse(reading, 431, "too many fields");
    }
    if (!http_field_split(line, &field, &reading->why)) {
        return -400;
    }
    head->fields[head->n_fields++] = field;
    known = find_known(field.name, &has_underscore);
    if (known == FIELD_OTHER) {
        return 0;
    }
    return has_underscore ? refuse(reading, 400, "a field's name is like that of another")
                          : read_known(reading, known, field.value);
}

/* What the fields say about the body and the connection. */
static int
settle(struct reading *reading)
{
    struct http_head *head = reading->head;
    bool has_length = (reading->seen & 1u << FIELD_LENGTH) != 0;

    if ((reading->seen & 1u << FIELD_ENCODING) != 0) {
        if (has_length) {
            return refuse(reading, 400, "Content-Length and Transfer-Encoding in one message");
        }
        if (head->minor == 0) {
            return refuse(reading, 400, "Transfer-Encoding in HTTP/1.0");
        }
        head->framing = HTTP_CHUNKED;
    } else if (has_length) {
        head->framing = HTTP_LENGTH;
    }
    if (reading->has_close && reading->has_keep_alive) {
        return refuse(reading, 400, "Connection says both 'close' and 'keep-alive'");
    }
    head->keep_alive = !reading->has_close && (head->minor > 0 || reading->has_keep_alive);
    if (reading->has_upgrade && head->minor == 0) {
        return refuse(reading, 400, "an upgrade in HTTP/1.0");
    }
    if (reading->has_upgrade) {
        head->upgrade = reading->upgrade;
    }
    return 0;
}

int
http_fields_read(
        struct http_head *head, struct span rest, struct span *ret_host, const char **ret_why)
{
    struct reading reading = { .head = head };
    struct span line;
    int r;

    for (;;) {
        if (!http_line_next(&rest, &line)) {
            r = refuse(&reading, 400, "a line does not end with CR LF");
            break;
        }
        r = line.length == 0 ? settle(&reading) : read_field(&reading, line);
        if (r < 0 || line.length == 0) {
            break;
        }
    }
    if (r < 0) {
        *ret_why = reading.why;
        return r;
    }
    *ret_host = reading.host;
    return 0;
}
