/* SPDX-License-Identifier: Apache-2.0
 * The name server: what a packet asks, what it is answered, and which addresses names get. */
#include "base/mem.h"
#include "linux/net/dns.h"
#include "linux/net/names.h"
#include "linux/net/stub.h"

#include "unit/main.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEADER "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
#define PACKET(bytes) (const uint8_t *)(bytes), sizeof(bytes) - 1

static const struct parse_case {
    const char *name;
    const uint8_t *packet;
    size_t length;
    int code;
    const char *host;
    uint16_t type;
} parse_cases[] = {
    { "a name is read in lower case", PACKET(HEADER "\3Www\2dE\0\0\1\0\1"), DNS_OK, "www.de",
            DNS_A },
    { "AAAA", PACKET(HEADER "\1a\0\0\34\0\1"), DNS_OK, "a", DNS_AAAA },
    { "an underscore is fine", PACKET(HEADER "\5_http\1a\0\0\41\0\1"), DNS_OK, "_http.a", 33 },
    { "the root is a name", PACKET(HEADER "\0\0\2\0\1"), DNS_OK, "", 2 },
    { "EDNS is tolerated",
            PACKET("\x12\x34\1\0\0\1\0\0\0\0\0\1"
                   "\1a\0\0\1\0\1"
                   "\0\0\51\4\xd0\0\0\0\0\0\0"),
            DNS_OK, "a", DNS_A },
    { "a short packet has no answer", PACKET("\x12\x34\1\0"), -1, NULL, 0 },
    { "an answer has no answer", PACKET("\x12\x34\x81\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1"), -1, NULL,
            0 },
    { "another operation is not supported", PACKET("\x12\x34\x28\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1"),
            DNS_NO_SUPPORT, NULL, 0 },
    { "two questions are malformed", PACKET("\x12\x34\1\0\0\2\0\0\0\0\0\0\1a\0\0\1\0\1"),
            DNS_MALFORMED, NULL, 0 },
    { "a cut label is malformed", PACKET(HEADER "\5a"), DNS_MALFORMED, NULL, 0 },
    { "a cut question is malformed", PACKET(HEADER "\1a\0\0\1"), DNS_MALFORMED, NULL, 0 },
    { "a compressed question is malformed", PACKET(HEADER "\xc0\x0c\0\1\0\1"), DNS_MALFORMED, NULL,
            0 },
    { "a space is in no name", PACKET(HEADER "\3a b\0\0\1\0\1"), DNS_NO_NAME, NULL, 0 },
    { "a dot in a label is in no name", PACKET(HEADER "\3a.b\0\0\1\0\1"), DNS_NO_NAME, NULL, 0 },
    { "a zero byte is in no name", PACKET(HEADER "\3a\0b\0\0\1\0\1"), DNS_NO_NAME, NULL, 0 },
    { "bytes above ASCII are in no name", PACKET(HEADER "\2\xc3\xa4\0\0\1\0\1"), DNS_NO_NAME, NULL,
            0 },
    { "another class is refused", PACKET(HEADER "\1a\0\0\1\0\3"), DNS_REFUSED, NULL, 0 },
};

START_TEST(packets_are_read)
{
    const struct parse_case *c = &parse_cases[_i];
    struct dns_question question;
    int code = dns_parse(c->packet, c->length, &question);

    ck_assert_msg(code == c->code, "%s: %d", c->name, code);
    if (c->host != NULL) {
        ck_assert_msg(strcmp(question.name, c->host) == 0, "%s: %s", c->name, question.name);
        ck_assert_msg(question.type == c->type, "%s", c->name);
    }
}
END_TEST

START_TEST(a_name_of_253_characters_fits_and_one_more_does_not)
{
    uint8_t packet[DNS_QUERY_MAX] = { 0 };
    struct dns_question question;

    for (int last = 61; last <= 62; last++) {
        size_t at = 12;

        memcpy(packet, HEADER, 12);
        for (int i = 0; i < 4; i++) {
            uint8_t label = i < 3 ? 63 : (uint8_t)last;

            packet[at++] = label;
            memset(packet + at, 'a', label);
            at += label;
        }
        memcpy(packet + at, "\0\0\1\0\1", 5);
        ck_assert_int_eq(dns_parse(packet, at + 5, &question), last == 61 ? DNS_OK : DNS_MALFORMED);
    }
    ck_assert_int_eq(dns_parse(packet, DNS_QUERY_MAX, &question), DNS_MALFORMED);
}
END_TEST

