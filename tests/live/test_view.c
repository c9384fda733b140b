/* SPDX-License-Identifier: Apache-2.0
 * What a command in a real box sees of the file system, for the kinds of root there are. */
#include "base/mem.h"
#include "live/policy_box.h"

#include "unit/main.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory of the host with something in it; `${workspace}` of every policy here. */
static char workspace[64];

static void
write_file(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", workspace, name);
    file = fopen(path, "w");
    ck_assert_msg(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, "%s", path);
}

static void
make_directory(const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", workspace, name);
    ck_assert_int_eq(mkdir(path, 0755), 0);
}

static void
make_workspace(const char *template)
{
    snprintf(workspace, sizeof workspace, "%s", template);
    ck_assert_ptr_nonnull(mkdtemp(workspace));
    make_directory("src");
    make_directory("keep");
    make_directory("secret");
    make_directory("secret/open");
    write_file("src/a", "source\n");
    write_file("keep/k", "kept\n");
    write_file("secret/s", "hidden\n");
    write_file("secret/open/o", "shown\n");
}

/* Only what make_workspace made, and what the scripts below leave. */
static void
remove_workspace(void)
{
    static const char *const files[] = { "src/a", "src/new", "keep/k", "secret/s", "secret/open/o",
        "top", "made/x" };
    static const char *const directories[] = { "src", "keep", "secret/open", "secret", "made", "" };
    char path[128];

    for (size_t i = 0; i < N_ELEMENTS(files); i++) {
        snprintf(path, sizeof path, "%s/%s", workspace, files[i]);
        unlink(path);
    }
    for (size_t i = 0; i < N_ELEMENTS(directories); i++) {
        snprintf(path, sizeof path, "%s/%s", workspace, directories[i]);
        rmdir(path);
    }
}

#define READ_ALL "\"read\": {\"allow\": [\"/\"], \"deny\": [\"${workspace}/secret\"]}"
#define SYSTEM "\"/usr\", \"/bin\", \"/sbin\", \"/lib\", \"/lib64\", \"/etc\", \"/proc\", \"/dev\""
#define WORKSPACE "/var/tmp/agentbox-test-XXXXXX"

