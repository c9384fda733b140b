// SPDX-License-Identifier: Apache-2.0
use crate::constants::{ExitReason, Status, Stdio};
use crate::context::Shared;
use crate::error::Result;
use crate::raw::{self, handle, Strings};
use agentbox_sys as sys;
use std::ffi::{c_char, OsString};
use std::fs::File;
use std::future::Future;
use std::os::fd::{FromRawFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll};
use std::time::Duration;

const KILL: i32 = 9;

/// One of a command's three streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Null,
    Pipe,
    /// Must be given for all three.
    Pty,
    Capture,
    /// A descriptor, duplicated by the call.
    Descriptor(RawFd),
}

impl Stream {
    fn raw(self) -> (u32, i64) {
        match self {
            Stream::Null => (Stdio::NULL.0, -1),
            Stream::Pipe => (Stdio::PIPE.0, -1),
            Stream::Pty => (Stdio::PTY.0, -1),
            Stream::Capture => (Stdio::CAPTURE.0, -1),
            Stream::Descriptor(descriptor) => (Stdio::HANDLE.0, descriptor.into()),
        }
    }
}

/// A program, its arguments, and how it starts.
#[derive(Clone, Debug)]
pub struct Command {
    pub argv: Vec<OsString>,
    pub cwd: Option<OsString>,
    /// On top of the policy's.
    pub env: Vec<(String, OsString)>,
    /// On every event of the command.
    pub label: Option<String>,
    pub timeout: Option<Duration>,
    pub streams: [Stream; 3],
    /// Rows and columns, with `Stream::Pty`.
    pub size: (u32, u32),
}

impl Command {
    pub fn new(argv: impl IntoIterator<Item = impl Into<OsString>>) -> Command {
        Command {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: None,
            env: Vec::new(),
            label: None,
            timeout: None,
            streams: [Stream::Null; 3],
            size: (0, 0),
        }
    }

    pub fn cwd(mut self, cwd: impl Into<OsString>) -> Command {
        self.cwd = Some(cwd.into());
        self
    }

    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Command {
        self.env.push((name.into(), value.into()));
        self
    }

    pub fn label(mut self, label: &str) -> Command {
        self.label = Some(label.into());
        self
    }

    pub fn timeout(mut self, timeout: Duration) -> Command {
        self.timeout = Some(timeout);
        self
    }

    pub fn streams(mut self, stdin: Stream, stdout: Stream, stderr: Stream) -> Command {
        self.streams = [stdin, stdout, stderr];
        self
    }

    /// Output that goes nowhere is captured.
    pub(crate) fn captured(&self) -> Command {
        let or_captured = |stream| if stream == Stream::Null { Stream::Capture } else { stream };
        let [stdin, stdout, stderr] = self.streams;
        self.clone().streams(stdin, or_captured(stdout), or_captured(stderr))
    }

    /// Calls `work` with the C arguments.
    pub(crate) fn with<T>(&self, work: impl FnOnce(*const *const c_char, *const sys::abx_spawn_options) -> Result<T>) -> Result<T> {
        let argv = Strings::new(&self.argv)?;
        let variables = Strings::new(self.env.iter().map(|(name, value)| {
            let mut text = OsString::from(format!("{name}="));
            text.push(value);
            text
        }))?;
        let (cwd, label) = (raw::c_option(self.cwd.as_ref())?, raw::c_option(self.label.as_ref())?);
        let streams = self.streams.map(Stream::raw);
        // SAFETY: all zero is the default of each field.
        let mut options: sys::abx_spawn_options = unsafe { std::mem::zeroed() };
        options.size = raw::size_of::<sys::abx_spawn_options>();
        options.stdio = streams.map(|stream| stream.0);
        options.handle = streams.map(|stream| stream.1);
        (options.rows, options.columns) = self.size;
        options.timeout_ms = self.timeout.map_or(0, |timeout| timeout.as_millis().clamp(1, u64::MAX.into()) as u64);
        options.cwd = raw::pointer(&cwd);
        options.label = raw::pointer(&label);
        options.env = if self.env.is_empty() { std::ptr::null() } else { variables.pointers.as_ptr() };
        work(argv.pointers.as_ptr(), &options)
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    pub reason: ExitReason,
    /// Exit code, or the signal that ended it.
    pub code: i32,
    /// Attempts that were denied, all of them.
    pub denials: u32,
    pub cpu_us: u64,
    pub peak_memory: u64,
}

impl Exit {
    pub fn success(&self) -> bool {
        self.reason == ExitReason::CODE && self.code == 0
    }
}

/// What `run` gives.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub exit: Exit,
    pub stdout: Option<Vec<u8>>,
    pub stderr: Option<Vec<u8>>,
    /// For the model, to append to the tool's result; empty if nothing was stopped.
    pub explanation: String,
    /// JSON: the same for a program, with the class of each failure; empty if nothing was stopped.
    pub explanation_json: String,
}

