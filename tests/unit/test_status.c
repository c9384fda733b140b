/* SPDX-License-Identifier: Apache-2.0
 * One table of statuses; structs of older and newer callers pass the door or are refused softly. */
#include "api/door.h"

#include "base/mem.h"
#include "unit/main.h"

#include <stdio.h>
#include <string.h>

static const struct status_row {
    abx_status status;
    const char *name, *since, *text;
} table[] = {
#define STATUS(name, number, since, text, remedy) { ABX_##name, "ABX_" #name, since, text },
#include "base/status.def"
#undef STATUS
};
static const abx_status numbers[] = {
#define STATUS(name, number, since, text, remedy) number,
#include "base/status.def"
#undef STATUS
};

START_TEST(the_header_has_the_numbers_of_the_table)
{
    const struct status_row *row = &table[_i];

    ck_assert_int_eq(row->status, numbers[_i]);
    ck_assert_str_eq(abx_status_name(row->status), row->name);
    ck_assert_int_eq(abx_feature_supported(ABX_ENUM_STATUS, row->status), 1);
    ck_assert_uint_gt(strlen(row->text), 0);
}
END_TEST

START_TEST(an_unknown_number_has_a_name_that_says_so)
{
    ck_assert_str_eq(abx_status_name(-1), "ABX_STATUS_UNKNOWN");
    ck_assert_int_eq(abx_feature_supported(ABX_ENUM_STATUS, -1), 0);
    ck_assert_int_eq(abx_feature_supported(99, 1), 0);
}
END_TEST

START_TEST(what_this_version_lacks_is_not_called_supported)
{
    ck_assert_int_eq(abx_feature_supported(ABX_ENUM_REQUEST, ABX_REQUEST_PATH), 1);
    ck_assert_int_eq(abx_feature_supported(ABX_ENUM_REQUEST, ABX_REQUEST_ACTION), 0);
    ck_assert_int_eq(abx_feature_supported(ABX_ENUM_EVENT, ABX_EVENT_DENIAL), 1);
    ck_assert_int_eq(abx_feature_supported(ABX_ENUM_EVENT, ABX_EVENT_CREDENTIAL), 1);
    ck_assert_int_eq(abx_feature_supported(ABX_ENUM_EVENT, ABX_EVENT_LOG), 0);
}
END_TEST

START_TEST(the_version_is_said_in_two_ways_that_agree)
{
    char text[32];

    snprintf(text, sizeof text, "%u.%u.%u", abx_version() >> 16, (abx_version() >> 8) & 0xff,
            abx_version() & 0xff);
    ck_assert_str_eq(abx_version_string(), text);
    ck_assert_uint_eq(abx_version(), ABX_VERSION_HEX);
}
END_TEST

/* ---- the door ---- */
struct today {
    uint32_t size, first, second, third;
};

static const struct door_case {
    const char *name;
    uint32_t bytes[6]; /* as the caller has it; the first word is its size */
    abx_status status;
    uint32_t third;
} door_cases[] = {
    { "an older caller lacks fields", { 12, 1, 2, 99 }, ABX_OK, 0 },
    { "a caller of today", { 16, 1, 2, 3 }, ABX_OK, 3 },
    { "a newer caller that does not use what is new", { 24, 1, 2, 3, 0, 0 }, ABX_OK, 3 },
    { "a newer caller that does", { 24, 1, 2, 3, 0, 1 }, ABX_ERR_ABI, 0 },
    { "no size", { 0, 1, 2, 3 }, ABX_ERR_ABI, 0 },
    { "shorter than the first version", { 8, 1, 2, 3 }, ABX_ERR_ABI, 0 },
    { "a size that cannot be", { 100000, 1, 2, 3 }, ABX_ERR_ABI, 0 },
};

START_TEST(structs_of_older_and_newer_callers)
{
    const struct door_case *c = &door_cases[_i];
    struct fail fail = { 0 };
    struct today today;

    ck_assert_msg(struct_in(&today, sizeof today, 12, c->bytes, &fail) == c->status, "%s", c->name);
    if (c->status == ABX_OK) {
        ck_assert_msg(
                today.first == 1 && today.second == 2 && today.third == c->third, "%s", c->name);
    }
}
END_TEST

