/* SPDX-License-Identifier: Apache-2.0
 * Owns a box's way out and the list of what is under way for it, which ends with it.  Keeps the
 * number of connections within what the host's process can bear. */
#include "egress/box.h"

#include "base/decoy.h"
#include "base/mem.h"
#include "egress/reading.h"
#include "egress/named.h"
#include "egress/secrets.h"
#include "egress/upstream.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define DESCRIPTORS_OF_A_PART 2u
#define PARTS_MAX 4096u /* of a box */
#define PARTS_MIN 16u

/* ---- parts ---- */

/* A context takes at most half of the descriptors that its host may open, and a box at most half of
 * those. */
static size_t
parts_of_a_context(void)
{
    struct rlimit limit;
    size_t parts = PARTS_MAX * 2;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
            limit.rlim_cur / (2 * DESCRIPTORS_OF_A_PART) < parts) {
        parts = limit.rlim_cur / (2 * DESCRIPTORS_OF_A_PART);
    }
    return parts < 2 * PARTS_MIN ? 2 * PARTS_MIN : parts;
}

static bool
has_too_many(const struct egress_box *box)
{
    const size_t n = box->n_parts, of_all = box->egress->n_parts;
    size_t most;

    if (n < PARTS_MIN && of_all < 2 * PARTS_MIN) {
        return false; /* in any case */
    }
    most = parts_of_a_context();
    return n >= most / 2 || of_all >= most;
}

bool
part_add(struct part *part, struct egress_box *box, void (*end)(struct part *part),
        const struct subject *subject, const struct destination *destination)
{
    struct refusal refusal = { 0 };

    if (box->stopped) {
        return false;
    }
    if (has_too_many(box)) {
        if (subject != NULL) {
            refusal_set(&refusal, "boundary:connections", "the box has too many connections open",
                    "close some, or open fewer at a time");
            tell_denial(box, subject, destination, NULL, &refusal);
        }
        return false;
    }
    *part = (struct part){ .box = box, .next = box->parts, .end = end };
    if (subject != NULL && !part_goes_to(part, subject, destination)) {
        part->box = NULL;
        return false;
    }
    if (part->next != NULL) {
        part->next->previous = part;
    }
    box->parts = part;
    box->n_parts++;
    box->egress->n_parts++;
    return true;
}

bool
part_goes_to(
        struct part *part, const struct subject *subject, const struct destination *destination)
{
    struct errand *errand = destination->name[0] == '\0' ? NULL : errand_new(subject, destination);

    if (destination->name[0] != '\0' && errand == NULL) {
        return false;
    }
    free(part->errand);
    part->errand = errand;
    return true;
}

void
part_remove(struct part *part)
{
    struct egress_box *box = part->box;

    if (box == NULL) {
        return;
    }
    if (part->previous != NULL) {
        part->previous->next = part->next;
    } else {
        box->parts = part->next;
    }
    if (part->next != NULL) {
        part->next->previous = part->previous;
    }
    box->n_parts--;
    box->egress->n_parts--;
    free(part->errand);
    part->errand = NULL;
    part->box = NULL;
}

/* ---- what they share ---- */
struct event_base *
egress_base(const struct egress_box *box)
{
    return box->egress->base;
}

uint8_t *
egress_scratch(const struct egress_box *box)
{
    return box->egress->scratch;
}

const int *
egress_pipe(const struct egress_box *box)
{
    return box->egress->pipe;
}

void
egress_pipe_spoil(struct egress_box *box)
{
    int *pipe = box->egress->pipe;

    close_fd(pipe[0]);
    close_fd(pipe[1]);
    pipe[0] = pipe[1] = -1;
}

struct errand *
errand_new(const struct subject *subject, const struct destination *destination)
{
    size_t program = strlen(subject->program) + 1, name = strlen(destination->name) + 1;
    struct errand *errand = malloc(sizeof *errand + program + name);
    char *texts = (char *)(errand + 1);

    if (errand == NULL) {
        return NULL;
    }
    *errand = (struct errand){ .subject = *subject, .destination = *destination };
    errand->subject.program = memcpy(texts, subject->program, program);
    errand->destination.name = memcpy(texts + program, destination->name, name);
    return errand;
}