START_TEST(each_name_keeps_its_address)
{
    struct names *names = names_new();
    uint32_t a = names_address(names, "a.example");
    uint32_t b = names_address(names, "b.example");

    ck_assert_uint_eq(a >> 17, 0xc6120000u >> 17);
    ck_assert_uint_ne(a, b);
    ck_assert_uint_eq(names_address(names, "a.example"), a);
    ck_assert_str_eq(names_name(names, a), "a.example");
    ck_assert_str_eq(names_name(names, b), "b.example");
    ck_assert_ptr_null(names_name(names, b + 1));
    ck_assert_ptr_null(names_name(names, 0xc6120000u));
    ck_assert_ptr_null(names_name(names, 0));
    ck_assert_ptr_null(names_name(names, UINT32_MAX));
    names_free(names);
}
END_TEST

START_TEST(the_oldest_name_gives_way_and_its_address_is_not_reused_soon)
{
    struct names *names = names_new();
    uint32_t first = names_address(names, "first"), last = 0, second_lap;
    char name[32];

    for (unsigned int i = 0; i < NAMES_MAX; i++) {
        snprintf(name, sizeof name, "n%u", i);
        last = names_address(names, name);
        ck_assert_uint_ne(last, first);
    }
    ck_assert_ptr_null(names_name(names, first));
    ck_assert_str_eq(names_name(names, last), "n65535");
    second_lap = names_address(names, "first");
    ck_assert_uint_ne(second_lap, first);
    for (unsigned int i = 0; i < 3 * NAMES_MAX; i++) {
        snprintf(name, sizeof name, "m%u", i);
        last = names_address(names, name);
        ck_assert_uint_eq(last >> 17, 0xc6120000u >> 17);
        ck_assert_str_eq(names_name(names, last), name);
    }
    names_free(names);
}
END_TEST

/* ---- the server, by sockets ---- */

static struct loop *loop;
static struct plan plan; /* mode none */
static struct boundary boundary;
static pthread_t thread;
static struct sockaddr_in server[2];

static void *
run(void *data)
{
    loop_run(loop);
    return NULL;
}

static void
attach(void *data)
{
    struct fail fail = { 0 };

    for (int i = 0; i < 2; i++) {
        int type = i == 0 ? SOCK_DGRAM : SOCK_STREAM;
        int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
        socklen_t size = sizeof server[i];

        server[i] = (struct sockaddr_in){ .sin_family = AF_INET,
            .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        ck_assert_int_eq(bind(fd, (struct sockaddr *)&server[i], sizeof server[i]), 0);
        ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&server[i], &size), 0);
        ck_assert(type == SOCK_DGRAM || listen(fd, 16) == 0);
        ck_assert_int_eq(stub_attach(boundary.stub, fd, type, &fail), ABX_OK);
    }
}

static void
set_up(void)
{
    struct fail fail = { 0 };

    loop = loop_new();
    boundary = (struct boundary){ .loop = loop, .plan = &plan };
    boundary.stub = stub_new(&boundary, &fail);
    attach(NULL);
    pthread_create(&thread, NULL, run, NULL);
}

static void
tear_down(void)
{
    loop_stop(loop);
    pthread_join(thread, NULL);
    stub_free(boundary.stub);
    loop_free(loop);
}

static size_t
ask(int type, const uint8_t *query, size_t length, uint8_t *out)
{
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    const struct sockaddr_in *to = &server[type == SOCK_STREAM];
    struct timeval limit = { .tv_sec = 5 };
    uint8_t framed[600] = { (uint8_t)(length >> 8), (uint8_t)length };
    ssize_t got;

    memcpy(framed + 2, query, length);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)to, sizeof *to), 0);
    if (type == SOCK_DGRAM) {
        ck_assert_int_eq(send(fd, query, length, 0), (ssize_t)length);
        got = recv(fd, out, DNS_ANSWER_MAX, 0);
    } else {
        uint8_t answer[2 + DNS_ANSWER_MAX];

        ck_assert_int_eq(send(fd, framed, 5, 0), 5);
        ck_assert_int_eq(send(fd, framed + 5, length - 3, 0), (ssize_t)length - 3);
        got = recv(fd, answer, sizeof answer, 0);
        ck_assert_int_gt(got, 2);
        got -= 2;
        ck_assert_int_eq(got, answer[0] << 8 | answer[1]);
        memcpy(out, answer + 2, (size_t)got);
    }
    close(fd);
    return got < 0 ? 0 : (size_t)got;
}

