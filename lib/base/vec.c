/* SPDX-License-Identifier: Apache-2.0 */
#include "base/vec.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void *
vec_add(struct vec *vec)
{
    char *element;

    if (vec->count == vec->room) {
        size_t room = vec->room == 0 ? 8 : vec->room * 2;
        size_t bytes;
        void *data;

        if (!size_mul(room, vec->element, &bytes)) {
            return NULL;
        }
        data = realloc(vec->data, bytes);
        if (data == NULL) {
            return NULL;
        }
        vec->data = data;
        vec->room = room;
    }
    element = (char *)vec->data + vec->count * vec->element;
    memset(element, 0, vec->element);
    vec->count++;
    return element;
}

void
vec_remove(struct vec *vec, size_t i)
{
    char *element = (char *)vec->data + i * vec->element;

    memmove(element, element + vec->element, (vec->count - i - 1) * vec->element);
    vec->count--;
}

void
vec_done(struct vec *vec)
{
    free(vec->data);
    vec->data = NULL;
    vec->count = 0;
    vec->room = 0;
}
