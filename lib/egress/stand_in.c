/* SPDX-License-Identifier: Apache-2.0
 * Owns the shapes of secrets: how they begin, and how long they are.  Some tools look. */
#include "egress/stand_in.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define USUAL_LENGTH 40u

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567abcdefghijklmnopqrstuvwxyz0189";

/* After the prefix come `length` characters.  A policy that gives only the variable gets the first
 * shape for it; one that gives the prefix the first with that. */
static const struct shape {
    const char *env, *prefix;
    uint32_t length;
} shapes[] = {
    { "GITHUB_TOKEN", "ghp_", 36 },
    { "GH_TOKEN", "ghp_", 36 },
    { NULL, "gho_", 36 },
    { NULL, "ghs_", 36 },
    { NULL, "github_pat_", 82 },
    { "GITLAB_TOKEN", "glpat-", 20 },
    { "OPENAI_API_KEY", "sk-", 48 },
    { NULL, "sk-proj-", 124 },
    { "ANTHROPIC_API_KEY", "sk-ant-api03-", 95 },
    { "GEMINI_API_KEY", "AIza", 35 },
    { "GOOGLE_API_KEY", "AIza", 35 },
    { "HF_TOKEN", "hf_", 34 },
    { "NPM_TOKEN", "npm_", 36 },
    { "NODE_AUTH_TOKEN", "npm_", 36 },
    { "TWINE_PASSWORD", "pypi-", 160 },
    { "UV_PUBLISH_TOKEN", "pypi-", 160 },
    { "CARGO_REGISTRY_TOKEN", "cio", 32 },
    { "SLACK_BOT_TOKEN", "xoxb-", 50 },
    { "SLACK_TOKEN", "xoxp-", 70 },
    { "STRIPE_API_KEY", "sk_live_", 99 },
    { "STRIPE_SECRET_KEY", "sk_live_", 99 },
    { "SENDGRID_API_KEY", "SG.", 66 },
    { "AWS_SECRET_ACCESS_KEY", "", 40 },
};

/* `n_letters` of the alphabet are used: 32 for ids of keys, 62 for the rest. */
static char *
invent(const char *prefix, size_t length, size_t n_letters)
{
    size_t used = strlen(prefix);
    char *text = malloc(used + length + 1);
    uint8_t random;

    if (text == NULL) {
        return NULL;
    }
    memcpy(text, prefix, used);
    while (length > 0) {
        if (getrandom(&random, 1, 0) != 1) {
            free(text);
            return NULL;
        }
        random &= n_letters == 32 ? 31 : 63;
        if (random < n_letters) {
            text[used++] = letters[random];
            length--;
        }
    }
    text[used] = '\0';
    return text;
}

static bool
same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

char *
stand_in_new(const struct policy_credential *credential)
{
    for (size_t i = 0; i < N_ELEMENTS(shapes); i++) {
        if (credential->prefix == NULL ? same(credential->env, shapes[i].env)
                                       : same(credential->prefix, shapes[i].prefix)) {
            return invent(shapes[i].prefix, shapes[i].length, 62);
        }
    }
    return invent(credential->prefix == NULL ? "" : credential->prefix, USUAL_LENGTH, 62);
}

char *
stand_in_new_key_id(void)
{
    return invent("AKIA", 16, 32);
}
