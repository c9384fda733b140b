/* SPDX-License-Identifier: Apache-2.0 */
#include "live/net_box.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLICY                                                                                     \
    "{\"version\": 1, \"filesystem\": {\"read\": {\"allow\": [\"/\"]}, \"write\": {\"allow\": "    \
    "[\"/tmp\"]}}, \"network\": {\"mode\": \"filtered\", \"allow\": [\"allowed.test:1-65535\"], "  \
    "\"ask\": [\"asked.test:1-65535\"]%s%s}}"

/* What every script has. */
#define PRELUDE                                                                                    \
    "import array, errno, fcntl, os, select, signal, socket, struct, sys, threading, time\n"       \
    "PORT = %u\n"                                                                                  \
    "def name(e): return errno.errorcode[e.errno] if e.errno in errno.errorcode else str(e)\n"     \
    "def hello(host, port, family=socket.AF_INET):\n"                                              \
    "    try:\n"                                                                                   \
    "        s = socket.socket(family); s.connect((host, port))\n"                                 \
    "        print(host, s.recv(6).decode().strip(), s.getpeername()[1])\n"                        \
    "        return s\n"                                                                           \
    "    except OSError as e: print(host, name(e))\n"

void
net_box_open(struct net_box *net, const char *network)
{
    char policy[1024];

    snprintf(policy, sizeof policy, POLICY, network[0] == '\0' ? "" : ", ", network);
    net_box_open_policy(net, policy);
}

void
net_box_open_policy(struct net_box *net, const char *policy)
{
    static const char *const names[] = { "allowed.test", "asked.test" };

    hello_server_start(&net->server, 0);
    fake_gateway_init(&net->fake);
    for (int i = 0; i < 2; i++) {
        fake_gateway_route(&net->fake, names[i], net->server.port, net->server.port, 0);
        fake_gateway_route(&net->fake, names[i], 443, net->server.port, 0);
    }
    ck_assert(policy_box_open_out(&net->box, policy, "/tmp", &net->fake.gateway));
}

void
net_box_close(struct net_box *net)
{
    policy_box_close(&net->box);
    fake_gateway_done(&net->fake);
    hello_server_stop(&net->server);
}

static char *
run(struct net_box *net, const char *script, int *ret_code)
{
    struct str line = { 0 };
    char *output;

    str_add(&line, "exec python3 - <<'END'\n");
    str_printf(&line, PRELUDE, net->server.port);
    str_printf(&line, "%s\nEND\n", script);
    output = policy_box_run(&net->box, "/tmp", line.data, ret_code);
    str_done(&line);
    return output;
}

static void
check(char *output, int code, const char *expected)
{
    ck_assert_ptr_nonnull(output);
    ck_assert_str_eq(output, expected);
    ck_assert_int_eq(code, 0);
    free(output);
}

void
net_box_expect(struct net_box *net, const char *script, const char *output)
{
    int code = -1;
    char *got = run(net, script, &code);

    check(got, code, output);
}

static void *
run_thread(void *data)
{
    struct net_run *started = data;

    started->output = run(started->net, started->script, &started->code);
    return NULL;
}

void
net_box_start(struct net_box *net, const char *script, struct net_run *started)
{
    *started = (struct net_run){ .net = net, .script = script };
    ck_assert_int_eq(pthread_create(&started->thread, NULL, run_thread, started), 0);
}

void
net_run_expect(struct net_run *started, const char *output)
{
    pthread_join(started->thread, NULL);
    check(started->output, started->code, output);
}

static bool
has_line(struct policy_box *box, const struct str *lines, const char *line)
{
    bool has;

    pthread_mutex_lock(&box->lock);
    has = lines->data != NULL && strstr(lines->data, line) != NULL;
    pthread_mutex_unlock(&box->lock);
    return has;
}

bool
net_box_denied(struct net_box *net, const char *line)
{
    return has_line(&net->box, &net->box.denials, line);
}

bool
net_box_noticed(struct net_box *net, const char *line)
{
    return has_line(&net->box, &net->box.notices, line);
}
