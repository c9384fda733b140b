/* SPDX-License-Identifier: Apache-2.0
 * A connection of the box that was decided by its name: dials if that was not done yet, and
 * connects the two. */
#include "egress/transparent.h"

#include "egress/dial.h"
#include "egress/tunnel.h"

#include <stdlib.h>

struct transparent {
    struct part part;
    struct egress_box *box;
    struct errand *errand;
    struct dial *dial;
    int inside;
};

static void
transparent_free(struct transparent *transparent)
{
    part_remove(&transparent->part);
    dial_cancel(transparent->dial);
    free(transparent->errand);
    free(transparent);
}

static void
end_part(struct part *part)
{
    struct transparent *transparent = (struct transparent *)part;

    close_with_reset(transparent->inside);
    transparent_free(transparent);
}

static void
dialled(void *data, int fd, int error, const struct refusal *refusal)
{
    struct transparent *transparent = data;
    int inside = transparent->inside;

    transparent->dial = NULL;
    if (error != 0) {
        close_with_reset(inside);
    } else {
        part_remove(&transparent->part); /* the tunnel takes its place */
        tunnel_start(transparent->box, transparent->errand, inside, fd, HOLD_NOTHING, NULL);
    }
    transparent_free(transparent);
}

void
transparent_start(struct egress_box *box, const struct errand *errand, int inside, int outside)
{
    struct transparent *transparent = calloc(1, sizeof *transparent);
    struct dial *dial;

    if (transparent != NULL) {
        transparent->errand = errand_new(&errand->subject, &errand->destination);
    }
    if (transparent == NULL || transparent->errand == NULL ||
            !part_add(&transparent->part, box, end_part, &errand->subject, &errand->destination)) {
        if (transparent != NULL) {
            transparent_free(transparent);
        }
        close_with_reset(inside);
        close_with_reset(outside);
        return;
    }
    transparent->box = box;
    transparent->inside = inside;
    if (outside >= 0) {
        dialled(transparent, outside, 0, NULL);
        return;
    }
    dial = dial_start(box, &errand->subject, &errand->destination, dialled, transparent);
    if (dial != NULL) {
        transparent->dial = dial;
    }
}
