/* SPDX-License-Identifier: Apache-2.0
 * What the sessions of a box keep of bodies until something else is known: one budget for all. */
#include "egress/session_private.h"

#define ROOM (64u << 20) /* bytes of a box */

size_t session_room = ROOM;

static size_t
length_of(const struct evbuffer *buffer)
{
    return buffer == NULL ? 0 : evbuffer_get_length(buffer);
}

static size_t
kept(const struct session *session)
{
    const struct exchange *exchange = session->exchange;
    const struct stream *origin = session->origin.stream;
    size_t bytes;

    if (exchange == NULL) {
        return 0;
    }
    bytes = length_of(exchange->collected) + length_of(exchange->out.raw) +
            length_of(exchange->held) + exchange->document.length;
    return bytes + (exchange->collected == NULL || origin == NULL ? 0 : length_of(origin->output));
}

void
session_count_kept(struct session *session)
{
    const size_t now = kept(session);

    session->part.box->kept = session->part.box->kept - session->kept + now;
    session->kept = now;
}

bool
session_has_room(struct session *session)
{
    session_count_kept(session);
    return session->part.box->kept <= session_room;
}
