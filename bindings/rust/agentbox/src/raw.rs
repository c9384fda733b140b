// SPDX-License-Identifier: Apache-2.0
//! How values pass to the library and back.
use crate::error::{Error, Result};
use agentbox_sys as sys;
use std::ffi::{c_char, c_void, CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;

/// Text as C takes it: a NUL, behind which C would not look, is an error.
pub(crate) fn c_string(value: impl AsRef<OsStr>) -> Result<CString> {
    CString::new(value.as_ref().as_bytes()).map_err(|_| Error::new(sys::ABX_ERR_INVALID, "a text has a NUL in it"))
}

pub(crate) fn c_option(value: Option<impl AsRef<OsStr>>) -> Result<Option<CString>> {
    value.map(c_string).transpose()
}

/// NULL for None; borrowed from `value`.
pub(crate) fn pointer(value: &Option<CString>) -> *const c_char {
    value.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}

/// Texts, and the array of pointers to them that ends with NULL.
pub(crate) struct Strings {
    _texts: Vec<CString>,
    pub(crate) pointers: Vec<*const c_char>,
}

impl Strings {
    pub(crate) fn new(values: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Strings> {
        let texts = values.into_iter().map(c_string).collect::<Result<Vec<_>>>()?;
        let pointers = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Ok(Strings { _texts: texts, pointers })
    }
}

/// A copy; bytes that are no UTF-8 become U+FFFD.
///
/// # Safety
/// NULL, or a text that ends with a NUL and lives during the call.
pub(crate) unsafe fn text(pointer: *const c_char) -> Option<String> {
    (!pointer.is_null()).then(|| CStr::from_ptr(pointer).to_string_lossy().into_owned())
}

pub(crate) fn check(status: i32) -> Result<i32> {
    if status < 0 {
        return Err(Error::take(status, std::ptr::null_mut()));
    }
    Ok(status)
}

/// The handle that a call gives through `ret_…, reterr`.
pub(crate) fn made<T>(call: impl FnOnce(*mut *mut T, *mut *mut sys::abx_error) -> i32) -> Result<*mut T> {
    let (mut made, mut error) = (std::ptr::null_mut(), std::ptr::null_mut());
    let status = call(&mut made, &mut error);
    if status < 0 {
        return Err(Error::take(status, error));
    }
    Ok(made)
}

/// A call that has only `reterr`.
pub(crate) fn done(call: impl FnOnce(*mut *mut sys::abx_error) -> i32) -> Result<i32> {
    let mut error = std::ptr::null_mut();
    let status = call(&mut error);
    if status < 0 {
        return Err(Error::take(status, error));
    }
    Ok(status)
}

/// The text that a call gives through `ret_text, ret_length`.
pub(crate) fn buffer(call: impl FnOnce(*mut *mut c_char, *mut usize) -> i32) -> Result<String> {
    let (mut text, mut length) = (std::ptr::null_mut(), 0);
    check(call(&mut text, &mut length))?;
    Ok(taken(text, length))
}

/// What a call gave through `ret_text` and `ret_length`; it is released.
pub(crate) fn taken(text: *mut c_char, length: usize) -> String {
    // SAFETY: the call gave so many bytes, which are ours.
    unsafe {
        let copy = String::from_utf8_lossy(std::slice::from_raw_parts(text.cast::<u8>(), length)).into_owned();
        sys::abx_free(text.cast::<c_void>());
        copy
    }
}

/// Size of a struct, as its first field wants it.
pub(crate) fn size_of<T>() -> u32 {
    std::mem::size_of::<T>() as u32
}

/// A counted C object: released with its last use.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $raw:ident, $unref:ident, [$($marker:ident),*]) => {
        $(#[$doc])*
        pub struct $name(pub(crate) *mut sys::$raw);

        $(
            // SAFETY: the C interface says so of this type (its thread class).
            unsafe impl $marker for $name {}
        )*

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: this is the reference that it was made with.
                unsafe { sys::$unref(self.0) }
            }
        }
    };
}
pub(crate) use handle;
