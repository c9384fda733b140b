/* SPDX-License-Identifier: Apache-2.0
 * golden DIRECTORY: each NAME.json in it is a policy, a host and what the host can do; the plan and
 * the program made of them, or the refusal, must be NAME.golden.  AGENTBOX_UPDATE_GOLDEN=1 writes
 * them.
 *
 *   {"variables": {}, "policy": {}, "ceiling": {}, "host": {"/path": "dir|file|file TEXT|other|->
 * target|gone"}, "capabilities": {"landlock": 7, "fuse": true, ...}, "program": true}
 *
 * The host is host.json of the directory above, and then the case's own. */
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "linux/host.h"
#include "linux/lower/lower.h"
#include "plan/fake_host.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
add_host(struct fake_host *host, json_t *paths)
{
    const char *path;
    json_t *what;

    json_object_foreach(paths, path, what)
    {
        fake_host_add(host, path, json_string_value(what));
    }
}

static bool
flag(json_t *object, const char *name, bool otherwise)
{
    json_t *value = json_object_get(object, name);

    return value == NULL ? otherwise : json_is_true(value);
}

static struct capabilities
read_capabilities(json_t *object)
{
    json_t *abi = json_object_get(object, "landlock");
    json_t *uid = json_object_get(object, "uid");
    bool userns = flag(object, "userns", true);
    struct capabilities found = {
        .user_namespace = userns,
        .mount_namespace = userns,
        .pid_namespace = userns,
        .net_namespace = userns && flag(object, "netns", true),
        .fresh_proc = userns && flag(object, "proc", true),
        .landlock_abi = abi == NULL ? 7 : (uint32_t)json_integer_value(abi),
        .seccomp_notify = flag(object, "notify", true),
        .seccomp_sync_wake = flag(object, "notify", true),
        .seccomp_killable = flag(object, "notify", true),
        .fuse = userns && flag(object, "fuse", true),
        .memfd_exec = true,
        .own_pid_max = userns && flag(object, "proc", true) && flag(object, "pidmax", true),
        .nested = flag(object, "nested", false),
        .uid = uid == NULL ? 1000 : (uint32_t)json_integer_value(uid),
        .gid = uid == NULL ? 1000 : (uint32_t)json_integer_value(uid),
    };

    found.rung = host_rung(&found);
    return found;
}

static abx_policy *
build_policy(json_t *document, json_t *variables, struct str *out)
{
    AUTO(freep) char *text = json_dumps(document, 0);
    abx_policy_builder *builder = NULL;
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    const char *name;
    json_t *value;

    if (abx_policy_builder_new(NULL, &builder, &error) == ABX_OK) {
        json_object_foreach(variables, name, value)
        {
            abx_policy_builder_variable(builder, name, json_string_value(value));
        }
        abx_policy_builder_merge_json(builder, text, strlen(text));
        abx_policy_builder_build(builder, &policy, &error);
    }
    if (policy == NULL) {
        str_printf(out, "policy: %s\n", abx_error_get_message(error));
    }
    abx_error_unref(error);
    abx_policy_builder_unref(builder);
    return policy;
}

static void
add_fail(struct str *out, const struct fail *fail)
{
    str_printf(out, "refused %d\nstep %s\nmessage %s\nremedy %s\n", (int)fail->status, fail->step,
            fail->text, fail->remedy);
}

static void
add_program(struct str *out, const struct plan *plan, const struct host_view *host)
{
    static char bundle[] = "certificates\n", store[] = "\xfe\xed\0";
    const struct trust_files trust = { bundle, sizeof bundle - 1, store, sizeof store - 1 };
    struct fail fail = { 0 };
    AUTO(freep) void *bytes = NULL;
    AUTO(freep) char *dump = NULL;
    char *filter;
    size_t size = 0;

    str_add(out, "---- program\n");
    if (lower(plan, host, &trust, plan->capabilities.uid == 0, &bytes, &size, &fail) < 0) {
        add_fail(out, &fail);
        return;
    }
    dump = program_dump(bytes, size);
    filter = dump == NULL ? NULL : strstr(dump, "\nfilter ");
    if (filter != NULL) {
        filter[1] = '\0'; /* its length is libseccomp's */
    }
    str_add(out, dump == NULL ? "no dump\n" : dump);
}

