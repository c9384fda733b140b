/* SPDX-License-Identifier: Apache-2.0
 * The way out: a second network namespace, the gateway, joined to the box's by a link.  In the
 * gateway every address is local, so a listener there accepts whatever the box connects to, and no
 * server of the box can be in its way.  rtnetlink(7) by hand.
 *
 * Both ends have one hardware address and ask for none, so no first packet waits for an answer; and
 * IPv6 addresses count at once. */
#include "linux/init/init.h"

#include "linux/init/sys.h"
#include "plan/network.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>

#define GET_NAMESPACE 0x894c /* SIOCGSKNS: the network namespace of a socket */
#define NEW_NETWORK 0x40000000 /* CLONE_NEWNET */
#define LOOPBACK 1 /* index of "lo" in each namespace */
#define LINK 2000 /* index of the link's ends: far from what the kernel may make by itself */
#define LINK_MTU 65535
#define LINK_QUEUE 500 /* any length but the usual 1000 */
#define FLAGS_UP 0x1u /* IFF_UP */
#define FLAGS_NO_ARP 0x80u /* IFF_NOARP */
#define ANSWER_MAX 1024

static const unsigned char hardware[] = { 0x02, 0, 0, 0, 0, 0x01 };

/* An address, as long as its family says. */
struct ip {
    unsigned char family, size;
    unsigned char bytes[16];
};

static struct ip
ip_of(unsigned char family, uint32_t number)
{
    struct ip ip = { family, 4, { 0 } };

    if (family == SYS_AF_INET6) {
        ip = (struct ip){ family, 16, { NETWORK_IPV6_PREFIX } };
    }
    for (int i = 0; i < 4; i++) {
        ip.bytes[ip.size - 1 - i] = (unsigned char)(number >> (8 * i));
    }
    return ip;
}

/* ---- messages ---- */

struct request {
    struct nlmsghdr header;
    unsigned char body[512 - sizeof(struct nlmsghdr)];
};

static void
begin(struct request *request, uint16_t type, const void *payload, size_t size)
{
    *request = (struct request){ .header = { .nlmsg_len = (uint32_t)(NLMSG_HDRLEN + size),
                                         .nlmsg_type = type,
                                         .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE |
                                                        NLM_F_EXCL } };
    memcpy(request->body, payload, size);
}

/* All sizes are constants of this file that fit together. */
static unsigned char *
end_of(struct request *request)
{
    return request->body + NLMSG_ALIGN(request->header.nlmsg_len) - NLMSG_HDRLEN;
}

/* Its place, for close_nest. */
static struct nlattr *
put(struct request *request, uint16_t type, const void *data, size_t size)
{
    struct nlattr *attribute = (struct nlattr *)(void *)end_of(request);

    attribute->nla_type = type;
    attribute->nla_len = (uint16_t)(NLA_HDRLEN + size);
    memcpy((unsigned char *)attribute + NLA_HDRLEN, data, size);
    request->header.nlmsg_len =
            (uint32_t)(NLMSG_ALIGN(request->header.nlmsg_len) + attribute->nla_len);
    return attribute;
}

static struct nlattr *
open_nest(struct request *request, uint16_t type)
{
    return put(request, type, "", 0);
}

static void
close_nest(struct request *request, struct nlattr *nest)
{
    nest->nla_len = (uint16_t)(end_of(request) - (unsigned char *)nest);
}

static int
ask(int netlink, const struct request *request)
{
    union {
        struct nlmsghdr header;
        unsigned char bytes[ANSWER_MAX];
    } answer;
    struct nlmsgerr error;
    long n = SYS(sendto, netlink, request, request->header.nlmsg_len, 0, 0, 0);

    if (n < 0) {
        return (int)n;
    }
    do {
        n = SYS(recvfrom, netlink, &answer, sizeof answer, 0, 0, 0);
    } while (n == -EINTR);
    if (n < 0) {
        return (int)n;
    }
    if ((size_t)n < NLMSG_HDRLEN + sizeof error || answer.header.nlmsg_type != NLMSG_ERROR) {
        return -EBADMSG;
    }
    memcpy(&error, answer.bytes + NLMSG_HDRLEN, sizeof error);
    return error.error;
}

