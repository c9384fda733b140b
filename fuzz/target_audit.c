/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as an audit log: reading stops at the first place that does not hold; a log that is
 * whole stays so when records are redacted, and no page made of it has an element of its own. */
#include "audit/render.h"

#include <stdint.h>
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

static void
read_log(const char *bytes, size_t size, const struct audit_visitor *visitor,
        struct audit_file *file)
{
    struct chain chain;
    struct fail fail;

    chain_begin(&chain);
    must(audit_read_bytes(bytes, size, &chain, visitor, file, &fail) == ABX_OK);
}

/* Every line of a log that is whole, redacted. */
static void
redact(const char *bytes, size_t size, struct str *out)
{
    while (size > 0) {
        size_t n = (size_t)((const char *)memchr(bytes, '\n', size) - bytes);

        must(record_redact(bytes, n, out));
        str_add(out, "\n");
        bytes += n + 1;
        size -= n + 1;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct renderer *const renderers[] = { &render_text, &render_json, &render_html };
    const char *bytes = (const char *)data;
    struct audit_file file, redacted;
    struct str out = { 0 };

    for (size_t i = 0; i < sizeof renderers / sizeof renderers[0]; i++) {
        struct rendering rendering = { .renderer = renderers[i] };
        const struct audit_visitor visitor = { render_record, &rendering };

        rendering.renderer->begin(&rendering.out);
        read_log(bytes, size, &visitor, &file);
        rendering.renderer->end(&rendering.out, file.problem);
        must(!rendering.out.failed);
        must(i != 2 || (strstr(rendering.out.data, "<script") == NULL &&
                               strstr(rendering.out.data, "<img") == NULL));
        str_done(&rendering.out);
    }
    must(file.byte <= size);
    must(file.state == ABX_AUDIT_WHOLE || file.problem[0] != '\0');
    if (file.state == ABX_AUDIT_WHOLE) {
        redact(bytes, size, &out);
        read_log(out.data, out.length, NULL, &redacted);
        must(redacted.records == file.records);
        must(redacted.state == ABX_AUDIT_WHOLE || file.first > 1); /* what it went on from */
        must(strcmp(redacted.hash, file.hash) == 0);
        str_done(&out);
    }
    return 0;
}
