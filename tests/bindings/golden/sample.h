/* A header with one of each thing that the real one has. */
#ifndef SAMPLE_H
#define SAMPLE_H
/* clang-format off */
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define ABX_VERSION_HEX 0x010203

typedef struct abx_lamp abx_lamp; /* [L] gives light */

/* ---- status -------------------------------------------------------------------------- */
typedef int32_t abx_status;
enum abx_status_values {
    ABX_OK = 0,
    ABX_ERR_INVALID = -1001, /* "quoted" words */
    ABX_ERR_STATE = -1003
};
typedef struct abx_error abx_error; /* [I] why */
ABX_API void abx_error_unref(abx_error *error);
ABX_API void abx_free(void *buffer);

/* ---- lamps --------------------------------------------------------------------------- */
enum abx_access_values { ABX_ACCESS_READ = 1, ABX_ACCESS_WRITE = 2 };
enum abx_exit_values { /* how it went out */
    ABX_EXIT_BURNT = 1
};
/* What a lamp
 * is like. */
typedef struct abx_lamp_options {
    uint32_t size; /* of this */
    uint32_t watts[3];
    const char *name; /* or NULL */
    const char *const *words;
} abx_lamp_options;

typedef void (*abx_lamp_fn)(void *user_data, abx_lamp *lamp);
/* Lights
 * it. */
ABX_API abx_status abx_lamp_new( /* may be dim */
        const abx_lamp_options *options, abx_lamp **ret_lamp, abx_error **reterr); /* or not */
ABX_API abx_status abx_lamp_paint(abx_lamp *lamp, const char *colour, size_t length,
        const void *pigment, size_t amount, abx_lamp_options *before);
ABX_API abx_status abx_lamp_watch(abx_lamp *lamp, abx_lamp_fn fn, void *user_data);
ABX_API abx_status abx_lamp_words(abx_lamp *lamp, char **ret_json, size_t *ret_length);
ABX_API const char *abx_lamp_get_name(abx_lamp *lamp);
ABX_API int64_t abx_lamp_take_switch(abx_lamp *lamp);
ABX_API abx_lamp *abx_lamp_ref(abx_lamp *lamp);
ABX_API void abx_lamp_unref(abx_lamp *lamp);

#ifdef __cplusplus
}
#endif
#endif
