/* SPDX-License-Identifier: Apache-2.0
 * The options that the commands share, from argv. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static bool
refuse(const char *what, const char *detail)
{
    fprintf(stderr, "agentbox: %s '%s'; 'agentbox help' lists the options\n", what, detail);
    return false;
}

static const struct {
    const char *name;
    unsigned group; /* TAKES_* */
} groups[] = {
    { "--policy", TAKES_DOCUMENT },
    { "--profile", TAKES_PROFILE },
    { "--managed", TAKES_PROFILE },
    { "--workspace", TAKES_VARIABLES },
    { "--var", TAKES_VARIABLES },
    { "--events", TAKES_FILES },
    { "--audit", TAKES_FILES },
    { "--credential", TAKES_FILES },
    { "--principal", TAKES_COMMAND },
    { "--agent-session", TAKES_COMMAND },
    { "--delegation", TAKES_COMMAND },
    { "--delegation-expires", TAKES_COMMAND },
    { "--cwd", TAKES_COMMAND },
    { "--timeout", TAKES_COMMAND },
    { "--tty", TAKES_COMMAND },
    { "--explain", TAKES_COMMAND },
    { "--ask", TAKES_COMMAND },
    { "--output", TAKES_OUTPUT },
    { "-o", TAKES_OUTPUT },
    { "--json", TAKES_JSON },
};

/* Whether there is such an option, and the command takes it; its name ends with the word or at a
 * '='. */
static bool
check_taken(const char *word, unsigned takes)
{
    const size_t length = strcspn(word, "=");

    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if (strlen(groups[i].name) == length && strncmp(groups[i].name, word, length) == 0) {
            return (groups[i].group & takes) != 0 ||
                   refuse("this command does not take the option", groups[i].name);
        }
    }
    return refuse("unknown option", word);
}

static bool
set_timeout(struct options *options, const char *text)
{
    char *end;

    options->timeout_s = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !(options->timeout_s > 0) || options->timeout_s > 1e9) {
        return refuse("--timeout wants a number of seconds above 0, not", text);
    }
    return true;
}

static bool
set_variable(struct options *options, const char *text)
{
    if (strchr(text, '=') == NULL || text[0] == '=') {
        return refuse("--var wants NAME=VALUE, not", text);
    }
    if (options->n_variables == sizeof options->variables / sizeof options->variables[0]) {
        return refuse("too many --var at", text);
    }
    options->variables[options->n_variables++] = text;
    return true;
}

static bool
set_credential(struct options *options, const char *text)
{
    if (strchr(text, '=') == NULL || text[0] == '=') {
        return refuse(
                "--credential wants NAME=env:VARIABLE, NAME=file:PATH or NAME=fd:N, not", text);
    }
    if (options->n_credentials == sizeof options->credentials / sizeof options->credentials[0]) {
        return refuse("too many --credential at", text);
    }
    options->credentials[options->n_credentials++] = text;
    return true;
}

static bool
set_value(struct options *options, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **field;
    } texts[] = {
        { "--policy", &options->policy },
        { "--profile", &options->profile },
        { "--managed", &options->managed },
        { "--workspace", &options->workspace },
        { "--principal", &options->principal },
        { "--agent-session", &options->agent_session },
        { "--delegation", &options->delegation },
        { "--delegation-expires", &options->delegation_expires },
        { "--cwd", &options->cwd },
        { "--events", &options->events },
        { "--audit", &options->audit },
        { "--ask", &options->ask },
        { "--output", &options->output },
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(texts[i].name, name) == 0) {
            *texts[i].field = value;
            return true;
        }
    }
    if (strcmp(name, "--timeout") == 0) {
        return set_timeout(options, value);
    }
    if (strcmp(name, "--credential") == 0) {
        return set_credential(options, value);
    }
    if (strcmp(name, "--var") == 0) {
        return set_variable(options, value);
    }
    return refuse("no value belongs to", name);
}

static bool
set_flag(struct options *options, const char *name)
{
    if (strcmp(name, "--tty") == 0) {
        options->tty = true;
        return true;
    }
    if (strcmp(name, "--explain") == 0) {
        options->explain = true;
        return true;
    }
    if (strcmp(name, "--json") == 0) {
        options->json = true;
        return true;
    }
    return false;
}

bool
options_parse(struct options *options, unsigned takes, int argc, char **argv)
{
    int i = 0;

    memset(options, 0, sizeof *options);
    while (i < argc && argv[i][0] == '-') {
        char *equals = strchr(argv[i], '=');

        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_usage();
            exit(0);
        }
        if (!check_taken(argv[i], takes)) {
            return false;
        }
        if (strcmp(argv[i], "-o") == 0 && i + 1 < argc) {
            options->output = argv[i + 1];
            i += 2;
            continue;
        }
        if (set_flag(options, argv[i])) {
            i++;
            continue;
        }
        if (equals != NULL) {
            *equals = '\0';
            if (!set_value(options, argv[i], equals + 1)) {
                return false;
            }
            i++;
            continue;
        }
        if (i + 1 >= argc) {
            return refuse("no value after", argv[i]);
        }
        if (!set_value(options, argv[i], argv[i + 1])) {
            return false;
        }
        i += 2;
    }
    options->rest = argv + i;
    if (options->policy != NULL && options->profile != NULL) {
        return refuse("--policy and --profile exclude each other: a document has \"extends\":",
                options->profile);
    }
    return true;
}
