/* SPDX-License-Identifier: Apache-2.0
 * Tests of harness.c with the simulated backend: the harness is the real one, the policy is the
 * real one, and what the commands try is said by the tests.  Nothing runs, so they need no kernel,
 * no network and no files, and cannot do harm.
 *
 *   cc test-harness.c harness.c $(pkg-config --cflags --libs agentbox) -o test-harness */
#undef NDEBUG
#include "harness.h"

#include <agentbox/auto.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char rules[] =
        "{ \"version\": 1, \"name\": \"assistant\", \"filesystem\": {"
        "  \"write\": { \"ask\": [ { \"path\": \"${workspace}/published\", \"reason\": \"readers "
        "see it "
        "at once\" } ] } }, \"network\": { \"mode\": \"filtered\", \"allow\": [ { \"host\": "
        "\"api.example.com\", \"http\": [ { \"methods\": [ \"GET\" ], \"path\": \"/v1/**\" } ] } ] "
        "} }";

static char workspace[] = "/tmp/checkout-XXXXXX"; /* as for a real box, it is there */

/* A person who is sure of one thing. */
struct person {
    bool says;
    unsigned int asked;
};

static bool
ask_person(void *data, const char *target, const char *reason)
{
    struct person *person = data;

    assert(strncmp(target, workspace, strlen(workspace)) == 0);
    assert(strcmp(reason, "readers see it at once") == 0);
    person->asked++;
    return person->says;
}

/* Runs a script of attempts by the harness; what the model sees.  The caller frees. */
static char *
run(const char *script, struct person *person, bool is_strict)
{
    const char *const argv[] = { "sh", "-c", script, NULL };
    abx_context_options options = { .size = sizeof options, .backend = ABX_BACKEND_SIMULATED };
    ABX_AUTO(abx_policy_builder) builder = NULL;
    ABX_AUTO(abx_policy) policy = NULL;
    ABX_AUTO(abx_context) context = NULL;
    ABX_AUTO(abx_box) box = NULL;
    struct harness harness = { .ask = ask_person, .person = person, .is_strict = is_strict };

    assert(abx_policy_builder_new("workspace-write", &builder, NULL) == ABX_OK);
    abx_policy_builder_variable(builder, "workspace", workspace);
    abx_policy_builder_variable(builder, "home", "/home/somebody");
    abx_policy_builder_merge_json(builder, rules, sizeof rules - 1);
    assert(abx_policy_builder_build(builder, &policy, NULL) == ABX_OK);
    assert(abx_context_new(&options, &context, NULL) == ABX_OK);
    assert(abx_box_open(context, policy, NULL, &box, NULL) == ABX_OK);
    harness.context = context;
    harness.box = box;
    return harness_run_tool(&harness, argv);
}

static void
expect(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fprintf(stderr, "'%s' is not in: %s\n", part, text);
        abort();
    }
}

static void
what_is_allowed_is_not_asked_about(void)
{
    struct person person = { .says = false };
    char *text = run("write notes; print done", &person, false);

    assert(person.asked == 0);
    assert(strcmp(text, "done\n[exit 0]\n") == 0);
    free(text);
}

static void
a_yes_lets_the_command_go_on(void)
{
    struct person person = { .says = true };
    char *text = run("write published/a; write published/a; print done", &person, false);

    assert(person.asked == 1); /* the yes is for the command */
    assert(strcmp(text, "done\n[exit 0]\n") == 0);
    free(text);
}

static void
a_no_reaches_the_model_in_words(void)
{
    struct person person = { .says = false };
    char *text = run("write published/a", &person, false);

    assert(person.asked == 1);
    expect(text, "[exit 1]");
    expect(text, "the user said no");
    free(text);
}

static void
after_a_no_the_strict_harness_asks_nothing(void)
{
    struct person person = { .says = false };
    char *text = run("write published/a; write published/b", &person, true);

    assert(person.asked == 1);
    expect(text, "the user said no to something before");
    free(text);
}

static void
a_denial_names_what_was_wanted(void)
{
    struct person person = { .says = true };
    char *text = run("read /home/somebody/.ssh/id_ed25519; request DELETE "
                     "https://api.example.com/v1/people/7; connect example.org:443",
            &person, false);

    assert(person.asked == 0); /* no rule asks, so nobody can say yes */
    expect(text, "/home/somebody/.ssh");
    expect(text, "https://api.example.com/v1/people/7");
    expect(text, "example.org");
    free(text);
}

int
main(void)
{
    assert(mkdtemp(workspace) != NULL);
    what_is_allowed_is_not_asked_about();
    a_yes_lets_the_command_go_on();
    a_no_reaches_the_model_in_words();
    after_a_no_the_strict_harness_asks_nothing();
    a_denial_names_what_was_wanted();
    rmdir(workspace);
    printf("5 tests passed\n");
    return 0;
}
