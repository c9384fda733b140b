/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as what a command chose: the text for a person has the lines it must have and no other,
 * shows nothing that turns, hides, covers or mixes, and what is escaped in it is what was there. */
#include "event/event.h"

#include "event/plain.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool is_so)
{
    if (!is_so) {
        abort();
    }
}

static uint32_t
next(const char **text)
{
    const unsigned char *at = (const unsigned char *)*text;
    const size_t n = utf8_sequence(at, strlen(*text));
    static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    uint32_t c;

    must(n > 0);
    c = at[0] & masks[n];
    for (size_t i = 1; i < n; i++) {
        c = c << 6 | (at[i] & 0x3fu);
    }
    *text += n;
    return c;
}

/* Latin, another script that has letters like it, or neither. */
static int
kind_of(uint32_t c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? 1 : c >= 0x370 && c <= 0x52f ? 2 : 0;
}

/* Of a backslash or space that is written so, and ends a word; else 0. */
static size_t
escape_length(const char *text)
{
    return strncmp(text, "\\\\", 2) == 0 ? 2 : strncmp(text, "\\x20", 4) == 0 ? 4 : 0;
}

static void
check_characters(const char *text)
{
    bool has_kind[3] = { false };

    while (*text != '\0') {
        uint32_t c;

        if (escape_length(text) > 0) {
            memset(has_kind, 0, sizeof has_kind);
            text += escape_length(text);
            continue;
        }
        c = next(&text);
        must(c == '\n' || c >= 0x20);
        must(c < 0x7f || c >= 0xc0); /* C1, spaces that are none */
        must(c < 0x250 || c > 0x36f); /* marks that cover */
        must(c < 0x530 || c > 0x3040); /* what turns, and signs */
        must(c <= 0xd7a3);
        if (c < 0x80 && kind_of(c) == 0 && (c < '0' || c > '9')) {
            memset(has_kind, 0, sizeof has_kind);
        }
        has_kind[kind_of(c)] = true;
        must(!has_kind[1] || !has_kind[2]);
    }
}

static void
check_lines(const char *text)
{
    static const char *const names[] = { "wants to", "what", "spelled", "program", "call", "rule",
        "because" };
    size_t at = 0;

    text = strchr(text, '\n');
    must(text != NULL);
    for (text++; *text != '\0'; text = strchr(text, '\n') + 1) {
        while (at < sizeof names / sizeof names[0] &&
                strncmp(text + 2, names[at], strlen(names[at])) != 0) {
            at++;
        }
        must(text[0] == ' ' && text[1] == ' ' && at++ < sizeof names / sizeof names[0]);
        must(strcspn(text, "\n") < (PLAIN_HEAD + PLAIN_TAIL) * 10 + 200);
    }
}

static void
add_utf8(struct str *out, unsigned long c)
{
    char bytes[4];
    const size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    for (size_t i = n; i-- > 1; c >>= 6) {
        bytes[i] = (char)(0x80 | (c & 0x3f));
    }
    bytes[0] = (char)(n == 1 ? c : (0xf00u >> n & 0xf0u) | c);
    str_add_bytes(out, bytes, n);
}

/* What is shown says what was there, unless that was too long. */
static void
check_value(const char *value)
{
    struct str shown = { 0 }, back = { 0 };

    if (value == NULL || strlen(value) > PLAIN_HEAD) {
        return;
    }
    str_add_plain(&shown, value);
    must(!shown.failed);
    for (const char *at = shown.data == NULL ? "" : shown.data; *at != '\0';) {
        must(strncmp(at, "[1 CHARACTERS LEFT OUT", 22) != 0);
        if (strncmp(at, "\\u{", 3) == 0) {
            add_utf8(&back, strtoul(at + 3, NULL, 16));
            at = strchr(at, '}') + 1;
        } else if (strncmp(at, "\\x20", 4) == 0) {
            str_add(&back, " ");
            at += 4;
        } else if (*at == '\\') {
            must(at[1] == '\\');
            str_add(&back, "\\");
            at += 2;
        } else {
            str_add_bytes(&back, at++, 1);
        }
    }
    must(!back.failed && strcmp(back.data == NULL ? "" : back.data, value) == 0);
    str_done(&shown);
    str_done(&back);
}

/* The text up to the next zero byte. */
static char *
take(const uint8_t **data, size_t *size)
{
    const size_t length = strnlen((const char *)*data, *size);
    char *text = strndup((const char *)*data, length);

    must(text != NULL);
    *data += length + (length < *size);
    *size -= length + (length < *size);
    return text;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t keys[] = { ABX_FIELD_TARGET, ABX_FIELD_ASKED, ABX_FIELD_PROGRAM,
        ABX_FIELD_VERB, ABX_FIELD_LABEL, ABX_FIELD_RULE, ABX_FIELD_REASON };
    struct event_draft draft = { .type = ABX_EVENT_APPROVAL };
    char *texts[sizeof keys / sizeof keys[0]];
    struct str out = { 0 };
    abx_event *event;

    draft_number(&draft, ABX_FIELD_REQUEST, ABX_REQUEST_PATH);
    draft_number(&draft, ABX_FIELD_ACCESS, ABX_ACCESS_WRITE);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        texts[i] = take(&data, &size);
        draft_text(&draft, keys[i], texts[i]);
    }
    event = event_make(&draft);
    must(event != NULL);
    event_write_text(&out, event);
    must(!out.failed);
    check_characters(out.data);
    check_lines(out.data);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        check_value(event_text(event, keys[i]));
        free(texts[i]);
    }
    str_done(&out);
    event_unref(event);
    return 0;
}
