// SPDX-License-Identifier: Apache-2.0
//! A command on a thread of its own, while the caller's thread answers its questions: they can hold its start too.
use crate::agent_box::AgentBox;
use crate::constants::EventType;
use crate::error::{Error, Result};
use crate::event::{Answer, Event};
use crate::kind::ErrorKind;
use crate::process::{Command, Outcome, Process};
use agentbox_sys as sys;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

/// `struct pollfd` of poll(2).
#[repr(C)]
struct Entry {
    descriptor: RawFd,
    events: i16,
    found: i16,
}

const READABLE: i16 = 1;

extern "C" {
    fn poll(entries: *mut Entry, count: std::ffi::c_ulong, timeout: std::ffi::c_int) -> std::ffi::c_int;
}

/// Waits until one of both can be read; whether the second can.
fn second_is_ready(first: RawFd, second: RawFd) -> bool {
    let mut entries = [first, second].map(|descriptor| Entry { descriptor, events: READABLE, found: 0 });
    // SAFETY: two entries that live during the call.
    unsafe { poll(entries.as_mut_ptr(), 2, -1) };
    entries[1].found != 0
}

/// A question that is over, since its command or its time is, needs no answer.
fn settle(from: &AgentBox, event: &Event, answer: Option<Answer>) -> Result<()> {
    if event.event_type() != EventType::APPROVAL && event.event_type() != EventType::CREDENTIAL {
        return Ok(());
    }
    match from.context().answer(event.ticket() as u64, &answer.unwrap_or_default()) {
        Err(error) if error.kind != ErrorKind::State => Err(error),
        _ => Ok(()),
    }
}

/// The command, as the caller's thread and the one that waits for it see it.
struct Attended<'a> {
    from: &'a AgentBox,
    process: OnceLock<Process>,
    stopping: AtomicBool,
}

impl Attended<'_> {
    fn work(&self, command: &Command) -> Result<Outcome> {
        let started = self.from.spawn(&command.captured())?;
        let process = self.process.get_or_init(|| started);
        if self.stopping.load(Ordering::SeqCst) {
            let _ = process.kill();
        }
        process.outcome(process.wait()?)
    }

    /// Ends the command, or as soon as it started.
    fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        if let Some(process) = self.process.get() {
            let _ = process.kill();
        }
    }
}

/// A handler that panics has refused, and ends the command.
struct Handling<'a>(&'a Attended<'a>, &'a Event);

impl Drop for Handling<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = settle(self.0.from, self.1, None);
            self.0.stop();
        }
    }
}

pub(crate) fn run(from: &AgentBox, command: &Command, mut handle: impl FnMut(&Event) -> Option<Answer>) -> Result<Outcome> {
    let io = |error: std::io::Error| Error { os_code: error.raw_os_error().unwrap_or(0), ..Error::new(sys::ABX_ERR_IO, &error.to_string()) };
    let events = from.context().wait_handle()?;
    let (over, running) = UnixStream::pair().map_err(io)?;
    let attended = Attended { from, process: OnceLock::new(), stopping: AtomicBool::new(false) };
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let _running = running; // closed at the end, which the other end shows
            attended.work(command)
        });
        let mut failed = None;
        loop {
            let finished = second_is_ready(events.as_raw_fd(), over.as_raw_fd());
            let next = || from.context().next_event().map_err(|error| { // the scope ends when the command does
                attended.stop();
                error
            });
            while let Some(event) = next()? {
                let handling = Handling(&attended, &event);
                let answer = handle(&event);
                drop(handling);
                if let Err(error) = settle(from, &event, answer) {
                    let _ = settle(from, &event, None);
                    attended.stop();
                    failed = failed.or(Some(error));
                }
            }
            if finished {
                break;
            }
        }
        let outcome = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        failed.map_or(outcome, Err)
    })
}
