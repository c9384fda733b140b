/* SPDX-License-Identifier: Apache-2.0
 * A box with an audit log: what is recorded, before whom, and what does not happen when it cannot
 * be. */
#include "supervise/approvals.h"

#include "audit/verify.h"
#include "base/json.h"
#include "base/mem.h"
#include "fake-backend.h"
#include "unit/main.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char policy_json[] =
        "{\"version\":1,\"filesystem\":{"
        "\"read\":{\"allow\":[\"/\"],\"deny\":[\"/secret\",\"/audit/**\"]},"
        "\"write\":{\"allow\":[\"/w\"],\"deny\":[\"/w/lock\"],\"ask\":[\"/w/ask\"]},"
        "\"protect\":{\"defaults\":false}},"
        "\"environment\":{\"set\":{\"TOKEN\":\"a-value-of-the-environment\"}}}";

static char folder[] = "/tmp/agentbox-audited-XXXXXX";
static char path[64];
static abx_context *context;
static abx_box *box;

static abx_status
open_box(const char *json, abx_box **ret_box, struct fail *fail)
{
    abx_policy *policy = NULL;
    abx_status r;

    ck_assert_int_eq(abx_policy_from_json(json, strlen(json), &policy, NULL), ABX_OK);
    r = box_open(context, policy, NULL, ret_box, fail);
    abx_policy_unref(policy);
    return r;
}

static void
keep(void)
{
    const struct audit_options options = { 0 };
    struct fail fail = { 0 };

    ck_assert_int_eq(context_new(&fake_backend, NULL, 100, &context, &fail), ABX_OK);
    ck_assert_msg(context_keep_audit(context, path, &options, &fail) == ABX_OK, "%s", fail.text);
    /* The fake host has no such folder; this is where the policies of these tests think it is. */
    free(context->audit_path);
    context->audit_path = strdup("/audit/log");
}

static void
set_up(void)
{
    struct fail fail = { 0 };

    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/log", folder);
    keep();
    ck_assert_msg(open_box(policy_json, &box, &fail) == ABX_OK, "%s", fail.text);
}

