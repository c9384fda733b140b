/* SPDX-License-Identifier: Apache-2.0
 * agentbox: the library from a shell.  This file knows the commands and the usage text, nothing
 * else. */
#include "cli.h"

#include <string.h>

static const char usage_text[] =
        "usage: agentbox COMMAND ...\n"
        "\n"
        "  run [OPTIONS] -- CMD ARGS...   run a command inside the boundary\n"
        "  learn -o FILE [OPTIONS] -- CMD ARGS...\n"
        "                                 run it, and write the smallest policy that allows it\n"
        "  explain [OPTIONS] read|write|exec|connect|METHOD TARGET\n"
        "  explain [OPTIONS] action NAME [JSON]\n"
        "                                 what the policy says of one act, and why\n"
        "  describe [OPTIONS]             the boundary in words, for a tool description\n"
        "  policy validate [--workspace DIR] [--var NAME=VALUE] FILE\n"
        "                                 check a policy document\n"
        "  policy compare [OPTIONS] [BEFORE] AFTER\n"
        "                                 what one document allows and the other does not\n"
        "  audit verify FILE...           whether audit logs are whole, and where not\n"
        "  audit redact --record N FILE   take out for good what a record says\n"
        "  audit show [--json] [--layer LAYER] FILE...\n"
        "                                 what they say\n"
        "  audit report --html FILE...    the same as a page\n"
        "  replay [OPTIONS] [--json] AUDIT...\n"
        "                                 what of an audit log the policy would decide otherwise\n"
        "  preflight [OPTIONS]            what this host can enforce\n"
        "  version\n"
        "\n"
        "options that name the policy:\n"
        "  --policy FILE      a policy document, JSON\n"
        "  --profile NAME     read-only, workspace-write (default), task, packages\n"
        "  --managed FILE     a ceiling: nothing that it denies is allowed\n"
        "  --workspace DIR    ${workspace} (default: the current directory)\n"
        "  --var NAME=VALUE   any other variable of the policy; the profile task needs output=DIR\n"
        "\n"
        "options of run and learn:\n"
        "  --cwd DIR          where the command starts (default: the workspace)\n"
        "  --timeout SECONDS  end it then; exit status 124\n"
        "  --tty              give it a terminal\n"
        "  --events FILE      append one JSON object a line for each event\n"
        "  --audit FILE       keep an audit log there; what it cannot record is not done\n"
        "  --explain          say on standard error what stopped the command, if anything did\n"
        "  --ask HOW          who answers questions: tty, deny (default), or a program\n"
        "  --credential NAME=SOURCE\n"
        "                     a secret of the policy: env:VARIABLE, file:PATH or fd:N\n"
        "  --principal NAME --agent-session NAME\n"
        "                     who asked, and which session of which agent acts\n"
        "  --delegation NAME --delegation-expires TIME\n"
        "                     what it acts under, and until when: RFC 3339, or +SECONDS\n"
        "  -o, --output FILE  of learn: where the policy is written\n"
        "\n"
        "The exit status of run is the command's; 128+n if signal n ended it, 124 on time-out,\n"
        "125 if the library refused, 126 and 127 if the command could not be executed or found.\n";

void
print_usage(void)
{
    fputs(usage_text, stdout);
}

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    { "run", command_run },
    { "learn", command_learn },
    { "explain", command_explain },
    { "describe", command_describe },
    { "policy", command_policy },
    { "preflight", command_preflight },
    { "audit", command_audit },
    { "replay", command_replay },
};

static bool
asks_for_help(const char *word)
{
    return word != NULL && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
}

int
main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "help";

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            if (asks_for_help(argv[2])) {
                break;
            }
            return commands[i].run(argc - 2, argv + 2);
        }
    }
    if (strcmp(name, "version") == 0 || strcmp(name, "--version") == 0) {
        printf("agentbox %s\n", abx_version_string());
        return 0;
    }
    if (strcmp(name, "help") == 0 || asks_for_help(name) || (argc > 2 && asks_for_help(argv[2]))) {
        print_usage();
        return 0;
    }
    fprintf(stderr, "agentbox: unknown command '%s'; 'agentbox help' lists them\n", name);
    return EXIT_REFUSED;
}
