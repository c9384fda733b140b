// SPDX-License-Identifier: Apache-2.0
// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.

export declare const EnumKind: {
  readonly STATUS: 1;
  readonly REQUEST: 2;
  readonly EVENT: 3;
};
export type EnumKind = (typeof EnumKind)[keyof typeof EnumKind];

export declare const Status: {
  readonly OK: 0;
  /** nothing to return now: no event queued, still running */
  readonly NONE: 1;
  /** caller error: bad argument or flag */
  readonly ERR_INVALID: -1001;
  /** struct is too short, or sets fields this build lacks */
  readonly ERR_ABI: -1002;
  /** right call, wrong time */
  readonly ERR_STATE: -1003;
  readonly ERR_NOMEM: -1004;
  /** malformed policy; the error names the rule and the place */
  readonly ERR_POLICY: -1005;
  /** the host cannot enforce what the policy requires */
  readonly ERR_UNSUPPORTED: -1006;
  /** boundary not built, nothing was run; see the error's step */
  readonly ERR_SETUP: -1007;
  /** boundary built, the command could not be started */
  readonly ERR_EXEC: -1008;
  readonly ERR_TIMEOUT: -1009;
  readonly ERR_IO: -1010;
  /** a decision said no: a grant or a variable that the policy rules out */
  readonly ERR_DENIED: -1011;
  readonly ERR_INTERNAL: -1099;
};
export type Status = (typeof Status)[keyof typeof Status];

export declare const Log: {
  readonly ERROR: 1;
  readonly WARNING: 2;
  readonly INFO: 3;
  readonly DEBUG: 4;
};
export type Log = (typeof Log)[keyof typeof Log];

export declare const Backend: {
  /** the strongest tier that this host can enforce */
  readonly NATIVE: 0;
  /** WARNING: nothing is enforced and no program runs; for tests of a harness */
  readonly SIMULATED: 1;
};
export type Backend = (typeof Backend)[keyof typeof Backend];

export declare const ContextFlag: {
  readonly CONTEXT_OBSERVE: 1;
};
export type ContextFlag = (typeof ContextFlag)[keyof typeof ContextFlag];

/** When a record is on the disk: soon, so that it outlives the host program but maybe not the machine, or before what it tells of goes on. */
export declare const AuditSync: {
  readonly NONE: 0;
  readonly RECORD: 1;
};
export type AuditSync = (typeof AuditSync)[keyof typeof AuditSync];

export declare const Verdict: {
  readonly DENY: 0;
  readonly ALLOW: 1;
  readonly ASK: 2;
};
export type Verdict = (typeof Verdict)[keyof typeof Verdict];

export declare const Access: {
  readonly READ: 1;
  /** create, change, rename, delete */
  readonly WRITE: 2;
  readonly EXEC: 4;
};
export type Access = (typeof Access)[keyof typeof Access];

export declare const Limit: {
  /** bytes, whole box */
  readonly MEMORY: 1;
  /** whole box */
  readonly PROCESSES: 2;
  /** per command */
  readonly CPU_MS: 3;
  /** per command */
  readonly WALL_MS: 4;
  /** bytes */
  readonly FILE_SIZE: 5;
  /** bytes captured per stream */
  readonly OUTPUT: 6;
};
export type Limit = (typeof Limit)[keyof typeof Limit];

export declare const Weaken: {
  readonly HOST_NETWORK: 1;
  readonly NESTED_NAMESPACES: 2;
  /** run although some rule has no means on this host */
  readonly BEST_EFFORT: 3;
};
export type Weaken = (typeof Weaken)[keyof typeof Weaken];

export declare const Relation: {
  readonly EQUAL: 0;
  readonly WIDER: 1;
  readonly NARROWER: 2;
  /** each allows something that the other does not */
  readonly NEITHER: 3;
};
export type Relation = (typeof Relation)[keyof typeof Relation];

export declare const RequestKind: {
  /** target: absolute path; access */
  readonly PATH: 1;
  /** target: host name or address; port */
  readonly CONNECT: 2;
  /** target: URL; verb: method, NULL is GET */
  readonly HTTP: 3;
  /** target: absolute path */
  readonly EXEC: 4;
  /** port */
  readonly LISTEN: 5;
  /** target: unix socket path, or "@name" */
  readonly SOCKET: 6;
  /** target: action name; verb: arguments as JSON */
  readonly ACTION: 7;
  /** target: credential name; verb: host */
  readonly CREDENTIAL: 8;
  /** target: name of a refused system call */
  readonly SYSCALL: 9;
};
export type RequestKind = (typeof RequestKind)[keyof typeof RequestKind];

export declare const Stdio: {
  readonly NULL: 0;
  readonly PIPE: 1;
  readonly HANDLE: 2;
  readonly PTY: 3;
  /** bounded, read with abx_process_get_output after exit */
  readonly CAPTURE: 4;
};
export type Stdio = (typeof Stdio)[keyof typeof Stdio];

export declare const ExitReason: {
  readonly CODE: 1;
  readonly SIGNAL: 2;
  readonly TIMEOUT: 3;
  readonly LIMIT: 4;
  readonly KILLED: 5;
};
export type ExitReason = (typeof ExitReason)[keyof typeof ExitReason];

export declare const EventType: {
  readonly DENIAL: 1;
  /** a call is held until answered or until the deadline */
  readonly APPROVAL: 2;
  /** a secret is wanted: TARGET is its name, VERB the host; a request is held */
  readonly CREDENTIAL: 3;
  readonly STARTED: 4;
  readonly EXITED: 5;
  readonly DROPPED: 6;
  readonly LOG: 7;
  /** not denied, and worth knowing: a port opened, a yes, a grant given or taken back, a set-uid program, a server that refused a request (ABX_FIELD_CLASS) */
  readonly NOTICE: 8;
};
export type EventType = (typeof EventType)[keyof typeof EventType];

