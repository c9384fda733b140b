// SPDX-License-Identifier: Apache-2.0
use crate::agent_box::AgentBox;
use crate::constants::{AuditSync, Backend, ContextFlag, EventType, Status};
use crate::error::{Error, Result};
use crate::event::{Answer, Event};
use crate::policy::{Identity, Policy};
use crate::process::{Command, Outcome};
use crate::raw::{self, handle};
use agentbox_sys as sys;
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

handle! {
    /// The C object; boxes and processes share it.
    Raw, abx_context, abx_context_unref, [Send, Sync]
}

pub(crate) struct Shared {
    pub(crate) raw: Raw,
    /// Who awaits the end of a command, by its box and number.
    waiting: Mutex<HashMap<(u64, u64), Vec<Waker>>>,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, HashMap<(u64, u64), Vec<Waker>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn await_end(&self, key: (u64, u64), waker: &Waker) {
        let mut waiting = self.waiting();
        let wakers = waiting.entry(key).or_default();
        if !wakers.iter().any(|known| known.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }

    /// The command ended: everyone who awaits that may look.
    pub(crate) fn wake(&self, key: (u64, u64)) {
        let woken = self.waiting().remove(&key);
        woken.into_iter().flatten().for_each(Waker::wake);
    }
}

/// How a context is made.
#[derive(Clone, Debug, Default)]
pub struct ContextOptions {
    pub backend: Backend,
    /// How many events wait at most before denials are dropped; 0 is the default.
    pub events: u32,
    /// The program in the box, where memfd may not be executed.
    pub init_path: Option<String>,
    /// The audit log; what cannot be recorded is not done.
    pub audit_path: Option<OsString>,
    /// It goes on in a new file after that many; 0 is 64 MiB.
    pub audit_bytes: u64,
    pub audit_sync: AuditSync,
    /// Allows what is safe and no rule speaks of, and tells of it; see [`AgentBox::suggest`].
    pub observe: bool,
}

/// What a context counted since it was made, of all its boxes. `asked` is `granted` + `refused` + `timed_out` + `abandoned` + what is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    pub boxes: u64,
    pub commands: u64,
    pub denials: u64,
    /// Of the denials: an equal attempt of the same command was denied before.
    pub repeats: u64,
    /// Questions, each once, however many calls wait for it.
    pub asked: u64,
    pub granted: u64,
    pub refused: u64,
    pub timed_out: u64,
    /// Nobody waited any more: the command or the box ended.
    pub abandoned: u64,
    /// That calls waited for answers, each for itself.
    pub held_ns: u64,
}

/// An instance of the library, with its queue of events. Clones are the same context.
#[derive(Clone)]
pub struct Context {
    pub(crate) shared: Arc<Shared>,
}

impl Context {
    pub fn new() -> Result<Context> {
        Context::with(&ContextOptions::default())
    }

    pub fn with(options: &ContextOptions) -> Result<Context> {
        let (init_path, audit_path) = (raw::c_option(options.init_path.as_ref())?, raw::c_option(options.audit_path.as_ref())?);
        // SAFETY: all zero is the default of each field.
        let mut given: sys::abx_context_options = unsafe { std::mem::zeroed() };
        given.size = raw::size_of::<sys::abx_context_options>();
        given.backend = options.backend.0;
        given.events = options.events;
        given.init_path = raw::pointer(&init_path);
        given.audit_path = raw::pointer(&audit_path);
        given.audit_bytes = options.audit_bytes;
        given.audit_sync = options.audit_sync.0;
        given.flags = if options.observe { ContextFlag::CONTEXT_OBSERVE.0 } else { 0 };
        // SAFETY: a live struct.
        let made = raw::made(|made, error| unsafe { sys::abx_context_new(&given, made, error) })?;
        Ok(Context { shared: Arc::new(Shared { raw: Raw(made), waiting: Mutex::default() }) })
    }

    /// Builds a boundary, in which commands then start.
    pub fn open_box(&self, policy: &Policy, identity: Option<&Identity>) -> Result<AgentBox> {
        let identity = identity.map_or(std::ptr::null_mut(), |identity| identity.0);
        // SAFETY: live handles.
        let made = raw::made(|made, error| unsafe { sys::abx_box_open(self.shared.raw.0, policy.0, identity, made, error) })?;
        Ok(AgentBox::new(made, self.clone()))
    }

    /// Opens a box, runs one command in it, and closes it.
    pub fn run(&self, policy: &Policy, command: &Command) -> Result<Outcome> {
        self.open_box(policy, None)?.run(command)
    }

    /// The oldest event. An `exited` one wakes who awaits it, so some thread or task must take events while there are such.
    pub fn next_event(&self) -> Result<Option<Event>> {
        let mut event = std::ptr::null_mut();
        // SAFETY: a live handle.
        if raw::check(unsafe { sys::abx_context_next_event(self.shared.raw.0, &mut event) })? != Status::OK.0 {
            return Ok(None);
        }
        let event = Event(event);
        if event.event_type() == EventType::EXITED {
            self.shared.wake((event.box_id() as u64, event.process_id() as u64));
        }
        Ok(Some(event))
    }

    /// A new descriptor that is readable while events are queued, ready for `poll` or an `AsyncFd`. Do not read from it.
    pub fn wait_handle(&self) -> Result<OwnedFd> {
        // SAFETY: a live handle; the descriptor is ours.
        let descriptor = unsafe { sys::abx_context_take_wait_handle(self.shared.raw.0) };
        if descriptor < 0 {
            return Err(Error::new(sys::ABX_ERR_IO, "no descriptor is left"));
        }
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
    }

    pub fn stats(&self) -> Result<Stats> {
        // SAFETY: all zero is a struct of numbers.
        let mut found: sys::abx_stats = unsafe { std::mem::zeroed() };
        found.size = raw::size_of::<sys::abx_stats>();
        // SAFETY: a live handle and struct.
        raw::check(unsafe { sys::abx_context_stats(self.shared.raw.0, &mut found) })?;
        let sys::abx_stats { boxes, commands, denials, repeats, asked, granted, refused, timed_out, abandoned, held_ns, .. } = found;
        Ok(Stats { boxes, commands, denials, repeats, asked, granted, refused, timed_out, abandoned, held_ns })
    }

    /// False: this yes counts, and another approver must say it too.
    pub fn answer(&self, ticket: u64, answer: &Answer) -> Result<bool> {
        answer.with(|answer| {
            // SAFETY: a live handle and struct.
            let status = raw::done(|error| unsafe { sys::abx_context_answer(self.shared.raw.0, ticket, answer, error) })?;
            Ok(status == Status::OK.0)
        })
    }

    /// Gives the secret that a request waits for. The caller wipes its own copy.
    pub fn supply(&self, ticket: u64, secret: &[u8], expires_ms: i64) -> Result<()> {
        // SAFETY: a live handle, as many bytes as are said.
        raw::done(|error| unsafe { sys::abx_context_supply(self.shared.raw.0, ticket, secret.as_ptr().cast(), secret.len(), expires_ms, error) })?;
        Ok(())
    }
}