static void
tear_down(void)
{
    box_unref(box);
    context_unref(context);
    ck_assert_uint_eq(fake_open_boundaries(), 0);
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static abx_status
spawn_it(const abx_spawn_options *options, abx_process **ret_process, abx_error **reterr)
{
    static const char *const argv[] = { "/usr/bin/fake", "--password", "an-argument", NULL };

    return abx_box_spawn(box, argv, options, ret_process, reterr);
}

static abx_process *
spawn(void)
{
    abx_spawn_options options = { .size = sizeof options, .label = "call-7" };
    abx_process *process = NULL;
    abx_error *error = NULL;

    ck_assert_msg(
            spawn_it(&options, &process, &error) == ABX_OK, "%s", abx_error_get_message(error));
    return process;
}

static abx_event *
next_event(uint32_t type)
{
    abx_event *event = NULL;

    while (abx_context_next_event(context, &event) == ABX_OK) {
        if (abx_event_get_type(event) == type) {
            return event;
        }
        abx_event_unref(event);
    }
    return NULL;
}

/* ---- what the file has ---- */
struct records {
    struct str types; /* "opened spawn ..." */
    struct str bodies;
    int64_t repeats; /* of denials */
};

static bool
take_record(void *data, const struct record *record)
{
    struct records *records = data;
    struct json_problem problem;
    struct json *body = json_read(record->body, record->body_length, 8, &problem);

    ck_assert_msg(body != NULL, "%s", problem.text);
    str_printf(&records->types, "%s%s", records->types.length == 0 ? "" : " ",
            json_text(json_member(body, "type")));
    if (strcmp(json_text(json_member(body, "type")), "denial") == 0) {
        records->repeats += json_number(json_member(body, "repeats"));
    }
    str_add_bytes(&records->bodies, record->body, record->body_length);
    str_add(&records->bodies, "\n");
    json_free(body);
    return true;
}

static struct records
read_log(void)
{
    AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct records records = { 0 };
    const struct audit_visitor visitor = { take_record, &records };
    struct audit_file file;
    struct chain chain;
    struct fail fail = { 0 };

    chain_begin(&chain);
    ck_assert_int_eq(audit_read(fd, &chain, &visitor, &file, &fail), ABX_OK);
    ck_assert_msg(file.state == ABX_AUDIT_WHOLE, "%s", file.problem);
    return records;
}

static void
expect_types(const char *types)
{
    struct records records = read_log();

    ck_assert_str_eq(records.types.data, types);
    str_done(&records.types);
    str_done(&records.bodies);
}

static bool
has(const char *text)
{
    struct records records = read_log();
    bool found = strstr(records.bodies.data, text) != NULL;

    str_done(&records.types);
    str_done(&records.bodies);
    return found;
}

/* From now on nothing can be appended, and again something can.  (A limit of file sizes would be
 * one of Check's own messages, too.) */
static void
fill_disk(bool is_full)
{
    int fd = open(path, (is_full ? O_RDONLY : O_RDWR | O_APPEND) | O_CLOEXEC);

    ck_assert_int_eq(dup3(fd, context->audit->fd, O_CLOEXEC), context->audit->fd);
    close(fd);
}

static abx_status
answer(uint64_t ticket, abx_verdict verdict, abx_error **reterr)
{
    const abx_answer reply = {
        .size = sizeof reply, .verdict = verdict, .scope = ABX_SCOPE_BOX, .approver = "pat"
    };

    return abx_context_answer(context, ticket, &reply, reterr);
}

/* ---- what is recorded ---- */
START_TEST(a_life_is_recorded_in_its_order)
{
    const abx_request pattern = { .size = sizeof pattern,
        .kind = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_WRITE,
        .target = "/w/ask" };
    struct fail fail = { 0 };
    abx_process *process = spawn();
    uint64_t id = abx_process_get_id(process), ticket, grant;

    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_READ, "/secret/key", NULL), ABX_VERDICT_DENY);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/1", &ticket), ABX_VERDICT_ASK);
    ck_assert_int_eq(answer(ticket, ABX_VERDICT_ALLOW, NULL), ABX_OK);
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_ALLOW);
    ck_assert_int_eq(box_grant(box, &pattern, 4102444800000, 2, "sam", &grant, &fail), ABX_OK);
    ck_assert_int_eq(box_revoke(box, grant), ABX_OK);
    fake_exit(id, ABX_EXIT_CODE, 3, false);
    abx_process_unref(process);
    box_unref(box);
    box = NULL;
    expect_types("opened spawn started denial approval notice notice notice exited closed");
    ck_assert(has("\"approver\":\"pat\""));
    ck_assert(has("\"approver\":\"sam\""));
    ck_assert(has("\"target\":\"/w/ask\",\"expires_ms\":4102444800000,\"uses\":2}"));
    ck_assert(has("\"label\":\"call-7\""));
    ck_assert(has("\"exit_reason\":\"code\",\"exit_code\":3"));
}
END_TEST

START_TEST(a_box_that_is_refused_for_its_delegation_is_recorded)
{
    abx_identity *identity = NULL;
    abx_box *other = NULL;

    ck_assert_int_eq(abx_identity_new("kim", "s-9", "d-7", 1, &identity, NULL), ABX_OK);
    ck_assert_int_eq(abx_box_open(context, box->policy, identity, &other, NULL), ABX_ERR_DENIED);
    abx_identity_unref(identity);
    expect_types("opened refused");
    ck_assert(has("\"layer\":\"identity\""));
    ck_assert(has("\"delegation\":\"d-7\""));
    ck_assert(has("\"rule\":\"identity:delegation\""));
}
END_TEST

START_TEST(what_the_host_is_told_is_recorded_before)
{
    abx_process *process = spawn();
    uint64_t id = abx_process_get_id(process);
    abx_event *event;

    fake_try(id, ABX_ACCESS_READ, "/secret/key", NULL);
    fake_exit(id, ABX_EXIT_CODE, 0, false);
    while (abx_context_next_event(context, &event) == ABX_OK) {
        char *json;
        size_t length;

        ck_assert_int_eq(abx_event_to_json(event, &json, &length), ABX_OK);
        json[length - 1] = ','; /* the record goes on with the context */
        ck_assert_msg(has(json), "%s", json);
        abx_free(json);
        abx_event_unref(event);
    }
    abx_process_unref(process);
}
END_TEST

START_TEST(a_box_has_the_digest_of_its_policy_and_a_command_that_of_its_arguments)
{
    abx_process *process = spawn();
    char text[128];

    snprintf(text, sizeof text, "\"digest\":\"%s\"", abx_policy_get_digest(box->policy));
    ck_assert(has(text));
    ck_assert(has("\"source\":\"task\""));
    ck_assert(has("\"program\":\"/usr/bin/fake\""));
    /* printf '/usr/bin/fake\0--password\0an-argument\0' | sha256sum */
    ck_assert(
            has("\"digest\":\"42c57abe2d9eb1f2b2048eb505505dcbfa7fdc9310b0aff6187e4412f6cfc8f9\""));
    fake_exit(abx_process_get_id(process), ABX_EXIT_CODE, 0, false);
    abx_process_unref(process);
}
END_TEST

