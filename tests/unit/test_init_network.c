/* SPDX-License-Identifier: Apache-2.0
 * The network of a box, as the program in it asks rtnetlink for it; and what it does where that is
 * refused. */
#include "fake_sys.h"
#include "linux/init/init.h"
#include "plan/network.h"

#include "base/str.h"
#include "unit/main.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

static struct init init;

static int
make(long refused, int refusal)
{
    const struct wire_op op = { .code = OP_GATEWAY };

    memset(&init, 0, sizeof init);
    init.network = init.gateway = -1;
    fake_reset();
    fake.refuse_request = refused;
    fake.refusal = refusal;
    return op_gateway(&init, &op);
}

/* ---- requests as text ---- */

/* An attribute's name, and how its value is shown: t(ext), n(umber), a(ddress), h(ex), / (nested),
 * e (nested behind a struct ifinfomsg), f (a descriptor). */
struct attribute_name {
    unsigned short type;
    const char *name;
    char form;
};

static const struct attribute_name peer_names[] = { { IFLA_IFNAME, "name", 't' },
    { IFLA_MTU, "mtu", 'n' }, { IFLA_ADDRESS, "hardware", 'h' }, { IFLA_NET_NS_FD, "in", 'f' },
    { 0 } };
static const struct attribute_name data_names[] = { { VETH_INFO_PEER, "peer", 'e' }, { 0 } };
static const struct attribute_name info_names[] = { { IFLA_INFO_KIND, "kind", 't' },
    { IFLA_INFO_DATA, "data", '/' }, { 0 } };
static const struct attribute_name link_names[] = { { IFLA_IFNAME, "name", 't' },
    { IFLA_MTU, "mtu", 'n' }, { IFLA_TXQLEN, "queue", 'n' }, { IFLA_ADDRESS, "hardware", 'h' },
    { IFLA_LINKINFO, "info", '/' }, { 0 } };
static const struct attribute_name address_names[] = { { IFA_LOCAL, "local", 'a' },
    { IFA_ADDRESS, "address", 'a' }, { 0 } };
static const struct attribute_name route_names[] = { { RTA_DST, "to", 'a' },
    { RTA_GATEWAY, "via", 'a' }, { RTA_OIF, "dev", 'n' }, { 0 } };

static void show(struct str *out, const unsigned char *bytes, size_t size,
        const struct attribute_name *names);

static void
show_value(
        struct str *out, const struct attribute_name *name, const unsigned char *value, size_t size)
{
    char text[INET6_ADDRSTRLEN];
    struct ifinfomsg end;
    uint32_t number;

    switch (name->form) {
    case 't':
        str_printf(out, "%.*s", (int)size, (const char *)value);
        break;
    case 'n':
        ck_assert_uint_eq(size, 4);
        memcpy(&number, value, 4);
        str_printf(out, "%u", number);
        break;
    case 'f':
        ck_assert_uint_eq(size, 4);
        memcpy(&number, value, 4);
        str_add(out, (int)number == init.network ? "box" : "elsewhere");
        break;
    case 'h':
        for (size_t i = 0; i < size; i++) {
            str_printf(out, "%02x", value[i]);
        }
        break;
    case 'a':
        str_add(out, inet_ntop(size == 4 ? AF_INET : AF_INET6, value, text, sizeof text));
        break;
    case '/':
        str_add(out, "{");
        show(out, value, size, name->type == IFLA_LINKINFO ? info_names : data_names);
        str_add(out, " }");
        break;
    default:
        memcpy(&end, value, sizeof end);
        str_printf(out, "{ index %d flags %#x", end.ifi_index, end.ifi_flags & end.ifi_change);
        show(out, value + sizeof end, size - sizeof end, peer_names);
        str_add(out, " }");
    }
}

static void
show(struct str *out, const unsigned char *bytes, size_t size, const struct attribute_name *names)
{
    while (size > 0) {
        struct nlattr attribute;
        const struct attribute_name *name = names;
        size_t step;

        ck_assert_uint_ge(size, sizeof attribute);
        memcpy(&attribute, bytes, sizeof attribute);
        ck_assert_uint_ge(attribute.nla_len, NLA_HDRLEN);
        ck_assert_uint_le(attribute.nla_len, size);
        while (name->name != NULL && name->type != attribute.nla_type) {
            name++;
        }
        ck_assert_msg(name->name != NULL, "attribute %u", attribute.nla_type);
        str_printf(out, " %s ", name->name);
        show_value(out, name, bytes + NLA_HDRLEN, attribute.nla_len - (size_t)NLA_HDRLEN);
        step = (size_t)NLA_ALIGN(attribute.nla_len);
        step = step < size ? step : size;
        bytes += step;
        size -= step;
    }
}

