// SPDX-License-Identifier: Apache-2.0
use crate::constants::{Access, RequestKind, Verdict};
use crate::error::Result;
use crate::raw;
use agentbox_sys as sys;
use std::ffi::{CString, OsString};

/// One act, as a policy decides it and as a grant adds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub kind: RequestKind,
    pub access: Access,
    pub port: u32,
    pub target: Option<OsString>,
    pub verb: Option<String>,
}

impl Request {
    fn about(kind: RequestKind, target: impl Into<OsString>) -> Request {
        Request { kind, target: Some(target.into()), ..Request::default() }
    }

    pub fn read(path: impl Into<OsString>) -> Request {
        Request { access: Access::READ, ..Request::about(RequestKind::PATH, path) }
    }

    pub fn write(path: impl Into<OsString>) -> Request {
        Request { access: Access::WRITE, ..Request::about(RequestKind::PATH, path) }
    }

    pub fn execute(path: impl Into<OsString>) -> Request {
        Request::about(RequestKind::EXEC, path)
    }

    pub fn connect(host: &str, port: u16) -> Request {
        Request { port: port.into(), ..Request::about(RequestKind::CONNECT, host) }
    }

    pub fn http(method: &str, url: &str) -> Request {
        Request { verb: Some(method.into()), ..Request::about(RequestKind::HTTP, url) }
    }

    /// `arguments`: a JSON object.
    pub fn action(name: &str, arguments: Option<&str>) -> Request {
        Request { verb: arguments.map(Into::into), ..Request::about(RequestKind::ACTION, name) }
    }

    /// Calls `work` with the C struct.
    pub(crate) fn with<T>(&self, work: impl FnOnce(*const sys::abx_request) -> Result<T>) -> Result<T> {
        let target: Option<CString> = raw::c_option(self.target.as_ref())?;
        let verb: Option<CString> = raw::c_option(self.verb.as_ref())?;
        let given = sys::abx_request {
            size: raw::size_of::<sys::abx_request>(),
            kind: self.kind.0,
            access: self.access.0,
            port: self.port,
            target: raw::pointer(&target),
            verb: raw::pointer(&verb),
        };
        work(&given)
    }
}

/// What a policy says of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    /// Index of the rule that decided; None: the default.
    pub rule: Option<u32>,
    /// Index of the policy layer that it came from.
    pub layer: u32,
}

impl Decision {
    pub(crate) fn empty() -> sys::abx_decision {
        sys::abx_decision { size: raw::size_of::<sys::abx_decision>(), verdict: 0, rule: 0, layer: 0 }
    }

    pub(crate) fn of(found: &sys::abx_decision) -> Decision {
        Decision { verdict: Verdict(found.verdict), rule: (found.rule != u32::MAX).then_some(found.rule), layer: found.layer }
    }
}
