/* SPDX-License-Identifier: Apache-2.0
 * The built-in profiles: documents like any other, read by the same parser after the policy's own
 * rules, which replace theirs.  Their secrets are the list in secrets.c.  Pure. */
#include "policy/builder.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define EVERYTHING_READABLE "\"read\": { \"allow\": [\"/\"] }"

static const struct profile profiles[] = {
    { "read-only",
            "{ \"version\": 1, \"filesystem\": { " EVERYTHING_READABLE ","
            "  \"write\": { \"allow\": [\"${tmp}\"] } },"
            "  \"network\": { \"mode\": \"none\" } }",
            NETWORK_NONE, NULL },
    { "workspace-write",
            "{ \"version\": 1, \"filesystem\": { " EVERYTHING_READABLE ","
            "  \"write\": { \"allow\": [\"${workspace}\", \"${tmp}\"] } },"
            "  \"network\": { \"mode\": \"none\" } }",
            NETWORK_NONE, NULL },
    /* No home, no other user's file: the system, the inputs, the output. */
    { "task",
            "{ \"version\": 1, \"filesystem\": {"
            "  \"read\": { \"allow\": [\"${inputs}\""
#define DIRECTORY(path) ", \"" path "\""
#include "policy/system.def"
#undef DIRECTORY
            "] },"
            "  \"write\": { \"allow\": [\"${output}\", \"${tmp}\"] } },"
            "  \"network\": { \"mode\": \"filtered\" } }",
            NETWORK_FILTERED, "/tmp" },
    { "packages",
            "{ \"version\": 1, \"filesystem\": { " EVERYTHING_READABLE ","
            "  \"write\": { \"allow\": [\"${workspace}\", \"${tmp}\"] } },"
            "  \"network\": { \"mode\": \"filtered\", \"allow\": ["
            "    \"registry.npmjs.org\", \"registry.yarnpkg.com\","
            "    \"pypi.org\", \"files.pythonhosted.org\","
            "    \"crates.io\", \"index.crates.io\", \"static.crates.io\", "
            "\"static.rust-lang.org\","
            "    \"proxy.golang.org\", \"sum.golang.org\","
            "    \"rubygems.org\", \"index.rubygems.org\","
            "    \"repo.maven.apache.org\", \"repo1.maven.org\", \"plugins.gradle.org\","
            "    \"services.gradle.org\", \"api.nuget.org\", \"repo.packagist.org\", "
            "\"packagist.org\","
            "    \"repo.hex.pm\", \"conda.anaconda.org\", \"deb.debian.org\", "
            "\"security.debian.org\","
            "    \"archive.ubuntu.com\", \"security.ubuntu.com\", \"dl-cdn.alpinelinux.org\"] } }",
            NETWORK_FILTERED, NULL },
};

const struct profile *
profile_find(const char *name)
{
    for (size_t i = 0; i < N_ELEMENTS(profiles); i++) {
        if (strcmp(profiles[i].name, name) == 0) {
            return &profiles[i];
        }
    }
    return NULL;
}

const char *
profile_nearest(const char *name)
{
    const char *known[N_ELEMENTS(profiles)];

    for (size_t i = 0; i < N_ELEMENTS(profiles); i++) {
        known[i] = profiles[i].name;
    }
    return nearest_of(name, known, N_ELEMENTS(known));
}

static abx_status
add_secret(abx_policy_builder *builder, const char *path, struct fail *fail)
{
    struct str id = { 0 };
    struct entry_texts texts = {
        .origin = ORIGIN_SECRET,
        .reason = "credentials and private data of the user stay outside the box",
        .instead = "ask for what the task needs; a credential can be used without being read",
    };
    char *owned;
    abx_status r;

    str_printf(&id, "secret:%s", path);
    owned = str_steal(&id, NULL);
    if (owned == NULL) {
        return fail_nomem(fail);
    }
    texts.id = owned;
    r = builder_add_path(builder, path, ABX_ACCESS_READ, ABX_VERDICT_DENY, &texts, fail);
    free(owned);
    return r;
}

abx_status
profile_apply(abx_policy_builder *builder, struct fail *fail)
{
    const struct profile *profile = profile_find(builder->layer->profile);
    abx_status r = policy_parse_profile(builder, profile->name, profile->document, fail);

    for (const char *const *path = secret_paths(); r >= 0 && *path != NULL; path++) {
        r = add_secret(builder, *path, fail);
    }
    if (r < 0 && fail->step[0] == '\0') {
        struct fail inner = *fail;

        fail_set(fail, inner.status, 0, "policy:profile", "profile '%s': %s", profile->name,
                inner.text);
        fail_remedy(fail, "%s", inner.remedy);
    }
    return r;
}