static const struct ask_case {
    const char *name;
    int type;
    const uint8_t *query;
    size_t length;
    int code;
    const char *data; /* the end of the answer */
    size_t data_length;
} ask_cases[] = {
    { "A gets an address", SOCK_DGRAM, PACKET(HEADER "\1b\1c\0\0\1\0\1"), DNS_OK, "\xc6\x12\1\1",
            4 },
    { "A over TCP", SOCK_STREAM, PACKET(HEADER "\1b\1c\0\0\1\0\1"), DNS_OK, "\xc6\x12\1\1", 4 },
    { "AAAA has no data", SOCK_DGRAM, PACKET(HEADER "\1b\0\0\34\0\1"), DNS_OK, "\0\34\0\1", 4 },
    { "HTTPS has no data", SOCK_DGRAM, PACKET(HEADER "\1b\0\0\101\0\1"), DNS_OK, "\0\101\0\1", 4 },
    { "localhost is itself", SOCK_DGRAM, PACKET(HEADER "\11localhost\0\0\1\0\1"), DNS_OK,
            "\x7f\0\0\1", 4 },
    { "an invalid name has no address", SOCK_DGRAM, PACKET(HEADER "\3a b\0\0\1\0\1"), DNS_NO_NAME,
            "", 0 },
    { "a bad packet is told so", SOCK_DGRAM, PACKET(HEADER "\77"), DNS_MALFORMED, "", 0 },
    { "EDNS is answered with EDNS", SOCK_DGRAM,
            PACKET("\x12\x34\1\0\0\1\0\0\0\0\0\1"
                   "\1a\0\0\34\0\1"
                   "\0\0\51\4\xd0\0\0\0\0\0\0"),
            DNS_OK, "\0\0\51\2\0\0\0\0\0\0\0", 11 },
    { "an address not given out has no name", SOCK_DGRAM,
            PACKET(HEADER "\1"
                          "9\1"
                          "0\2"
                          "18\3"
                          "198\7in-addr\4arpa\0\0\14\0\1"),
            DNS_NO_NAME, "", 0 },
};

START_TEST(the_server_answers)
{
    const struct ask_case *c = &ask_cases[_i];
    uint8_t out[DNS_ANSWER_MAX];
    size_t length = ask(c->type, c->query, c->length, out);

    ck_assert_msg(length >= 12, "%s: no answer", c->name);
    ck_assert_msg(out[0] == 0x12 && out[1] == 0x34 && (out[2] & 0x80) != 0, "%s", c->name);
    ck_assert_msg((out[3] & 15) == c->code, "%s: code %d", c->name, out[3] & 15);
    ck_assert_msg(
            memcmp(out + length - c->data_length, c->data, c->data_length) == 0, "%s", c->name);
}
END_TEST

START_TEST(an_address_leads_back_to_its_name)
{
    uint8_t out[DNS_ANSWER_MAX];
    struct sockaddr_in address = { .sin_family = AF_INET };
    struct sockaddr_in6 mapped = { .sin6_family = AF_INET6 };
    char name[DNS_NAME_MAX];
    size_t length;

    ask(SOCK_DGRAM, PACKET(HEADER "\7Example\3Com\0\0\1\0\1"), out);
    inet_pton(AF_INET, "198.18.1.1", &address.sin_addr);
    inet_pton(AF_INET6, "::ffff:198.18.1.1", &mapped.sin6_addr);
    ck_assert_str_eq(stub_name_of(boundary.stub, (struct sockaddr *)&address, name, sizeof name),
            "example.com");
    ck_assert_str_eq(stub_name_of(boundary.stub, (struct sockaddr *)&mapped, name, sizeof name),
            "example.com");
    address.sin_addr.s_addr = htonl(0x08080808);
    ck_assert_ptr_null(stub_name_of(boundary.stub, (struct sockaddr *)&address, name, sizeof name));
    length = ask(SOCK_DGRAM,
            PACKET(HEADER "\1"
                          "1\1"
                          "1\2"
                          "18\3"
                          "198\7in-addr\4arpa\0\0\14\0\1"),
            out);
    ck_assert_mem_eq(out + length - 13, "\7example\3com", 13);
}
END_TEST