static const struct view_case {
    const char *name, *workspace, *policy, *script, *output;
} cases[] = {
    { "the host is read-only, the workspace is not", WORKSPACE,
            "{\"version\": 1, \"extends\": \"workspace-write\"}",
            "echo a > src/new && cat src/new; echo b > top && cat top; mkdir made && echo c > "
            "made/x "
            "&& cat made/x; echo x > /etc/agentbox-test || echo refused",
            "a\nb\nc\nsh: 1: cannot create /etc/agentbox-test: Permission denied\nrefused\n" },
    { "what is made is made under the umask of its maker", WORKSPACE,
            "{\"version\": 1, \"extends\": \"workspace-write\"}",
            "cd src; umask 022; echo > 1; umask 077; echo > 2; mkdir 3; (umask 0; mkdir 4; echo > "
            "5); "
            "echo > 6; umask 027; sh -c 'echo > 7; umask 0; echo > 8'; echo > 9; python3 -c "
            "'import os, "
            "threading\nopen(\"10\", \"w\")\nt = threading.Thread(target=lambda: "
            "os.umask(0))\nt.start(); t.join()\nopen(\"11\", \"w\")'; for i in 1 2 3 4 5 6 7 8 9 "
            "10 "
            "11; do stat -c %a $i; rm -r $i; done | tr '\\n' ' '",
            "644 600 700 777 666 600 640 666 640 640 666 " },
    { "above the root is the root", WORKSPACE, "{\"version\": 1, \"extends\": \"workspace-write\"}",
            "ls -A /../run /../tmp/; cat /../etc/resolv.conf; ls -di / /.. | cut -d/ -f1 | uniq | "
            "wc -l",
            "/../run:\n\n/../tmp/:\nnameserver 127.0.0.53\noptions ndots:1\n1\n" },
    { "a private scratch directory", WORKSPACE, "{\"version\": 1, \"extends\": \"read-only\"}",
            "ls -A /tmp; echo a > /tmp/t; cat /tmp/t; echo b > /dev/shm/s; cat /dev/shm/s; echo x "
            "> top "
            "|| echo refused",
            "a\nb\nsh: 1: cannot create top: Permission denied\nrefused\n" },
    { "a workspace below the private scratch directory", "/tmp/agentbox-test-XXXXXX",
            "{\"version\": 1, \"extends\": \"workspace-write\"}",
            "cat src/a; echo a > src/new; cat src/new; ls -A /tmp | wc -l", "source\na\n1\n" },
    { "a denied directory, and what is open in it", WORKSPACE,
            "{\"version\": 1, \"filesystem\": {\"read\": {\"allow\": [\"/\", "
            "\"${workspace}/secret/open\"], \"deny\": [\"${workspace}/secret\"]}}}",
            "cat src/a secret/s secret/open/o 2>&1 | sed 's/.*: //'",
            "source\nPermission denied\nshown\n" },
    { "a writable place with protected names below a denied directory", WORKSPACE,
            "{\"version\": 1, \"filesystem\": {\"read\": {\"allow\": [\"/\"], \"deny\": "
            "[\"${workspace}/secret\"]}, \"write\": {\"allow\": [\"${workspace}/secret/open\"]}}}",
            "cd secret/open; echo a > n && cat n; mkdir d && echo b > d/x && cat d/x; mkdir "
            "d/.git d/.git/hooks && (echo x > d/.git/hooks/post-checkout) 2>/dev/null || echo "
            "refused; (echo x > .bashrc) 2>/dev/null || echo refused; rm -r n d; ls; cat ../s 2>&1 "
            "| sed 's/.*: //'",
            "a\nb\nrefused\nrefused\no\nPermission denied\n" },
    { "a denied directory without events", WORKSPACE,
            "{\"version\": 1, \"feedback\": {\"reads\": \"silent\"}, \"filesystem\": {" READ_ALL
            "}}",
            "cat src/a secret/s 2>&1 | sed 's/.*: //'; ls secret || echo refused",
            "source\nPermission denied\nls: cannot open directory 'secret': Permission "
            "denied\nrefused\n" },
    { "a protected directory in the workspace", WORKSPACE,
            "{\"version\": 1, \"filesystem\": {\"read\": {\"allow\": [\"/\"]}, \"write\": "
            "{\"allow\": "
            "[\"${workspace}\"], \"deny\": [\"${workspace}/keep\"]}}}",
            "echo a > src/new; cat src/new; echo x > keep/k || echo refused; rm keep/k 2>/dev/null "
            "|| "
            "echo refused; mv keep other 2>/dev/null || echo refused",
            "a\nsh: 1: cannot create keep/k: Permission denied\nrefused\nrefused\nrefused\n" },
    { "a root of the mask", WORKSPACE,
            "{\"version\": 1, \"filesystem\": {\"read\": {\"allow\": [" SYSTEM
            ", \"${workspace}/src\"]}}}",
            "cat src/a; cat keep/k 2>&1 | sed 's/.*: //'; ls /none 2>&1 | sed 's/.*: //'; ls /root "
            "2>&1 | sed 's/.*: //'; ls -d /bin",
            "source\nPermission denied\nNo such file or directory\nPermission denied\n/bin\n" },
    { "a writable place with protected names below a root of the mask", WORKSPACE,
            "{\"version\": 1, \"filesystem\": {\"read\": {\"allow\": [" SYSTEM
            "]}, \"write\": {\"allow\": [\"${workspace}\"], \"deny\": "
            "[\"${workspace}/later\"]}}}",
            "echo a > top && cat top; mkdir made && echo b > made/x && cat made/x; rm top && ls; "
            "(echo c > later) 2>/dev/null || echo refused",
            "a\nb\nkeep\nmade\nsecret\nsrc\nrefused\n" },
    { "a git directory that comes later is guarded below a root of the mask too", WORKSPACE,
            "{\"version\": 1, \"filesystem\": {\"read\": {\"allow\": [" SYSTEM
            "]}, \"write\": {\"allow\": [\"${workspace}\"]}}}",
            "mkdir src/.git && grep -c '/src/.git ro,' /proc/self/mountinfo; rmdir src/.git",
            "1\n" },
    { "a root in pieces, without reports", WORKSPACE,
            "{\"version\": 1, \"feedback\": {\"reads\": \"silent\"}, \"filesystem\": {\"read\": "
            "{\"allow\": [" SYSTEM ", \"${workspace}/src\"]}}}",
            "cat src/a; cat keep/k 2>&1 | sed 's/.*: //'; ls /root 2>&1 | sed 's/.*: //'; ls -d "
            "/bin; "
            "mkdir /new 2>&1 | sed 's/.*: //'",
            "source\nNo such file or directory\nNo such file or directory\n/bin\nPermission "
            "denied\n" },
    { "inputs below a directory that the host does not have", WORKSPACE,
            "{\"version\": 1, \"filesystem\": {\"read\": {\"allow\": [\"/\"]}, \"inputs\": "
            "[{\"from\": "
            "\"${workspace}/keep/k\", \"as\": \"k\"}, {\"from\": \"${workspace}/src\", \"as\": "
            "\"d/src\"}]}}",
            "cat /task/in/k /task/in/d/src/a; echo x > /task/in/k || echo refused; ls /usr/bin/env",
            "kept\nsource\nsh: 1: cannot create /task/in/k: Permission "
            "denied\nrefused\n/usr/bin/env\n" },
    { "nothing of what init has, where the broker opens what is read", WORKSPACE,
            "{\"version\": 1, \"filesystem\": {\"read\": {\"allow\": [\"/\"], \"deny\": "
            "[\"**/.env\"]}}}",
            "cd /proc/1; cat exe maps fdinfo/0 cwd 2>&1 | sed 's/.*: //'; for i in 0 1 "
            "2 3 4 5 6 7 8 "
            "9; do cat fd/$i; done 2>&1 | sed 's/.*: //' | sort -u; cat /proc/self/cwd/comm "
            "/proc/self/comm",
            "Permission denied\nPermission denied\nPermission denied\nPermission "
            "denied\nPermission denied\n"
            "memfd:agentbox-\ncat\n" },
    { "no program without a name, where only some run", WORKSPACE,
            "{\"version\": 1, \"filesystem\": {\"read\": {\"allow\": [\"/\"]}, \"exec\": "
            "{\"allow\": "
            "[\"/usr\", \"/bin\", \"/lib\", \"/lib64\"]}}}",
            "/usr/bin/python3 -c \"import os; f = os.memfd_create('x', 0); os.write(f, "
            "open('/usr/bin/true', 'rb').read()); os.execve(f, ['x'], {})\" 2>&1 | tail -n 1",
            "PermissionError: [Errno 13] Permission denied: 3\n" },
    { "as many processes as the policy says, at a time", WORKSPACE,
            "{\"version\": 1, \"extends\": \"read-only\", \"limits\": {\"processes\": 20}}",
            "i=0; while [ $i -lt 400 ]; do (:); i=$((i+1)); done; echo lived; (for i in 1 2 3 4 5 "
            "6 7 "
            "8 9 10 11 12 13 14 15 16 17 18 19 20 21; do sleep 2 & done; echo all) 2>&1 | sed "
            "'s/.*: "
            "//'",
            "lived\nCannot fork\n" },
    { "the processes of the box only", WORKSPACE, "{\"version\": 1, \"extends\": \"read-only\"}",
            "ls /proc | grep -c '^[0-9]'; cat /proc/1/environ; echo 1 > "
            "/proc/sys/kernel/domainname",
            "4\ncat: /proc/1/environ: Permission denied\nsh: 1: cannot create "
            "/proc/sys/kernel/domainname: Permission denied\n" },
};

