/* SPDX-License-Identifier: Apache-2.0
 * Owns the comparison of connections to addresses: the first of each block and the one after its
 * last, since nothing changes between, each also as what a name led to.  Pure, one thread. */
#include "policy/compare_hosts.h"

#include "base/mem.h"
#include "policy/ruling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_WORK 1000u /* what it costs to look at a name */

struct address {
    uint8_t bytes[16];
};

static bool
add_address(struct vec *addresses, const uint8_t bytes[16])
{
    struct address *slot = vec_add(addresses);

    if (slot != NULL) {
        memcpy(slot->bytes, bytes, 16);
    }
    return slot != NULL;
}

/* The last address of a block. */
static void
block_last(const struct host_pattern *block, uint8_t out[16])
{
    memcpy(out, block->bytes, 16);
    for (uint32_t bit = block->prefix; bit < 128; bit++) {
        out[bit / 8] |= (uint8_t)(0x80u >> bit % 8);
    }
}

static bool
add_block_edges(struct vec *addresses, const struct host_pattern *block)
{
    uint8_t after[16];
    int i = 15;

    block_last(block, after);
    while (i >= 0 && ++after[i] == 0) {
        i--;
    }
    return add_address(addresses, block->bytes) && (i < 0 || add_address(addresses, after));
}

static int
compare_addresses(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct address));
}

/* Keeps `open` what the address is in: blocks are nested, so it is a stack. */
static bool
open_blocks(struct host_pass *pass, size_t *next, const struct host_pattern *host)
{
    while (*next < pass->blocks.count) {
        uint32_t number = *vec_at(&pass->blocks, uint32_t, *next);

        if (memcmp(block_bytes(vec_at(&pass->rules, struct host_rule, number)), host->bytes, 16) >
                0) {
            break;
        }
        while (pass->open.count > 0 &&
                host_pattern_match(vec_at(&pass->rules, struct host_rule,
                                           *vec_at(&pass->open, uint32_t, pass->open.count - 1))
                                           ->rule->matcher,
                        vec_at(&pass->rules, struct host_rule, number)->rule->matcher) < 0) {
            pass->open.count--;
        }
        if (!numbers_add(&pass->open, number)) {
            return false;
        }
        (*next)++;
    }
    while (pass->open.count > 0 &&
            host_pattern_match(vec_at(&pass->rules, struct host_rule,
                                       *vec_at(&pass->open, uint32_t, pass->open.count - 1))
                                       ->rule->matcher,
                    host) < 0) {
        pass->open.count--;
    }
    return true;
}

/* A name and a port of it for which an address makes a difference, and what comes of it. */
struct witness {
    bool found;
    uint32_t port;
    abx_verdict verdicts[SIDES];
    char name[POLICY_HOST_SIZE + 16];
};

/* What an address comes to at a range of ports, for a name that led to it. */
struct resolved {
    const char *address;
    uint32_t first, last;
    abx_verdict by_address[SIDES];
};

/* Whether it makes a name, whose speakers are there, differ as it does itself at some port of the
 * range.  What the name's own verdicts make of it the other way is said of the name. */
static bool
differs_for(struct host_pass *pass, const struct resolved *resolved,
        const struct host_pattern *name, struct witness *ret_witness)
{
    abx_verdict *verdicts = ret_witness->verdicts;

    for (size_t i = 0; i <= pass->edges.count; i++) {
        uint32_t port = i == 0 ? resolved->first : *vec_at(&pass->edges, uint32_t, i - 1);

        if (port < resolved->first || port > resolved->last) {
            continue;
        }
        for (unsigned side = 0; side < SIDES; side++) {
            verdicts[side] = host_pass_connect(pass, side, name, port, false);
            if (verdict_is_stricter(resolved->by_address[side], verdicts[side])) {
                verdicts[side] = resolved->by_address[side];
            }
        }
        if (verdicts[BEFORE] != verdicts[AFTER] &&
                verdict_is_stricter(verdicts[BEFORE], verdicts[AFTER]) ==
                        verdict_is_stricter(
                                resolved->by_address[BEFORE], resolved->by_address[AFTER])) {
            ret_witness->port = port;
            return true;
        }
    }
    return false;
}

/* The first name and port for which what is resolved makes a difference. */
static abx_status
find_witness(struct host_pass *pass, const struct resolved *resolved, struct witness *ret_witness,
        struct fail *fail)
{
    struct vec speakers = pass->speakers, edges = pass->edges;
    struct work *work = &pass->comparison->work;
    struct host_pattern name;
    bool is_end = false;
    abx_status r = ABX_OK;