START_TEST(no_argument_and_no_value_of_the_environment_is_recorded)
{
    static const char *const env[] = { "OTHER=given-at-the-spawn", NULL };
    abx_spawn_options options = { .size = sizeof options, .env = env };
    abx_process *process = NULL;

    ck_assert_int_eq(spawn_it(&options, &process, NULL), ABX_OK);
    fake_exit(abx_process_get_id(process), ABX_EXIT_CODE, 0, false);
    abx_process_unref(process);
    ck_assert(!has("an-argument"));
    ck_assert(!has("a-value-of-the-environment"));
    ck_assert(!has("given-at-the-spawn"));
}
END_TEST

START_TEST(records_of_equal_denials_count_every_attempt)
{
    abx_process *process = spawn();
    uint64_t id = abx_process_get_id(process);
    struct records records;

    for (int i = 0; i < 500; i++) {
        fake_try(id, ABX_ACCESS_WRITE, "/w/lock", NULL);
    }
    fake_exit(id, ABX_EXIT_CODE, 0, false);
    records = read_log();
    ck_assert_int_eq(records.repeats, 500);
    ck_assert_uint_lt(records.types.length, 400);
    str_done(&records.types);
    str_done(&records.bodies);
    abx_process_unref(process);
}
END_TEST

START_TEST(a_denial_that_is_too_long_for_a_record_is_recorded_in_part)
{
    enum { LENGTH = 300000 };
    char *target = malloc(LENGTH + 1);
    abx_process *process = spawn();
    uint64_t id = abx_process_get_id(process);

    memset(target, 'a', LENGTH);
    memcpy(target, "/secret/", 8);
    target[LENGTH] = '\0';
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_READ, target, NULL), ABX_VERDICT_DENY);
    free(target);
    fake_exit(id, ABX_EXIT_CODE, 0, false);
    abx_process_unref(process);
    expect_types("opened spawn started denial exited");
    ck_assert(has("... (cut, of 300000 bytes)\""));
}
END_TEST

START_TEST(two_contexts_share_a_log_and_each_record_says_whose_it_is)
{
    abx_context *first = context;
    char name[32];

    keep();
    snprintf(name, sizeof name, "\"context\":\"%s\"", first->audit_name);
    ck_assert(has(name));
    ck_assert_str_ne(first->audit_name, context->audit_name);
    context_unref(context);
    context = first;
}
END_TEST

/* ---- when nothing can be recorded ---- */
START_TEST(a_command_that_cannot_be_recorded_is_not_started)
{
    abx_process *process = NULL;
    abx_error *error = NULL;
    abx_event *event;

    fill_disk(true);
    ck_assert_int_eq(spawn_it(NULL, &process, &error), ABX_ERR_IO);
    ck_assert_str_eq(abx_error_get_step(error), "audit:write");
    abx_error_unref(error);
    ck_assert_int_eq(spawn_it(NULL, &process, NULL), ABX_ERR_IO);
    event = next_event(ABX_EVENT_NOTICE);
    ck_assert_ptr_nonnull(event);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_LAYER), ABX_LAYER_AUDIT);
    abx_event_unref(event);
    ck_assert_ptr_null(next_event(ABX_EVENT_NOTICE)); /* once */
    fill_disk(false);
    process = spawn();
    fake_exit(abx_process_get_id(process), ABX_EXIT_CODE, 0, false);
    abx_process_unref(process);
    expect_types("opened lost spawn started exited");
    ck_assert(has("\"type\":\"lost\""));
}
END_TEST

START_TEST(a_question_that_cannot_be_recorded_is_a_denial_of_the_audit)
{
    abx_process *process = spawn();
    uint64_t id = abx_process_get_id(process), ticket = 0;
    abx_event *event;

    fill_disk(true);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/1", &ticket), ABX_VERDICT_DENY);
    ck_assert_uint_eq(box->approvals.count, 0);
    event = next_event(ABX_EVENT_DENIAL);
    ck_assert_ptr_nonnull(event);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_LAYER), ABX_LAYER_AUDIT);
    ck_assert_ptr_nonnull(strstr(abx_event_get_string(event, ABX_FIELD_REASON), "audit log"));
    abx_event_unref(event);
    ck_assert_ptr_null(next_event(ABX_EVENT_APPROVAL));
    fill_disk(false);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/2", &ticket), ABX_VERDICT_ASK);
    fake_exit(id, ABX_EXIT_CODE, 0, false);
    abx_process_unref(process);
}
END_TEST

