// SPDX-License-Identifier: Apache-2.0
use agentbox::{preflight, render_audit, verify_audit, AgentBox, Answer, Audit, Backend, Command, Context, ContextOptions, ErrorKind, EventType, ExitReason, Identity, Policy, PolicyBuilder, Request, Scope, Stream, Verdict};
use std::future::Future;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::{Context as Task, Poll, Wake, Waker};

const NOTHING: &str = r#"{"version": 1}"#;
const ASK: &str = r#"{"version": 1, "filesystem": {"write": {"ask": [{"path": "${workspace}/release", "id": "release"}]}}}"#;
const ASK_EXEC: &str = r#"{"version": 1, "filesystem": {"exec": {"ask": [{"path": "/usr/bin/id"}]}}}"#;

/// A directory that goes with the test.
struct Workspace(PathBuf);

impl Workspace {
    fn new() -> Workspace {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let path = PathBuf::from(format!("/var/tmp/agentbox-rust.{}.{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst)));
        std::fs::create_dir(&path).unwrap();
        Workspace(path)
    }

    fn open(&self, document: &str) -> AgentBox {
        let policy = Policy::from_profile("workspace-write", &[("workspace", self.0.to_str().unwrap()), ("home", "/home/somebody")], &[document]).unwrap();
        Context::new().unwrap().open_box(&policy, None).unwrap()
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn shell(script: &str) -> Command {
    Command::new(["sh", "-c", script])
}

fn mkdir(path: &Path) -> Command {
    Command::new(["mkdir".as_ref(), path.as_os_str()])
}

fn handles_are_send_and_sync<T: Send + Sync>() {}

#[test]
fn what_the_interface_calls_locked_or_immutable_is_for_all_threads() {
    handles_are_send_and_sync::<(Context, AgentBox, agentbox::Process, Policy, agentbox::Event, Identity)>();
}

#[test]
fn setter_says_what_is_wrong_with_it() {
    let error = PolicyBuilder::new(None).unwrap().weaken(agentbox::Weaken::HOST_NETWORK, "").err().unwrap();
    assert_eq!((error.kind, error.step.as_str()), (ErrorKind::Policy, "policy:weaken"));
}

#[test]
fn text_with_a_nul_is_refused_not_cut() {
    let policy = Policy::from_json(NOTHING).unwrap();
    assert_eq!(policy.evaluate(&Request::read("/etc\0/x")).unwrap_err().kind, ErrorKind::Invalid);
}

#[test]
fn held_call_goes_on() {
    let workspace = Workspace::new();
    let mut seen = Vec::new();
    let outcome = workspace.open(ASK).run_with(&mkdir(&workspace.join("release")), |event| {
        seen.push((event.event_type(), event.rule()));
        Some(Answer::allow(Scope::ONCE).by("test"))
    });
    assert!(outcome.unwrap().exit.success());
    assert!(seen.contains(&(EventType::APPROVAL, Some("release".into()))));
    assert!(workspace.join("release").exists());
}

#[test]
fn question_can_be_about_the_command_itself() {
    let workspace = Workspace::new();
    let from = workspace.open(ASK_EXEC);
    assert!(from.run_with(&Command::new(["id"]), |_| Some(Answer::allow(Scope::ONCE))).unwrap().exit.success());
    assert_eq!(from.run_with(&Command::new(["id"]), |_| None).unwrap_err().kind, ErrorKind::Exec);
}

#[test]
fn handler_that_panics_has_refused_and_ends_the_command() {
    let workspace = Workspace::new();
    let from = workspace.open(ASK);
    let script = format!("mkdir {}; sleep 1000", workspace.join("release").display());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = from.run_with(&shell(&script), |event| if event.event_type() == EventType::APPROVAL { panic!("no idea") } else { None });
    }));
    assert!(panicked.is_err());
    assert!(!workspace.join("release").exists());
}

#[test]
fn dropping_a_box_ends_its_commands() {
    let workspace = Workspace::new();
    let from = workspace.open(NOTHING);
    let process = from.spawn(&Command::new(["sleep", "1000"])).unwrap();
    drop(from);
    assert_eq!(process.wait().unwrap().reason, ExitReason::KILLED);
}

#[test]
fn pipes_are_files() {
    let workspace = Workspace::new();
    let from = workspace.open(NOTHING);
    let process = from.spawn(&Command::new(["tr", "a-z", "A-Z"]).streams(Stream::Pipe, Stream::Pipe, Stream::Null)).unwrap();
    process.take_stdio(0).unwrap().write_all(b"hello").unwrap();
    let mut read = String::new();
    process.take_stdio(1).unwrap().read_to_string(&mut read).unwrap();
    assert_eq!(read, "HELLO");
    assert!(process.wait().unwrap().success());
}

#[test]
fn identity_is_on_each_event() {
    let context = Context::new().unwrap();
    let policy = Policy::from_profile("read-only", &[("workspace", "/var/tmp"), ("home", "/home/somebody")], &[]).unwrap();
    let identity = Identity::new("ada", "session-1", None, 0).unwrap();
    context.open_box(&policy, Some(&identity)).unwrap().run(&Command::new(["true"])).unwrap();
    while let Some(event) = context.next_event().unwrap() {
        assert_eq!((event.principal().as_deref(), event.agent_session().as_deref()), (Some("ada"), Some("session-1")));
    }
}

#[test]
fn audit_log_is_whole() {
    let workspace = Workspace::new();
    let path = workspace.join("audit");
    let context = Context::with(&ContextOptions { audit_path: Some(path.clone().into()), ..ContextOptions::default() }).unwrap();
    let hidden = r#"{"version": 1, "filesystem": {"read": {"deny": ["~"]}, "write": {"deny": ["~"]}}}"#;
    let policy = Policy::from_profile("read-only", &[("workspace", "/var/tmp"), ("home", workspace.0.to_str().unwrap())], &[hidden]).unwrap();
    context.run(&policy, &Command::new(["true"])).unwrap();
    assert_eq!(verify_audit(&[&path]).unwrap().0, Audit::WHOLE);
    assert_eq!(render_audit(&[&path], "json", None).unwrap().0, Audit::WHOLE);
}

#[test]
fn action_is_asked_for() {
    let workspace = Workspace::new();
    let from = workspace.open(r#"{"version": 1, "actions": [{"name": "read", "verdict": "allow", "arguments": {"id": {"type": "string"}}}]}"#);
    assert!(from.request(&Request::action("read", Some(r#"{"id":"7"}"#))).unwrap().contains(r#""verdict":"allow""#));
    assert!(from.request(&Request::action("read", Some(r#"{"id":7}"#))).unwrap().contains(r#""verdict":"deny""#));
}

#[test]
fn observed_box_suggests_a_policy() {
    let context = Context::with(&ContextOptions { observe: true, ..ContextOptions::default() }).unwrap();
    let policy = Policy::from_profile("workspace-write", &[("workspace", "/var/tmp"), ("home", "/home/somebody")], &[]).unwrap();
    let from = context.open_box(&policy, None).unwrap();
    from.run(&Command::new(["true"])).unwrap();
    assert!(from.suggest().unwrap().contains("\"version\""));
}

#[test]
fn preflight_names_the_box() {
    assert!(preflight(None).unwrap().contains("\"box\""));
}

#[test]
fn simulated_box_has_the_same_events() {
    let context = Context::with(&ContextOptions { backend: Backend::SIMULATED, ..ContextOptions::default() }).unwrap();
    let policy = Policy::from_profile("workspace-write", &[("workspace", "/var/tmp"), ("home", "/home/somebody")], &[ASK]).unwrap();
    let from = context.open_box(&policy, None).unwrap();
    assert_eq!(from.attempt(&Request::write("/etc/motd"), None).unwrap().0.verdict, Verdict::DENY);
    let (decision, ticket) = from.attempt(&Request::write("/var/tmp/release"), None).unwrap();
    assert_eq!((decision.verdict, from.outcome(ticket).unwrap()), (Verdict::ASK, None));
    context.answer(ticket, &Answer::allow(Scope::ONCE)).unwrap();
    assert_eq!(from.outcome(ticket).unwrap(), Some(Verdict::ALLOW));
}

/// Set when a future wants to be polled.
struct Flag(std::sync::atomic::AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[repr(C)]
struct PollEntry(i32, i16, i16);

extern "C" {
    fn poll(entries: *mut PollEntry, count: std::ffi::c_ulong, timeout: i32) -> i32;
}

#[test]
fn end_is_a_future_that_taking_events_wakes() {
    let workspace = Workspace::new();
    let from = workspace.open(NOTHING);
    let handle = from.context().wait_handle().unwrap();
    let processes: Vec<_> = (0..20).map(|_| from.spawn(&shell("read x; exit 3").streams(Stream::Pipe, Stream::Null, Stream::Null)).unwrap()).collect();
    for process in &processes {
        let flag = Arc::new(Flag(false.into()));
        let waker = Waker::from(flag.clone());
        let mut exited = pin!(process.exited());
        assert!(exited.as_mut().poll(&mut Task::from_waker(&waker)).is_pending());
        drop(process.take_stdio(0));
        while !flag.0.load(Ordering::SeqCst) {
            // SAFETY: one entry that lives during the call.
            unsafe { poll(&mut PollEntry(handle.as_raw_fd(), 1, 0), 1, -1) };
            while from.context().next_event().unwrap().is_some() {}
        }
        match exited.as_mut().poll(&mut Task::from_waker(&waker)) {
            Poll::Ready(exit) => assert_eq!(exit.unwrap().code, 3),
            Poll::Pending => panic!("it ended"),
        };
    }
}

/// Bytes that malloc gave and did not get back.
fn in_use() -> usize {
    #[repr(C)]
    struct Memory {
        other: [usize; 7],
        in_use: usize,
        more: [usize; 2],
    }
    extern "C" {
        fn mallinfo2() -> Memory;
    }
    unsafe { mallinfo2() }.in_use
}

#[test]
fn thousand_commands_leave_no_descriptor() {
    // A process of its own: other tests open some meanwhile.
    if std::env::var_os("AGENTBOX_ALONE").is_none() {
        let alone = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "thousand_commands_leave_no_descriptor", "--test-threads=1"])
            .env("AGENTBOX_ALONE", "1")
            .status();
        assert!(alone.unwrap().success());
        return;
    }
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    {
        let workspace = Workspace::new();
        let from = workspace.open(NOTHING);
        let mut memory = 0;
        for number in 0..1000 {
            assert_eq!(from.run(&shell("echo x; echo x >/etc/motd")).unwrap().exit.denials, 1);
            while from.context().next_event().unwrap().is_some() {}
            if number == 300 {
                memory = in_use(); // what is made once is made
            }
        }
        let after = in_use();
        assert!(after < memory + 256 * 1024, "{memory} bytes, then {after}"); // 370 for each command
    }
    assert_eq!(descriptors(), before);
}
