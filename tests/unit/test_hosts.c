/* SPDX-License-Identifier: Apache-2.0
 * The addresses of names that are kept for a moment. */
#include "egress/hosts.h"

#include "unit/main.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static struct hosts hosts;

static void
set_up(void)
{
    hosts = (struct hosts){ 0 };
}

static void
tear_down(void)
{
    hosts_done(&hosts);
}

static void
keep(const char *name, uint64_t now_ns, uint32_t ip)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(ip) };
    struct address address = { .length = sizeof in };

    memcpy(&address.storage, &in, sizeof in);
    hosts_keep(&hosts, now_ns, name, 443, &address, 1);
}

static uint32_t
address_of(const char *name, uint64_t now_ns)
{
    const struct host *host = hosts_find(&hosts, now_ns, name, 443);

    return host == NULL ? 0
                        : ntohl(((const struct sockaddr_in *)&host->addresses[0].storage)
                                          ->sin_addr.s_addr);
}

START_TEST(a_host_is_known_by_its_name_and_port)
{
    keep("a.test", 5, 1);
    keep("b.test", 5, 2);
    ck_assert_uint_eq(address_of("a.test", 6), 1);
    ck_assert_uint_eq(address_of("b.test", 6), 2);
    ck_assert_uint_eq(address_of("c.test", 6), 0);
    ck_assert_ptr_null(hosts_find(&hosts, 6, "a.test", 80));
}
END_TEST

START_TEST(it_is_known_for_a_second_however_often_it_is_used)
{
    keep("a.test", 5, 1);
    ck_assert_uint_eq(address_of("a.test", 4 + HOSTS_NS), 1);
    ck_assert_uint_eq(address_of("a.test", 5 + HOSTS_NS), 0);
    keep("a.test", 5 + HOSTS_NS, 2);
    ck_assert_uint_eq(address_of("a.test", 6 + HOSTS_NS), 2);
}
END_TEST

START_TEST(the_oldest_gives_place)
{
    char name[16];

    for (uint32_t i = 0; i <= HOSTS_MAX; i++) {
        snprintf(name, sizeof name, "%u.test", i);
        keep(name, 5, i + 1);
    }
    ck_assert_uint_eq(address_of("0.test", 6), 0);
    ck_assert_uint_eq(address_of("1.test", 6), 2);
    ck_assert_uint_eq(address_of(name, 6), HOSTS_MAX + 1);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("hosts");
    TCase *table = tcase_create("table");

    tcase_add_checked_fixture(table, set_up, tear_down);
    tcase_add_test(table, a_host_is_known_by_its_name_and_port);
    tcase_add_test(table, it_is_known_for_a_second_however_often_it_is_used);
    tcase_add_test(table, the_oldest_gives_place);
    suite_add_tcase(suite, table);
    return suite;
}

UNIT_MAIN(make_suite)
