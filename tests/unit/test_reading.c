/* SPDX-License-Identifier: Apache-2.0
 * Which boxes have an authority, and whom they believe. */
#include "egress_box.h"

#include "unit/main.h"

#include <stdio.h>
#include <stdlib.h>
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

static size_t
count(const char *text, const char *what)
{
    size_t n = 0;

    while ((text = strstr(text, what)) != NULL) {
        n++;
        text++;
    }
    return n;
}

/* Of whatever the host's file holds: certificates, in both forms, and nothing else. */
START_TEST(what_programs_are_shown_is_certificates_and_no_key)
{
    static const unsigned char start[] = { 0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0,
        2, 0, 10, 'a', 'g', 'e', 'n', 't', 'b', 'o', 'x', '-', '0' };
    char path[] = "/tmp/agentbox-ca.XXXXXX";
    struct trust_files files;
    FILE *file;
    int fd;

    egress_box_open(NETWORK, RULE, "", "", "");
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    file = fdopen(fd, "w");
    fprintf(file, "# ours\n-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n%s",
            egress_authority(the_box));
    fputs("-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n", file);
    fputs("-----BEGIN CERTIFICATE-----\nwithout an end\n", file);
    fclose(file);
    ck_assert_int_eq(egress_trust(the_box, path, &files, &fail), ABX_OK);
    ck_assert_uint_eq(count(files.bundle, "BEGIN CERTIFICATE"), 2);
    ck_assert_uint_eq(count(files.bundle, "BEGIN"), 2);
    ck_assert_uint_eq(strlen(files.bundle), files.bundle_length);
    ck_assert_mem_eq(files.store, start, sizeof start);
    free(files.bundle);
    free(files.store);
    ck_assert_int_eq(egress_trust(the_box, NULL, &files, &fail), ABX_OK);
    ck_assert_uint_eq(count(files.bundle, "BEGIN CERTIFICATE"), 1);
    free(files.bundle);
    free(files.store);
    unlink(path);
    ck_assert_int_eq(egress_trust(the_box, path, &files, &fail), ABX_ERR_SETUP);
    ck_assert_ptr_nonnull(strstr(fail.text, path));
    close_box();
}
END_TEST

START_TEST(a_policy_that_adds_an_authority_has_it_shown)
{
    char path[] = "/tmp/agentbox-ca.XXXXXX";
    int fd = mkstemp(path);
    struct egress_setup setup;
    struct egress_box *other = NULL;
    struct trust_files files;
    char json[256];
    abx_error *error = NULL;

    ck_assert_int_ge(fd, 0);
    close(fd);
    egress_box_open(NETWORK, RULE, "", "", "");
    write_file(path, egress_authority(the_box), 1);
    setup = egress_box_setup();
    snprintf(json, sizeof json, NETWORK, "\"a.test\"", ",\"extra_ca\":\"", path, "\"");
    ck_assert_int_eq(abx_policy_from_json(json, strlen(json), &setup.policy, &error), ABX_OK);
    ck_assert_int_eq(egress_open(the_egress, &setup, &other, &fail), ABX_OK);
    ck_assert_int_eq(egress_trust(other, NULL, &files, &fail), ABX_OK);
    ck_assert_uint_eq(count(files.bundle, "BEGIN CERTIFICATE"), 2);
    free(files.bundle);
    free(files.store);
    egress_close(other);
    abx_policy_unref(setup.policy);
    unlink(path);
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
    tcase_add_test(cases, what_programs_are_shown_is_certificates_and_no_key);
    tcase_add_test(cases, a_policy_that_adds_an_authority_has_it_shown);
    suite_add_tcase(suite, cases);
    return suite;
}

UNIT_MAIN(make_suite)