bool
is_address(const char *name)
{
    uint8_t bytes[16];

    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

static const char *
text_or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

void
tell_denial(struct egress_box *box, const struct subject *subject,
        const struct destination *destination, const char *address, const struct refusal *refusal)
{
    const struct reply reply = { .status = refusal->status };
    struct act act = {
        .request = ABX_REQUEST_CONNECT,
        .layer = refusal->status == 407 ? ABX_LAYER_IDENTITY : 0,
        .port = destination->port,
        .target = destination->name,
        .asked = address != NULL && strcmp(address, destination->name) != 0 ? address : NULL,
        .verb = "connect",
        .content = -1,
        .reply = refusal->status == 0 ? NULL : &reply,
    };

    box->broker->report(box->broker->data, ABX_EVENT_DENIAL, subject, &act,
            text_or_null(refusal->rule), text_or_null(refusal->reason),
            text_or_null(refusal->alternative));
}

static void
set_text(char *to, size_t room, const char *text)
{
    if (text != NULL) {
        snprintf(to, room, "%s", text);
    }
}

void
refusal_set(struct refusal *refusal, const char *rule, const char *reason, const char *alternative)
{
    set_text(refusal->rule, sizeof refusal->rule, rule);
    set_text(refusal->reason, sizeof refusal->reason, reason);
    set_text(refusal->alternative, sizeof refusal->alternative, alternative);
}

void
refusal_revoked(struct refusal *refusal)
{
    refusal_set(refusal, "grant:revoked", "the host took the grant back", NULL);
}

void
close_with_reset(int fd)
{
    static const struct linger at_once = { .l_onoff = 1 };

    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close_fd(fd);
    }
}

/* ---- the box ---- */
static abx_status
add_decoys(struct egress_box *box, uint64_t seed, struct fail *fail)
{
    const char *const *path = policy_get_settings(box->policy)->decoys;
    char content[DECOY_MAX];
    abx_status r = ABX_OK;

    for (; path != NULL && *path != NULL && r == ABX_OK; path++) {
        decoy_write(seed, *path, content);
        r = secrets_add_decoy(box->secrets, *path, content, fail);
    }
    return r;
}

static abx_status
make_named(struct egress_box *box, struct fail *fail)
{
    box->named = named_new(box->policy);
    return box->named == NULL ? fail_nomem(fail) : ABX_OK;
}

abx_status
egress_open(struct egress *egress, const struct egress_setup *setup, struct egress_box **ret_box,
        struct fail *fail)
{
    struct egress_box *box = calloc(1, sizeof *box);

    if (box == NULL) {
        return fail_nomem(fail);
    }
    box->egress = egress;
    box->policy = setup->policy;
    box->broker = setup->broker;
    box->backend = setup->backend;
    box->identity = setup->identity;
    if (upstream_new(&setup->upstream, &box->upstream, fail) < 0 || reading_open(box, fail) < 0 ||
            secrets_new(setup->policy, egress->base, &box->secrets, fail) < 0 ||
            add_decoys(box, setup->decoy_seed, fail) < 0 || make_named(box, fail) < 0) {
        secrets_free(box->secrets);
        reading_close(box);
        upstream_free(box->upstream);
        free(box);
        return fail->status;
    }
    gateway_init(box);
    *ret_box = box;
    return ABX_OK;
}

const struct gateway *
egress_gateway(struct egress_box *box)
{
    return &box->gateway;
}

/* ---- its secrets ---- */
struct secrets *
egress_secrets(struct egress_box *box)
{
    return box->secrets;
}

const char *const *
egress_environment(struct egress_box *box)
{
    return secrets_environment(box->secrets);
}

