/* SPDX-License-Identifier: Apache-2.0
 * The words of a document that stand for values: parsing, writing, describing and dumping read the
 * same lists, so a word cannot be read and written differently.  Pure. */
#include "policy/rules.h"

const char *const verdict_words[3] = {
    [ABX_VERDICT_DENY] = "deny",
    [ABX_VERDICT_ALLOW] = "allow",
    [ABX_VERDICT_ASK] = "ask",
};

const char *const network_words[3] = {
    [NETWORK_NONE] = "none",
    [NETWORK_FILTERED] = "filtered",
    [NETWORK_HOST] = "host",
};

const char *const credential_words[CREDENTIAL_WORDS] = { "bearer", "basic", "header", "query",
    "body", "sigv4" };

const char *const git_words[3] = {
    [GIT_OFF] = "off",
    [GIT_MEANING] = "meaning",
    [GIT_FROZEN] = "frozen",
};

const char *const weaken_words[3] = {
    [ABX_WEAKEN_HOST_NETWORK - 1] = "host-network",
    [ABX_WEAKEN_NESTED_NAMESPACES - 1] = "nested-namespaces",
    [ABX_WEAKEN_BEST_EFFORT - 1] = "best-effort",
};
