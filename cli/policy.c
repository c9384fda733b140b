/* SPDX-License-Identifier: Apache-2.0
 * Makes the policy that the options name, and the commands that only look at policies. */
#include "cli.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads a whole file, at most a little more than the library accepts, so that it says what is
 * wrong. */
static char *
read_file(const char *path, size_t *ret_length)
{
    enum { ROOM = (1 << 20) + 2 };
    FILE *file = fopen(path, "re");
    char *text = malloc(ROOM);
    bool failed;

    if (file == NULL || text == NULL) {
        fprintf(stderr, "agentbox: cannot read '%s': %s\n", path, strerror(errno));
        free(text);
        if (file != NULL) {
            fclose(file);
        }
        return NULL;
    }
    *ret_length = fread(text, 1, ROOM - 1, file);
    text[*ret_length] = '\0';
    failed = ferror(file) != 0;
    fclose(file);
    if (failed) {
        fprintf(stderr, "agentbox: cannot read '%s': %s\n", path, strerror(errno));
        free(text);
        return NULL;
    }
    return text;
}

static bool
is_given(const struct options *options, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < options->n_variables; i++) {
        if (strncmp(options->variables[i], name, length) == 0 &&
                options->variables[i][length] == '=') {
            return true;
        }
    }
    return false;
}

/* What --var gives, and without it ${workspace} and ${home}. */
static bool
set_variables(const struct options *options, abx_policy_builder *builder)
{
    const char *given = options->workspace != NULL ? options->workspace : ".";
    char *workspace = realpath(given, NULL);
    const char *home = getenv("HOME");

    if (workspace == NULL) {
        fprintf(stderr, "agentbox: workspace '%s': %s\n", given, strerror(errno));
        return false;
    }
    if (!is_given(options, "workspace")) {
        abx_policy_builder_variable(builder, "workspace", workspace);
    }
    free(workspace);
    if (home != NULL && home[0] == '/' && !is_given(options, "home")) {
        abx_policy_builder_variable(builder, "home", home);
    }
    for (size_t i = 0; i < options->n_variables; i++) {
        const char *equals = strchr(options->variables[i], '=');
        char *name = strndup(options->variables[i], (size_t)(equals - options->variables[i]));

        if (name != NULL) {
            abx_policy_builder_variable(builder, name, equals + 1);
        }
        free(name);
    }
    return true;
}

bool
policy_workspace_is_meant(const struct options *options)
{
    char *here = realpath(".", NULL);
    char *home = getenv("HOME") != NULL ? realpath(getenv("HOME"), NULL) : NULL;
    bool is_all =
            here != NULL && (strcmp(here, "/") == 0 || (home != NULL && strcmp(here, home) == 0));
    bool is_meant = !is_all || options->workspace != NULL || options->policy != NULL ||
                    is_given(options, "workspace");

    if (!is_meant) {
        fputs("agentbox: the workspace would be all of '", stderr);
        print_escaped(stderr, here);
        fputs("'\nagentbox: go to a directory below, or name it with --workspace\n", stderr);
    }
    free(here);
    free(home);
    return is_meant;
}

/* One document (or profile) as a policy.  `is_for_run`: what the tool
 * trusts is kept from what runs under it. */
static bool
build(const struct options *options, const char *profile, const char *file, const char *source,
        bool is_for_run, abx_policy **ret_policy, abx_error **ret_error)
{
    abx_policy_builder *builder = NULL;
    char *text = NULL;
    size_t length = 0;
    bool good = false;

    if (file != NULL) {
        text = read_file(file, &length);
        if (text == NULL) {
            return false;
        }
    }
    if (abx_policy_builder_new(profile, &builder, ret_error) < 0) {
        free(text);
        return false;
    }
    if (set_variables(options, builder)) {
        abx_policy_builder_source(builder, source);
        if (text != NULL) {
            abx_policy_builder_merge_json(builder, text, length);
        }
        good = (!is_for_run || guard(builder, options, file, text)) &&
               abx_policy_builder_build(builder, ret_policy, ret_error) >= 0;
    }
    abx_policy_builder_unref(builder);
    free(text);
    return good;
}

bool
policy_load(const struct options *options, abx_policy **ret_policy, abx_error **ret_error)
{
    const char *profile = options->profile;
    abx_policy *own = NULL;
    abx_policy *ceiling = NULL;
    bool good;

    if (profile == NULL && options->policy == NULL) {
        profile = "workspace-write";
    }
    if (!build(options, profile, options->policy, profile != NULL ? profile : options->policy, true,
                &own, ret_error)) {
        return false;
    }
    if (options->managed == NULL) {
        *ret_policy = own;
        return true;
    }
    good = build(options, NULL, options->managed, "managed", true, &ceiling, ret_error) &&
           abx_policy_intersect(ceiling, own, ret_policy, ret_error) >= 0;
    abx_policy_unref(ceiling);
    abx_policy_unref(own);
    return good;
}

bool
policy_read(const struct options *options, const char *file, abx_policy **ret_policy,
        abx_error **ret_error)
{
    return build(options, NULL, file, file, false, ret_policy, ret_error);
}

