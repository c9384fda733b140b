# SPDX-License-Identifier: Apache-2.0
# Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.
"""The C interface as cffi reads it, and what the header says of each function."""

CDEF = """\
typedef int32_t abx_status;
typedef struct abx_lamp abx_lamp;
typedef struct abx_error abx_error;
typedef struct {
    uint32_t size;
    uint32_t watts[3];
    const char *name;
    const char *const *words;
} abx_lamp_options;
typedef void (*abx_lamp_fn)(void *user_data, abx_lamp *lamp);
void abx_error_unref(abx_error *error);
void abx_free(void *buffer);
abx_status abx_lamp_new(const abx_lamp_options *options, abx_lamp **ret_lamp, abx_error **reterr);
abx_status abx_lamp_paint(abx_lamp *lamp, const char *colour, size_t length, const void *pigment, size_t amount, abx_lamp_options *before);
abx_status abx_lamp_watch(abx_lamp *lamp, abx_lamp_fn fn, void *user_data);
abx_status abx_lamp_words(abx_lamp *lamp, char **ret_json, size_t *ret_length);
const char *abx_lamp_get_name(abx_lamp *lamp);
int64_t abx_lamp_take_switch(abx_lamp *lamp);
abx_lamp *abx_lamp_ref(abx_lamp *lamp);
void abx_lamp_unref(abx_lamp *lamp);
"""

DOCS = {
    'abx_lamp_new':
        'Lights it. may be dim or not',
}