static void
show_route(struct str *out, const struct rtmsg *route)
{
    str_printf(out, "%s route %s /%u", route->rtm_family == AF_INET ? "4" : "6",
            route->rtm_type == RTN_LOCAL ? "local" : "unicast", route->rtm_dst_len);
    str_printf(out, " table %s scope %s", route->rtm_table == RT_TABLE_LOCAL ? "local" : "main",
            route->rtm_scope == RT_SCOPE_HOST   ? "host"
            : route->rtm_scope == RT_SCOPE_LINK ? "link"
                                                : "universe");
}

static void
show_request(struct str *out, const unsigned char *bytes, size_t size)
{
    const struct attribute_name *names = link_names;
    size_t fixed = sizeof(struct ifinfomsg);
    struct nlmsghdr header;
    union {
        struct ifinfomsg link;
        struct ifaddrmsg address;
        struct rtmsg route;
    } message;

    memcpy(&header, bytes, sizeof header);
    memcpy(&message, bytes + NLMSG_HDRLEN, sizeof message);
    ck_assert_uint_eq(header.nlmsg_len, size);
    ck_assert_uint_eq(header.nlmsg_flags & (NLM_F_REQUEST | NLM_F_ACK), NLM_F_REQUEST | NLM_F_ACK);
    if (header.nlmsg_type == RTM_NEWLINK) {
        str_printf(out, "%s link %d flags %#x",
                (header.nlmsg_flags & NLM_F_CREATE) != 0 ? "new" : "change", message.link.ifi_index,
                message.link.ifi_flags & message.link.ifi_change);
    } else if (header.nlmsg_type == RTM_NEWADDR) {
        names = address_names;
        fixed = sizeof message.address;
        str_printf(out, "%s address /%u flags %#x on %u",
                message.address.ifa_family == AF_INET ? "4" : "6", message.address.ifa_prefixlen,
                message.address.ifa_flags, message.address.ifa_index);
    } else {
        ck_assert_uint_eq(header.nlmsg_type, RTM_NEWROUTE);
        names = route_names;
        fixed = sizeof message.route;
        show_route(out, &message.route);
    }
    show(out, bytes + NLMSG_HDRLEN + fixed, size - NLMSG_HDRLEN - fixed, names);
    str_add(out, "\n");
}

static const char expected[] =
        "change link 1 flags 0x1\n"
        "new link 2000 flags 0x80 name box mtu 65535 hardware 020000000001 info { kind veth data { "
        "peer { index 2000 flags 0x80 name eth0 mtu 65535 hardware 020000000001 in box } } }\n"
        "change link 2000 flags 0x1\n"
        "change link 2000 flags 0x1\n"
        "change link 2000 flags 0 queue 500\n"
        "4 address /30 flags 0x2 on 2000 local 198.18.0.1 address 198.18.0.1\n"
        "4 route local /0 table local scope host dev 1\n"
        "4 route unicast /32 table local scope link to 198.18.0.2 dev 2000\n"
        "6 address /126 flags 0x2 on 2000 local fd61:6762:6f78::c612:1 address "
        "fd61:6762:6f78::c612:1\n"
        "6 route local /0 table local scope host dev 1\n"
        "6 route unicast /128 table local scope link to fd61:6762:6f78::c612:2 dev 2000\n"
        "4 address /30 flags 0x2 on 2000 local 198.18.0.2 address 198.18.0.2\n"
        "4 route unicast /0 table main scope universe via 198.18.0.1 dev 2000\n"
        "6 address /126 flags 0x2 on 2000 local fd61:6762:6f78::c612:2 address "
        "fd61:6762:6f78::c612:2\n"
        "6 route unicast /0 table main scope universe via fd61:6762:6f78::c612:1 dev 2000\n";