    pass->speakers = VEC(struct speaker);
    pass->edges = VEC(uint32_t);
    for (size_t i = 0; !is_end && !ret_witness->found && r == ABX_OK; i++) {
        if (!host_pass_example(pass, i, &name, &is_end)) {
            continue;
        }
        host_pass_next(pass);
        r = host_pass_name(pass, &name) && host_pass_edges(pass) &&
                            work_spend(work, NAME_WORK + pass->edges.count * pass->speakers.count)
                    ? ABX_OK
                    : work_fail(work, fail);
        if (r == ABX_OK && differs_for(pass, resolved, &name, ret_witness)) {
            ret_witness->found = true;
            snprintf(ret_witness->name, sizeof ret_witness->name, "%s", name.name);
        }
    }
    vec_done(&pass->speakers);
    vec_done(&pass->edges);
    pass->speakers = speakers;
    pass->edges = edges;
    return r;
}

/* Which name it is depends on the ports and verdicts alone, so it is looked for once for all
 * addresses that have these. */
static abx_status
compare_resolved(struct host_pass *pass, const struct resolved *resolved, struct fail *fail)
{
    const uint32_t key[] = { resolved->first, resolved->last, resolved->by_address[BEFORE],
        resolved->by_address[AFTER] };
    uint32_t number = intern_put(&pass->resolved, key, sizeof key);
    abx_request request = {
        .size = sizeof request, .kind = ABX_REQUEST_CONNECT, .target = resolved->address
    };
    const struct witness *witness;

    if (number == INTERN_NONE) {
        return fail_nomem(fail);
    }
    if (number == pass->witnesses.count) {
        struct witness *slot = vec_add(&pass->witnesses);

        if (slot == NULL) {
            return fail_nomem(fail);
        }
        if (find_witness(pass, resolved, slot, fail) < 0) {
            return fail->status;
        }
    }
    witness = vec_at(&pass->witnesses, struct witness, number);
    request.port = witness->port;
    return witness->found ? comparison_ask(pass->comparison, &request, witness->name,
                                    witness->verdicts, NULL, fail)
                          : ABX_OK;
}

static abx_status
compare_address(struct host_pass *pass, const struct host_pattern *host, struct fail *fail)
{
    AUTO(freep) char *text = host_address_text(host->bytes);
    struct host_pattern parsed;
    abx_status r = ABX_OK;

    if (text == NULL) {
        return fail_nomem(fail);
    }
    if (host_parse(text, &parsed, fail) < 0 || memcmp(parsed.bytes, host->bytes, 16) != 0) {
        return ABX_OK; /* no request has this address: it is another spelling of IPv4 */
    }
    host_pass_next(pass);
    for (size_t i = 0; i < pass->open.count && r == ABX_OK; i++) {
        r = host_pass_speaks(pass, *vec_at(&pass->open, uint32_t, i), host) ? ABX_OK
                                                                            : fail_nomem(fail);
    }
    r = r == ABX_OK ? host_pass_ports(pass, text, host, fail) : r;
    for (size_t i = 0; i < pass->edges.count && r == ABX_OK; i++) {
        struct resolved resolved = {
            .address = text, .first = *vec_at(&pass->edges, uint32_t, i), .last = 65535
        };

        if (resolved.first > 65535) {
            break;
        }
        if (i + 1 < pass->edges.count) {
            resolved.last = *vec_at(&pass->edges, uint32_t, i + 1) - 1;
        }
        for (unsigned side = 0; side < SIDES; side++) {
            resolved.by_address[side] = host_pass_connect(pass, side, host, resolved.first, true);
        }
        if (resolved.by_address[BEFORE] != resolved.by_address[AFTER]) {
            r = compare_resolved(pass, &resolved, fail);
        }
    }
    return r;
}

abx_status
compare_addressed(struct host_pass *pass, struct fail *fail)
{
    static const uint8_t lowest[16] = { 0 };
    struct vec addresses = VEC(struct address);
    struct host_pattern host = { .form = HOST_ADDRESS, .prefix = 128 };
    bool ok = add_address(&addresses, lowest);
    size_t next = 0;
    abx_status r = ABX_OK;

    for (size_t i = 0; host_special_block(i, &host) && ok; i++) {
        ok = add_block_edges(&addresses, &host);
    }
    for (size_t i = 0; i < pass->blocks.count && ok; i++) {
        uint32_t number = *vec_at(&pass->blocks, uint32_t, i);

        ok = add_block_edges(
                &addresses, vec_at(&pass->rules, struct host_rule, number)->rule->matcher);
    }
    if (!ok) {
        vec_done(&addresses);
        return fail_nomem(fail);
    }
    pass->witnesses = VEC(struct witness);
    intern_init(&pass->resolved);
    qsort(addresses.data, addresses.count, sizeof(struct address), compare_addresses);
    host.prefix = 128;
    for (size_t i = 0; i < addresses.count && r == ABX_OK; i++) {
        const struct address *address = vec_at(&addresses, struct address, i);

        if (i > 0 && compare_addresses(address, address - 1) == 0) {
            continue;
        }
        memcpy(host.bytes, address->bytes, 16);
        r = open_blocks(pass, &next, &host) ? compare_address(pass, &host, fail) : fail_nomem(fail);
    }
    vec_done(&pass->witnesses);
    intern_done(&pass->resolved);
    vec_done(&addresses);
    return r;
}
