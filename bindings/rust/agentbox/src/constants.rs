// SPDX-License-Identifier: Apache-2.0
// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.
//! The constants of the C interface, by group.

/// `ABX_ENUM_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct EnumKind(pub u32);

impl EnumKind {
    pub const STATUS: EnumKind = EnumKind(1);
    pub const REQUEST: EnumKind = EnumKind(2);
    pub const EVENT: EnumKind = EnumKind(3);
}

impl std::fmt::Debug for EnumKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            EnumKind::STATUS => f.write_str("STATUS"),
            EnumKind::REQUEST => f.write_str("REQUEST"),
            EnumKind::EVENT => f.write_str("EVENT"),
            EnumKind(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_STATUS_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Status(pub i32);

impl Status {
    pub const OK: Status = Status(0);
    /// nothing to return now: no event queued, still running
    pub const NONE: Status = Status(1);
    /// caller error: bad argument or flag
    pub const ERR_INVALID: Status = Status(-1001);
    /// struct is too short, or sets fields this build lacks
    pub const ERR_ABI: Status = Status(-1002);
    /// right call, wrong time
    pub const ERR_STATE: Status = Status(-1003);
    pub const ERR_NOMEM: Status = Status(-1004);
    /// malformed policy; the error names the rule and the place
    pub const ERR_POLICY: Status = Status(-1005);
    /// the host cannot enforce what the policy requires
    pub const ERR_UNSUPPORTED: Status = Status(-1006);
    /// boundary not built, nothing was run; see the error's step
    pub const ERR_SETUP: Status = Status(-1007);
    /// boundary built, the command could not be started
    pub const ERR_EXEC: Status = Status(-1008);
    pub const ERR_TIMEOUT: Status = Status(-1009);
    pub const ERR_IO: Status = Status(-1010);
    /// a decision said no: a grant or a variable that the policy rules out
    pub const ERR_DENIED: Status = Status(-1011);
    pub const ERR_INTERNAL: Status = Status(-1099);
}

impl std::fmt::Debug for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Status::OK => f.write_str("OK"),
            Status::NONE => f.write_str("NONE"),
            Status::ERR_INVALID => f.write_str("ERR_INVALID"),
            Status::ERR_ABI => f.write_str("ERR_ABI"),
            Status::ERR_STATE => f.write_str("ERR_STATE"),
            Status::ERR_NOMEM => f.write_str("ERR_NOMEM"),
            Status::ERR_POLICY => f.write_str("ERR_POLICY"),
            Status::ERR_UNSUPPORTED => f.write_str("ERR_UNSUPPORTED"),
            Status::ERR_SETUP => f.write_str("ERR_SETUP"),
            Status::ERR_EXEC => f.write_str("ERR_EXEC"),
            Status::ERR_TIMEOUT => f.write_str("ERR_TIMEOUT"),
            Status::ERR_IO => f.write_str("ERR_IO"),
            Status::ERR_DENIED => f.write_str("ERR_DENIED"),
            Status::ERR_INTERNAL => f.write_str("ERR_INTERNAL"),
            Status(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_LOG_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Log(pub u32);

impl Log {
    pub const ERROR: Log = Log(1);
    pub const WARNING: Log = Log(2);
    pub const INFO: Log = Log(3);
    pub const DEBUG: Log = Log(4);
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Log::ERROR => f.write_str("ERROR"),
            Log::WARNING => f.write_str("WARNING"),
            Log::INFO => f.write_str("INFO"),
            Log::DEBUG => f.write_str("DEBUG"),
            Log(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_BACKEND_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Backend(pub u32);

impl Backend {
    /// the strongest tier that this host can enforce
    pub const NATIVE: Backend = Backend(0);
    /// WARNING: nothing is enforced and no program runs; for tests of a harness
    pub const SIMULATED: Backend = Backend(1);
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Backend::NATIVE => f.write_str("NATIVE"),
            Backend::SIMULATED => f.write_str("SIMULATED"),
            Backend(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_CONTEXT_FLAG_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ContextFlag(pub u32);

impl ContextFlag {
    pub const CONTEXT_OBSERVE: ContextFlag = ContextFlag(1);
}

impl std::fmt::Debug for ContextFlag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            ContextFlag::CONTEXT_OBSERVE => f.write_str("CONTEXT_OBSERVE"),
            ContextFlag(value) => write!(f, "{value}"),
        }
    }
}

impl std::ops::BitOr for ContextFlag {
    type Output = ContextFlag;

    fn bitor(self, other: ContextFlag) -> ContextFlag {
        ContextFlag(self.0 | other.0)
    }
}

/// When a record is on the disk: soon, so that it outlives the host program but maybe not the machine, or before what
/// it tells of goes on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AuditSync(pub u32);

impl AuditSync {
    pub const NONE: AuditSync = AuditSync(0);
    pub const RECORD: AuditSync = AuditSync(1);
}

impl std::fmt::Debug for AuditSync {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            AuditSync::NONE => f.write_str("NONE"),
            AuditSync::RECORD => f.write_str("RECORD"),
            AuditSync(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_VERDICT_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Verdict(pub u32);

impl Verdict {
    pub const DENY: Verdict = Verdict(0);
    pub const ALLOW: Verdict = Verdict(1);
    pub const ASK: Verdict = Verdict(2);
}

impl std::fmt::Debug for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Verdict::DENY => f.write_str("DENY"),
            Verdict::ALLOW => f.write_str("ALLOW"),
            Verdict::ASK => f.write_str("ASK"),
            Verdict(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_ACCESS_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Access(pub u32);

impl Access {
    pub const READ: Access = Access(1);
    /// create, change, rename, delete
    pub const WRITE: Access = Access(2);
    pub const EXEC: Access = Access(4);
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Access::READ => f.write_str("READ"),
            Access::WRITE => f.write_str("WRITE"),
            Access::EXEC => f.write_str("EXEC"),
            Access(value) => write!(f, "{value}"),
        }
    }
}

impl std::ops::BitOr for Access {
    type Output = Access;

    fn bitor(self, other: Access) -> Access {
        Access(self.0 | other.0)
    }
}

/// `ABX_LIMIT_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Limit(pub u32);

impl Limit {
    /// bytes, whole box
    pub const MEMORY: Limit = Limit(1);
    /// whole box
    pub const PROCESSES: Limit = Limit(2);
    /// per command
    pub const CPU_MS: Limit = Limit(3);
    /// per command
    pub const WALL_MS: Limit = Limit(4);
    /// bytes
    pub const FILE_SIZE: Limit = Limit(5);
    /// bytes captured per stream
    pub const OUTPUT: Limit = Limit(6);
}

impl std::fmt::Debug for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Limit::MEMORY => f.write_str("MEMORY"),
            Limit::PROCESSES => f.write_str("PROCESSES"),
            Limit::CPU_MS => f.write_str("CPU_MS"),
            Limit::WALL_MS => f.write_str("WALL_MS"),
            Limit::FILE_SIZE => f.write_str("FILE_SIZE"),
            Limit::OUTPUT => f.write_str("OUTPUT"),
            Limit(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_WEAKEN_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Weaken(pub u32);

impl Weaken {
    pub const HOST_NETWORK: Weaken = Weaken(1);
    pub const NESTED_NAMESPACES: Weaken = Weaken(2);
    /// run although some rule has no means on this host
    pub const BEST_EFFORT: Weaken = Weaken(3);
}

impl std::fmt::Debug for Weaken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Weaken::HOST_NETWORK => f.write_str("HOST_NETWORK"),
            Weaken::NESTED_NAMESPACES => f.write_str("NESTED_NAMESPACES"),
            Weaken::BEST_EFFORT => f.write_str("BEST_EFFORT"),
            Weaken(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_RELATION_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Relation(pub u32);

impl Relation {
    pub const EQUAL: Relation = Relation(0);
    pub const WIDER: Relation = Relation(1);
    pub const NARROWER: Relation = Relation(2);
    /// each allows something that the other does not
    pub const NEITHER: Relation = Relation(3);
}

impl std::fmt::Debug for Relation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Relation::EQUAL => f.write_str("EQUAL"),
            Relation::WIDER => f.write_str("WIDER"),
            Relation::NARROWER => f.write_str("NARROWER"),
            Relation::NEITHER => f.write_str("NEITHER"),
            Relation(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_REQUEST_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RequestKind(pub u32);

impl RequestKind {
    /// target: absolute path; access
    pub const PATH: RequestKind = RequestKind(1);
    /// target: host name or address; port
    pub const CONNECT: RequestKind = RequestKind(2);
    /// target: URL; verb: method, NULL is GET
    pub const HTTP: RequestKind = RequestKind(3);
    /// target: absolute path
    pub const EXEC: RequestKind = RequestKind(4);
    /// port
    pub const LISTEN: RequestKind = RequestKind(5);
    /// target: unix socket path, or "@name"
    pub const SOCKET: RequestKind = RequestKind(6);
    /// target: action name; verb: arguments as JSON
    pub const ACTION: RequestKind = RequestKind(7);
    /// target: credential name; verb: host
    pub const CREDENTIAL: RequestKind = RequestKind(8);
    /// target: name of a refused system call
    pub const SYSCALL: RequestKind = RequestKind(9);
}

impl std::fmt::Debug for RequestKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            RequestKind::PATH => f.write_str("PATH"),
            RequestKind::CONNECT => f.write_str("CONNECT"),
            RequestKind::HTTP => f.write_str("HTTP"),
            RequestKind::EXEC => f.write_str("EXEC"),
            RequestKind::LISTEN => f.write_str("LISTEN"),
            RequestKind::SOCKET => f.write_str("SOCKET"),
            RequestKind::ACTION => f.write_str("ACTION"),
            RequestKind::CREDENTIAL => f.write_str("CREDENTIAL"),
            RequestKind::SYSCALL => f.write_str("SYSCALL"),
            RequestKind(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_STDIO_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Stdio(pub u32);

impl Stdio {
    pub const NULL: Stdio = Stdio(0);
    pub const PIPE: Stdio = Stdio(1);
    pub const HANDLE: Stdio = Stdio(2);
    pub const PTY: Stdio = Stdio(3);
    /// bounded, read with abx_process_get_output after exit
    pub const CAPTURE: Stdio = Stdio(4);
}

impl std::fmt::Debug for Stdio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Stdio::NULL => f.write_str("NULL"),
            Stdio::PIPE => f.write_str("PIPE"),
            Stdio::HANDLE => f.write_str("HANDLE"),
            Stdio::PTY => f.write_str("PTY"),
            Stdio::CAPTURE => f.write_str("CAPTURE"),
            Stdio(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_EXIT_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ExitReason(pub u32);

impl ExitReason {
    pub const CODE: ExitReason = ExitReason(1);
    pub const SIGNAL: ExitReason = ExitReason(2);
    pub const TIMEOUT: ExitReason = ExitReason(3);
    pub const LIMIT: ExitReason = ExitReason(4);
    pub const KILLED: ExitReason = ExitReason(5);
}

impl std::fmt::Debug for ExitReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            ExitReason::CODE => f.write_str("CODE"),
            ExitReason::SIGNAL => f.write_str("SIGNAL"),
            ExitReason::TIMEOUT => f.write_str("TIMEOUT"),
            ExitReason::LIMIT => f.write_str("LIMIT"),
            ExitReason::KILLED => f.write_str("KILLED"),
            ExitReason(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_EVENT_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct EventType(pub u32);

impl EventType {
    pub const DENIAL: EventType = EventType(1);
    /// a call is held until answered or until the deadline
    pub const APPROVAL: EventType = EventType(2);
    /// a secret is wanted: TARGET is its name, VERB the host; a request is held
    pub const CREDENTIAL: EventType = EventType(3);
    pub const STARTED: EventType = EventType(4);
    pub const EXITED: EventType = EventType(5);
    pub const DROPPED: EventType = EventType(6);
    pub const LOG: EventType = EventType(7);
    /// not denied, and worth knowing: a port opened, a yes, a grant given or taken back, a set-uid program, a server that
    /// refused a request (ABX_FIELD_CLASS)
    pub const NOTICE: EventType = EventType(8);
}

impl std::fmt::Debug for EventType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            EventType::DENIAL => f.write_str("DENIAL"),
            EventType::APPROVAL => f.write_str("APPROVAL"),
            EventType::CREDENTIAL => f.write_str("CREDENTIAL"),
            EventType::STARTED => f.write_str("STARTED"),
            EventType::EXITED => f.write_str("EXITED"),
            EventType::DROPPED => f.write_str("DROPPED"),
            EventType::LOG => f.write_str("LOG"),
            EventType::NOTICE => f.write_str("NOTICE"),
            EventType(value) => write!(f, "{value}"),
        }
    }
}

/// how a grant takes effect
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Retry(pub u32);

impl Retry {
    /// no grant can help
    pub const NONE: Retry = Retry(0);
    /// the call is waiting and goes on
    pub const HELD: Retry = Retry(1);
    /// grant, then run the command again
    pub const RERUN: Retry = Retry(2);
}

impl std::fmt::Debug for Retry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Retry::NONE => f.write_str("NONE"),
            Retry::HELD => f.write_str("HELD"),
            Retry::RERUN => f.write_str("RERUN"),
            Retry(value) => write!(f, "{value}"),
        }
    }
}

/// what kind of failure it is: tells a model what to do next
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Class(pub u32);

impl Class {
    /// the policy or the boundary denied it, and would again
    pub const POLICY: Class = Class(1);
    /// it needed a yes, and somebody refused or nobody answered
    pub const APPROVAL: Class = Class(2);
    /// who asks was not accepted: no login, no right, no secret, an expired delegation
    pub const IDENTITY: Class = Class(3);
    /// a server refused the values of a named action: not the sandbox
    pub const VALIDATION: Class = Class(4);
    /// the program asked for a terminal, and has none
    pub const TERMINAL: Class = Class(5);
    /// a limit was reached
    pub const LIMIT: Class = Class(6);
}

impl std::fmt::Debug for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Class::POLICY => f.write_str("POLICY"),
            Class::APPROVAL => f.write_str("APPROVAL"),
            Class::IDENTITY => f.write_str("IDENTITY"),
            Class::VALIDATION => f.write_str("VALIDATION"),
            Class::TERMINAL => f.write_str("TERMINAL"),
            Class::LIMIT => f.write_str("LIMIT"),
            Class(value) => write!(f, "{value}"),
        }
    }
}

/// which boundary spoke: tells a model where to look
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Layer(pub u32);

impl Layer {
    pub const FILESYSTEM: Layer = Layer(1);
    pub const NETWORK: Layer = Layer(2);
    pub const PROCESS: Layer = Layer(3);
    pub const IDENTITY: Layer = Layer(4);
    pub const ACTION: Layer = Layer(5);
    pub const APPROVAL: Layer = Layer(6);
    pub const TERMINAL: Layer = Layer(7);
    pub const LIMIT: Layer = Layer(8);
    pub const SETUP: Layer = Layer(9);
    /// it could not be recorded, so it was not done
    pub const AUDIT: Layer = Layer(10);
}

impl std::fmt::Debug for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Layer::FILESYSTEM => f.write_str("FILESYSTEM"),
            Layer::NETWORK => f.write_str("NETWORK"),
            Layer::PROCESS => f.write_str("PROCESS"),
            Layer::IDENTITY => f.write_str("IDENTITY"),
            Layer::ACTION => f.write_str("ACTION"),
            Layer::APPROVAL => f.write_str("APPROVAL"),
            Layer::TERMINAL => f.write_str("TERMINAL"),
            Layer::LIMIT => f.write_str("LIMIT"),
            Layer::SETUP => f.write_str("SETUP"),
            Layer::AUDIT => f.write_str("AUDIT"),
            Layer(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_FIELD_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Field(pub u32);

impl Field {
    pub const SEQUENCE: Field = Field(1);
    /// Unix time
    pub const TIME_NS: Field = Field(2);
    pub const BOX: Field = Field(3);
    pub const PROCESS: Field = Field(4);
    pub const LABEL: Field = Field(5);
    pub const PID: Field = Field(6);
    pub const PROGRAM: Field = Field(7);
    pub const LAYER: Field = Field(8);
    pub const REQUEST: Field = Field(9);
    pub const ACCESS: Field = Field(10);
    pub const TARGET: Field = Field(11);
    pub const PORT: Field = Field(12);
    pub const VERB: Field = Field(13);
    pub const RULE: Field = Field(14);
    /// the policy layer: "managed", "user", "task" or a file name
    pub const SOURCE: Field = Field(15);
    pub const REASON: Field = Field(16);
    /// what is allowed instead
    pub const ALTERNATIVE: Field = Field(17);
    pub const BACKEND: Field = Field(18);
    /// how many equal attempts this event stands for; 1 is one
    pub const REPEATS: Field = Field(19);
    pub const TICKET: Field = Field(20);
    /// Unix time after which no answer is a denial
    pub const DEADLINE_MS: Field = Field(21);
    pub const DROPPED: Field = Field(22);
    pub const LEVEL: Field = Field(23);
    pub const MESSAGE: Field = Field(24);
    /// the name as the program gave it, where TARGET is another
    pub const ASKED: Field = Field(25);
    /// on an approval: exactly what a grant would add, as JSON; on a grant: what it adds, until when and how often
    pub const ADDS: Field = Field(26);
    /// ABX_RETRY_*
    pub const RETRY: Field = Field(27);
    pub const EXIT_REASON: Field = Field(28);
    pub const EXIT_CODE: Field = Field(29);
    /// of the box's identity, on each of its events
    pub const PRINCIPAL: Field = Field(30);
    pub const AGENT_SESSION: Field = Field(31);
    pub const DELEGATION: Field = Field(32);
    /// on an approval: how many different ones must say yes
    pub const APPROVERS: Field = Field(33);
    /// on an approval: 1, a yes needs evidence
    pub const STEP_UP: Field = Field(34);
    /// who answered or gave a grant: a name, or two with a comma between them; on an action that was allowed by that, too
    pub const APPROVER: Field = Field(35);
    /// SHA-256 of the evidence, hex; two with a comma
    pub const EVIDENCE: Field = Field(36);
    /// of an action that was allowed
    pub const IDEMPOTENCY_KEY: Field = Field(37);
    /// on an approval: what else was shown, which a yes is for, as JSON
    pub const BOUND: Field = Field(38);
    /// ABX_CLASS_*: of what kept a command from its end; other events have none
    pub const CLASS: Field = Field(39);
    /// with which a server, or a proxy outside, refused a request
    pub const HTTP_STATUS: Field = Field(40);
    /// what a server said about it, as JSON: "title", "detail", and "fields", the names of values it does not take.
    /// Bounded, and its words: not to be trusted
    pub const PROBLEM: Field = Field(41);
}

impl std::fmt::Debug for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Field::SEQUENCE => f.write_str("SEQUENCE"),
            Field::TIME_NS => f.write_str("TIME_NS"),
            Field::BOX => f.write_str("BOX"),
            Field::PROCESS => f.write_str("PROCESS"),
            Field::LABEL => f.write_str("LABEL"),
            Field::PID => f.write_str("PID"),
            Field::PROGRAM => f.write_str("PROGRAM"),
            Field::LAYER => f.write_str("LAYER"),
            Field::REQUEST => f.write_str("REQUEST"),
            Field::ACCESS => f.write_str("ACCESS"),
            Field::TARGET => f.write_str("TARGET"),
            Field::PORT => f.write_str("PORT"),
            Field::VERB => f.write_str("VERB"),
            Field::RULE => f.write_str("RULE"),
            Field::SOURCE => f.write_str("SOURCE"),
            Field::REASON => f.write_str("REASON"),
            Field::ALTERNATIVE => f.write_str("ALTERNATIVE"),
            Field::BACKEND => f.write_str("BACKEND"),
            Field::REPEATS => f.write_str("REPEATS"),
            Field::TICKET => f.write_str("TICKET"),
            Field::DEADLINE_MS => f.write_str("DEADLINE_MS"),
            Field::DROPPED => f.write_str("DROPPED"),
            Field::LEVEL => f.write_str("LEVEL"),
            Field::MESSAGE => f.write_str("MESSAGE"),
            Field::ASKED => f.write_str("ASKED"),
            Field::ADDS => f.write_str("ADDS"),
            Field::RETRY => f.write_str("RETRY"),
            Field::EXIT_REASON => f.write_str("EXIT_REASON"),
            Field::EXIT_CODE => f.write_str("EXIT_CODE"),
            Field::PRINCIPAL => f.write_str("PRINCIPAL"),
            Field::AGENT_SESSION => f.write_str("AGENT_SESSION"),
            Field::DELEGATION => f.write_str("DELEGATION"),
            Field::APPROVERS => f.write_str("APPROVERS"),
            Field::STEP_UP => f.write_str("STEP_UP"),
            Field::APPROVER => f.write_str("APPROVER"),
            Field::EVIDENCE => f.write_str("EVIDENCE"),
            Field::IDEMPOTENCY_KEY => f.write_str("IDEMPOTENCY_KEY"),
            Field::BOUND => f.write_str("BOUND"),
            Field::CLASS => f.write_str("CLASS"),
            Field::HTTP_STATUS => f.write_str("HTTP_STATUS"),
            Field::PROBLEM => f.write_str("PROBLEM"),
            Field(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_SCOPE_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Scope(pub u32);

impl Scope {
    /// the calls that wait on this question, and nothing else: all equal ones do that come until it is answered, also after
    /// it was shown
    pub const ONCE: Scope = Scope(0);
    /// until this command ends
    pub const COMMAND: Scope = Scope(1);
    /// until the box is closed
    pub const BOX: Scope = Scope(2);
    /// in this box until expires_ms, Unix time
    pub const UNTIL: Scope = Scope(3);
}

impl std::fmt::Debug for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Scope::ONCE => f.write_str("ONCE"),
            Scope::COMMAND => f.write_str("COMMAND"),
            Scope::BOX => f.write_str("BOX"),
            Scope::UNTIL => f.write_str("UNTIL"),
            Scope(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_AUDIT_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Audit(pub u32);

impl Audit {
    pub const WHOLE: Audit = Audit(0);
    /// the last record was written in part: a writer was killed, or writes now
    pub const TORN: Audit = Audit(1);
    /// something was changed, taken out, put in or moved
    pub const BROKEN: Audit = Audit(2);
}

impl std::fmt::Debug for Audit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Audit::WHOLE => f.write_str("WHOLE"),
            Audit::TORN => f.write_str("TORN"),
            Audit::BROKEN => f.write_str("BROKEN"),
            Audit(value) => write!(f, "{value}"),
        }
    }
}

/// `ABX_REPLAY_*`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Replay(pub u32);

impl Replay {
    /// all calls are decided as they were
    pub const SAME: Replay = Replay(0);
    /// some are not
    pub const CHANGED: Replay = Replay(1);
    /// the log does not hold; the rows are about the records before that
    pub const BROKEN: Replay = Replay(2);
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Replay::SAME => f.write_str("SAME"),
            Replay::CHANGED => f.write_str("CHANGED"),
            Replay::BROKEN => f.write_str("BROKEN"),
            Replay(value) => write!(f, "{value}"),
        }
    }
}
