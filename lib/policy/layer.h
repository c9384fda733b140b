/* SPDX-License-Identifier: Apache-2.0
 * Inside the deciding part of lib/policy: what resolving and combining need of layers. */
#ifndef ABX_POLICY_LAYER_H
#define ABX_POLICY_LAYER_H

#include "base/mem.h"
#include "policy/rules.h"

DEFINE_CLEANUP(layer_free, struct layer)

/* An unfinished layer with the rules, names and settings of a finished one. */
abx_status layer_copy(struct layer *layer, struct layer **ret_copy, struct fail *fail);
abx_status layer_protect_name(struct layer *layer, const char *name, struct fail *fail);
void layer_drop_rules(struct layer *layer, size_t n_kept);
/* layer_finish for a layer that stands on a host: with twins of what it adds, and git directories
 * where they really are.  `host` may be NULL. */
abx_status layer_seal(struct layer *layer, const struct host_view *host, struct fail *fail);
/* Adds the rule again for what its path leads to through links; nothing if it leads to itself. */
abx_status layer_add_twin(struct layer *layer, const struct rule *rule,
        const struct host_view *host, struct fail *fail);

#endif
