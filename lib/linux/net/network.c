/* SPDX-License-Identifier: Apache-2.0
 * Makes and frees the parts of a box's network, and gives each socket that init hands out to whom
 * it is for. */
#include "linux/net/network.h"

#include "base/mem.h"
#include "linux/net/doors.h"
#include "linux/net/publish.h"
#include "linux/net/sockets.h"
#include "linux/net/stub.h"
#include "linux/net/watch.h"
#include "plan/network.h"

#include <errno.h>

abx_status
network_new(struct boundary *boundary, struct fail *fail)
{
    const struct plan *plan = boundary->plan;

    if (plan->network == NETWORK_FILTERED && boundary->gateway == NULL) {
        fail_set(fail, ABX_ERR_UNSUPPORTED, 0, "plan:network",
                "/network/mode: not enforced by this build");
        fail_remedy(fail, "use the network mode \"none\"");
        return ABX_ERR_UNSUPPORTED;
    }
    boundary->sockets = sockets_new();
    if (boundary->sockets == NULL) {
        return fail_nomem(fail);
    }
    boundary->stub = stub_new(boundary, fail);
    if (boundary->stub != NULL && plan->network == NETWORK_FILTERED) {
        boundary->doors = doors_new(boundary, fail);
        if (boundary->doors == NULL) {
            return fail->status;
        }
    }
    if (boundary->stub != NULL && plan_has_network(plan) && boundary->gateway != NULL) {
        boundary->published = published_new(boundary, fail);
        if (boundary->published == NULL) {
            return fail->status;
        }
    }
    return boundary->stub == NULL ? fail->status : ABX_OK;
}

abx_status
network_watch(struct boundary *boundary, struct fail *fail)
{
    abx_status r = boundary->doors == NULL ? ABX_OK : doors_watch(boundary->doors, fail);

    return r < 0 || boundary->published == NULL ? r : published_watch(boundary->published, fail);
}

static abx_status
take_listener(struct boundary *boundary, int fd, uint16_t port, struct fail *fail)
{
    if (boundary->doors == NULL) {
        close_fd(fd);
        return fail_set(fail, ABX_ERR_INTERNAL, 0, "network:socket", "a listener of nobody");
    }
    return doors_add(boundary->doors, fd, port)
                   ? ABX_OK
                   : fail_set(fail, ABX_ERR_SETUP, errno, "network:socket",
                             "a listener of the box cannot be watched");
}

abx_status
network_take_socket(struct boundary *boundary, int fd, struct fail *fail)
{
    struct address address = { .length = sizeof address.storage };
    int type = 0;
    socklen_t size = sizeof type;

    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
            getsockname(fd, (struct sockaddr *)&address.storage, &address.length) < 0) {
        fail_set(fail, ABX_ERR_SETUP, errno, "network:socket", "a socket of the box");
        close_fd(fd);
        return ABX_ERR_SETUP;
    }
    if (address.storage.ss_family == AF_PACKET) {
        boundary->watch = watch_new(boundary, fd, fail);
        return boundary->watch == NULL ? fail->status : ABX_OK;
    }
    if (address_port(&address) == NETWORK_NAME_SERVER_PORT && !address_is_localhost(&address)) {
        return stub_attach(boundary->stub, fd, type, fail);
    }
    return take_listener(boundary, fd, address_port(&address), fail);
}

int
network_free(struct boundary *boundary)
{
    published_free(boundary->published);
    doors_free(boundary->doors);
    stub_free(boundary->stub);
    sockets_free(boundary->sockets);
    return watch_free(boundary->watch);
}
