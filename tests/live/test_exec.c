/* SPDX-License-Identifier: Apache-2.0
 * Exec rules with real programs. */
#include "base/mem.h"
#include "live/policy_box.h"

#include "unit/main.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define POLICY                                                                                     \
    "{\"version\": 1, \"filesystem\": {\"read\": {\"allow\": [\"/\"]}, \"write\": {\"allow\": "    \
    "[\"${workspace}\"]}, \"exec\": {\"allow\": [\"/bin/sh\", \"${workspace}/listed\"]}}}"

static char workspace[64];
static char script[128], env_link[128], directory[128], bash_link[192];
static struct policy_box box;

static void
set_up(void)
{
    FILE *file;

    snprintf(workspace, sizeof workspace, "/var/tmp/agentbox-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(workspace));
    snprintf(script, sizeof script, "%s/listed", workspace);
    snprintf(env_link, sizeof env_link, "%s/env", workspace);
    snprintf(directory, sizeof directory, "%s/bin", workspace);
    snprintf(bash_link, sizeof bash_link, "%s/bash", directory);
    file = fopen(script, "w");
    ck_assert(
            file != NULL && fputs("#!/usr/bin/env bash\necho ${BASH_VERSION:+bash}\n", file) >= 0);
    ck_assert(fclose(file) == 0 && chmod(script, 0755) == 0);
    ck_assert_int_eq(symlink("/usr/bin/env", env_link), 0);
    ck_assert(mkdir(directory, 0755) == 0 && symlink("/bin/true", bash_link) == 0);
    ck_assert(policy_box_open(&box, POLICY, workspace));
}

static void
tear_down(void)
{
    policy_box_close(&box);
    ck_assert(unlink(bash_link) == 0 && rmdir(directory) == 0);
    ck_assert(unlink(script) == 0 && unlink(env_link) == 0 && rmdir(workspace) == 0);
}

static const struct exec_case {
    const char *name, *script, *output, *denial;
} cases[] = {
    { "a listed script runs by env", "./listed", "bash\n", NULL },
    { "its interpreter does not", "bash -c 'echo no' 2> /dev/null || echo $?", "126\n",
            "exec /usr/bin/bash\n" },
    { "nor does env", "env bash -c 'echo no' 2> /dev/null || echo $?", "126\n",
            "exec /usr/bin/env\n" },
    { "nor does a link to it", "./env bash -c 'echo no' 2> /dev/null || echo $?", "126\n",
            "exec /usr/bin/env\n" },
    { "nor what env finds instead", "PATH=$PWD/bin ./listed 2> /dev/null || echo $?", "126\n",
            "exec /usr/bin/true\n" },
};

START_TEST(what_runs_a_listed_script_does_not_become_runnable)
{
    const struct exec_case *c = &cases[_i];
    AUTO(freep) char *output = NULL;
    int code;

    output = policy_box_run(&box, workspace, c->script, &code);
    ck_assert_msg(output != NULL && strcmp(output, c->output) == 0, "%s: got %d\n%s", c->name, code,
            output == NULL ? "" : output);
    if (c->denial == NULL) {
        return;
    }
    ck_assert_msg(box.denials.data != NULL && strstr(box.denials.data, c->denial) != NULL, "%s: %s",
            c->name, box.denials.data == NULL ? "no event" : box.denials.data);
}
END_TEST

/* A search along PATH meets directories that their owner has closed: policy has no part in that. */
START_TEST(a_program_behind_a_closed_directory_is_no_denial)
{
    AUTO(freep) char *output = NULL;
    int code;

    policy_box_close(&box);
    ck_assert_int_eq(chmod(directory, 0), 0);
    ck_assert(policy_box_open(&box,
            "{\"version\": 1, \"filesystem\": {\"read\": {\"allow\": [\"/\"]}, \"exec\": "
            "{\"deny\": [\"/usr/bin/whoami\"]}}}",
            workspace));
    output = policy_box_run(&box, workspace, "exec bin/bash 2>/dev/null", &code);
    ck_assert_int_eq(chmod(directory, 0755), 0);
    ck_assert_int_eq(code, 126);
    ck_assert_msg(box.denials.data == NULL || box.denials.data[0] == '\0', "%s", box.denials.data);
}
END_TEST

/* While anybody can write a file, the kernel does not execute it. */
START_TEST(what_was_just_written_can_be_executed)
{
    AUTO(freep) char *output = NULL;
    int code;

    policy_box_close(&box);
    ck_assert(policy_box_open(&box,
            "{\"version\": 1, \"filesystem\": {\"read\": {\"allow\": [\"/\"]}, \"write\": "
            "{\"allow\": "
            "[\"${workspace}\"], \"deny\": [\"**/lock\"]}}}",
            workspace));
    output = policy_box_run(&box, workspace,
            "i=0; while [ $i -lt 300 ]; do cp /bin/true t && ./t || exit 9; rm t; i=$((i + 1)); "
            "done",
            &code);
    ck_assert_msg(code == 0, "%d: %s", code, output);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("exec");
    TCase *tcase = tcase_create("exec");

    tcase_set_timeout(tcase, 30);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(
            tcase, what_runs_a_listed_script_does_not_become_runnable, 0, N_ELEMENTS(cases));
    tcase_add_test(tcase, a_program_behind_a_closed_directory_is_no_denial);
    tcase_add_test(tcase, what_was_just_written_can_be_executed);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
