/* SPDX-License-Identifier: Apache-2.0
 * Input: a URL, NUL, a path pattern.  A plain path, encoded byte by byte, is that path again and
 * matches the same rules; a pattern is compiled or refused.  A URL has one spelling, and nothing is
 * below itself. */
#include "policy/http.h"
#include "policy/policy.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same URL with every character of its path encoded that may be. */
static char *
encode(const struct http_url *url)
{
    size_t length = strlen(url->path);
    char *text = malloc(16 + 3 * length + 2);
    char *at = text + sprintf(text, "http://a.com");

    for (size_t i = 0; i < length; i++) {
        at += sprintf(at, url->path[i] == '/' ? "%c" : "%%%02X", (unsigned char)url->path[i]);
    }
    sprintf(at, "%s", url->ends_in_slash ? "/" : "");
    return text;
}

static void
check(const struct http_url *url, const char *pattern)
{
    static char methods[] = "GET", id[] = "";
    static struct http_url again;
    char *encoded = encode(url);
    struct http_rule written = { .methods = methods, .path = (char *)(uintptr_t)pattern, .id = id };
    struct http_rule rule;
    struct fail fail;

    if (!http_url_parse(encoded, &again) || again.bad_path != NULL ||
            strcmp(again.path, url->path) != 0 || again.ends_in_slash != url->ends_in_slash) {
        abort();
    }
    if (http_rule_copy(&written, &rule, &fail) == ABX_OK) {
        if (http_rule_match(&rule, "GET", url) != http_rule_match(&rule, "GET", &again)) {
            abort();
        }
        http_rule_done(&rule);
    }
    free(encoded);
}

static void
check_spelling(const char *text)
{
    struct policy_url url, again;
    struct fail fail = { 0 };

    if (policy_url_spelling(text, &url, &fail) != ABX_OK) {
        return;
    }
    if (policy_url_spelling(url.text, &again, &fail) != ABX_OK ||
            strcmp(again.text, url.text) != 0 || again.port != url.port ||
            strcmp(again.host, url.host) != 0 || policy_url_is_below(url.text, url.text)) {
        abort();
    }
    free(again.text);
    free(url.text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct http_url url;
    char *text = strndup((const char *)data, size);
    size_t used = text == NULL ? 0 : strlen(text) + 1;
    char *pattern = used < size ? strndup((const char *)data + used, size - used) : strdup("/**");

    if (text != NULL && pattern != NULL && http_url_parse(text, &url) && url.bad_path == NULL &&
            strlen(url.path) < PATH_LENGTH_MAX / 3 - 8) {
        check(&url, pattern);
    }
    if (text != NULL) {
        check_spelling(text);
    }
    free(pattern);
    free(text);
    return 0;
}
