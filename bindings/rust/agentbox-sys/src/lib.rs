// SPDX-License-Identifier: Apache-2.0
// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.
//! The C interface of libagentbox; the crate `agentbox` is the safe one.
#![allow(non_camel_case_types)]
#![no_std]
#[cfg(test)]
extern crate std;

use core::ffi::{c_char, c_void};

pub type abx_status = i32;
pub type abx_verdict = u32;

/// why a call failed
#[repr(C)]
pub struct abx_error {
    _opaque: [u8; 0],
}

/// library instance, event queue
#[repr(C)]
pub struct abx_context {
    _opaque: [u8; 0],
}

/// collects rules
#[repr(C)]
pub struct abx_policy_builder {
    _opaque: [u8; 0],
}

/// compiled rules
#[repr(C)]
pub struct abx_policy {
    _opaque: [u8; 0],
}

/// on whose behalf
#[repr(C)]
pub struct abx_identity {
    _opaque: [u8; 0],
}

/// one open boundary, many commands
#[repr(C)]
pub struct abx_box {
    _opaque: [u8; 0],
}

/// one command in a box
#[repr(C)]
pub struct abx_process {
    _opaque: [u8; 0],
}

/// something that happened
#[repr(C)]
pub struct abx_event {
    _opaque: [u8; 0],
}

/// rows of findings
#[repr(C)]
pub struct abx_report {
    _opaque: [u8; 0],
}

pub type abx_event_fn = Option<unsafe extern "C" fn(user_data: *mut c_void, event: *mut abx_event)>;

pub const ABX_ENUM_STATUS: u32 = 1;
pub const ABX_ENUM_REQUEST: u32 = 2;
pub const ABX_ENUM_EVENT: u32 = 3;

pub const ABX_OK: i32 = 0;
/// nothing to return now: no event queued, still running
pub const ABX_NONE: i32 = 1;
/// caller error: bad argument or flag
pub const ABX_ERR_INVALID: i32 = -1001;
/// struct is too short, or sets fields this build lacks
pub const ABX_ERR_ABI: i32 = -1002;
/// right call, wrong time
pub const ABX_ERR_STATE: i32 = -1003;
pub const ABX_ERR_NOMEM: i32 = -1004;
/// malformed policy; the error names the rule and the place
pub const ABX_ERR_POLICY: i32 = -1005;
/// the host cannot enforce what the policy requires
pub const ABX_ERR_UNSUPPORTED: i32 = -1006;
/// boundary not built, nothing was run; see the error's step
pub const ABX_ERR_SETUP: i32 = -1007;
/// boundary built, the command could not be started
pub const ABX_ERR_EXEC: i32 = -1008;
pub const ABX_ERR_TIMEOUT: i32 = -1009;
pub const ABX_ERR_IO: i32 = -1010;
/// a decision said no: a grant or a variable that the policy rules out
pub const ABX_ERR_DENIED: i32 = -1011;
pub const ABX_ERR_INTERNAL: i32 = -1099;

pub const ABX_LOG_ERROR: u32 = 1;
pub const ABX_LOG_WARNING: u32 = 2;
pub const ABX_LOG_INFO: u32 = 3;
pub const ABX_LOG_DEBUG: u32 = 4;

/// the strongest tier that this host can enforce
pub const ABX_BACKEND_NATIVE: u32 = 0;
/// WARNING: nothing is enforced and no program runs; for tests of a harness
pub const ABX_BACKEND_SIMULATED: u32 = 1;

pub const ABX_CONTEXT_OBSERVE: u32 = 1;

pub const ABX_AUDIT_SYNC_NONE: u32 = 0;
pub const ABX_AUDIT_SYNC_RECORD: u32 = 1;

pub const ABX_VERDICT_DENY: u32 = 0;
pub const ABX_VERDICT_ALLOW: u32 = 1;
pub const ABX_VERDICT_ASK: u32 = 2;

pub const ABX_ACCESS_READ: u32 = 1;
/// create, change, rename, delete
pub const ABX_ACCESS_WRITE: u32 = 2;
pub const ABX_ACCESS_EXEC: u32 = 4;

/// bytes, whole box
pub const ABX_LIMIT_MEMORY: u32 = 1;
/// whole box
pub const ABX_LIMIT_PROCESSES: u32 = 2;
/// per command
pub const ABX_LIMIT_CPU_MS: u32 = 3;
/// per command
pub const ABX_LIMIT_WALL_MS: u32 = 4;
/// bytes
pub const ABX_LIMIT_FILE_SIZE: u32 = 5;
/// bytes captured per stream
pub const ABX_LIMIT_OUTPUT: u32 = 6;

pub const ABX_WEAKEN_HOST_NETWORK: u32 = 1;
pub const ABX_WEAKEN_NESTED_NAMESPACES: u32 = 2;
/// run although some rule has no means on this host
pub const ABX_WEAKEN_BEST_EFFORT: u32 = 3;

pub const ABX_RELATION_EQUAL: u32 = 0;
pub const ABX_RELATION_WIDER: u32 = 1;
pub const ABX_RELATION_NARROWER: u32 = 2;
/// each allows something that the other does not
pub const ABX_RELATION_NEITHER: u32 = 3;

/// target: absolute path; access
pub const ABX_REQUEST_PATH: u32 = 1;
/// target: host name or address; port
pub const ABX_REQUEST_CONNECT: u32 = 2;
/// target: URL; verb: method, NULL is GET
pub const ABX_REQUEST_HTTP: u32 = 3;
/// target: absolute path
pub const ABX_REQUEST_EXEC: u32 = 4;
/// port
pub const ABX_REQUEST_LISTEN: u32 = 5;
/// target: unix socket path, or "@name"
pub const ABX_REQUEST_SOCKET: u32 = 6;
/// target: action name; verb: arguments as JSON
pub const ABX_REQUEST_ACTION: u32 = 7;
/// target: credential name; verb: host
pub const ABX_REQUEST_CREDENTIAL: u32 = 8;
/// target: name of a refused system call
pub const ABX_REQUEST_SYSCALL: u32 = 9;

