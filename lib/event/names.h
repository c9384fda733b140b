/* SPDX-License-Identifier: Apache-2.0
 * The stable words for the numbers of the API, as events and reports have them.  NULL: no such
 * number. */
#ifndef ABX_EVENT_NAMES_H
#define ABX_EVENT_NAMES_H

#include <stdint.h>

const char *name_of_event(uint32_t type); /* "denial" */
const char *name_of_request(uint32_t request); /* "path" */
const char *name_of_access(uint32_t access); /* one ABX_ACCESS_* bit: "read" */
const char *name_of_layer(uint32_t layer); /* "filesystem" */
const char *name_of_class(uint32_t failure); /* "policy" */
const char *name_of_retry(uint32_t retry); /* "held" */
const char *name_of_exit(uint32_t reason); /* "timeout" */

#endif
