// SPDX-License-Identifier: Apache-2.0
// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.
//! The C interface of libagentbox; the crate `agentbox` is the safe one.
#![allow(non_camel_case_types)]
#![no_std]
#[cfg(test)]
extern crate std;

use core::ffi::{c_char, c_void};

pub type abx_status = i32;

/// gives light
#[repr(C)]
pub struct abx_lamp {
    _opaque: [u8; 0],
}

/// why
#[repr(C)]
pub struct abx_error {
    _opaque: [u8; 0],
}

pub type abx_lamp_fn = Option<unsafe extern "C" fn(user_data: *mut c_void, lamp: *mut abx_lamp)>;

pub const ABX_OK: i32 = 0;
/// "quoted" words
pub const ABX_ERR_INVALID: i32 = -1001;
pub const ABX_ERR_STATE: i32 = -1003;

pub const ABX_ACCESS_READ: u32 = 1;
pub const ABX_ACCESS_WRITE: u32 = 2;

pub const ABX_EXIT_BURNT: u32 = 1;

/// What a lamp is like.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct abx_lamp_options {
    /// of this
    pub size: u32,
    pub watts: [u32; 3],
    /// or NULL
    pub name: *const c_char,
    pub words: *const *const c_char,
}

extern "C" {
    pub fn abx_error_unref(error: *mut abx_error);
    pub fn abx_free(buffer: *mut c_void);
    /// Lights it. may be dim or not
    pub fn abx_lamp_new(options: *const abx_lamp_options, ret_lamp: *mut *mut abx_lamp, reterr: *mut *mut abx_error) -> abx_status;
    pub fn abx_lamp_paint(lamp: *mut abx_lamp, colour: *const c_char, length: usize, pigment: *const c_void, amount: usize, before: *mut abx_lamp_options) -> abx_status;
    pub fn abx_lamp_watch(lamp: *mut abx_lamp, r#fn: abx_lamp_fn, user_data: *mut c_void) -> abx_status;
    pub fn abx_lamp_words(lamp: *mut abx_lamp, ret_json: *mut *mut c_char, ret_length: *mut usize) -> abx_status;
    pub fn abx_lamp_get_name(lamp: *mut abx_lamp) -> *const c_char;
    pub fn abx_lamp_take_switch(lamp: *mut abx_lamp) -> i64;
    pub fn abx_lamp_ref(lamp: *mut abx_lamp) -> *mut abx_lamp;
    pub fn abx_lamp_unref(lamp: *mut abx_lamp);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_have_their_sizes() {
        assert_eq!(std::mem::size_of::<abx_lamp_options>(), 32);
    }
}
