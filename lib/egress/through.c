/* SPDX-License-Identifier: Apache-2.0
 * The request is short and the socket is new, so it is written at once.  The answer is peeked at
 * until its head is there: what comes behind it is the destination's. */
#include "egress/through.h"

#include "egress/http_head.h"

#include "base/str.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

struct through {
    struct egress_box *box;
    struct event *event;
    int fd;
    through_fn fn;
    void *data;
};

void
through_cancel(struct through *through)
{
    if (through != NULL) {
        if (through->event != NULL) {
            event_free(through->event);
        }
        free(through);
    }
}

static void
finish(struct through *through, int status)
{
    through_fn fn = through->fn;
    void *data = through->data;

    through_cancel(through);
    fn(data, status);
}

/* It has said all it will say. */
static bool
is_over(int fd)
{
    struct pollfd state = { .fd = fd, .events = POLLRDHUP };

    return poll(&state, 1, 0) == 1 && (state.revents & POLLRDHUP) != 0;
}

static void
answered(evutil_socket_t fd, short events, void *data)
{
    struct through *through = data;
    uint8_t *bytes = egress_scratch(through->box);
    const bool was_over = is_over(fd); /* before it is looked at, so that nothing is missed */
    ssize_t n = recv(fd, bytes, HTTP_HEAD_MAX, MSG_PEEK);
    const struct span connect = { "CONNECT", strlen("CONNECT") };
    struct http_head head;
    const char *why;
    int r;

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        finish(through, n < 0 ? -errno : -ECONNRESET);
        return;
    }
    r = http_response_parse((const char *)bytes, (size_t)n, connect, &head, &why);
    if (r == 0 && !was_over) {
        return;
    }
    if (r <= 0 || head.status < 200 || recv(fd, bytes, (size_t)r, 0) != r) {
        finish(through, -EPROTO);
        return;
    }
    finish(through, head.status);
}

/* With its port always. */
static void
add_line(struct str *out, const char *before, const struct destination *destination,
        const char *after)
{
    bool is_ipv6 = strchr(destination->name, ':') != NULL;

    str_printf(out, is_ipv6 ? "%s[%s]:%u%s" : "%s%s:%u%s", before, destination->name,
            destination->port, after);
}

/* Whole, or an errno. */
static int
ask(int fd, const struct upstream_proxy *proxy, const struct destination *destination)
{
    struct vault *authorization = proxy->authorization;
    char end[] = "\r\n";
    struct str text = { 0 };
    struct iovec parts[3];
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 3 };
    int error = 0;

    add_line(&text, "CONNECT ", destination, " HTTP/1.1\r\n");
    add_line(&text, "Host: ", destination, "\r\n");
    if (text.failed) {
        error = ENOMEM;
    } else {
        size_t secret = authorization == NULL ? 0 : authorization->length;

        parts[0] = (struct iovec){ text.data, text.length };
        parts[1] = (struct iovec){ authorization == NULL ? NULL : authorization->bytes, secret };
        parts[2] = (struct iovec){ end, 2 };
        error = sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)(text.length + secret + 2) ? 0
                                                                                           : EIO;
    }
    str_done(&text);
    return error;
}

struct through *
through_start(struct egress_box *box, int fd, const struct upstream_proxy *proxy,
        const struct destination *destination, through_fn fn, void *data)
{
    struct through *through = calloc(1, sizeof *through);

    if (through == NULL) {
        return NULL;
    }
    *through = (struct through){ .box = box, .fd = fd, .fn = fn, .data = data };
    through->event =
            event_new(egress_base(box), fd, EV_READ | EV_PERSIST | EV_ET, answered, through);
    if (through->event == NULL || event_add(through->event, NULL) != 0 ||
            ask(fd, proxy, destination) != 0) {
        through_cancel(through);
        return NULL;
    }
    return through;
}