pub const ABX_STDIO_NULL: u32 = 0;
pub const ABX_STDIO_PIPE: u32 = 1;
pub const ABX_STDIO_HANDLE: u32 = 2;
pub const ABX_STDIO_PTY: u32 = 3;
/// bounded, read with abx_process_get_output after exit
pub const ABX_STDIO_CAPTURE: u32 = 4;

pub const ABX_EXIT_CODE: u32 = 1;
pub const ABX_EXIT_SIGNAL: u32 = 2;
pub const ABX_EXIT_TIMEOUT: u32 = 3;
pub const ABX_EXIT_LIMIT: u32 = 4;
pub const ABX_EXIT_KILLED: u32 = 5;

pub const ABX_EVENT_DENIAL: u32 = 1;
/// a call is held until answered or until the deadline
pub const ABX_EVENT_APPROVAL: u32 = 2;
/// a secret is wanted: TARGET is its name, VERB the host; a request is held
pub const ABX_EVENT_CREDENTIAL: u32 = 3;
pub const ABX_EVENT_STARTED: u32 = 4;
pub const ABX_EVENT_EXITED: u32 = 5;
pub const ABX_EVENT_DROPPED: u32 = 6;
pub const ABX_EVENT_LOG: u32 = 7;
/// not denied, and worth knowing: a port opened, a yes, a grant given or taken back, a set-uid program, a server that
/// refused a request (ABX_FIELD_CLASS)
pub const ABX_EVENT_NOTICE: u32 = 8;

/// no grant can help
pub const ABX_RETRY_NONE: u32 = 0;
/// the call is waiting and goes on
pub const ABX_RETRY_HELD: u32 = 1;
/// grant, then run the command again
pub const ABX_RETRY_RERUN: u32 = 2;

/// the policy or the boundary denied it, and would again
pub const ABX_CLASS_POLICY: u32 = 1;
/// it needed a yes, and somebody refused or nobody answered
pub const ABX_CLASS_APPROVAL: u32 = 2;
/// who asks was not accepted: no login, no right, no secret, an expired delegation
pub const ABX_CLASS_IDENTITY: u32 = 3;
/// a server refused the values of a named action: not the sandbox
pub const ABX_CLASS_VALIDATION: u32 = 4;
/// the program asked for a terminal, and has none
pub const ABX_CLASS_TERMINAL: u32 = 5;
/// a limit was reached
pub const ABX_CLASS_LIMIT: u32 = 6;

pub const ABX_LAYER_FILESYSTEM: u32 = 1;
pub const ABX_LAYER_NETWORK: u32 = 2;
pub const ABX_LAYER_PROCESS: u32 = 3;
pub const ABX_LAYER_IDENTITY: u32 = 4;
pub const ABX_LAYER_ACTION: u32 = 5;
pub const ABX_LAYER_APPROVAL: u32 = 6;
pub const ABX_LAYER_TERMINAL: u32 = 7;
pub const ABX_LAYER_LIMIT: u32 = 8;
pub const ABX_LAYER_SETUP: u32 = 9;
/// it could not be recorded, so it was not done
pub const ABX_LAYER_AUDIT: u32 = 10;

pub const ABX_FIELD_SEQUENCE: u32 = 1;
/// Unix time
pub const ABX_FIELD_TIME_NS: u32 = 2;
pub const ABX_FIELD_BOX: u32 = 3;
pub const ABX_FIELD_PROCESS: u32 = 4;
pub const ABX_FIELD_LABEL: u32 = 5;
pub const ABX_FIELD_PID: u32 = 6;
pub const ABX_FIELD_PROGRAM: u32 = 7;
pub const ABX_FIELD_LAYER: u32 = 8;
pub const ABX_FIELD_REQUEST: u32 = 9;
pub const ABX_FIELD_ACCESS: u32 = 10;
pub const ABX_FIELD_TARGET: u32 = 11;
pub const ABX_FIELD_PORT: u32 = 12;
pub const ABX_FIELD_VERB: u32 = 13;
pub const ABX_FIELD_RULE: u32 = 14;
/// the policy layer: "managed", "user", "task" or a file name
pub const ABX_FIELD_SOURCE: u32 = 15;
pub const ABX_FIELD_REASON: u32 = 16;
/// what is allowed instead
pub const ABX_FIELD_ALTERNATIVE: u32 = 17;
pub const ABX_FIELD_BACKEND: u32 = 18;
/// how many equal attempts this event stands for; 1 is one
pub const ABX_FIELD_REPEATS: u32 = 19;
pub const ABX_FIELD_TICKET: u32 = 20;
/// Unix time after which no answer is a denial
pub const ABX_FIELD_DEADLINE_MS: u32 = 21;
pub const ABX_FIELD_DROPPED: u32 = 22;
pub const ABX_FIELD_LEVEL: u32 = 23;
pub const ABX_FIELD_MESSAGE: u32 = 24;
/// the name as the program gave it, where TARGET is another
pub const ABX_FIELD_ASKED: u32 = 25;
/// on an approval: exactly what a grant would add, as JSON; on a grant: what it adds, until when and how often
pub const ABX_FIELD_ADDS: u32 = 26;
/// ABX_RETRY_*
pub const ABX_FIELD_RETRY: u32 = 27;
pub const ABX_FIELD_EXIT_REASON: u32 = 28;
pub const ABX_FIELD_EXIT_CODE: u32 = 29;
/// of the box's identity, on each of its events
pub const ABX_FIELD_PRINCIPAL: u32 = 30;
pub const ABX_FIELD_AGENT_SESSION: u32 = 31;
pub const ABX_FIELD_DELEGATION: u32 = 32;
/// on an approval: how many different ones must say yes
pub const ABX_FIELD_APPROVERS: u32 = 33;
/// on an approval: 1, a yes needs evidence
pub const ABX_FIELD_STEP_UP: u32 = 34;
/// who answered or gave a grant: a name, or two with a comma between them; on an action that was allowed by that, too
pub const ABX_FIELD_APPROVER: u32 = 35;
/// SHA-256 of the evidence, hex; two with a comma
pub const ABX_FIELD_EVIDENCE: u32 = 36;
/// of an action that was allowed
pub const ABX_FIELD_IDEMPOTENCY_KEY: u32 = 37;
/// on an approval: what else was shown, which a yes is for, as JSON
pub const ABX_FIELD_BOUND: u32 = 38;
/// ABX_CLASS_*: of what kept a command from its end; other events have none
pub const ABX_FIELD_CLASS: u32 = 39;
/// with which a server, or a proxy outside, refused a request
pub const ABX_FIELD_HTTP_STATUS: u32 = 40;
/// what a server said about it, as JSON: "title", "detail", and "fields", the names of values it does not take.
/// Bounded, and its words: not to be trusted
pub const ABX_FIELD_PROBLEM: u32 = 41;

