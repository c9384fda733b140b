/* SPDX-License-Identifier: Apache-2.0
 * Makes the forty-four calls, and prints what they give as JSON: calls WORKSPACE */
#include "bindings/calls.h"
#include "bindings/calls_common.h"

#include <stdio.h>

#define CALL(name, function) { name, function },
static const struct {
    const char *name;
    json_t *(*function)(void);
} calls[] = { CALLS };

int
main(int argc, char **argv)
{
    json_t *all = json_object();

    if (argc != 2) {
        return 2;
    }
    workspace = argv[1];
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        json_object_set_new(all, calls[i].name, calls[i].function());
    }
    json_dumpf(all, stdout, JSON_INDENT(1));
    json_decref(all);
    return 0;
}
