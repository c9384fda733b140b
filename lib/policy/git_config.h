/* SPDX-License-Identifier: Apache-2.0
 * Inside lib/policy: a git configuration file as the list of what it sets, in its order. */
#ifndef ABX_POLICY_GIT_CONFIG_H
#define ABX_POLICY_GIT_CONFIG_H

#include "base/vec.h"

#include <stdbool.h>

struct git_setting {
    char *section; /* lower case */
    char *subsection; /* as written, or NULL */
    char *key; /* lower case */
    char *value; /* NULL: the key stands alone, which means true */
};

/* Reads as git does, only stricter: false for what git would refuse, and for NUL bytes, a byte
 * order mark, keys before a section, and more than 10,000 settings. */
bool git_config_read(const char *text, size_t length, struct vec *ret_settings);
void git_config_done(struct vec *settings); /* struct git_setting */

#endif