/** how a grant takes effect */
export declare const Retry: {
  /** no grant can help */
  readonly NONE: 0;
  /** the call is waiting and goes on */
  readonly HELD: 1;
  /** grant, then run the command again */
  readonly RERUN: 2;
};
export type Retry = (typeof Retry)[keyof typeof Retry];

/** what kind of failure it is: tells a model what to do next */
export declare const Class: {
  /** the policy or the boundary denied it, and would again */
  readonly POLICY: 1;
  /** it needed a yes, and somebody refused or nobody answered */
  readonly APPROVAL: 2;
  /** who asks was not accepted: no login, no right, no secret, an expired delegation */
  readonly IDENTITY: 3;
  /** a server refused the values of a named action: not the sandbox */
  readonly VALIDATION: 4;
  /** the program asked for a terminal, and has none */
  readonly TERMINAL: 5;
  /** a limit was reached */
  readonly LIMIT: 6;
};
export type Class = (typeof Class)[keyof typeof Class];

/** which boundary spoke: tells a model where to look */
export declare const Layer: {
  readonly FILESYSTEM: 1;
  readonly NETWORK: 2;
  readonly PROCESS: 3;
  readonly IDENTITY: 4;
  readonly ACTION: 5;
  readonly APPROVAL: 6;
  readonly TERMINAL: 7;
  readonly LIMIT: 8;
  readonly SETUP: 9;
  /** it could not be recorded, so it was not done */
  readonly AUDIT: 10;
};
export type Layer = (typeof Layer)[keyof typeof Layer];

export declare const Field: {
  readonly SEQUENCE: 1;
  /** Unix time */
  readonly TIME_NS: 2;
  readonly BOX: 3;
  readonly PROCESS: 4;
  readonly LABEL: 5;
  readonly PID: 6;
  readonly PROGRAM: 7;
  readonly LAYER: 8;
  readonly REQUEST: 9;
  readonly ACCESS: 10;
  readonly TARGET: 11;
  readonly PORT: 12;
  readonly VERB: 13;
  readonly RULE: 14;
  /** the policy layer: "managed", "user", "task" or a file name */
  readonly SOURCE: 15;
  readonly REASON: 16;
  /** what is allowed instead */
  readonly ALTERNATIVE: 17;
  readonly BACKEND: 18;
  /** how many equal attempts this event stands for; 1 is one */
  readonly REPEATS: 19;
  readonly TICKET: 20;
  /** Unix time after which no answer is a denial */
  readonly DEADLINE_MS: 21;
  readonly DROPPED: 22;
  readonly LEVEL: 23;
  readonly MESSAGE: 24;
  /** the name as the program gave it, where TARGET is another */
  readonly ASKED: 25;
  /** on an approval: exactly what a grant would add, as JSON; on a grant: what it adds, until when and how often */
  readonly ADDS: 26;
  /** ABX_RETRY_* */
  readonly RETRY: 27;
  readonly EXIT_REASON: 28;
  readonly EXIT_CODE: 29;
  /** of the box's identity, on each of its events */
  readonly PRINCIPAL: 30;
  readonly AGENT_SESSION: 31;
  readonly DELEGATION: 32;
  /** on an approval: how many different ones must say yes */
  readonly APPROVERS: 33;
  /** on an approval: 1, a yes needs evidence */
  readonly STEP_UP: 34;
  /** who answered or gave a grant: a name, or two with a comma between them; on an action that was allowed by that, too */
  readonly APPROVER: 35;
  /** SHA-256 of the evidence, hex; two with a comma */
  readonly EVIDENCE: 36;
  /** of an action that was allowed */
  readonly IDEMPOTENCY_KEY: 37;
  /** on an approval: what else was shown, which a yes is for, as JSON */
  readonly BOUND: 38;
  /** ABX_CLASS_*: of what kept a command from its end; other events have none */
  readonly CLASS: 39;
  /** with which a server, or a proxy outside, refused a request */
  readonly HTTP_STATUS: 40;
  /** what a server said about it, as JSON: "title", "detail", and "fields", the names of values it does not take. Bounded, and its words: not to be trusted */
  readonly PROBLEM: 41;
};
export type Field = (typeof Field)[keyof typeof Field];

export declare const Scope: {
  /** the calls that wait on this question, and nothing else: all equal ones do that come until it is answered, also after it was shown */
  readonly ONCE: 0;
  /** until this command ends */
  readonly COMMAND: 1;
  /** until the box is closed */
  readonly BOX: 2;
  /** in this box until expires_ms, Unix time */
  readonly UNTIL: 3;
};
export type Scope = (typeof Scope)[keyof typeof Scope];

export declare const Audit: {
  readonly WHOLE: 0;
  /** the last record was written in part: a writer was killed, or writes now */
  readonly TORN: 1;
  /** something was changed, taken out, put in or moved */
  readonly BROKEN: 2;
};
export type Audit = (typeof Audit)[keyof typeof Audit];

export declare const Replay: {
  /** all calls are decided as they were */
  readonly SAME: 0;
  /** some are not */
  readonly CHANGED: 1;
  /** the log does not hold; the rows are about the records before that */
  readonly BROKEN: 2;
};
export type Replay = (typeof Replay)[keyof typeof Replay];
