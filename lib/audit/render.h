/* SPDX-License-Identifier: Apache-2.0
 * An audit log for people and programs: lines of text, JSON, or one page of HTML. */
#ifndef ABX_AUDIT_RENDER_H
#define ABX_AUDIT_RENDER_H

#include "audit/verify.h"
#include "base/json.h"

/* How a format writes what it is given; everything in it is from a file that anybody may have
 * written. */
struct renderer {
    const char *name;
    void (*begin)(struct str *out);
    /* `body` NULL: the record was redacted, or is no JSON. */
    void (*record)(struct str *out, const struct record *record, const struct json *body);
    void (*end)(struct str *out, const char *problem); /* "": the log is whole */
};

struct rendering {
    const struct renderer *renderer;
    const char *layer; /* only records of this one; NULL: all */
    struct str out;
};

extern const struct renderer render_text, render_json, render_html;
const struct renderer *renderer_find(const char *format); /* NULL: there is none */

/* For audit_read; `data` is the rendering. */
bool render_record(void *data, const struct record *record);
/* A text of a body, or "". */
const char *body_text(const struct json *body, const char *key);
/* False: it has no such integer, and *ret_number stays. */
bool body_integer(const struct json *body, const char *key, int64_t *ret_number);
/* What it was about: "write", "/etc/motd", "443" in one line, which may be "". */
void body_summary(const struct json *body, struct str *out);

#endif
