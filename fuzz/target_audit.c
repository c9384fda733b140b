/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as an audit log: reading stops at the first place that does not hold; a log that is
 * whole stays so when records are redacted, and no page made of it has an element of its own.
 * Replayed, records are taken for calls whatever is in them, also without a chain that holds. */
#include "audit/render.h"
#include "base/mem.h"
#include "supervise/replay.h"

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

/* ---- replaying ---- */
static enum host_kind
look(void *data, const char *path)
{
    return data == NULL && path != NULL ? HOST_DIRECTORY : HOST_MISSING;
}

static char *
real_path(void *data, const char *path)
{
    return data == NULL ? strdup(path) : NULL;
}

static int
list(void *data, const char *path, struct vec *names)
{
    return data == NULL && path != NULL && names != NULL ? 0 : -1;
}

static const char document[] =
        "{\"version\":1,\"filesystem\":{\"read\":{\"allow\":[\"/usr\"],\"deny\":[\"**/x\"]},"
        "\"write\":{\"ask\":[\"/tmp\"]}},\"network\":{\"mode\":\"filtered\",\"allow\":[\"a.test\","
        "{\"host\":\"api.test\",\"http\":[{\"methods\":[\"POST\"],\"path\":\"/{n}\",\"action\":"
        "\"act\"}]}]},\"actions\":[{\"name\":\"act\",\"verdict\":\"ask\",\"arguments\":{\"n\":{"
        "\"type\":\"string\"}}}]}";

static void
begin(struct replay *replay)
{
    static const struct host_view host = { NULL, look, real_path, list, NULL, NULL, NULL };
    static abx_policy *policy;
    struct fail fail;

    if (policy == NULL) {
        must(abx_policy_from_json(document, sizeof document - 1, &policy, NULL) == ABX_OK);
    }
    must(replay_init(replay, policy, &host, &fail) == ABX_OK);
}

static void
end(struct replay *replay, const char *problem)
{
    abx_report *report = replay_report(replay, problem);

    must(report != NULL);
    for (size_t i = 0; i < abx_report_get_count(report); i++) {
        must(strlen(abx_report_get_string(report, i, "commands")) < 4096);
    }
    abx_report_unref(report);
    replay_done(replay);
}

/* A chain that holds is beyond a fuzzer: each line is a body, too. */
static void
replay_lines(const char *bytes, size_t size)
{
    struct replay replay;
    uint64_t n = 0;

    begin(&replay);
    while (size > 0) {
        const char *line_end = memchr(bytes, '\n', size);
        const size_t length = line_end == NULL ? size : (size_t)(line_end - bytes);
        const struct record record = {
            .n = ++n, .body = length == 0 ? NULL : bytes, .body_length = length
        };

        must(replay_record(&replay, &record));
        bytes += length < size ? length + 1 : length;
        size -= length < size ? length + 1 : length;
    }
    end(&replay, "");
}

static void
replay_bytes(const char *bytes, size_t size)
{
    struct audit_file file;
    struct replay replay;
    const struct audit_visitor visitor = { replay_record, &replay };

    begin(&replay);
    read_log(bytes, size, &visitor, &file);
    end(&replay, file.problem);
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
    replay_bytes(bytes, size);
    replay_lines(bytes, size);
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
