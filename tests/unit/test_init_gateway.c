/* SPDX-License-Identifier: Apache-2.0
 * The program in the box, really started, with a gateway behind it: what the box connects to is
 * accepted by a listener made there, and datagrams are shown. */
#include "unit/init_box.h"

#include "plan/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static void
open_gateway(struct box *box)
{
    struct program program;

    minimal(&program);
    program_op(&program, OP_PIVOT, "pivot:/", NULL, ROOT);
    program_op(&program, OP_HOSTNAME, "set:hostname", "box", NULL);
    program_op(&program, OP_SESSION, "start:session", NULL, NULL);
    program_op(&program, OP_LOOPBACK_UP, "up:lo", NULL, NULL);
    program_op(&program, OP_GATEWAY, "network:gateway", NULL, NULL);
    program_op(&program, OP_WATCH, "network:watch", NULL, NULL);
    program_op(&program, OP_DROP_CAPABILITIES, "drop:capabilities", NULL, NULL)->x =
            1u << CAP_SYS_ADMIN | 1u << CAP_NET_BIND_SERVICE;
    finish_raw(&program, box);
}

static int
take_fd(struct box *box)
{
    ck_assert_int_eq(box->n_fds, 1);
    box->n_fds = 0;
    return box->fds[0];
}

static int
make_socket(struct box *box, uint32_t how, int32_t value)
{
    const struct wire_message message = {
        .kind = WIRE_MAKE_SOCKET, .id = 7, .mask = how, .value = value
    };

    send_message(box, &message, NULL, 0);
    expect(box, WIRE_MADE);
    ck_assert_uint_eq(box->message.id, 7);
    return box->message.value == 0 ? take_fd(box) : -box->message.value;
}

static void
wait_for(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    ck_assert_int_eq(poll(&poll_fd, 1, WAIT_MS), 1);
}

static const struct destination_case {
    const char *address, *peer;
} destination_cases[] = {
    { "93.184.216.34", "::ffff:198.18.0.2" },
    { "10.1.2.3", "::ffff:198.18.0.2" },
    { "169.254.169.254", "::ffff:198.18.0.2" },
    { "198.18.0.1", "::ffff:198.18.0.2" },
    { "2606:2800::1", "fd61:6762:6f78::c612:2" },
    { "fd61:6762:6f78::c612:101", "fd61:6762:6f78::c612:2" },
};

START_TEST(a_connection_to_any_address_arrives_with_its_destination)
{
    const struct destination_case *c = &destination_cases[_i];
    char script[128], text[INET6_ADDRSTRLEN], expected[INET6_ADDRSTRLEN];
    struct sockaddr_in6 address;
    socklen_t size = sizeof address;
    struct box box;
    int listener, fd, out;

    open_gateway(&box);
    expect(&box, WIRE_READY);
    listener = make_socket(&box, WIRE_SOCKET_GATEWAY, 443);
    ck_assert_int_ge(listener, 0);
    ck_assert_int_eq(make_socket(&box, WIRE_SOCKET_GATEWAY, 443), -EADDRINUSE);
    snprintf(script, sizeof script, "exec bash -c 'exec 3<>/dev/tcp/%s/443; head -c 5 <&3'",
            c->address);
    out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    spawn(&box, 1, (const char *[]){ "sh", "-c", script, NULL }, "/", out);
    close(out);
    wait_for(listener);
    fd = accept4(listener, (struct sockaddr *)&address, &size, SOCK_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_str_eq(inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof text), c->peer);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    snprintf(expected, sizeof expected, "%s%s", strchr(c->address, ':') == NULL ? "::ffff:" : "",
            c->address);
    ck_assert_str_eq(inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof text), expected);
    ck_assert_int_eq(ntohs(address.sin6_port), 443);
    ck_assert_int_eq(write(fd, "hello", 5), 5);
    expect(&box, WIRE_EXITED);
    ck_assert_int_eq(box.message.value, 0);
    close(fd);
    close(listener);
    end(&box);
}
END_TEST

START_TEST(a_server_of_the_box_and_a_listener_of_the_gateway_have_one_port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(8080), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
    };
    struct box box;
    int fd, server;

    open_gateway(&box);
    expect(&box, WIRE_READY);
    server = make_socket(&box, 0, AF_INET);
    ck_assert_int_ge(server, 0);
    ck_assert_int_eq(bind(server,
                             (struct sockaddr *)&(struct sockaddr_in){
                                     .sin_family = AF_INET, .sin_port = htons(8080) },
                             sizeof(struct sockaddr_in)),
            0);
    ck_assert_int_eq(listen(server, 1), 0);
    fd = make_socket(&box, WIRE_SOCKET_GATEWAY, 8080);
    ck_assert_int_ge(fd, 0);
    close(fd);
    /* Handed out unconnected, it is the box's: our own connect reaches the box's server. */
    fd = make_socket(&box, 0, AF_INET);
    ck_assert(
            connect(fd, (struct sockaddr *)&address, sizeof address) == 0 || errno == EINPROGRESS);
    wait_for(server);
    close(fd);
    close(server);
    end(&box);
}
END_TEST

START_TEST(a_datagram_is_shown_and_refused_at_once)
{
    static const char script[] =
            "exec python3 -c 'import socket\n"
            "for family, to in ((socket.AF_INET, \"192.0.2.9\"), (socket.AF_INET6, \"2606::9\")):\n"
            "    s = socket.socket(family, socket.SOCK_DGRAM)\n"
            "    s.connect((to, 443))\n"
            "    s.send(b\"x\")\n"
            "    try:\n"
            "        s.recv(1)\n"
            "    except ConnectionRefusedError:\n"
            "        print(\"refused\")\n"
            "'";
    unsigned char packet[128];
    struct box box;
    int status = -1, watch;

    open_gateway(&box);
    expect(&box, WIRE_SOCKET);
    watch = take_fd(&box);
    expect(&box, WIRE_READY);
    ck_assert_str_eq(run(&box, script, &status), "refused\nrefused\n");
    wait_for(watch);
    ck_assert_int_eq(recv(watch, packet, sizeof packet, MSG_TRUNC), 20 + 8 + 1);
    ck_assert_int_eq(packet[0], 0x45);
    ck_assert_int_eq(memcmp(packet + 16, "\xc0\x00\x02\x09", 4), 0);
    ck_assert_int_eq(recv(watch, packet, sizeof packet, MSG_TRUNC), 40 + 8 + 1);
    ck_assert_int_eq(recv(watch, packet, sizeof packet, MSG_DONTWAIT), -1);
    close(watch);
    end(&box);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("init_gateway");
    TCase *tcase = tcase_create("init_gateway");

    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(tcase, a_connection_to_any_address_arrives_with_its_destination, 0,
            sizeof destination_cases / sizeof destination_cases[0]);
    tcase_add_test(tcase, a_server_of_the_box_and_a_listener_of_the_gateway_have_one_port);
    tcase_add_test(tcase, a_datagram_is_shown_and_refused_at_once);
    suite_add_tcase(suite, tcase);
    return suite;
}

UNIT_MAIN(make_suite)