START_TEST(a_yes_that_cannot_be_recorded_is_a_no)
{
    abx_process *process = spawn();
    uint64_t id = abx_process_get_id(process), ticket;
    abx_error *error = NULL;
    abx_event *event;

    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/1", &ticket), ABX_VERDICT_ASK);
    fill_disk(true);
    ck_assert_int_eq(answer(ticket, ABX_VERDICT_ALLOW, &error), ABX_ERR_IO);
    ck_assert_str_eq(abx_error_get_step(error), "audit:write");
    abx_error_unref(error);
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_DENY);
    ck_assert_uint_eq(box->grants.count, 0);
    event = next_event(ABX_EVENT_DENIAL);
    ck_assert_int_eq(abx_event_get_int(event, ABX_FIELD_LAYER), ABX_LAYER_AUDIT);
    abx_event_unref(event);
    fill_disk(false);
    fake_exit(id, ABX_EXIT_CODE, 0, false);
    abx_process_unref(process);
}
END_TEST

START_TEST(a_no_counts_also_where_it_cannot_be_recorded)
{
    abx_process *process = spawn();
    uint64_t id = abx_process_get_id(process), ticket;

    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_WRITE, "/w/ask/1", &ticket), ABX_VERDICT_ASK);
    fill_disk(true);
    ck_assert_int_eq(answer(ticket, ABX_VERDICT_DENY, NULL), ABX_OK);
    ck_assert_int_eq(fake_answer_to(ticket), ABX_VERDICT_DENY);
    fill_disk(false);
    fake_exit(id, ABX_EXIT_CODE, 0, false);
    abx_process_unref(process);
}
END_TEST

/* Of an action that is granted once. */
static uint32_t
pay(abx_box *of)
{
    const abx_request request = {
        .size = sizeof request, .kind = ABX_REQUEST_ACTION, .target = "pay"
    };
    abx_decision decision = { .size = sizeof decision };

    ck_assert_int_ge(abx_box_request(of, &request, &decision, NULL, NULL, NULL), 0);
    return decision.verdict;
}

START_TEST(an_action_that_cannot_be_recorded_takes_no_use_of_its_grant)
{
    static const char json[] =
            "{\"version\":1,\"actions\":[{\"name\":\"pay\",\"verdict\":\"ask\",\"limits\":{"
            "\"per_box\":2}}]}";
    const abx_request pattern = {
        .size = sizeof pattern, .kind = ABX_REQUEST_ACTION, .target = "pay"
    };
    struct fail fail = { 0 };
    abx_box *other;
    uint64_t given;

    ck_assert_msg(open_box(json, &other, &fail) == ABX_OK, "%s", fail.text);
    ck_assert_int_eq(box_grant(other, &pattern, 0, 2, "sam", &given, &fail), ABX_OK);
    fill_disk(true);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(pay(other), ABX_VERDICT_DENY);
    }
    fill_disk(false);
    ck_assert_uint_eq(pay(other), ABX_VERDICT_ALLOW);
    fill_disk(true);
    ck_assert_uint_eq(pay(other), ABX_VERDICT_DENY);
    fill_disk(false);
    ck_assert_uint_eq(pay(other), ABX_VERDICT_ALLOW); /* the last of the grant, and of the limit */
    ck_assert_int_eq(abx_box_revoke(other, given), ABX_ERR_STATE);
    ck_assert_uint_eq(pay(other), ABX_VERDICT_DENY);
    abx_box_unref(other);
}
END_TEST

START_TEST(a_grant_that_cannot_be_recorded_is_not_given_and_can_be_taken_back)
{
    const abx_request pattern = { .size = sizeof pattern,
        .kind = ABX_REQUEST_PATH,
        .access = ABX_ACCESS_WRITE,
        .target = "/w/ask" };
    struct fail fail = { 0 };
    uint64_t given, refused;

    ck_assert_int_eq(box_grant(box, &pattern, 0, 0, "sam", &given, &fail), ABX_OK);
    fill_disk(true);
    ck_assert_int_eq(box_grant(box, &pattern, 0, 0, "sam", &refused, &fail), ABX_ERR_IO);
    ck_assert_uint_eq(box->grants.count, 1);
    ck_assert_int_eq(box_revoke(box, given), ABX_OK);
    ck_assert_uint_eq(box->grants.count, 0);
    fill_disk(false);
}
END_TEST

