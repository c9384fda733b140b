/* SPDX-License-Identifier: Apache-2.0
 * The one way of a box's events: into the audit log first, if there is one, then to the host.  All
 * boxes of a context take turns, so that its events are numbered as they are queued. */
#ifndef ABX_SUPERVISE_OUTLET_H
#define ABX_SUPERVISE_OUTLET_H

#include "base/fail.h"
#include "event/queue.h"

struct abx_box;

struct outlet {
    struct abx_box *box; /* whose it is */
    bool failing; /* the last record could not be written, and the host was told */
};

void outlet_init(struct outlet *outlet, struct abx_box *box);

/* What has happened, or was refused: the host gets to know it also where it cannot be recorded, and
 * that this is so.  Takes the reference; NULL, an event for which there was no memory, counts as
 * dropped. */
void outlet_tell(struct outlet *outlet, abx_event *event);
/* What is about to happen, which must not where this fails: then the event is not queued either.
 * Takes the reference. */
abx_status outlet_permit(struct outlet *outlet, abx_event *event, struct fail *fail);
/* The same for what is a record only, no event. */
abx_status outlet_record(struct outlet *outlet, const struct event_draft *draft, struct fail *fail);
/* Counts more attempts into an event that was not taken yet; false if it was, or is recorded. */
bool outlet_repeat(struct outlet *outlet, abx_event *event, uint64_t times);

#endif