START_TEST(the_link_its_addresses_and_routes_are_asked_for)
{
    struct str out = { 0 };

    ck_assert_int_eq(make(-1, 0), 0);
    for (size_t i = 0; i < fake.n_requests; i++) {
        show_request(&out, fake.requests[i], fake.request_sizes[i]);
    }
    ck_assert_str_eq(out.data, expected);
    str_done(&out);
    ck_assert_int_eq(fake_done(2), 0);
}
END_TEST

START_TEST(the_proxy_stands_at_the_gateway)
{
    ck_assert_uint_eq(ntohl(inet_addr(NETWORK_PROXY_ADDRESS)), NETWORK_GATEWAY);
}
END_TEST

START_TEST(a_refusal_is_the_operations_own)
{
    size_t n;

    make(-1, 0);
    n = fake.n_requests;
    fake_done(0);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(make((long)i, EBUSY), -EBUSY);
        ck_assert_int_eq(fake_done(2), 0);
    }
}
END_TEST

/* Requests about IPv6 begin here, in the gateway and in the box. */
#define FIRST_IPV6 8
#define FIRST_IPV6_OF_BOX 13

START_TEST(a_host_without_ipv6_has_a_box_without_it)
{
    static const int refusals[] = { EOPNOTSUPP, EAFNOSUPPORT, EACCES };

    ck_assert_int_eq(make(FIRST_IPV6, refusals[_i]), 0);
    ck_assert_uint_eq(fake.n_requests, 13);
    fake_done(0);
    ck_assert_int_eq(make(FIRST_IPV6_OF_BOX, refusals[_i]), 0);
    fake_done(0);
    ck_assert_int_eq(make(FIRST_IPV6 - 1, refusals[_i]), -refusals[_i]);
    fake_done(0);
}
END_TEST

/* ---- sockets that are asked for later ---- */

struct asking {
    struct wire_message request;
    int fd;
    bool goes_on;
};

static void
ask(void *data)
{
    struct asking *asking = data;

    asking->goes_on = init_make_socket(&init, &asking->request, &asking->fd);
}

START_TEST(a_listener_stands_in_the_gateway_at_every_address)
{
    struct asking asking = { .request = { .mask = WIRE_SOCKET_GATEWAY, .value = 443 } };
    struct sockaddr_in6 address;

    make(-1, 0);
    fake_run(ask, &asking);
    ck_assert(asking.goes_on);
    ck_assert_int_ge(asking.fd, 0);
    memcpy(&address, fake.address, sizeof address);
    ck_assert_int_eq(address.sin6_family, AF_INET6);
    ck_assert_int_eq(ntohs(address.sin6_port), 443);
    ck_assert(IN6_IS_ADDR_UNSPECIFIED(&address.sin6_addr));
    ck_assert_int_eq(fake_done(3), 0);
}
END_TEST

START_TEST(whatever_fails_init_is_in_the_boxs_network_or_ends)
{
    long before, n;

    make(-1, 0);
    before = fake.calls;
    fake_done(0);
    for (n = before;; n++) {
        struct asking asking = { .request = { .mask = WIRE_SOCKET_GATEWAY, .value = 443 } };
        bool is_back = true;

        make(-1, 0);
        fake.fail_at = n;
        fake.error = EPROTO;
        fake_run(ask, &asking);
        if (fake.failed < 0) {
            break;
        }
        is_back = n != fake.calls - 1 || fake.failed != SYS_setns;
        ck_assert_msg(asking.goes_on == (is_back || n == before), "call %ld", n);
        ck_assert_msg(asking.fd < 0 || !asking.goes_on || fake.failed == SYS_close, "call %ld", n);
        fake_done(0);
    }
    ck_assert_int_gt(n, before + 6);
    fake_done(0);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("init_network");
    TCase *tcase = tcase_create("init_network");

    tcase_add_test(tcase, the_link_its_addresses_and_routes_are_asked_for);
    tcase_add_test(tcase, the_proxy_stands_at_the_gateway);
    tcase_add_test(tcase, a_refusal_is_the_operations_own);
    tcase_add_loop_test(tcase, a_host_without_ipv6_has_a_box_without_it, 0, 3);
    tcase_add_test(tcase, a_listener_stands_in_the_gateway_at_every_address);
    tcase_add_test(tcase, whatever_fails_init_is_in_the_boxs_network_or_ends);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