/* ---- what is asked for ---- */

static const struct ifinfomsg link_end = {
    .ifi_index = LINK, .ifi_flags = FLAGS_NO_ARP, .ifi_change = FLAGS_NO_ARP
};

static void
put_end(struct request *request, const char *name)
{
    const uint32_t mtu = LINK_MTU;

    put(request, IFLA_IFNAME, name, strlen(name) + 1);
    put(request, IFLA_MTU, &mtu, sizeof mtu);
    put(request, IFLA_ADDRESS, hardware, sizeof hardware);
}

/* One end here, the other in the network of the box. */
static int
make_link(int netlink, int box)
{
    struct request request;
    struct nlattr *info, *data, *peer;

    begin(&request, RTM_NEWLINK, &link_end, sizeof link_end);
    put_end(&request, "box");
    info = open_nest(&request, IFLA_LINKINFO);
    put(&request, IFLA_INFO_KIND, "veth", 4);
    data = open_nest(&request, IFLA_INFO_DATA);
    peer = put(&request, VETH_INFO_PEER, &link_end, sizeof link_end);
    put_end(&request, "eth0");
    put(&request, IFLA_NET_NS_FD, &box, sizeof box);
    close_nest(&request, peer);
    close_nest(&request, data);
    close_nest(&request, info);
    return ask(netlink, &request);
}

static int
raise_link(int netlink, int index)
{
    const struct ifinfomsg up = {
        .ifi_index = index, .ifi_flags = FLAGS_UP, .ifi_change = FLAGS_UP
    };
    struct request request;

    begin(&request, RTM_NEWLINK, &up, sizeof up);
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    return ask(netlink, &request);
}

/* The end that was raised first drops what it should send until some thread of the kernel has heard
 * of the other, and on a busy host that is later than the first connection: it would take a second
 * more.  Where the length of the queue changes the kernel looks at once. */
static int
wake_link(int netlink, int index)
{
    const struct ifinfomsg link = { .ifi_index = index };
    const uint32_t length = LINK_QUEUE;
    struct request request;

    begin(&request, RTM_NEWLINK, &link, sizeof link);
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    put(&request, IFLA_TXQLEN, &length, sizeof length);
    return ask(netlink, &request);
}

static int
add_address(int netlink, const struct ip *ip)
{
    const struct ifaddrmsg address = { .ifa_family = ip->family,
        .ifa_prefixlen = (unsigned char)(8 * ip->size - 32 + NETWORK_LINK_BITS),
        .ifa_flags = IFA_F_NODAD,
        .ifa_index = LINK };
    struct request request;

    begin(&request, RTM_NEWADDR, &address, sizeof address);
    put(&request, IFA_LOCAL, ip->bytes, ip->size);
    put(&request, IFA_ADDRESS, ip->bytes, ip->size);
    return ask(netlink, &request);
}

/* `to` NULL: to everywhere. `via` NULL: directly. */
static int
add_route(int netlink, const struct rtmsg *route, const struct ip *to, const struct ip *via,
        int index)
{
    struct request request;

    begin(&request, RTM_NEWROUTE, route, sizeof *route);
    if (to != NULL) {
        put(&request, RTA_DST, to->bytes, to->size);
    }
    if (via != NULL) {
        put(&request, RTA_GATEWAY, via->bytes, via->size);
    }
    put(&request, RTA_OIF, &index, sizeof index);
    return ask(netlink, &request);
}

/* Every address is the gateway's own but that of the box, which the same table must say, since it
 * is looked at first. */
