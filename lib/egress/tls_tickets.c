/* SPDX-License-Identifier: Apache-2.0
 * Owns a ring of tickets, and wipes them: with one what a session says can be read. */
#include "egress/tls_tickets.h"

#include <stdlib.h>
#include <string.h>

static void
ticket_done(struct ticket *ticket)
{
    if (ticket->data.data != NULL) {
        gnutls_memset(ticket->data.data, 0, ticket->data.size);
    }
    gnutls_free(ticket->data.data);
    free(ticket->name);
    *ticket = (struct ticket){ .name = NULL };
}

void
tickets_keep(struct tickets *tickets, const char *name, gnutls_session_t session)
{
    struct ticket ticket = { .name = NULL };

    /* Without one TLS 1.3 would be waited for. */
    if ((gnutls_session_get_flags(session) & GNUTLS_SFLAGS_SESSION_TICKET) == 0 ||
            gnutls_session_get_data2(session, &ticket.data) < 0) {
        return;
    }
    ticket.name = strdup(name);
    if (ticket.name == NULL) {
        ticket_done(&ticket);
        return;
    }
    ticket_done(&tickets->tickets[tickets->oldest]);
    tickets->tickets[tickets->oldest] = ticket;
    tickets->oldest = (tickets->oldest + 1) % TICKETS_MAX;
}

void
tickets_use(struct tickets *tickets, const char *name, gnutls_session_t session)
{
    for (size_t i = 1; i <= TICKETS_MAX; i++) { /* the newest first */
        struct ticket *ticket =
                &tickets->tickets[(tickets->oldest + TICKETS_MAX - i) % TICKETS_MAX];

        if (ticket->name != NULL && strcmp(ticket->name, name) == 0) {
            gnutls_session_set_data(session, ticket->data.data, ticket->data.size);
            ticket_done(ticket);
            return;
        }
    }
}

void
tickets_done(struct tickets *tickets)
{
    for (size_t i = 0; i < TICKETS_MAX; i++) {
        ticket_done(&tickets->tickets[i]);
    }
}
