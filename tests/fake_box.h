/* SPDX-License-Identifier: Apache-2.0
 * The fixture of tests over the fake backend: a context, a box in it, and one command. */
#ifndef ABX_TESTS_FAKE_BOX_H
#define ABX_TESTS_FAKE_BOX_H

#include "fake-backend.h"
#include "supervise/box.h"

/* Fails the test with the error of a document that is wrong. */
abx_policy *fake_policy(const char *json);
/* Takes the policy.  `label` may be NULL. */
void fake_box_open(abx_policy *policy, size_t events, const char *label, abx_context **ret_context,
        abx_box **ret_box, abx_process **ret_process);

#endif
