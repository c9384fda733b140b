// SPDX-License-Identifier: Apache-2.0
use crate::kind::ErrorKind;
use crate::raw;
use agentbox_sys as sys;

pub type Result<T> = std::result::Result<T, Error>;

/// A call failed. A denied act is no error.
#[derive(Clone, Debug)]
pub struct Error {
    pub kind: ErrorKind,
    pub status: i32,
    /// One line for people.
    pub message: String,
    /// Where it stopped, in a machine's words: `mount:/proc`, `policy:/network/allow/3`, or empty.
    pub step: String,
    /// errno behind it, or 0.
    pub os_code: i32,
    /// What to change, or empty.
    pub remedy: String,
}

impl Error {
    pub(crate) fn new(status: i32, message: &str) -> Error {
        Error { kind: ErrorKind::of(status), status, message: message.into(), step: String::new(), os_code: 0, remedy: String::new() }
    }

    /// Of a status, and of the C error behind it, which is released.
    pub(crate) fn take(status: i32, error: *mut sys::abx_error) -> Error {
        // SAFETY: names of statuses are static; the error is ours, and its texts live as long as it.
        unsafe {
            if error.is_null() {
                return Error::new(status, &raw::text(sys::abx_status_name(status)).unwrap_or_default());
            }
            let found = Error {
                step: raw::text(sys::abx_error_get_step(error)).unwrap_or_default(),
                os_code: sys::abx_error_get_os_code(error),
                remedy: raw::text(sys::abx_error_get_remedy(error)).unwrap_or_default(),
                ..Error::new(status, &raw::text(sys::abx_error_get_message(error)).unwrap_or_default())
            };
            sys::abx_error_unref(error);
            found
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        if !self.step.is_empty() {
            write!(f, " [{}]", self.step)?;
        }
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
