// SPDX-License-Identifier: Apache-2.0
//! Runs untrusted commands inside a boundary: files, network, processes; every denial is an event.
//!
//! ```no_run
//! use agentbox::{Command, Context, Policy};
//!
//! let policy = Policy::from_profile("workspace-write", &[("workspace", "/var/tmp"), ("home", "/home/somebody")], &[])?;
//! let context = Context::new()?;
//! let result = context.open_box(&policy, None)?.run(&Command::new(["sh", "-c", "echo hello; echo x >/etc/motd"]))?;
//! println!("{}", result.explanation); // for the model, to append to the tool's result
//! # Ok::<(), agentbox::Error>(())
//! ```
//!
//! Every type but [`PolicyBuilder`] can be used from any thread. Calls block; in an async program the ones that a question can
//! hold ([`Context::open_box`], [`AgentBox::spawn`]) belong on a thread for blocking work, and the rest hangs on one descriptor:
//! [`Context::wait_handle`] is readable while [`Context::next_event`] has something, which also wakes whoever awaits
//! [`Process::exited`].
mod agent_box;
mod attend;
mod constants;
mod context;
mod error;
mod event;
mod kind;
mod policy;
mod process;
mod raw;
mod report;
mod request;

pub use agent_box::AgentBox;
pub use constants::*;
pub use context::{Context, ContextOptions, Stats};
pub use error::{Error, Result};
pub use event::{Answer, Event};
pub use kind::ErrorKind;
pub use policy::{Comparison, Identity, Policy, PolicyBuilder};
pub use process::{Command, Exit, Exited, Outcome, Process, Stream};
pub use report::{preflight, redact_audit, render_audit, replay_audit, verify_audit};
pub use request::{Decision, Request};
