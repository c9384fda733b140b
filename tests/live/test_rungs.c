/* SPDX-License-Identifier: Apache-2.0
 * Each rung on this kernel, with capabilities lowered: the same policy has the same outcome and the
 * same events, or the box is refused. */
#include "base/mem.h"
#include "live/policy_box.h"

#include "unit/main.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define POLICY                                                                                     \
    "{\"version\": 1, \"filesystem\": {\"read\": {\"allow\": [\"/\"], \"deny\": "                  \
    "[\"${workspace}/secret\"]}, \"write\": {\"allow\": [\"${workspace}\"]}}}"
#define SCRIPT                                                                                     \
    "echo a > src/f && cat src/f && rm src/f; echo b > top && cat top && rm top; mkdir new && "    \
    "echo "                                                                                        \
    "c > new/x && cat new/x && rm -r new; cat secret/s; cat src/a; echo x > .bashrc; echo x > "    \
    "/etc/agentbox-test; cat - < /dev/null > /dev/null && echo null; kill -0 $$ && echo self"
#define OUTPUT                                                                                     \
    "a\nb\nc\ncat: secret/s: Permission denied\nsource\nsh: 1: cannot create .bashrc: Permission " \
    "denied\nsh: 1: cannot create /etc/agentbox-test: Permission denied\nnull\nself\n"

static char workspace[64];

static void
make_workspace(void)
{
    static const char *const directories[] = { "src", "secret" };
    static const char *const files[] = { "src/a", "secret/s" };
    char path[128];

    snprintf(workspace, sizeof workspace, "/var/tmp/agentbox-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(workspace));
    for (size_t i = 0; i < N_ELEMENTS(directories); i++) {
        FILE *file;

        snprintf(path, sizeof path, "%s/%s", workspace, directories[i]);
        ck_assert_int_eq(mkdir(path, 0755), 0);
        snprintf(path, sizeof path, "%s/%s", workspace, files[i]);
        file = fopen(path, "w");
        ck_assert(file != NULL && fputs("source\n", file) >= 0 && fclose(file) == 0);
    }
}

static void
remove_workspace(void)
{
    static const char *const left[] = { "src/a", "secret/s", "src", "secret", "" };
    char path[128];

    for (size_t i = 0; i < N_ELEMENTS(left); i++) {
        snprintf(path, sizeof path, "%s/%s", workspace, left[i]);
        ck_assert_msg(remove(path) == 0, "%s", path);
    }
}

static const struct rung_case {
    const char *name, *lowered;
    bool is_refused;
} cases[] = {
    { "everything", "", false },
    { "without Landlock", "landlock=0", false },
    { "old Landlock", "landlock=1", false },
    { "without the mask", "fuse=0", false },
    { "without a fresh proc", "proc=0", false },
    { "without a network namespace", "netns=0", false },
    { "without user namespaces", "userns=0", false },
    { "old seccomp", "sync=0,killable=0", false },
    { "without the broker", "notify=0", true },
    { "with nothing", "userns=0,landlock=0,notify=0", true },
};

START_TEST(a_policy_holds_on_every_rung_or_the_box_is_refused)
{
    const struct rung_case *c = &cases[_i];
    static const char *const verbs[] = { "secret/s", ".bashrc", "/etc/agentbox-test" };
    struct policy_box box;
    AUTO(freep) char *output = NULL;
    bool is_open;
    int code;

    ck_assert_int_eq(setenv("AGENTBOX_TEST_CAPS", c->lowered, 1), 0);
    make_workspace();
    is_open = policy_box_open(&box, POLICY, workspace);
    ck_assert_msg(is_open == !c->is_refused, "%s", c->name);
    if (is_open) {
        output = policy_box_run(&box, workspace, SCRIPT, &code);
        for (size_t i = 0; i < N_ELEMENTS(verbs); i++) {
            ck_assert_msg(box.denials.data != NULL && strstr(box.denials.data, verbs[i]) != NULL,
                    "%s: no event for %s", c->name, verbs[i]);
        }
        ck_assert_msg(strcmp(output, OUTPUT) == 0, "%s: got\n%s", c->name, output);
    }
    policy_box_close(&box);
    remove_workspace();
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("rungs");
    TCase *tcase = tcase_create("rungs");

    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(
            tcase, a_policy_holds_on_every_rung_or_the_box_is_refused, 0, N_ELEMENTS(cases));
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