START_TEST(no_struct_is_all_defaults)
{
    struct fail fail = { 0 };
    struct today today = { 1, 2, 3, 4 };

    ck_assert_int_eq(struct_in(&today, sizeof today, 12, NULL, &fail), ABX_OK);
    ck_assert_uint_eq(today.first, 0);
}
END_TEST

START_TEST(what_is_filled_ends_where_the_caller_says)
{
    struct fail fail = { 0 };
    const struct today today = { 0, 1, 2, 3 };
    uint32_t older[4] = { 12, 9, 9, 9 }, newer[5] = { 20, 9, 9, 9, 9 }, none[4] = { 4, 9, 9, 9 };

    ck_assert_int_eq(struct_out(older, 12, &today, sizeof today, &fail), ABX_OK);
    ck_assert(older[0] == 12 && older[2] == 2 && older[3] == 9);
    ck_assert_int_eq(struct_out(newer, 12, &today, sizeof today, &fail), ABX_OK);
    ck_assert(newer[0] == 20 && newer[3] == 3 && newer[4] == 0);
    ck_assert_int_eq(struct_out(none, 12, &today, sizeof today, &fail), ABX_ERR_ABI);
    ck_assert_uint_eq(none[1], 9);
}
END_TEST

START_TEST(an_undocumented_status_becomes_internal)
{
    ck_assert_int_eq(status_filter(ABX_ERR_STATE, MAY_STATE), ABX_ERR_STATE);
    ck_assert_int_eq(status_filter(ABX_ERR_STATE, MAY_IO | MAY_DENIED), ABX_ERR_INTERNAL);
    ck_assert_int_eq(status_filter(ABX_ERR_DENIED, MAY_DENIED), ABX_ERR_DENIED);
    ck_assert_int_eq(status_filter(ABX_NONE, 0), ABX_NONE);
    ck_assert_int_eq(status_filter(-5, UINT32_MAX), ABX_ERR_INTERNAL);
}
END_TEST

/* ---- arguments ---- */
START_TEST(null_is_refused_and_released_without_harm)
{
    abx_error *error = NULL;
    abx_context *context;
    abx_context_options options = { .size = sizeof options, .audit_bytes = 8192 };

    ck_assert_int_eq(abx_context_new(NULL, NULL, &error), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_error_get_status(error), ABX_ERR_INVALID);
    abx_error_unref(error);
    ck_assert_int_eq(abx_context_new(&options, &context, NULL), ABX_ERR_INVALID);
    options = (abx_context_options){ .size = sizeof options, .audit_path = "/nonexistent/x" };
    ck_assert_int_eq(abx_context_new(&options, &context, NULL), ABX_ERR_IO);
    ck_assert_int_eq(abx_audit_verify(NULL, 0, NULL, NULL), ABX_ERR_INVALID);
    options = (abx_context_options){ .size = sizeof options, .backend = 77 };
    ck_assert_int_eq(abx_context_new(&options, &context, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_box_open(NULL, NULL, NULL, NULL, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_box_spawn(NULL, NULL, NULL, NULL, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_process_wait(NULL, 0, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_context_next_event(NULL, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_context_answer(NULL, 1, NULL, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_context_stats(NULL, NULL), ABX_ERR_INVALID);
    ck_assert_int_eq(abx_process_take_stdio(NULL, 0), -1);
    ck_assert_uint_eq(abx_event_get_type(NULL), 0);
    abx_context_unref(NULL);
    abx_box_unref(NULL);
    abx_process_unref(NULL);
    abx_event_unref(NULL);
    abx_report_unref(NULL);
    abx_error_unref(NULL);
    abx_free(NULL);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("status");
    TCase *tcase = tcase_create("status");

    tcase_add_loop_test(tcase, the_header_has_the_numbers_of_the_table, 0, N_ELEMENTS(table));
    tcase_add_test(tcase, an_unknown_number_has_a_name_that_says_so);
    tcase_add_test(tcase, what_this_version_lacks_is_not_called_supported);
    tcase_add_test(tcase, the_version_is_said_in_two_ways_that_agree);
    tcase_add_loop_test(tcase, structs_of_older_and_newer_callers, 0, N_ELEMENTS(door_cases));
    tcase_add_test(tcase, no_struct_is_all_defaults);
    tcase_add_test(tcase, what_is_filled_ends_where_the_caller_says);
    tcase_add_test(tcase, an_undocumented_status_becomes_internal);
    tcase_add_test(tcase, null_is_refused_and_released_without_harm);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
