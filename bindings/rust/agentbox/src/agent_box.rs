// SPDX-License-Identifier: Apache-2.0
use crate::attend;
use crate::constants::{Status, Verdict};
use crate::context::Context;
use crate::error::Result;
use crate::event::{Answer, Event};
use crate::process::{Command, Outcome, Process};
use crate::raw::{self, handle};
use crate::request::{Decision, Request};
use agentbox_sys as sys;

handle! {
    Raw, abx_box, abx_box_unref, [Send, Sync]
}

/// One open boundary, many commands. Dropping it ends them.
pub struct AgentBox {
    raw: Raw,
    context: Context,
}

impl AgentBox {
    pub(crate) fn new(made: *mut sys::abx_box, context: Context) -> AgentBox {
        AgentBox { raw: Raw(made), context }
    }

    pub fn id(&self) -> u64 {
        // SAFETY: a live handle; so in all that follow.
        unsafe { sys::abx_box_get_id(self.raw.0) }
    }

    pub fn context(&self) -> &Context {
        &self.context
    }

    /// JSON: what enforces what.
    pub fn receipt(&self) -> Result<String> {
        raw::buffer(|text, length| unsafe { sys::abx_box_receipt(self.raw.0, text, length) })
    }

    /// Starts a command; a question can hold this.
    pub fn spawn(&self, command: &Command) -> Result<Process> {
        let made = command.with(|argv, options| raw::made(|made, error| unsafe { sys::abx_box_spawn(self.raw.0, argv, options, made, error) }))?;
        Ok(Process::new(made, self.id(), self.context.shared.clone()))
    }

    /// Starts a command with captured output, waits for it, and says how it went. Events wait meanwhile.
    pub fn run(&self, command: &Command) -> Result<Outcome> {
        let process = self.spawn(&command.captured())?;
        let exit = process.wait()?;
        process.outcome(exit)
    }

    /// The same, with `handle` called on this thread for each event; its answer settles a question, and None refuses it.
    pub fn run_with(&self, command: &Command, handle: impl FnMut(&Event) -> Option<Answer>) -> Result<Outcome> {
        attend::run(self, command, handle)
    }

    /// Adds one request for a while: a path, a program, a connection, an HTTP request or an action; gives the number to revoke it by. `expires_ms` is Unix time, 0 is never; 0 uses is unlimited.
    pub fn grant(&self, request: &Request, expires_ms: i64, uses: u32, approver: Option<&str>) -> Result<u64> {
        let approver = raw::c_option(approver)?;
        request.with(|request| {
            let mut grant = 0;
            raw::done(|error| unsafe { sys::abx_box_grant(self.raw.0, request, expires_ms, uses, raw::pointer(&approver), &mut grant, error) })?;
            Ok(grant)
        })
    }

    pub fn revoke(&self, grant: u64) -> Result<()> {
        raw::check(unsafe { sys::abx_box_revoke(self.raw.0, grant) }).map(drop)
    }

    /// JSON: the grants in force.
    pub fn grants(&self) -> Result<String> {
        raw::buffer(|text, length| unsafe { sys::abx_box_grants(self.raw.0, text, length) })
    }

    /// Gives a secret before it is wanted. The caller wipes its own copy.
    pub fn set_credential(&self, name: &str, secret: &[u8], expires_ms: i64) -> Result<()> {
        let name = raw::c_string(name)?;
        raw::done(|error| unsafe { sys::abx_box_set_credential(self.raw.0, name.as_ptr(), secret.as_ptr().cast(), secret.len(), expires_ms, error) }).map(drop)
    }

    /// May this action (`Request::action`) be done?  A JSON object with `verdict`, and `ticket` where an approver is asked.
    pub fn request(&self, action: &Request) -> Result<String> {
        action.with(|request| {
            let (mut found, mut text) = (Decision::empty(), std::ptr::null_mut());
            raw::done(|error| unsafe {
                sys::abx_box_request(self.raw.0, request, &mut found, std::ptr::null_mut(), &mut text, error)
            })?;
            let length = unsafe { std::ffi::CStr::from_ptr(text) }.to_bytes().len();
            Ok(raw::taken(text, length))
        })
    }

    /// In a box of a simulated context: what comes of this request; with `Verdict::ASK` it is held under the ticket.
    pub fn attempt(&self, request: &Request, process: Option<&Process>) -> Result<(Decision, u64)> {
        let process = process.map_or(std::ptr::null_mut(), Process::raw);
        request.with(|request| {
            let (mut found, mut ticket) = (Decision::empty(), 0);
            raw::done(|error| unsafe { sys::abx_box_attempt(self.raw.0, process, request, &mut found, &mut ticket, error) })?;
            Ok((Decision::of(&found), ticket))
        })
    }

    /// What a held attempt came to; None while it is held.
    pub fn outcome(&self, ticket: u64) -> Result<Option<Verdict>> {
        let mut verdict = 0;
        let status = raw::check(unsafe { sys::abx_box_outcome(self.raw.0, ticket, 0, &mut verdict) })?;
        Ok((status == Status::OK.0).then_some(Verdict(verdict)))
    }

    /// JSON: the smallest policy document that allows again what was done in this box of an observing context.
    pub fn suggest(&self) -> Result<String> {
        let (mut text, mut length) = (std::ptr::null_mut(), 0);
        raw::done(|error| unsafe { sys::abx_box_suggest(self.raw.0, &mut text, &mut length, error) })?;
        Ok(raw::taken(text, length))
    }

    /// Ends every process in it, at once.
    pub fn kill(&self) -> Result<()> {
        raw::check(unsafe { sys::abx_box_kill(self.raw.0) }).map(drop)
    }
}
