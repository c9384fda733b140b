// SPDX-License-Identifier: Apache-2.0
// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.

export const HANDLES = ["abx_lamp", "abx_error"];

/** Fields with their types; a number behind one is how many there are. */
export const STRUCTS = {
  abx_lamp_options: { size_of: 32, fields: { size: ["uint32_t", 1], watts: ["uint32_t", 3], name: ["str", 1], words: ["str *", 1] } },
};

export const FUNCTIONS = {
  abx_error_unref: "void abx_error_unref(abx_error * error)",
  abx_free: "void abx_free(void * buffer)",
  abx_lamp_new: "int32_t abx_lamp_new(abx_lamp_options * options, _Out_ abx_lamp ** ret_lamp, _Out_ abx_error ** reterr)",
  abx_lamp_paint: "int32_t abx_lamp_paint(abx_lamp * lamp, void * colour, size_t length, void * pigment, size_t amount, _Inout_ abx_lamp_options * before)",
  abx_lamp_watch: "int32_t abx_lamp_watch(abx_lamp * lamp, void * fn, void * user_data)",
  abx_lamp_words: "int32_t abx_lamp_words(abx_lamp * lamp, _Out_ void ** ret_json, _Out_ size_t * ret_length)",
  abx_lamp_get_name: "str abx_lamp_get_name(abx_lamp * lamp)",
  abx_lamp_take_switch: "int64_t abx_lamp_take_switch(abx_lamp * lamp)",
  abx_lamp_ref: "abx_lamp * abx_lamp_ref(abx_lamp * lamp)",
  abx_lamp_unref: "void abx_lamp_unref(abx_lamp * lamp)",
};