static void
add_plan(struct str *out, abx_policy *policy, json_t *test, const struct fake_host *host)
{
    struct capabilities found = read_capabilities(json_object_get(test, "capabilities"));
    abx_policy *resolved = NULL;
    struct fail fail = { 0 };
    struct plan plan;

    if (policy_resolve(policy, &host->view, &resolved, &fail) < 0 ||
            plan_compile(resolved, &host->view, &found, &plan, &fail) < 0) {
        add_fail(out, &fail);
    } else {
        AUTO(freep) char *dump = plan_dump(&plan);

        str_add(out, dump == NULL ? "no dump\n" : dump);
        if (flag(test, "program", true)) {
            add_program(out, &plan, &host->view);
        }
        plan_done(&plan);
    }
    abx_policy_unref(resolved);
}

static abx_policy *
read_policies(json_t *test, struct str *out)
{
    json_t *variables = json_object_get(test, "variables");
    json_t *ceiling = json_object_get(test, "ceiling");
    abx_policy *policy = build_policy(json_object_get(test, "policy"), variables, out);
    abx_policy *outer;
    abx_policy *both = NULL;

    if (policy == NULL || ceiling == NULL) {
        return policy;
    }
    outer = build_policy(ceiling, variables, out);
    if (outer != NULL && abx_policy_intersect(outer, policy, &both, NULL) < 0) {
        str_add(out, "the policies do not intersect\n");
    }
    abx_policy_unref(outer);
    abx_policy_unref(policy);
    return both;
}

static char *
run_case(json_t *test, json_t *common)
{
    struct fake_host host;
    struct str out = { 0 };
    abx_policy *policy;

    fake_host_init(&host);
    add_host(&host, common);
    add_host(&host, json_object_get(test, "host"));
    policy = read_policies(test, &out);
    if (policy != NULL) {
        add_plan(&out, policy, test, &host);
    }
    abx_policy_unref(policy);
    fake_host_done(&host);
    return str_steal(&out, NULL);
}

static char *
read_file(const char *path)
{
    FILE *file = fopen(path, "re");
    struct str text = { 0 };
    char buffer[4096];
    size_t n;

    while (file != NULL && (n = fread(buffer, 1, sizeof buffer, file)) > 0) {
        str_add_bytes(&text, buffer, n);
    }
    if (file != NULL) {
        fclose(file);
    }
    return str_steal(&text, NULL);
}

static bool
write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    return file != NULL && fputs(text, file) >= 0 && fclose(file) == 0;
}

/* Prints the first line that differs, which is what one wants to see. */
static void
print_difference(const char *name, const char *expected, const char *got)
{
    int line = 1;

    for (; *expected != '\0' && *expected == *got; expected++, got++) {
        line += *expected == '\n';
    }
    while (line > 1 && expected[-1] != '\n') {
        expected--;
        got--;
    }
    printf("not ok %s: line %d\n  expected: %.*s\n  got:      %.*s\n", name, line,
            (int)strcspn(expected, "\n"), expected, (int)strcspn(got, "\n"), got);
}

static bool
check_case(const char *path, json_t *common)
{
    json_error_t error;
    json_auto_t *test = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    AUTO(freep) char *golden = strndup(path, strlen(path) - strlen("json"));
    struct str golden_path = { 0 };
    AUTO(freep) char *got = NULL;
    AUTO(freep) char *expected = NULL;
    bool same;

    if (test == NULL) {
        printf("not ok %s: %s\n", path, error.text);
        return false;
    }
    str_printf(&golden_path, "%sgolden", golden);
    got = run_case(test, common);
    if (secure_getenv("AGENTBOX_UPDATE_GOLDEN") != NULL) {
        same = write_file(golden_path.data, got);
    } else {
        expected = read_file(golden_path.data);
        same = strcmp(expected, got) == 0;
        if (!same) {
            print_difference(path, expected, got);
        }
    }
    str_done(&golden_path);
    return same;
}

static int
is_case(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

int
main(int argc, char **argv)
{
    AUTO(freep) char *parent = argc == 2 ? path_parent(argv[1]) : NULL;
    AUTO(freep) char *common_path = parent == NULL ? NULL : path_join(parent, "host.json");
    AUTO(json_decrefp)
    json_t *common = common_path == NULL ? NULL : json_load_file(common_path, 0, NULL);
    struct dirent **entries = NULL;
    int n = common == NULL ? -1 : scandir(argv[1], &entries, is_case, alphasort);
    int failed = 0;

    if (n <= 0) {
        fprintf(stderr, "usage: golden DIRECTORY\n");
        return 2;
    }
    for (int i = 0; i < n; i++) {
        AUTO(freep) char *path = path_join(argv[1], entries[i]->d_name);

        failed += !check_case(path, common);
        free(entries[i]);
    }
    free(entries);
    printf("%d cases, %d failed\n", n, failed);
    return failed == 0 ? 0 : 1;
}
