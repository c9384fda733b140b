// SPDX-License-Identifier: Apache-2.0
// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.
//! What kind of error a status is.

/// Grows with the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument is wrong; correct the call.
    Invalid,
    /// The wrong time.
    State,
    /// A status that this crate does not know yet.
    Other,
}

impl ErrorKind {
    pub(crate) fn of(status: i32) -> ErrorKind {
        match status {
            -1001 => ErrorKind::Invalid,
            -1003 => ErrorKind::State,
            _ => ErrorKind::Other,
        }
    }
}
