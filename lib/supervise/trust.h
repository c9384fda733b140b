/* SPDX-License-Identifier: Apache-2.0
 * Whom the programs of a box believe: what the backend puts into it, and the variables that lead
 * there.  Nothing where its plan adds no trust. */
#ifndef ABX_SUPERVISE_TRUST_H
#define ABX_SUPERVISE_TRUST_H

#include "supervise/box.h"

/* The box has its way out.  Any thread; for trust_done. */
abx_status trust_make(abx_box *box, struct trust_files *ret_files, struct fail *fail);
void trust_done(struct trust_files *files);

/* Appends "NAME=value", owned by the list; false: no memory. */
bool trust_add_variables(const abx_box *box, struct vec *list);

#endif