static int
route_gateway(int netlink, unsigned char family)
{
    const struct ip own = ip_of(family, NETWORK_GATEWAY);
    const struct ip box = ip_of(family, NETWORK_BOX);
    const struct rtmsg all = { .rtm_family = family,
        .rtm_table = RT_TABLE_LOCAL,
        .rtm_protocol = RTPROT_STATIC,
        .rtm_scope = RT_SCOPE_HOST,
        .rtm_type = RTN_LOCAL };
    const struct rtmsg one = { .rtm_family = family,
        .rtm_dst_len = (unsigned char)(8 * box.size),
        .rtm_table = RT_TABLE_LOCAL,
        .rtm_protocol = RTPROT_STATIC,
        .rtm_scope = RT_SCOPE_LINK,
        .rtm_type = RTN_UNICAST };
    int r = add_address(netlink, &own);

    if (r == 0) {
        r = add_route(netlink, &all, NULL, NULL, LOOPBACK);
    }
    return r == 0 ? add_route(netlink, &one, &box, NULL, LINK) : r;
}

static int
route_box(int netlink, unsigned char family)
{
    const struct ip own = ip_of(family, NETWORK_BOX);
    const struct ip gateway = ip_of(family, NETWORK_GATEWAY);
    const struct rtmsg all = { .rtm_family = family,
        .rtm_table = RT_TABLE_MAIN,
        .rtm_protocol = RTPROT_STATIC,
        .rtm_scope = RT_SCOPE_UNIVERSE,
        .rtm_type = RTN_UNICAST };
    int r = add_address(netlink, &own);

    return r == 0 ? add_route(netlink, &all, NULL, &gateway, LINK) : r;
}

/* A host without IPv6 has a box without it. */
static int
route_both(int netlink, int (*route)(int netlink, unsigned char family))
{
    int r = route(netlink, SYS_AF_INET);

    if (r == 0) {
        r = route(netlink, SYS_AF_INET6);
        r = r == -EOPNOTSUPP || r == -EAFNOSUPPORT || r == -EACCES ? 0 : r;
    }
    return r;
}

/* ---- the two networks ---- */

/* A socket for requests to the current network, which *ret_network then is of. */
static int
open_network(int *ret_network)
{
    int netlink = (int)SYS(
            socket, SYS_AF_NETLINK, SYS_SOCK_RAW | SYS_SOCK_CLOEXEC, NETLINK_ROUTE, 0, 0, 0);

    if (netlink >= 0) {
        *ret_network = sys_ioctl(netlink, GET_NAMESPACE, NULL);
        if (*ret_network < 0) {
            sys_close(netlink);
            return *ret_network;
        }
    }
    return netlink;
}

static int
join(const struct init *init, int box, int gateway)
{
    int r = raise_link(gateway, LOOPBACK);

    if (r == 0) {
        r = make_link(gateway, init->network);
    }
    if (r == 0) {
        r = raise_link(box, LINK);
    }
    if (r == 0) {
        r = raise_link(gateway, LINK);
    }
    if (r == 0) {
        r = wake_link(box, LINK);
    }
    if (r == 0) {
        r = route_both(gateway, route_gateway);
    }
    return r == 0 ? route_both(box, route_box) : r;
}

int
init_enter_network(int network)
{
    return (int)SYS(setns, network, NEW_NETWORK, 0, 0, 0, 0);
}

int
op_gateway(struct init *init, const struct wire_op *op)
{
    int box = open_network(&init->network);
    int gateway;
    int r = box;

    if (r >= 0) {
        r = (int)SYS(unshare, NEW_NETWORK, 0, 0, 0, 0, 0);
    }
    r = r < 0 ? r : (gateway = open_network(&init->gateway));
    if (r >= 0) {
        r = init_enter_network(init->network);
        r = r < 0 ? r : join(init, box, gateway);
        sys_close(gateway);
    }
    if (box >= 0) {
        sys_close(box);
    }
    return r;
}
