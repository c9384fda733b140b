/* SPDX-License-Identifier: Apache-2.0
 * Which boxes have an authority, and whom they believe. */
#include "egress_box.h"

#include "unit/main.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NETWORK "{\"version\":1,\"network\":{\"mode\":\"filtered\",\"allow\":[%s]%s%s%s}}"
#define RULE "{\"host\":\"a.test\",\"http\":[{\"methods\":[\"GET\"],\"path\":\"/**\"}]}"

static struct fail fail;

static void
close_box(void)
{
    egress_box_close();
    egress_box_left_nothing();
}

START_TEST(a_policy_without_rules_about_requests_needs_no_authority)
{
    egress_box_open(NETWORK, "\"a.test\"", "", "", "");
    ck_assert_ptr_null(egress_authority(the_box));
    close_box();
}
END_TEST

START_TEST(a_rule_about_requests_makes_one_for_all_boxes_of_the_context)
{
    struct egress_setup setup;
    struct egress_box *other;

    egress_box_open(NETWORK, RULE, "", "", "");
    ck_assert_ptr_nonnull(strstr(egress_authority(the_box), "BEGIN CERTIFICATE"));
    setup = egress_box_setup();
    ck_assert_int_eq(egress_open(the_egress, &setup, &other, &fail), ABX_OK);
    ck_assert_ptr_eq(egress_authority(other), egress_authority(the_box));
    egress_close(other);
    close_box();
}
END_TEST

/* Another box, of a policy with that file. */
static abx_status
open_with(const char *path)
{
    struct egress_setup setup = egress_box_setup();
    struct egress_box *other = NULL;
    abx_error *error = NULL;
    char json[1024];
    abx_status r;

    snprintf(json, sizeof json, NETWORK, RULE, ",\"extra_ca\":\"", path, "\"");
    ck_assert_int_eq(abx_policy_from_json(json, strlen(json), &setup.policy, &error), ABX_OK);
    r = egress_open(the_egress, &setup, &other, &fail);
    if (r == ABX_OK) {
        egress_close(other);
    }
    abx_policy_unref(setup.policy);
    return r;
}

static void
write_file(const char *path, const char *text, size_t times)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    for (size_t i = 0; i < times; i++) {
        fputs(text, file);
    }
    fclose(file);
}

START_TEST(a_file_of_more_authorities_must_be_one_or_no_box_opens)
{
    char path[] = "/tmp/agentbox-ca.XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    close(fd);
    egress_box_open(NETWORK, RULE, "", "", "");
    write_file(path, egress_authority(the_box), 1);
    ck_assert_int_eq(open_with(path), ABX_OK);
    write_file(path, "no certificate\n", 1);
    ck_assert_int_eq(open_with(path), ABX_ERR_POLICY);
    ck_assert_str_eq(fail.step, "tls:extra-ca");
    write_file(path, egress_authority(the_box), 3000); /* more than 1 MiB */
    ck_assert_int_eq(open_with(path), ABX_ERR_POLICY);
    ck_assert_str_eq(fail.step, "read:extra-ca");
    unlink(path);
    ck_assert_int_eq(open_with(path), ABX_ERR_POLICY);
    ck_assert_int_eq(open_with("/dev/null"), ABX_ERR_POLICY);
    ck_assert_ptr_nonnull(strstr(fail.text, "/dev/null"));
    close_box();
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("reading");
    TCase *cases = tcase_create("reading");

    tcase_add_test(cases, a_policy_without_rules_about_requests_needs_no_authority);
    tcase_add_test(cases, a_rule_about_requests_makes_one_for_all_boxes_of_the_context);
    tcase_add_test(cases, a_file_of_more_authorities_must_be_one_or_no_box_opens);
    suite_add_tcase(suite, cases);
    return suite;
}

UNIT_MAIN(make_suite)