START_TEST(more_connections_than_room_drop_the_oldest)
{
    int held[64];
    uint8_t out[DNS_ANSWER_MAX];

    for (size_t i = 0; i < N_ELEMENTS(held); i++) {
        held[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(connect(held[i], (struct sockaddr *)&server[1], sizeof server[1]), 0);
    }
    ck_assert_uint_gt(ask(SOCK_STREAM, PACKET(HEADER "\1b\0\0\1\0\1"), out), 12);
    ck_assert_int_eq(recv(held[0], out, 1, 0), 0);
    for (size_t i = 0; i < N_ELEMENTS(held); i++) {
        close(held[i]);
    }
}
END_TEST

/* ---- IPv6 ---- */

static void
write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    ck_assert_msg(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "%s", path);
    close(fd);
}

/* A host of our own, with a public IPv6 address or without. */
static void
become_host(bool has_ipv6)
{
    char uid[64], gid[64];

    snprintf(uid, sizeof uid, "0 %u 1\n", getuid());
    snprintf(gid, sizeof gid, "0 %u 1\n", getgid());
    ck_assert_int_eq(unshare(CLONE_NEWUSER | CLONE_NEWNET), 0);
    write_text("/proc/self/setgroups", "deny");
    write_text("/proc/self/uid_map", uid);
    write_text("/proc/self/gid_map", gid);
    ck_assert_int_eq(system("PATH=$PATH:/sbin:/usr/sbin; ip link set lo up && "
                            "ip -6 addr add fd00:1::1/64 dev lo nodad && "
                            "ip -6 route add default dev lo src fd00:1::1"),
            0);
    if (has_ipv6) {
        ck_assert_int_eq(system("PATH=$PATH:/sbin:/usr/sbin; ip -6 route del default && "
                                "ip -6 addr add 2600::1/64 dev lo nodad && "
                                "ip -6 route add default dev lo src 2600::1"),
                0);
    }
    plan = (struct plan){ .network = NETWORK_FILTERED, .capabilities = { .net_namespace = true } };
}

#define OWN "\xfd\x61\x67\x62\x6f\x78\0\0\0\0\0\0\xc6\x12"

START_TEST(a_name_has_an_ipv6_address_only_where_the_host_reaches_such)
{
    struct sockaddr_in6 address = { .sin6_family = AF_INET6 };
    uint8_t out[DNS_ANSWER_MAX];
    char name[DNS_NAME_MAX];
    size_t length;

    become_host(_i == 1);
    set_up();
    ask(SOCK_DGRAM, PACKET(HEADER "\1b\1c\0\0\1\0\1"), out);
    length = ask(SOCK_DGRAM, PACKET(HEADER "\1b\1c\0\0\34\0\1"), out);
    ck_assert_int_eq(out[7], _i);
    ck_assert(_i == 0 || memcmp(out + length - 16, OWN "\1\1", 16) == 0);
    memcpy(&address.sin6_addr, OWN "\1\1", 16);
    ck_assert_str_eq(
            stub_name_of(boundary.stub, (struct sockaddr *)&address, name, sizeof name), "b.c");
    length = ask(SOCK_DGRAM, PACKET(HEADER "\5proxy\10agentbox\10internal\0\0\1\0\1"), out);
    ck_assert_mem_eq(out + length - 4, "\xc6\x12\0\1", 4);
    memcpy(&address.sin6_addr, OWN "\0\1", 16);
    ck_assert_str_eq(stub_name_of(boundary.stub, (struct sockaddr *)&address, name, sizeof name),
            "proxy.agentbox.internal");
    tear_down();
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("dns");
    TCase *packets = tcase_create("packets"), *sockets = tcase_create("sockets");

    tcase_set_timeout(packets, 30);
    tcase_add_loop_test(packets, packets_are_read, 0, N_ELEMENTS(parse_cases));
    tcase_add_test(packets, a_name_of_253_characters_fits_and_one_more_does_not);
    tcase_add_test(packets, each_name_keeps_its_address);
    tcase_add_test(packets, the_oldest_name_gives_way_and_its_address_is_not_reused_soon);
    suite_add_tcase(suite, packets);
    tcase_add_loop_test(packets, a_name_has_an_ipv6_address_only_where_the_host_reaches_such, 0, 2);
    tcase_add_checked_fixture(sockets, set_up, tear_down);
    tcase_add_loop_test(sockets, the_server_answers, 0, N_ELEMENTS(ask_cases));
    tcase_add_test(sockets, an_address_leads_back_to_its_name);
    tcase_add_test(sockets, more_connections_than_room_drop_the_oldest);
    suite_add_tcase(suite, sockets);
    return suite;
}

UNIT_MAIN(make_suite)
