/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy: what is allowed, for a program that was denied something else. */
#ifndef ABX_POLICY_ALTERNATIVE_H
#define ABX_POLICY_ALTERNATIVE_H

#include "policy/index.h"

/* Names the first few things that the layer allows, each once, with its ports unless they are the
 * default ones.  Empty where there is nothing, or it says nothing; NULL without memory. */
char *alternative_make(const struct layer *layer, enum slot slot);

#endif
