/* SPDX-License-Identifier: Apache-2.0
 * The gateway that a backend gets: takes its calls on any thread to the egress thread, and keeps
 * what was dialled until the connection of the box that it belongs to comes. */
#include "egress/box.h"
#include "egress/dial.h"
#include "egress/proxy.h"
#include "egress/transparent.h"
#include "egress/tunnel.h"
#include "egress/upstream.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>

#define UNCLAIMED_S 60 /* a connection outside that nobody takes is closed after this */

/* ---- dialled, and not taken yet ---- */
struct dialled {
    struct part part;
    struct dialled *next;
    uint64_t id;
    int fd;
    const struct upstream_proxy *relay; /* whose it is: struct errand */
    struct event *timer;
};

/* Gives the descriptor away. */
static int
dialled_free(struct dialled *dialled)
{
    struct dialled **place = &dialled->part.box->dialled;
    int fd = dialled->fd;

    while (*place != dialled) {
        place = &(*place)->next;
    }
    *place = dialled->next;
    part_remove(&dialled->part);
    event_free(dialled->timer);
    free(dialled);
    return fd;
}

static void
end_dialled(struct part *part)
{
    close_fd(dialled_free((struct dialled *)part));
}

static void
nobody_took_it(evutil_socket_t fd, short events, void *data)
{
    close_fd(dialled_free(data));
}

/* Takes the descriptor; 0: it cannot be kept, and the descriptor is closed. */
static uint64_t
keep(struct egress_box *box, const struct errand *errand, int fd)
{
    static const struct timeval wait = { .tv_sec = UNCLAIMED_S };
    struct dialled *dialled = calloc(1, sizeof *dialled);

    if (dialled != NULL) {
        dialled->timer = evtimer_new(egress_base(box), nobody_took_it, dialled);
    }
    if (dialled == NULL || dialled->timer == NULL || event_add(dialled->timer, &wait) != 0 ||
            !part_add(&dialled->part, box, end_dialled, &errand->subject, &errand->destination)) {
        if (dialled != NULL && dialled->timer != NULL) {
            event_free(dialled->timer);
        }
        free(dialled);
        close_fd(fd);
        return 0;
    }
    dialled->id = ++box->last_dialled;
    dialled->fd = fd;
    dialled->relay = errand->relay;
    dialled->next = box->dialled;
    box->dialled = dialled;
    return dialled->id;
}

/* -1: there is none.  `errand` NULL: nobody will use it. */
static int
take(struct egress_box *box, uint64_t id, struct errand *errand)
{
    for (struct dialled *dialled = box->dialled; dialled != NULL; dialled = dialled->next) {
        if (dialled->id == id) {
            if (errand != NULL) {
                errand->relay = dialled->relay;
            }
            return dialled_free(dialled);
        }
    }
    return -1;
}

/* ---- a call that waits ---- */
struct wanted {
    struct post post;
    struct part part;
    struct egress_box *box;
    struct errand *errand;
    struct dial *dial;
    dialled_fn fn;
    void *data;
};

static void
answer(struct wanted *wanted, int error, uint64_t id)
{
    dialled_fn fn = wanted->fn;
    void *data = wanted->data;

    free(wanted->errand);
    free(wanted);
    fn(data, error, id);
}

static void
end_wanted(struct part *part)
{
    struct wanted *wanted = (struct wanted *)((char *)part - offsetof(struct wanted, part));

    part_remove(part);
    dial_cancel(wanted->dial);
    answer(wanted, wanted->box->stopped ? ECANCELED : EACCES, 0);
}

static void
dial_done(void *data, int fd, int error, const struct refusal *refusal)
{
    struct wanted *wanted = data;
    uint64_t id = 0;

    part_remove(&wanted->part);
    if (error == 0) {
        id = keep(wanted->box, wanted->errand, fd);
        error = id == 0 ? ENOMEM : 0;
    }
    answer(wanted, error, id);
}