/// the calls that wait on this question, and nothing else: all equal ones do that come until it is answered, also after
/// it was shown
pub const ABX_SCOPE_ONCE: u32 = 0;
/// until this command ends
pub const ABX_SCOPE_COMMAND: u32 = 1;
/// until the box is closed
pub const ABX_SCOPE_BOX: u32 = 2;
/// in this box until expires_ms, Unix time
pub const ABX_SCOPE_UNTIL: u32 = 3;

pub const ABX_AUDIT_WHOLE: u32 = 0;
/// the last record was written in part: a writer was killed, or writes now
pub const ABX_AUDIT_TORN: u32 = 1;
/// something was changed, taken out, put in or moved
pub const ABX_AUDIT_BROKEN: u32 = 2;

/// all calls are decided as they were
pub const ABX_REPLAY_SAME: u32 = 0;
/// some are not
pub const ABX_REPLAY_CHANGED: u32 = 1;
/// the log does not hold; the rows are about the records before that
pub const ABX_REPLAY_BROKEN: u32 = 2;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct abx_context_options {
    /// sizeof(abx_context_options); zero in any other field means "default"
    pub size: u32,
    /// ABX_BACKEND_*
    pub backend: u32,
    /// log lines arrive as ABX_EVENT_LOG; 0 is none; not in this version
    pub log_level: u32,
    /// how many events wait at most before denials are dropped; 0 is 4,096
    pub events: u32,
    /// append-only JSON lines, hash-chained (docs/audit.md); NULL: none is kept
    pub audit_path: *const c_char,
    /// the program in the box, where memfd may not be executed; NULL is carried
    pub init_path: *const c_char,
    /// the audit log goes on in a new file after that many, at least 4,096; 0 is 64 MiB
    pub audit_bytes: u64,
    /// ABX_AUDIT_SYNC_*
    pub audit_sync: u32,
    /// ABX_CONTEXT_*
    pub flags: u32,
}