START_TEST(a_box_that_cannot_be_recorded_is_not_opened)
{
    struct fail fail = { 0 };
    abx_box *other = NULL;

    box_unref(box);
    box = NULL;
    fill_disk(true);
    ck_assert_int_eq(open_box(policy_json, &other, &fail), ABX_ERR_IO);
    ck_assert_uint_eq(fake_open_boundaries(), 0);
    fill_disk(false);
    expect_types("opened closed");
}
END_TEST

START_TEST(a_denial_that_cannot_be_recorded_is_told_and_counted_as_lost)
{
    abx_process *process = spawn();
    uint64_t id = abx_process_get_id(process);
    abx_event *event;

    fill_disk(true);
    ck_assert_uint_eq(fake_try(id, ABX_ACCESS_READ, "/secret/key", NULL), ABX_VERDICT_DENY);
    event = next_event(ABX_EVENT_DENIAL);
    ck_assert_ptr_nonnull(event);
    abx_event_unref(event);
    fill_disk(false);
    fake_exit(id, ABX_EXIT_CODE, 0, false);
    abx_process_unref(process);
    expect_types("opened spawn started lost exited");
    ck_assert(has("\"records\":1}"));
}
END_TEST

/* ---- who may touch it ---- */
START_TEST(a_policy_that_lets_commands_at_the_log_opens_no_box)
{
    static const struct {
        const char *rules, *why;
    } cases[] = {
        { "\"read\":{\"allow\":[\"/\"]}", "read the audit log" },
        { "\"read\":{\"allow\":[\"/\"],\"deny\":[\"/audit/log\"]}", "read the audit log" },
        { "\"read\":{\"allow\":[\"/\"],\"deny\":[\"/audit/log\"]},\"write\":{\"allow\":[\"/"
          "audit\"]}",
                "read the audit log" },
        { "\"read\":{\"ask\":[\"/audit\"]}", "read the audit log" },
    };

    for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
        struct fail fail = { 0 };
        abx_box *other = NULL;
        char json[512];

        snprintf(json, sizeof json, "{\"version\":1,\"filesystem\":{%s}}", cases[i].rules);
        ck_assert_int_eq(open_box(json, &other, &fail), ABX_ERR_POLICY);
        ck_assert_str_eq(fail.step, "open:audit");
        ck_assert_msg(strstr(fail.text, cases[i].why) != NULL, "%s", fail.text);
        ck_assert_str_ne(fail.remedy, "");
    }
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("supervise_audit");
    TCase *tcase = tcase_create("audit");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_life_is_recorded_in_its_order);
    tcase_add_test(tcase, a_box_that_is_refused_for_its_delegation_is_recorded);
    tcase_add_test(tcase, what_the_host_is_told_is_recorded_before);
    tcase_add_test(tcase, a_box_has_the_digest_of_its_policy_and_a_command_that_of_its_arguments);
    tcase_add_test(tcase, no_argument_and_no_value_of_the_environment_is_recorded);
    tcase_add_test(tcase, records_of_equal_denials_count_every_attempt);
    tcase_add_test(tcase, a_denial_that_is_too_long_for_a_record_is_recorded_in_part);
    tcase_add_test(tcase, two_contexts_share_a_log_and_each_record_says_whose_it_is);
    tcase_add_test(tcase, a_command_that_cannot_be_recorded_is_not_started);
    tcase_add_test(tcase, a_question_that_cannot_be_recorded_is_a_denial_of_the_audit);
    tcase_add_test(tcase, a_yes_that_cannot_be_recorded_is_a_no);
    tcase_add_test(tcase, a_no_counts_also_where_it_cannot_be_recorded);
    tcase_add_test(tcase, an_action_that_cannot_be_recorded_takes_no_use_of_its_grant);
    tcase_add_test(tcase, a_grant_that_cannot_be_recorded_is_not_given_and_can_be_taken_back);
    tcase_add_test(tcase, a_box_that_cannot_be_recorded_is_not_opened);
    tcase_add_test(tcase, a_denial_that_cannot_be_recorded_is_told_and_counted_as_lost);
    tcase_add_test(tcase, a_policy_that_lets_commands_at_the_log_opens_no_box);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