struct new_secret {
    struct egress_box *box;
    const char *name;
    const void *secret;
    size_t length;
    int64_t expires_ms;
    struct fail *fail;
    abx_status result;
};

static void
set_secret(void *data)
{
    struct new_secret *new_secret = data;

    new_secret->result = secrets_set(new_secret->box->secrets, new_secret->name, new_secret->secret,
            new_secret->length, new_secret->expires_ms, new_secret->fail);
}

abx_status
egress_set_secret(struct egress_box *box, const char *name, const void *secret, size_t length,
        int64_t expires_ms, struct fail *fail)
{
    struct new_secret new_secret = { box, name, secret, length, expires_ms, fail, ABX_OK };

    egress_call(box->egress, set_secret, &new_secret);
    return new_secret.result;
}

/* ---- what it may do no more ---- */
struct revocation {
    struct egress_box *box;
    const char *name;
    uint32_t port;
};

/* Whether the part is a way to that host which nothing allows any more. */
static bool
is_revoked(const struct part *part, const struct revocation *revocation)
{
    const struct broker *broker = part->box->broker;
    const struct errand *errand = part->errand;
    struct act act = {
        .request = ABX_REQUEST_CONNECT,
        .port = revocation->port,
        .target = revocation->name,
        .verb = "connect",
        .content = -1,
        .quiet = true,
    };
    uint64_t unused = 0;

    return errand != NULL && errand->destination.port == revocation->port &&
           strcmp(errand->destination.name, revocation->name) == 0 &&
           broker->decide(broker->data, &errand->subject, &act, &unused) != ABX_VERDICT_ALLOW;
}

static void
look_at_none(struct egress_box *box)
{
    for (struct part *part = box->parts; part != NULL; part = part->next) {
        part->is_looked_at = false;
    }
}

/* Ending one may end others, so the list is looked through again. */
static struct part *
look_at_next(struct egress_box *box)
{
    struct part *part = box->parts;

    while (part != NULL && part->is_looked_at) {
        part = part->next;
    }
    if (part != NULL) {
        part->is_looked_at = true;
    }
    return part;
}

static void
revoke(void *data)
{
    const struct revocation *revocation = data;
    struct refusal refusal = { 0 };
    struct part *part;

    refusal_revoked(&refusal);
    look_at_none(revocation->box);
    while ((part = look_at_next(revocation->box)) != NULL) {
        if (is_revoked(part, revocation)) {
            tell_denial(
                    part->box, &part->errand->subject, &part->errand->destination, NULL, &refusal);
            part->end(part);
        }
    }
}

void
egress_revoke(struct egress_box *box, const char *name, uint32_t port)
{
    struct revocation revocation = { .box = box, .name = name, .port = port };

    egress_call(box->egress, revoke, &revocation);
}

struct request_revocation {
    struct egress_box *box;
    uint64_t grant, ticket;
};

static void
revoke_requests(void *data)
{
    const struct request_revocation *revocation = data;
    struct part *part;

    look_at_none(revocation->box);
    while ((part = look_at_next(revocation->box)) != NULL) {
        if (part->revoke != NULL) {
            part->revoke(part, revocation->grant, revocation->ticket);
        }
    }
}

void
egress_revoke_requests(struct egress_box *box, uint64_t grant, uint64_t ticket)
{
    struct request_revocation revocation = { .box = box, .grant = grant, .ticket = ticket };

    egress_call(box->egress, revoke_requests, &revocation);
}

/* ---- its end ---- */
static void
stop(void *data)
{
    struct egress_box *box = data;

    box->stopped = true;
    while (box->parts != NULL) {
        box->parts->end(box->parts);
    }
    hosts_done(&box->hosts);
    secrets_free(box->secrets);
    named_free(box->named);
}

void
egress_close(struct egress_box *box)
{
    if (box != NULL) {
        egress_call(box->egress, stop, box); /* runs what was posted before, too */
        reading_close(box);
        upstream_free(box->upstream);
        free(box);
    }
}
