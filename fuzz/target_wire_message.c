/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as messages and command blocks: init reads nothing outside and ends in order.  An input
 * is a list of {length (2 bytes), descriptors, flags, datagram}, up to a length of 0; the rest is
 * the command that a seat gets. */
#include "fake_sys.h"
#include "linux/init/init.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGES 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct init init;
static struct fake_message inbox[MESSAGES + 1]; /* the last is for the seat */

static void
run(void *unused)
{
    init_serve(&init);
}

static void
serve(size_t n_messages, bool in_child)
{
    static const uint64_t events[MESSAGES];
    static const uint64_t filter[2];

    memset(&init, 0, sizeof init);
    fake_reset();
    init.control = WIRE_CONTROL_FD;
    init.pid = 1;
    init.proc = init.landlock = -1;
    init.program = (const unsigned char *)filter;
    init.header.filter_count = 2;
    init.header.filter_flags = WIRE_FILTER_NOTIFY;
    fake.in_child = in_child;
    fake.inbox = inbox;
    fake.n_inbox = n_messages + 1;
    fake.events = events;
    fake.n_events = n_messages;
    fake_run(run, NULL);
    fake_done(0);
    if (fake.closed_twice) {
        abort();
    }
}

/* How many messages; *data and *size become the rest. */
static size_t
read_messages(const uint8_t **data, size_t *size)
{
    size_t n = 0;

    while (n < MESSAGES && *size >= 4) {
        size_t length = (size_t)(*data)[0] | (size_t)(*data)[1] << 8;
        struct fake_message *message = &inbox[n];

        if (length == 0 || length > *size - 4 || length > sizeof message->wire) {
            break;
        }
        memset(message, 0, sizeof *message);
        message->n_fds = (*data)[2] % (MESSAGE_FDS + 1);
        message->flags = (*data)[3];
        message->size = length;
        memcpy(&message->wire, *data + 4, length);
        *data += 4 + length;
        *size -= 4 + length;
        n++;
    }
    return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n = read_messages(&data, &size);
    void *block = malloc(size == 0 ? 1 : size);

    if (block == NULL) {
        return 0;
    }
    memcpy(block, data, size);
    for (size_t i = 0; i <= n; i++) {
        inbox[i].block = block;
        inbox[i].block_size = size;
    }
    inbox[n].n_fds = 3;
    inbox[n].size = 0;
    inbox[n].flags = 0;
    serve(n, false);
    serve(n, true);
    free(block);
    return 0;
}