/// Counts since the context was made, of all its boxes, also of those that were closed. A question is asked once,
/// however many equal calls wait for it, and ends in one of four ways: `asked` is `granted` + `refused` + `timed_out` +
/// `abandoned` + those that are open now.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct abx_stats {
    /// set by the caller; fields past it are not written
    pub size: u32,
    pub reserved: u32,
    /// that were opened
    pub boxes: u64,
    /// that were started
    pub commands: u64,
    /// attempts that were denied, all of them
    pub denials: u64,
    /// of those: an equal one of the same command was denied before
    pub repeats: u64,
    /// questions: for a yes, or for a secret
    pub asked: u64,
    /// yes, or the secret was given
    pub granted: u64,
    /// no, or the yes could not take effect: expired delegation, limit, audit log
    pub refused: u64,
    /// no answer by the deadline, which is not after the end of the delegation
    pub timed_out: u64,
    /// nobody waited any more: the command or the box ended
    pub abandoned: u64,
    /// that calls waited for answers, each for itself; those that wait now come in later
    pub held_ns: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct abx_request {
    /// sizeof(abx_request); zero in any other field means "default"
    pub size: u32,
    /// ABX_REQUEST_*
    pub kind: u32,
    /// ABX_ACCESS_*
    pub access: u32,
    pub port: u32,
    pub target: *const c_char,
    pub verb: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct abx_decision {
    /// set by the caller; fields past it are not written
    pub size: u32,
    pub verdict: abx_verdict,
    /// index of the rule that decided, or UINT32_MAX for the default
    pub rule: u32,
    /// index of the policy layer that it came from
    pub layer: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct abx_spawn_options {
    /// sizeof(abx_spawn_options); zero in any other field means "default"
    pub size: u32,
    /// none yet
    pub flags: u32,
    /// ABX_STDIO_*; PTY must be given for all three
    pub stdio: [u32; 3],
    /// with PTY
    pub rows: u32,
    pub columns: u32,
    pub reserved: u32,
    /// with HANDLE: a descriptor or HANDLE, duplicated by the call
    pub handle: [i64; 3],
    pub timeout_ms: u64,
    /// as seen inside the box
    pub cwd: *const c_char,
    /// the harness's own id of this tool call; is on every event
    pub label: *const c_char,
    /// "NAME=value", NULL-terminated, on top of the policy's; names it forbids are an error
    pub env: *const *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct abx_exit {
    pub size: u32,
    /// ABX_EXIT_*
    pub reason: u32,
    /// exit code, or the signal that ended it
    pub code: i32,
    /// attempts that were denied, all of them
    pub denials: u32,
    pub cpu_us: u64,
    pub peak_memory: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct abx_answer {
    pub size: u32,
    pub verdict: abx_verdict,
    /// ABX_SCOPE_*
    pub scope: u32,
    pub reserved: u32,
    /// with ABX_SCOPE_UNTIL: still to come, else ABX_ERR_INVALID
    pub expires_ms: i64,
    /// who said so: UTF-8, at most 256 bytes, all of it seen: no controls
    pub approver: *const c_char,
    /// step-up proof that the host has checked; only its digest is kept
    pub evidence: *const c_char,
    /// reaches the model with a refusal
    pub message: *const c_char,
}

extern "C" {
    /// ABX_VERSION_HEX of the library that was loaded
    pub fn abx_version() -> u32;
    pub fn abx_version_string() -> *const c_char;
    /// 1 if this build knows `value` of the enum `which` (ABX_ENUM_*), else 0.
    pub fn abx_feature_supported(which: u32, value: i64) -> i32;
    /// "ABX_ERR_SETUP"
    pub fn abx_status_name(status: abx_status) -> *const c_char;
    pub fn abx_error_get_status(error: *mut abx_error) -> abx_status;
    /// errno, GetLastError() or 0
    pub fn abx_error_get_os_code(error: *mut abx_error) -> i32;
    /// "mount:/proc", "policy:/network/allow/3", or ""
    pub fn abx_error_get_step(error: *mut abx_error) -> *const c_char;
    /// one line for people
    pub fn abx_error_get_message(error: *mut abx_error) -> *const c_char;
    /// what to change, or ""
    pub fn abx_error_get_remedy(error: *mut abx_error) -> *const c_char;
    pub fn abx_error_ref(error: *mut abx_error) -> *mut abx_error;
    pub fn abx_error_unref(error: *mut abx_error);
    /// buffers returned through a `ret_` parameter
    pub fn abx_free(buffer: *mut c_void);
    /// What "not in this version" marks is refused with ABX_ERR_UNSUPPORTED, never ignored. ABX_ERR_IO: the audit log
    /// cannot be opened, or is none. With an audit log every event is recorded before it is queued, and so are boxes,
    /// commands and answers; what cannot be recorded is not done: a command is not started (ABX_ERR_IO), a question is a
    /// denial of layer AUDIT, an answer or a grant changes nothing. Any number of processes may share a log.
    pub fn abx_context_new(options: *const abx_context_options, ret_context: *mut *mut abx_context, reterr: *mut *mut abx_error) -> abx_status;
    pub fn abx_context_ref(context: *mut abx_context) -> *mut abx_context;
    pub fn abx_context_unref(context: *mut abx_context);
    /// From any thread, at any time, without waiting. What was denied or answered is counted before the call that waits for
    /// that goes on, and before abx_context_answer returns.
    pub fn abx_context_stats(context: *mut abx_context, stats: *mut abx_stats) -> abx_status;
    pub fn abx_policy_builder_new(profile: *const c_char, ret_builder: *mut *mut abx_policy_builder, reterr: *mut *mut abx_error) -> abx_status;
    pub fn abx_policy_builder_ref(builder: *mut abx_policy_builder) -> *mut abx_policy_builder;
    pub fn abx_policy_builder_unref(builder: *mut abx_policy_builder);
    /// A setter that fails also poisons the builder, so checking abx_policy_builder_build is enough. before the rules that
    /// use ${name}
    pub fn abx_policy_builder_variable(builder: *mut abx_policy_builder, name: *const c_char, value: *const c_char) -> abx_status;
    pub fn abx_policy_builder_path(builder: *mut abx_policy_builder, pattern: *const c_char, access: u32, verdict: abx_verdict) -> abx_status;
    pub fn abx_policy_builder_host(builder: *mut abx_policy_builder, host: *const c_char, port_first: u16, port_last: u16, verdict: abx_verdict) -> abx_status;
    pub fn abx_policy_builder_env(builder: *mut abx_policy_builder, name: *const c_char, value: *const c_char) -> abx_status;
    pub fn abx_policy_builder_limit(builder: *mut abx_policy_builder, limit: u32, value: u64) -> abx_status;
    /// Says why the rule added last is there and what to do instead; both reach the denial.
    pub fn abx_policy_builder_explain(builder: *mut abx_policy_builder, reason: *const c_char, alternative: *const c_char) -> abx_status;
    /// The only way to weaken the boundary; `reason` must not be empty and stays in the policy.
    pub fn abx_policy_builder_weaken(builder: *mut abx_policy_builder, what: u32, reason: *const c_char) -> abx_status;
    /// Name of the document that is merged next, such as its file name: it is in errors, and the first one is the `source`
    /// of the policy's rules in events.
    pub fn abx_policy_builder_source(builder: *mut abx_policy_builder, source: *const c_char) -> abx_status;
    /// Rules in the JSON policy format: HTTP rules, actions, credentials, decoys, all of it.
    pub fn abx_policy_builder_merge_json(builder: *mut abx_policy_builder, json: *const c_char, length: usize) -> abx_status;
    pub fn abx_policy_builder_build(builder: *mut abx_policy_builder, ret_policy: *mut *mut abx_policy, reterr: *mut *mut abx_error) -> abx_status;
    /// Builder without a profile + merge_json + build, for a document that needs no variables.
    pub fn abx_policy_from_json(json: *const c_char, length: usize, ret_policy: *mut *mut abx_policy, reterr: *mut *mut abx_error) -> abx_status;
    pub fn abx_policy_to_json(policy: *mut abx_policy, ret_json: *mut *mut c_char, ret_length: *mut usize) -> abx_status;
    /// What both allow: an organisation's ceiling over a user's policy. Never wider than either.
    pub fn abx_policy_intersect(ceiling: *mut abx_policy, policy: *mut abx_policy, ret_policy: *mut *mut abx_policy, reterr: *mut *mut abx_error) -> abx_status;
    /// What `after` allows and `before` does not, and the reverse: the outcome is an ABX_RELATION_*. It is exact for every
    /// request that abx_policy_evaluate takes, and for settings; that something is asked about counts as more than denied
    /// and less than allowed. Rows: "change" ("wider" or "narrower" seen from `before`, "changed" for what is neither,
    /// "idle" for a rule of `after` that decides nothing since others always do), "request", "example" (one that the two
    /// decide so), "before" and "after" (verdicts or values), "rule_before" and "rule_after" (source#id). Of what the same
    /// rules decide alike one example is shown; no difference of a kind of request and of verdicts is without a row.
    /// ABX_ERR_UNSUPPORTED: patterns overlap in more ways than can be looked at; then nothing is known.
    pub fn abx_policy_compare(before: *mut abx_policy, after: *mut abx_policy, ret_report: *mut *mut abx_report, reterr: *mut *mut abx_error) -> abx_status;
    /// The boundary in words, for a model's tool description ("text", which NULL means, "markdown" or "json").
    pub fn abx_policy_describe(policy: *mut abx_policy, format: *const c_char, ret_text: *mut *mut c_char, ret_length: *mut usize) -> abx_status;
    /// SHA-256, hex
    pub fn abx_policy_get_digest(policy: *mut abx_policy) -> *const c_char;
    pub fn abx_policy_ref(policy: *mut abx_policy) -> *mut abx_policy;
    pub fn abx_policy_unref(policy: *mut abx_policy);
    pub fn abx_policy_evaluate(policy: *mut abx_policy, request: *const abx_request, decision: *mut abx_decision) -> abx_status;
    /// JSON: verdict, rule, layer, reason, alternative, every rule that matched and why it lost; of an action, or a request
    /// that counts as one, `action` and its `arguments` in their one form. Arguments that do not fit are denied; what the
    /// URL of a request does not say may be in its body.
    pub fn abx_policy_explain(policy: *mut abx_policy, request: *const abx_request, ret_json: *mut *mut c_char, ret_length: *mut usize) -> abx_status;
    /// Who asked, which agent session acts, and the short-lived delegation it acts under (NULL: none). All three are names,
    /// not secrets: they are on every event of a box that has them, and a policy may send them with requests.
    /// `delegation_expires_ms` is Unix time, 0 is never. Once it has passed, nothing leaves such a box, nothing is asked or
    /// granted and no command starts: that is denied in the layer IDENTITY, with the rule "identity:delegation", and so are
    /// questions that are open then; abx_box_grant, and a yes or a secret that comes late, are ABX_ERR_DENIED.
    /// ABX_ERR_INVALID: a text is empty, longer than 256 bytes or has characters that are not seen.
    pub fn abx_identity_new(principal: *const c_char, agent_session: *const c_char, delegation: *const c_char, delegation_expires_ms: i64, ret_identity: *mut *mut abx_identity, reterr: *mut *mut abx_error) -> abx_status;
    pub fn abx_identity_ref(identity: *mut abx_identity) -> *mut abx_identity;
    pub fn abx_identity_unref(identity: *mut abx_identity);
    /// Builds the boundary once; commands then start in it at about the price of posix_spawn. `identity` may be NULL.
    /// ABX_ERR_DENIED: its delegation has expired. ABX_ERR_INVALID: there is none, and the policy tells hosts of it.
    /// ABX_ERR_UNSUPPORTED: this host cannot enforce some rule; the error names it and what to change. ABX_ERR_SETUP: the
    /// boundary did not stand, or its canary, an allowed and a denied sample of each kind of rule, was not stopped; nothing
    /// is left of it. With an audit log, ABX_ERR_POLICY: commands could read or write it; ABX_ERR_IO: the box could not be
    /// recorded.
    pub fn abx_box_open(context: *mut abx_context, policy: *mut abx_policy, identity: *mut abx_identity, ret_box: *mut *mut abx_box, reterr: *mut *mut abx_error) -> abx_status;
    pub fn abx_box_get_id(r#box: *mut abx_box) -> u64;
    /// JSON receipt: rung, mechanism per layer, canary results, what is weaker and why, links in both spellings, digest of
    /// the policy.
    pub fn abx_box_receipt(r#box: *mut abx_box, ret_json: *mut *mut c_char, ret_length: *mut usize) -> abx_status;
    /// A grant adds exactly one request for a while: ABX_REQUEST_PATH a path and one access ABX_REQUEST_EXEC a program's
    /// path ABX_REQUEST_CONNECT a host and a port ABX_REQUEST_HTTP a URL with its query, and a method (NULL: GET), whatever
    /// the body; to a host that the policy has rules about requests for, else ABX_ERR_DENIED. Not one that becomes a
    /// connection of its own (WebSocket): only the answer to its question lets that go ABX_REQUEST_ACTION a name that the
    /// policy declares and its arguments (NULL: none) as for abx_box_request, in whatever spelling they come; requests that
    /// count as it, too A path or URL that ends in a slash and two stars means all below, with any query. A request that
    /// counts as an action with arguments is granted as the action only. `expires_ms` is Unix time, 0 is never, and what is
    /// over is ABX_ERR_INVALID; 0 uses is unlimited; `approver` is a name as in abx_answer, or NULL. It lifts what the
    /// policy asks about or has no rule for, never what a rule denies: that is ABX_ERR_DENIED, and below a target with two
    /// stars it stays denied (nothing below can be lifted: ABX_ERR_DENIED). To a host that is allowed with rules about
    /// requests, `http`, a rule denies what these leave out, and a grant of the connection is ABX_ERR_DENIED, since it is
    /// allowed already. Limits of an action stay. ABX_ERR_DENIED also: arguments do not fit the action, or the delegation
    /// of the box has expired. Given and taken back, it is a NOTICE of layer APPROVAL with the rule "grant:N", what it adds
    /// (ABX_FIELD_ADDS: with its expiry and uses) and the approver; an action that is done under it has that rule and
    /// approver in its own NOTICE.
    pub fn abx_box_grant(r#box: *mut abx_box, pattern: *const abx_request, expires_ms: i64, uses: u32, approver: *const c_char, ret_grant: *mut u64, reterr: *mut *mut abx_error) -> abx_status;
    /// After it returns nothing new is done under that grant: calls that are under way fail, connections to its host and
    /// port that nothing else allows are reset, and requests under way that it let through and nothing else allows are
    /// refused, or cut where the answer is on the way, each with its denial (rule "grant:revoked"). What arguments in its
    /// body a request had is not known any more, so one that counts as an action with such arguments nothing else allows.
    /// ABX_ERR_STATE: there is none, or its uses are used up.
    pub fn abx_box_revoke(r#box: *mut abx_box, grant: u64) -> abx_status;
    pub fn abx_box_grants(r#box: *mut abx_box, ret_json: *mut *mut c_char, ret_length: *mut usize) -> abx_status;
    /// With ABX_BACKEND_SIMULATED only, else ABX_ERR_STATE: as if `process` (NULL: nobody that can be told) tried this.
    /// Policy, grants, questions, events and the explanation are those of a real box, and nothing is touched. An
    /// ABX_REQUEST_PATH (one access), _EXEC, _CONNECT, _HTTP or _SOCKET. ABX_OK: decided. ABX_NONE: held, the verdict is
    /// ASK, and `ret_ticket` (may be NULL) is for abx_context_answer and abx_box_outcome. `rule` and `layer` are what the
    /// policy says, whatever a grant adds. ABX_ERR_INVALID: the request is none. ABX_ERR_UNSUPPORTED: it is of another
    /// kind.  abx_box_spawn in such a box starts a command that is its own list of attempts, one in its arguments or, after
    /// "-c", one after the other with ';' between: read PATH, write PATH, exec PATH, connect HOST:PORT, request METHOD URL,
    /// print TEXT, exit CODE, pause (until a signal). What is denied makes it 1, as in a shell. Another word is
    /// ABX_ERR_EXEC.
    pub fn abx_box_attempt(r#box: *mut abx_box, process: *mut abx_process, request: *const abx_request, decision: *mut abx_decision, ret_ticket: *mut u64, reterr: *mut *mut abx_error) -> abx_status;
    /// What a held attempt came to, ABX_VERDICT_ALLOW or _DENY; ABX_NONE if it is still held after timeout_ms; 0 polls, -1
    /// waits for ever. ABX_ERR_STATE: there was none, or the box was killed.
    pub fn abx_box_outcome(r#box: *mut abx_box, ticket: u64, timeout_ms: i64, ret_verdict: *mut abx_verdict) -> abx_status;
    /// In a context with ABX_CONTEXT_OBSERVE, else ABX_ERR_STATE: what the commands of this box did until now, as the
    /// smallest policy document that allows it again. Files become their directories, never "/", a home or a directory of
    /// the system to write to; connections become names and ports. The reason of each rule says which programs needed it.
    /// Left out is what was denied (those events are the list of it), and addresses without a name. ABX_ERR_STATE also
    /// where more was done than is remembered: a part of it would be another policy.
    pub fn abx_box_suggest(r#box: *mut abx_box, ret_json: *mut *mut c_char, ret_length: *mut usize, reterr: *mut *mut abx_error) -> abx_status;
    /// May this action (ABX_REQUEST_ACTION: `target` is its name, `verb` its arguments, a JSON object or NULL) be done?
    /// ABX_OK: `decision` says allow or deny, and a denial has its event. ABX_NONE: an approver is asked under *ret_ticket;
    /// after the yes the same request is allowed, once where the answer was for once or for a command. What is allowed
    /// counts against the policy's limits of the action, as HTTP requests that count as it do; `per_command` is not about
    /// it: each request is a call of its own. *ret_json (may be NULL; the caller frees) is an object: "verdict";
    /// "arguments" in their one form, which are what was shown, granted and may be done; "rule", "reason" (it begins with
    /// the JSON pointer of the argument that does not fit) and "alternative" where it is denied; "ticket"; and
    /// "idempotency_key", by which a server knows what was allowed once when it comes twice. ABX_ERR_INVALID: it is no
    /// request for an action. ABX_ERR_ABI: a struct is too short, or sets fields this build lacks. ABX_ERR_STATE: the box
    /// was killed or has ended.
    pub fn abx_box_request(r#box: *mut abx_box, request: *const abx_request, decision: *mut abx_decision, ret_ticket: *mut u64, ret_json: *mut *mut c_char, reterr: *mut *mut abx_error) -> abx_status;
    /// every process in it, at once
    pub fn abx_box_kill(r#box: *mut abx_box) -> abx_status;
    pub fn abx_box_ref(r#box: *mut abx_box) -> *mut abx_box;
    /// the last one kills and reaps
    pub fn abx_box_unref(r#box: *mut abx_box);
    /// Returns once the command was started inside the finished boundary, or nothing runs.
    pub fn abx_box_spawn(r#box: *mut abx_box, argv: *const *const c_char, options: *const abx_spawn_options, ret_process: *mut *mut abx_process, reterr: *mut *mut abx_error) -> abx_status;
    /// ABX_NONE if it has not exited within timeout_ms; 0 polls, -1 waits for ever.
    pub fn abx_process_wait(process: *mut abx_process, timeout_ms: i64, exit: *mut abx_exit) -> abx_status;
    pub fn abx_process_signal(process: *mut abx_process, signal: i32) -> abx_status;
    pub fn abx_process_resize(process: *mut abx_process, rows: u32, columns: u32) -> abx_status;
    pub fn abx_process_get_id(process: *mut abx_process) -> u64;
    /// The host's end of stream 0, 1 or 2: once for each PIPE; with PTY a duplicate of the terminal's master each time. The
    /// caller closes it; -1 if there is none.
    pub fn abx_process_take_stdio(process: *mut abx_process, which: u32) -> i64;
    /// What a CAPTURE stream held when the command ended, at most ABX_LIMIT_OUTPUT bytes, with a NUL after it; NULL while
    /// it runs or without capture.
    pub fn abx_process_get_output(process: *mut abx_process, which: u32, ret_length: *mut usize) -> *const c_char;
    /// What stopped this command, for the model ("text") or a program ("json"): what was tried, why it failed and what to
    /// do next, by classes (ABX_CLASS_*); in JSON each entry that has one names it as "class". "" if nothing is known: then
    /// it failed by itself, or did not. Made from events and limits, never guessed from output.
    pub fn abx_process_explain(process: *mut abx_process, format: *const c_char, ret_text: *mut *mut c_char, ret_length: *mut usize) -> abx_status;
    pub fn abx_process_ref(process: *mut abx_process) -> *mut abx_process;
    /// the last one does not kill
    pub fn abx_process_unref(process: *mut abx_process);
    /// Opens a box, runs one command, captures its output (unless `options` says otherwise), waits for it and closes the
    /// box.
    pub fn abx_run(context: *mut abx_context, policy: *mut abx_policy, argv: *const *const c_char, options: *const abx_spawn_options, ret_process: *mut *mut abx_process, reterr: *mut *mut abx_error) -> abx_status;
    /// Readable while events are queued: a pipe end on Unix, an event HANDLE on Windows. Each call makes a duplicate that
    /// the caller closes (event loops such as Node's close what they are given).
    pub fn abx_context_take_wait_handle(context: *mut abx_context) -> i64;
    /// Pull: ABX_OK and an event the caller releases, or ABX_NONE.
    pub fn abx_context_next_event(context: *mut abx_context, ret_event: *mut *mut abx_event) -> abx_status;
    /// Push: calls `fn` for each event that was queued when it was called; ABX_NONE if there was none. `fn` borrows the
    /// event. One thread dispatches at a time; another gets ABX_NONE.
    pub fn abx_context_dispatch(context: *mut abx_context, r#fn: abx_event_fn, user_data: *mut c_void) -> abx_status;
    pub fn abx_event_get_type(event: *mut abx_event) -> u32;
    /// 0 if it has none
    pub fn abx_event_get_int(event: *mut abx_event, field: u32) -> i64;
    /// NULL if it has none
    pub fn abx_event_get_string(event: *mut abx_event, field: u32) -> *const c_char;
    /// One object on one line; docs/events.md has the names.
    pub fn abx_event_to_json(event: *mut abx_event, ret_json: *mut *mut c_char, ret_length: *mut usize) -> abx_status;
    /// The event as lines for the person who is asked: what it is, what is wanted, the real target and below it what was
    /// spelled, who, for whom, by which rule and why. No name that a command chose can look like another, hide a part of
    /// itself or make a line: what could is written as its number, and of a long one the middle is left out, which is said.
    /// docs/events.md has the rules.
    pub fn abx_event_to_text(event: *mut abx_event, ret_text: *mut *mut c_char, ret_length: *mut usize) -> abx_status;
    pub fn abx_event_ref(event: *mut abx_event) -> *mut abx_event;
    pub fn abx_event_unref(event: *mut abx_event);
    /// From any thread. No answer by the deadline is a denial; a second answer is ABX_ERR_STATE. One no is enough.
    /// ABX_NONE: this yes counts, and another approver must say it too (the event's ABX_FIELD_APPROVERS); then the narrower
    /// of both scopes holds. ABX_ERR_DENIED: it does not count, and the question stays open: no approver, the same one
    /// again, or no evidence where it is needed; or it ends the question as a denial: the delegation of the box has
    /// expired. Where a secret is wanted (ABX_EVENT_CREDENTIAL) only ABX_VERDICT_DENY is an answer, and abx_context_supply
    /// the other.
    pub fn abx_context_answer(context: *mut abx_context, ticket: u64, answer: *const abx_answer, reterr: *mut *mut abx_error) -> abx_status;
    /// Gives a secret under the name that the policy has for it, before it is wanted, or another one later. It is copied
    /// into memory that is in no core file, never enters the box, and is wiped at `expires_ms` (Unix time, 0: never) or at
    /// the end of the policy's lease, whichever is first; then it is asked for again. A key that signs (sigv4) is
    /// "ID:SECRET" or "ID:SECRET:SESSION-TOKEN". The caller wipes its own copy. From any thread. ABX_ERR_INVALID: the
    /// policy has no such credential, or no request could carry this secret (shorter than 8 or longer than 8192 bytes,
    /// control characters, expired); the error does not have it. ABX_ERR_STATE: the box has no way out.
    pub fn abx_box_set_credential(r#box: *mut abx_box, name: *const c_char, secret: *const c_void, length: usize, expires_ms: i64, reterr: *mut *mut abx_error) -> abx_status;
    /// The same as the answer to an ABX_EVENT_CREDENTIAL: every request that waits for this credential goes on.
    /// ABX_ERR_STATE: no open question has this ticket, or not any more. ABX_ERR_DENIED: the delegation of the box has
    /// expired, and the question ends as a denial.
    pub fn abx_context_supply(context: *mut abx_context, ticket: u64, secret: *const c_void, length: usize, expires_ms: i64, reterr: *mut *mut abx_error) -> abx_status;
    /// Reads the files of one audit log, oldest first, to their end or to the first place that does not hold; the outcome
    /// is an ABX_AUDIT_*. A row for each file up to there: "file", "records", "first" and "last" (numbers), "hash" (of the
    /// last one), "state" ("whole", "torn", "broken"), "line" and "byte" of the break (else ""), "problem", "redacted" (how
    /// many of its records are). That the newest records were cut off shows only who kept an earlier "last" and "hash".
    /// Where the first file begins later than with record 1 it is broken, unless its first record says after which full
    /// file it goes on. ABX_ERR_IO: a file cannot be read, or is no regular file.
    pub fn abx_audit_verify(paths: *const *const c_char, count: usize, ret_report: *mut *mut abx_report, reterr: *mut *mut abx_error) -> abx_status;
    /// The records up to there, for people ("text", which NULL means), as JSON lines ("json"), or as one page that loads
    /// and runs nothing ("html"); of one layer ("filesystem" and so on) or of all (NULL). The outcome is that of
    /// abx_audit_verify; where a log is not whole the last lines say so. ABX_ERR_INVALID: there is no such format or layer.
    pub fn abx_audit_render(paths: *const *const c_char, count: usize, format: *const c_char, layer: *const c_char, ret_text: *mut *mut c_char, ret_length: *mut usize, reterr: *mut *mut abx_error) -> abx_status;
    /// Takes out for good what some records of a log say; their numbers and hashes stay, so it holds as before. `path` is
    /// the log's name, whose full files are looked through, too; `records` are numbers and ranges, such as "3,7-9". All of
    /// a record goes, which is how far one can be redacted and still be verified; what the log says of itself (`rotated`,
    /// `recovered`, `lost`, `redaction`) stays. A record of type `redaction`, on the disk before anything changes, has the
    /// user's number and what was asked for. Each file that has such records is written anew with its mode and owner, and
    /// takes the old one's name: a crash loses nothing, and the same call goes on from there. The log's lock is held
    /// meanwhile, and boxes that record wait for it (docs/audit.md). Rows: "file" (its name without the directory) and
    /// "records", how many were redacted in it now; none where nothing was left to redact. ABX_ERR_INVALID: `records` is no
    /// such list, or the log does not have them all. ABX_ERR_IO: the log is not there, not whole, another user's or open to
    /// others, a file of it has another name, or cannot be written anew.
    pub fn abx_audit_redact(path: *const c_char, records: *const c_char, ret_report: *mut *mut abx_report, reterr: *mut *mut abx_error) -> abx_status;
    /// What `policy`, as a box of this host would have it, says of the calls that a log tells of; the outcome is an
    /// ABX_REPLAY_*. The files are those of one log, oldest first; where one is given, its full files are read before it.
    /// Known are denials, questions, actions, programs that were started as commands, opened ports, wanted secrets and what
    /// a box in observe mode allowed: what a policy allows makes no record. Rows, for equal calls one: "change" ("denied",
    /// "asked" or "allowed": what they would be now), "request" ("read", "write", "exec", "connect", a method, "listen",
    /// "socket", "action", "credential"), "target", "before" and "after" (verdicts; what was asked about is so whatever the
    /// answer was), "rule" (source#id, which decides now) and its "reason", "calls" (how many), "first" (number of the
    /// first record), "programs", "commands" and "identities" (whose calls they were, "; " between). Then a row "same" with
    /// "calls" only, rows "skipped" for what cannot be replayed ("request" is a word for why, "reason" says it), and
    /// "broken", whose "reason" says where. ABX_ERR_IO: a file cannot be read. ABX_ERR_POLICY or ABX_ERR_SETUP: no box of
    /// this host could have the policy.
    pub fn abx_audit_replay(policy: *mut abx_policy, paths: *const *const c_char, count: usize, ret_report: *mut *mut abx_report, reterr: *mut *mut abx_error) -> abx_status;
    /// What this host can enforce of `policy` (NULL: of everything). Tries it: a harmless canary is run in a throw-away
    /// boundary and must be stopped; an API that merely returned success is not believed.
    pub fn abx_preflight(policy: *mut abx_policy, ret_report: *mut *mut abx_report, reterr: *mut *mut abx_error) -> abx_status;
    pub fn abx_report_get_count(report: *mut abx_report) -> usize;
    pub fn abx_report_get_string(report: *mut abx_report, row: usize, column: *const c_char) -> *const c_char;
    pub fn abx_report_to_json(report: *mut abx_report, ret_json: *mut *mut c_char, ret_length: *mut usize) -> abx_status;
    pub fn abx_report_ref(report: *mut abx_report) -> *mut abx_report;
    pub fn abx_report_unref(report: *mut abx_report);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_have_their_sizes() {
        assert_eq!(std::mem::size_of::<abx_context_options>(), 48);
        assert_eq!(std::mem::size_of::<abx_stats>(), 88);
        assert_eq!(std::mem::size_of::<abx_request>(), 32);
        assert_eq!(std::mem::size_of::<abx_decision>(), 16);
        assert_eq!(std::mem::size_of::<abx_spawn_options>(), 88);
        assert_eq!(std::mem::size_of::<abx_exit>(), 32);
        assert_eq!(std::mem::size_of::<abx_answer>(), 48);
    }
}
