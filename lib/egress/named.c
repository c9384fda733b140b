/* SPDX-License-Identifier: Apache-2.0
 * Owns what is known of names and their addresses: of the policy's own names (patterns have none)
 * by looking them up, of all others what was looked up for the box.  What a name once led to counts
 * as long as there is room.  Egress thread. */
#include "egress/named.h"

#include "egress/box.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define LEADS_MAX 1024u
#define FRESH_NS (30 * UINT64_C(1000000000))

/* An address that a name led to. */
struct lead {
    char *name;
    struct in6_addr address; /* IPv4 as IPv6 has it */
};

/* A name of the policy's. */
struct listed {
    const char *name;
    uint64_t fresh_until_ns;
};

struct named {
    abx_policy *policy;
    struct vec listed; /* struct listed */
    struct vec leads; /* struct lead; a ring once it is full */
    size_t next;
};

struct named_search {
    struct egress_box *box;
    struct in6_addr address;
    uint16_t port;
    size_t next; /* of the listed names */
    struct lookup *lookup;
    named_fn fn;
    void *data;
    bool *ended; /* named_search_start wants to know; or NULL */
};

static struct in6_addr
of_ipv4(const struct in_addr *address)
{
    struct in6_addr out = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

    memcpy(out.s6_addr + 12, address, sizeof *address);
    return out;
}

/* ---- what is known ---- */

struct named *
named_new(abx_policy *policy)
{
    struct named *named = calloc(1, sizeof *named);
    AUTO(vec_done) struct vec names = VEC(const char *);
    struct fail fail;

    if (named == NULL || policy_read_names(policy, &names, &fail) < 0) {
        free(named);
        return NULL;
    }
    named->policy = policy;
    named->leads = VEC(struct lead);
    named->listed = VEC(struct listed);
    for (size_t i = 0; i < names.count; i++) {
        struct listed *listed = vec_add(&named->listed);

        if (listed == NULL) {
            named_free(named);
            return NULL;
        }
        listed->name = *vec_at(&names, const char *, i);
    }
    return named;
}

void
named_free(struct named *named)
{
    if (named == NULL) {
        return;
    }
    for (size_t i = 0; i < named->leads.count; i++) {
        free(vec_at(&named->leads, struct lead, i)->name);
    }
    vec_done(&named->leads);
    vec_done(&named->listed);
    free(named);
}

static bool
is_known(const struct named *named, const char *name, const struct in6_addr *address)
{
    for (size_t i = 0; i < named->leads.count; i++) {
        const struct lead *lead = vec_at(&named->leads, struct lead, i);

        if (memcmp(&lead->address, address, sizeof *address) == 0 &&
                strcmp(lead->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool
add_lead(struct named *named, const char *name, const struct in6_addr *address)
{
    char *copy = strdup(name);
    struct lead *lead;

    if (copy == NULL) {
        return false;
    }
    if (named->leads.count < LEADS_MAX) {
        lead = vec_add(&named->leads);
    } else {
        lead = vec_at(&named->leads, struct lead, named->next);
        named->next = (named->next + 1) % LEADS_MAX;
        free(lead->name);
    }
    if (lead == NULL) {
        free(copy);
        return false;
    }
    *lead = (struct lead){ .name = copy, .address = *address };
    return true;
}

/* False: no memory. */
static bool
note(struct named *named, const char *name, const struct addrinfo *addresses)
{
    bool ok = true;

    for (; addresses != NULL; addresses = addresses->ai_next) {
        struct in6_addr address;

        if (addresses->ai_family == AF_INET) {
            address = of_ipv4(&((const struct sockaddr_in *)addresses->ai_addr)->sin_addr);
        } else if (addresses->ai_family == AF_INET6) {
            address = ((const struct sockaddr_in6 *)addresses->ai_addr)->sin6_addr;
        } else {
            continue;
        }
        ok = (is_known(named, name, &address) || add_lead(named, name, &address)) && ok;
    }
    return ok;
}

void
named_note(struct named *named, const char *name, uint16_t port, const struct addrinfo *addresses)
{
    if (policy_reads_http(named->policy, name, port)) {
        note(named, name, addresses);
    }
}

static const char *
find(const struct named *named, const struct in6_addr *address, uint16_t port)
{
    for (size_t i = 0; i < named->leads.count; i++) {
        const struct lead *lead = vec_at(&named->leads, struct lead, i);

        if (memcmp(&lead->address, address, sizeof *address) == 0 &&
                policy_reads_http(named->policy, lead->name, port)) {
            return lead->name;
        }
    }
    return NULL;
}

/* ---- a search ---- */

static void
finish(struct named_search *search, int error)
{
    const char *name = error != 0 ? NULL : find(search->box->named, &search->address, search->port);
    named_fn fn = search->fn;
    void *data = search->data;

    if (search->ended != NULL) {
        *search->ended = true;
    }
    free(search);
    fn(data, error, name);
}

void
named_search_cancel(struct named_search *search)
{
    if (search != NULL) {
        if (search->lookup != NULL) {
            lookup_cancel(search->lookup);
        }
        free(search);
    }
}

static void look_up_next(struct named_search *search);

/* A name that is unknown leads nowhere. */
static void
looked_up(void *data, int error, const struct addrinfo *addresses)
{
    struct named_search *search = data;
    struct named *named = search->box->named;
    struct listed *listed = vec_at(&named->listed, struct listed, search->next);

    search->lookup = NULL;
    if (error == EAI_MEMORY || (error == 0 && !note(named, listed->name, addresses))) {
        finish(search, ENOMEM);
        return;
    }
    listed->fresh_until_ns = clock_now_ns() + FRESH_NS;
    search->next++;
    look_up_next(search);
}

static void
look_up_next(struct named_search *search)
{
    const struct named *named = search->box->named;

    for (; search->next < named->listed.count; search->next++) {
        const struct listed *listed = vec_at(&named->listed, struct listed, search->next);

        if (listed->fresh_until_ns > clock_now_ns() ||
                !policy_reads_http(named->policy, listed->name, search->port)) {
            continue;
        }
        search->lookup = lookup_start(search->box->egress->lookups, search->box, listed->name,
                search->port, looked_up, search);
        if (search->lookup == NULL) {
            finish(search, EAGAIN);
        }
        return;
    }
    finish(search, 0);
}

struct named_search *
named_search_start(
        struct egress_box *box, const char *address, uint16_t port, named_fn fn, void *data)
{
    struct named_search *search = calloc(1, sizeof *search);
    struct in_addr ipv4;
    bool ended = false;

    if (search == NULL) {
        fn(data, ENOMEM, NULL);
        return NULL;
    }
    *search = (struct named_search){
        .box = box, .port = port, .fn = fn, .data = data, .ended = &ended
    };
    if (inet_pton(AF_INET, address, &ipv4) == 1) {
        search->address = of_ipv4(&ipv4);
    } else {
        inet_pton(AF_INET6, address, &search->address);
    }
    look_up_next(search);
    if (ended) {
        return NULL;
    }
    search->ended = NULL;
    return search;
}