handle! {
    Raw, abx_process, abx_process_unref, [Send, Sync]
}

/// One command in a box. Dropping it does not end the command; dropping its box does.
pub struct Process {
    raw: Raw,
    box_id: u64,
    shared: Arc<Shared>,
}

impl Process {
    pub(crate) fn new(made: *mut sys::abx_process, box_id: u64, shared: Arc<Shared>) -> Process {
        Process { raw: Raw(made), box_id, shared }
    }

    pub(crate) fn raw(&self) -> *mut sys::abx_process {
        self.raw.0
    }

    pub fn id(&self) -> u64 {
        // SAFETY: a live handle; so in all that follow.
        unsafe { sys::abx_process_get_id(self.raw.0) }
    }

    fn wait_ms(&self, timeout_ms: i64) -> Result<Option<Exit>> {
        let mut found = sys::abx_exit { size: raw::size_of::<sys::abx_exit>(), reason: 0, code: 0, denials: 0, cpu_us: 0, peak_memory: 0 };
        if raw::check(unsafe { sys::abx_process_wait(self.raw.0, timeout_ms, &mut found) })? != Status::OK.0 {
            return Ok(None);
        }
        let sys::abx_exit { reason, code, denials, cpu_us, peak_memory, .. } = found;
        Ok(Some(Exit { reason: ExitReason(reason), code, denials, cpu_us, peak_memory }))
    }

    /// How it ended; None while it runs.
    pub fn try_wait(&self) -> Result<Option<Exit>> {
        self.wait_ms(0)
    }

    pub fn wait_timeout(&self, timeout: Duration) -> Result<Option<Exit>> {
        self.wait_ms(timeout.as_millis().min(i64::MAX as u128) as i64)
    }

    /// Blocks until it ended.
    pub fn wait(&self) -> Result<Exit> {
        loop {
            if let Some(exit) = self.wait_ms(-1)? {
                return Ok(exit);
            }
        }
    }

    /// The end as a future, for any executor: [`crate::Context::next_event`] wakes it.
    pub fn exited(&self) -> Exited<'_> {
        Exited(self)
    }

    /// To the command's process group; SIGKILL ends all that it started.
    pub fn signal(&self, number: i32) -> Result<()> {
        raw::check(unsafe { sys::abx_process_signal(self.raw.0, number) }).map(drop)
    }

    /// Ends the command and all that it started; an error of kind `State` if it ended already.
    pub fn kill(&self) -> Result<()> {
        self.signal(KILL)
    }

    pub fn resize(&self, rows: u32, columns: u32) -> Result<()> {
        raw::check(unsafe { sys::abx_process_resize(self.raw.0, rows, columns) }).map(drop)
    }

    /// The host's end of stream 0, 1 or 2: once for each pipe; with a pty a duplicate of the terminal's master each time.
    pub fn take_stdio(&self, which: u32) -> Option<File> {
        let descriptor = unsafe { sys::abx_process_take_stdio(self.raw.0, which) };
        (descriptor >= 0).then(|| unsafe { File::from_raw_fd(descriptor as RawFd) })
    }

    /// What a captured stream held, once the command ended.
    pub fn output(&self, which: u32) -> Option<Vec<u8>> {
        let mut length = 0;
        let data = unsafe { sys::abx_process_get_output(self.raw.0, which, &mut length) };
        (!data.is_null()).then(|| unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) }.to_vec())
    }

    /// What stopped this command, as `"text"` for the model or `"json"`.
    pub fn explain(&self, format: &str) -> Result<String> {
        let format = raw::c_string(format)?;
        raw::buffer(|text, length| unsafe { sys::abx_process_explain(self.raw.0, format.as_ptr(), text, length) })
    }

    pub(crate) fn outcome(&self, exit: Exit) -> Result<Outcome> {
        Ok(Outcome { exit, stdout: self.output(1), stderr: self.output(2), explanation: self.explain("text")?, explanation_json: self.explain("json")? })
    }
}

/// Ready when the command ended.
pub struct Exited<'a>(&'a Process);

impl Exited<'_> {
    fn key(&self) -> (u64, u64) {
        (self.0.box_id, self.0.id())
    }
}

impl Future for Exited<'_> {
    type Output = Result<Exit>;

    fn poll(self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Result<Exit>> {
        self.0.shared.await_end(self.key(), task.waker());
        // Looked at after that, or an end in between would wake nobody.
        match self.0.try_wait().transpose() {
            Some(ended) => {
                self.0.shared.wake(self.key());
                Poll::Ready(ended)
            }
            None => Poll::Pending,
        }
    }
}