/* "host:port", "[v6]:port" or "host"; the host part stays in `target`.  0: the port is none. */
static uint32_t
split_port(char *target)
{
    char *colon = strrchr(target, ':');
    const char *bracket = strrchr(target, ']');
    char *end;
    unsigned long port;

    if (colon == NULL ||
            (bracket != NULL ? colon < bracket
                             : inet_pton(AF_INET6, target, &(struct in6_addr){ 0 }) == 1)) {
        return 443;
    }
    port = strtoul(colon + 1, &end, 10);
    if (colon[1] < '0' || colon[1] > '9' || *end != '\0' || port > 65535) {
        return 0;
    }
    *colon = '\0';
    return (uint32_t)port;
}

static bool
make_request(char **words, abx_request *request)
{
    char *verb = words[0], *target = verb == NULL ? NULL : words[1];
    static const struct {
        const char *verb;
        uint32_t kind, access;
    } verbs[] = {
        { "read", ABX_REQUEST_PATH, ABX_ACCESS_READ },
        { "write", ABX_REQUEST_PATH, ABX_ACCESS_WRITE },
        { "exec", ABX_REQUEST_EXEC, ABX_ACCESS_EXEC },
        { "connect", ABX_REQUEST_CONNECT, 0 },
    };

    if (target == NULL || (words[2] != NULL && strcmp(verb, "action") != 0)) {
        return false;
    }
    if (strcmp(verb, "action") == 0) {
        *request = (abx_request){
            .size = sizeof *request, .kind = ABX_REQUEST_ACTION, .target = target, .verb = words[2]
        };
        return words[2] == NULL || words[3] == NULL;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verbs[i].verb, verb) == 0) {
            *request = (abx_request){ .size = sizeof *request,
                .kind = verbs[i].kind,
                .access = verbs[i].access,
                .target = target };
            if (request->kind == ABX_REQUEST_CONNECT) {
                request->port = split_port(target);
            }
            return true;
        }
    }
    *request = (abx_request){
        .size = sizeof *request, .kind = ABX_REQUEST_HTTP, .target = target, .verb = verb
    };
    return verb[0] != '\0' && strspn(verb, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == strlen(verb);
}

int
command_explain(int argc, char **argv)
{
    struct options options;
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    abx_request request;
    char *json = NULL;
    size_t length;
    abx_status status;

    if (!options_parse(&options, TAKES_POLICY, argc, argv)) {
        return EXIT_REFUSED;
    }
    if (!make_request(options.rest, &request)) {
        fputs("usage: agentbox explain [OPTIONS] read|write|exec|connect|METHOD TARGET\n"
              "       agentbox explain [OPTIONS] action NAME [JSON]\n",
                stderr);
        return EXIT_REFUSED;
    }
    if (request.kind == ABX_REQUEST_CONNECT && request.port == 0) {
        fprintf(stderr, "agentbox: the target of connect is HOST, HOST:PORT or [ADDRESS]:PORT\n");
        return EXIT_REFUSED;
    }
    if (!policy_load(&options, &policy, &error)) {
        return report_refusal(error);
    }
    status = abx_policy_explain(policy, &request, &json, &length);
    abx_policy_unref(policy);
    if (status < 0) {
        fprintf(stderr, "agentbox: '%s': the target must be %s\n", request.target,
                request.kind == ABX_REQUEST_CONNECT ? "a host name or an address"
                                                    : "an absolute path without '..'");
        return EXIT_REFUSED;
    }
    puts(json);
    abx_free(json);
    return 0;
}

int
command_describe(int argc, char **argv)
{
    struct options options;
    abx_policy *policy = NULL;
    abx_error *error = NULL;
    char *text = NULL;
    size_t length;
    abx_status status;

    if (!options_parse(&options, TAKES_POLICY, argc, argv)) {
        return EXIT_REFUSED;
    }
    if (!policy_load(&options, &policy, &error)) {
        return report_refusal(error);
    }
    status = abx_policy_describe(
            policy, options.rest[0] != NULL ? options.rest[0] : "text", &text, &length);
    abx_policy_unref(policy);
    if (status < 0) {
        fputs("agentbox: formats are text, markdown and json\n", stderr);
        return EXIT_REFUSED;
    }
    fputs(text, stdout);
    if (length == 0 || text[length - 1] != '\n') {
        putchar('\n');
    }
    abx_free(text);
    return 0;
}

int
command_policy(int argc, char **argv)
{
    struct options options;
    abx_policy *policy = NULL;
    abx_error *error = NULL;

    if (argc > 0 && strcmp(argv[0], "compare") == 0) {
        return command_compare(argc - 1, argv + 1);
    }
    if (argc < 2 || strcmp(argv[0], "validate") != 0 ||
            !options_parse(&options, TAKES_DOCUMENT | TAKES_VARIABLES, argc - 1, argv + 1)) {
        fputs("usage: agentbox policy validate [--workspace DIR] [--var NAME=VALUE] FILE\n"
              "       agentbox policy compare [OPTIONS] [BEFORE] AFTER\n",
                stderr);
        return EXIT_REFUSED;
    }
    if (options.policy == NULL) {
        options.policy = options.rest[0];
    }
    if (options.policy == NULL || !policy_read(&options, options.policy, &policy, &error)) {
        return report_refusal(error);
    }
    printf("%s: valid, digest %s\n", options.policy, abx_policy_get_digest(policy));
    abx_policy_unref(policy);
    return 0;
}
