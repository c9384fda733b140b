// SPDX-License-Identifier: Apache-2.0
// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.
//! What kind of error a status is.

/// Grows with the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument is wrong; correct the call.
    Invalid,
    /// A struct is shorter than its first version, or sets fields that this library lacks; set the struct's size, or use a
    /// newer library.
    Abi,
    /// The right call at the wrong time; see the function's description.
    State,
    /// Out of memory; free some, and call again.
    Nomem,
    /// The policy is malformed; the error names the rule and its place.
    Policy,
    /// This host or this version cannot do it; the error's remedy says what to change; abx_preflight lists all.
    Unsupported,
    /// The boundary was not built and nothing was run; the error's step says where it failed.
    Setup,
    /// The boundary stands, the command could not be started; look at the OS code.
    Exec,
    /// It took too long; call again, or raise the limit.
    Timeout,
    /// A read, write or similar call failed; look at the OS code.
    Io,
    /// A decision said no; ask who wrote the policy.
    Denied,
    /// A fault of the library; report it.
    Internal,
    /// A status that this crate does not know yet.
    Other,
}

impl ErrorKind {
    pub(crate) fn of(status: i32) -> ErrorKind {
        match status {
            -1001 => ErrorKind::Invalid,
            -1002 => ErrorKind::Abi,
            -1003 => ErrorKind::State,
            -1004 => ErrorKind::Nomem,
            -1005 => ErrorKind::Policy,
            -1006 => ErrorKind::Unsupported,
            -1007 => ErrorKind::Setup,
            -1008 => ErrorKind::Exec,
            -1009 => ErrorKind::Timeout,
            -1010 => ErrorKind::Io,
            -1011 => ErrorKind::Denied,
            -1099 => ErrorKind::Internal,
            _ => ErrorKind::Other,
        }
    }
}