START_TEST(a_command_sees_what_the_plan_says)
{
    const struct view_case *c = &cases[_i];
    struct policy_box box;
    AUTO(freep) char *output = NULL;
    int code;

    make_workspace(c->workspace);
    ck_assert_msg(policy_box_open(&box, c->policy, workspace), "%s", c->name);
    output = policy_box_run(&box, workspace, c->script, &code);
    policy_box_close(&box);
    remove_workspace();
    ck_assert_msg(strcmp(output, c->output) == 0, "%s: got\n%s", c->name, output);
}
END_TEST

/* The process that waits to become the next command is no command yet.  The second command finds
 * one, and tries by the broker, which may see everything. */
START_TEST(a_command_sees_nothing_of_the_process_that_waits_for_the_next)
{
    static const char script[] =
            "while [ -z \"$seat\" ]; do for p in /proc/[2-9] /proc/[1-9][0-9]* ; do grep -qs "
            "'^Seccomp:.2' $p/status && grep -qs '^Name:.memfd:agentbox' $p/status && seat=$p; "
            "done; done; sleep 0.3; cd $seat; cat mem environ maps exe fd/0 fd/3 2>&1 >/dev/null | "
            "sed 's/.*: //' | sort | uniq -c | tr -d ' '";
    struct policy_box box;
    AUTO(freep) char *output = NULL;
    int code;

    make_workspace(WORKSPACE);
    ck_assert(policy_box_open(&box,
            "{\"version\": 1, \"filesystem\": {\"read\": {\"allow\": [\"/\"], \"deny\": "
            "[\"**/.env\"]}}}",
            workspace));
    free(policy_box_run(&box, workspace, "true", &code));
    output = policy_box_run(&box, workspace, script, &code);
    policy_box_close(&box);
    remove_workspace();
    ck_assert_str_eq(output, "6Permissiondenied\n");
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("view");
    TCase *tcase = tcase_create("view");

    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(tcase, a_command_sees_what_the_plan_says, 0, N_ELEMENTS(cases));
    tcase_add_test(tcase, a_command_sees_nothing_of_the_process_that_waits_for_the_next);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
