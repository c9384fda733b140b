// SPDX-License-Identifier: Apache-2.0
use crate::constants::{Audit, Replay};
use crate::error::Result;
use crate::policy::Policy;
use crate::raw::{self, Strings};
use agentbox_sys as sys;
use std::ffi::OsStr;

/// The rows of a report, as JSON, and that outcome of the call which is no error.
pub(crate) fn rows(call: impl FnOnce(*mut *mut sys::abx_report, *mut *mut sys::abx_error) -> i32) -> Result<(u32, String)> {
    let mut outcome = 0;
    let report = raw::made(|made, error| {
        outcome = call(made, error);
        outcome
    })?;
    // SAFETY: the report is ours.
    unsafe {
        let rows = raw::buffer(|text, length| sys::abx_report_to_json(report, text, length));
        sys::abx_report_unref(report);
        Ok((outcome as u32, rows?))
    }
}

/// What this host can enforce, of a policy or of everything: JSON, a row for each feature.
pub fn preflight(policy: Option<&Policy>) -> Result<String> {
    let policy = policy.map_or(std::ptr::null_mut(), |policy| policy.0);
    // SAFETY: a live handle or NULL.
    rows(|made, error| unsafe { sys::abx_preflight(policy, made, error) }).map(|(_, rows)| rows)
}

/// Reads an audit log, its files oldest first: JSON, a row for each.
pub fn verify_audit(paths: &[impl AsRef<OsStr>]) -> Result<(Audit, String)> {
    let names = Strings::new(paths)?;
    // SAFETY: as many live texts as are said.
    rows(|made, error| unsafe { sys::abx_audit_verify(names.pointers.as_ptr(), paths.len(), made, error) }).map(|(outcome, rows)| (Audit(outcome), rows))
}

/// Its records, as `"text"`, `"json"` or `"html"`; of one layer (`"filesystem"` and so on) or of all.
pub fn render_audit(paths: &[impl AsRef<OsStr>], format: &str, layer: Option<&str>) -> Result<(Audit, String)> {
    let (names, format, layer) = (Strings::new(paths)?, raw::c_string(format)?, raw::c_option(layer)?);
    let (mut text, mut length) = (std::ptr::null_mut(), 0);
    // SAFETY: as many live texts as are said.
    let outcome = raw::done(|error| unsafe {
        sys::abx_audit_render(names.pointers.as_ptr(), paths.len(), format.as_ptr(), raw::pointer(&layer), &mut text, &mut length, error)
    })?;
    Ok((Audit(outcome as u32), raw::taken(text, length)))
}

/// Takes out for good what some records say (`"3,7-9"`): JSON, a row for each file that was written anew.
pub fn redact_audit(path: impl AsRef<OsStr>, records: &str) -> Result<String> {
    let (path, records) = (raw::c_string(path)?, raw::c_string(records)?);
    // SAFETY: two live texts.
    rows(|made, error| unsafe { sys::abx_audit_redact(path.as_ptr(), records.as_ptr(), made, error) }).map(|(_, rows)| rows)
}

/// What a policy says of the calls that an audit log tells of: JSON, a row for equal calls. Of one file that is named all
/// files of the log are read.
pub fn replay_audit(policy: &Policy, paths: &[impl AsRef<OsStr>]) -> Result<(Replay, String)> {
    let names = Strings::new(paths)?;
    // SAFETY: a live handle, and as many live texts as are said.
    rows(|made, error| unsafe { sys::abx_audit_replay(policy.0, names.pointers.as_ptr(), paths.len(), made, error) })
        .map(|(outcome, rows)| (Replay(outcome), rows))
}
