/* SPDX-License-Identifier: Apache-2.0
 * A real box with a fake way out, a server on the host, and programs in Python inside. */
#ifndef ABX_TESTS_LIVE_NET_BOX_H
#define ABX_TESTS_LIVE_NET_BOX_H

#include "live/fake_gateway.h"
#include "live/policy_box.h"

struct net_box {
    struct policy_box box;
    struct fake_gateway fake;
    struct hello_server server; /* allowed.test and asked.test lead here, at its port and at 443 */
};

/* `network`: what the policy has besides its mode and these two names, or "". */
void net_box_open(struct net_box *net, const char *network);
/* With this policy. */
void net_box_open_policy(struct net_box *net, const char *policy);
void net_box_close(struct net_box *net);
/* Runs a script, to which PORT is the server's, and checks what it printed. */
void net_box_expect(struct net_box *net, const char *script, const char *output);
/* The same without waiting for it. */
struct net_run {
    struct net_box *net;
    const char *script;
    char *output;
    int code;
    pthread_t thread;
};
void net_box_start(struct net_box *net, const char *script, struct net_run *run);
void net_run_expect(struct net_run *run, const char *output);
bool net_box_denied(struct net_box *net, const char *line);
bool net_box_noticed(struct net_box *net, const char *line);

#endif
