/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/plan only: the parts of plan_compile. */
#ifndef ABX_PLAN_COMPILE_H
#define ABX_PLAN_COMPILE_H

#include "plan/plan.h"

/* Where the inputs of a box stand; `as` of an input is below it. */
#define INPUTS_ROOT "/task"
#define INPUTS_DIRECTORY "/task/in"
#define HOST_PORTS_MAX 256u /* each costs two sockets */

struct compiler {
    abx_policy *policy;
    const struct policy_settings *settings;
    const struct host_view *host;
    struct plan *plan;
    struct vec anchors; /* const char *, sorted */
    struct fail *fail;
};

abx_verdict compile_decide(const struct compiler *compiler, const char *path, uint32_t access,
        struct ruling *ret_ruling);
/* Adds a private place; `content` NULL: none. */
abx_status compile_private(struct compiler *compiler, const char *path, enum private_kind kind,
        bool writable, const char *content);
/* Whether the path is in a directory of the box's own, as far as they are listed. */
bool compile_is_own(const struct compiler *compiler, const char *path);
/* The files that say whom programs believe, a part of compile_privates. */
abx_status compile_trust(struct compiler *compiler);
/* Steps, in this order; each fills its part of the plan. */
abx_status compile_privates(struct compiler *compiler);
abx_status compile_places(struct compiler *compiler);
abx_status compile_guards(struct compiler *compiler);
abx_status compile_root(struct compiler *compiler);
/* Refuses what the rung lacks; the plan is complete but for `mask` and `read_patterns`. */
abx_status compile_needs(struct compiler *compiler);

#endif