static void
start_dial(struct post *post)
{
    struct wanted *wanted = (struct wanted *)post;
    struct dial *dial;

    if (!part_add(&wanted->part, wanted->box, end_wanted, &wanted->errand->subject,
                &wanted->errand->destination)) {
        answer(wanted, wanted->box->stopped ? ECANCELED : EACCES, 0);
        return;
    }
    wanted->errand->relay = upstream_relay(wanted->box->upstream, &wanted->errand->destination);
    dial = dial_start(wanted->box, &wanted->errand->subject, &wanted->errand->destination,
            upstream_is_plain(&wanted->errand->destination) ? DIAL_PLAIN : DIAL_TUNNEL, dial_done,
            wanted);
    if (dial != NULL) {
        wanted->dial = dial;
    }
}

static void
gateway_dial(void *data, const struct subject *subject, const struct destination *destination,
        dialled_fn fn, void *fn_data)
{
    struct egress_box *box = data;
    struct wanted *wanted = calloc(1, sizeof *wanted);

    if (wanted != NULL) {
        wanted->errand = errand_new(subject, destination);
    }
    if (wanted == NULL || wanted->errand == NULL) {
        free(wanted);
        fn(fn_data, ENOMEM, 0);
        return;
    }
    wanted->post.run = start_dial;
    wanted->box = box;
    wanted->fn = fn;
    wanted->data = fn_data;
    egress_post(box->egress, &wanted->post);
}

/* ---- a connection, or none ---- */
struct arrival {
    struct post post;
    struct egress_box *box;
    struct errand *errand; /* NULL: nobody will use what was dialled, or a relay */
    int fd; /* -1: none */
    int server; /* a relay's; else -1 */
    uint64_t dialled;
};

static void
arrive(struct post *post)
{
    struct arrival *arrival = (struct arrival *)post;
    int outside =
            arrival->dialled == 0 ? -1 : take(arrival->box, arrival->dialled, arrival->errand);

    if (arrival->server >= 0) {
        tunnel_start(arrival->box, NULL, arrival->fd, arrival->server, HOLD_NOTHING, NULL);
    } else if (arrival->errand == NULL) {
        close_fd(outside);
    } else if (arrival->box->stopped || (arrival->dialled != 0 && outside < 0)) {
        close_with_reset(arrival->fd);
        close_fd(outside);
    } else if (arrival->errand->destination.way == WAY_PROXY) {
        proxy_start(arrival->box, arrival->errand, arrival->fd);
    } else {
        transparent_start(arrival->box, arrival->errand, arrival->fd, outside);
    }
    free(arrival->errand);
    free(arrival);
}

/* Takes all that the arrival has; false without memory, and it keeps nothing. */
static bool
post_arrival(const struct arrival *arrival)
{
    struct arrival *posted = malloc(sizeof *posted);

    if (posted == NULL) {
        return false;
    }
    *posted = *arrival;
    posted->post.run = arrive;
    egress_post(arrival->box->egress, &posted->post);
    return true;
}

static void
gateway_hang_up(void *data, uint64_t dialled)
{
    post_arrival(&(struct arrival){ .box = data, .fd = -1, .server = -1, .dialled = dialled });
    /* Without memory its time runs out. */
}

static void
gateway_connected(void *data, int fd, const struct subject *subject,
        const struct destination *destination, uint64_t dialled)
{
    struct arrival arrival = {
        .box = data,
        .errand = errand_new(subject, destination),
        .fd = fd,
        .server = -1,
        .dialled = dialled,
    };

    if (arrival.errand == NULL || !post_arrival(&arrival)) {
        free(arrival.errand);
        close_with_reset(fd);
    }
}

static void
gateway_relay(void *data, int client, int server)
{
    if (!post_arrival(&(struct arrival){ .box = data, .fd = client, .server = server })) {
        close_with_reset(client);
        close_with_reset(server);
    }
}

void
gateway_init(struct egress_box *box)
{
    box->gateway = (struct gateway){
        .data = box,
        .dial = gateway_dial,
        .hang_up = gateway_hang_up,
        .connected = gateway_connected,
        .relay = gateway_relay,
    };
}
