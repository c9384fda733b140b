/* SPDX-License-Identifier: Apache-2.0
 * What a build without TLS answers: lib/egress/tls_none.c, in place of the others. */
#include "egress/tls.h"

#include "unit/main.h"

#include <string.h>

START_TEST(nothing_can_be_made_and_the_error_says_why)
{
    struct authority *authority = NULL;
    struct store *store = NULL;
    struct trust *trust = NULL;
    struct fail fail = { 0 };

    ck_assert_int_eq(authority_new(&authority, &fail), ABX_ERR_UNSUPPORTED);
    ck_assert_ptr_null(authority);
    ck_assert_int_eq(fail.status, ABX_ERR_UNSUPPORTED);
    ck_assert_str_eq(fail.text, "this build of the library has no TLS");
    ck_assert_ptr_nonnull(strstr(fail.remedy, "-Dtls=enabled"));
    ck_assert_int_eq(store_new(&store, &fail), ABX_ERR_UNSUPPORTED);
    ck_assert_int_eq(trust_new(NULL, NULL, &trust, &fail), ABX_ERR_UNSUPPORTED);
    ck_assert(store == NULL && trust == NULL);
    ck_assert_ptr_null(tls_server(-1, NULL, "a.example"));
    ck_assert_ptr_null(tls_client(-1, NULL, "a.example"));
    authority_free(NULL);
    store_free(NULL);
    trust_free(NULL);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("tls_none");
    TCase *cases = tcase_create("none");

    tcase_add_test(cases, nothing_can_be_made_and_the_error_says_why);
    suite_add_tcase(suite, cases);
    return suite;
}

UNIT_MAIN(make_suite)
