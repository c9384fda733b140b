// SPDX-License-Identifier: Apache-2.0
// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.

export const EnumKind = Object.freeze({
  STATUS: 1,
  REQUEST: 2,
  EVENT: 3,
});

export const Status = Object.freeze({
  OK: 0,
  NONE: 1,
  ERR_INVALID: -1001,
  ERR_ABI: -1002,
  ERR_STATE: -1003,
  ERR_NOMEM: -1004,
  ERR_POLICY: -1005,
  ERR_UNSUPPORTED: -1006,
  ERR_SETUP: -1007,
  ERR_EXEC: -1008,
  ERR_TIMEOUT: -1009,
  ERR_IO: -1010,
  ERR_DENIED: -1011,
  ERR_INTERNAL: -1099,
});

export const Log = Object.freeze({
  ERROR: 1,
  WARNING: 2,
  INFO: 3,
  DEBUG: 4,
});

export const Backend = Object.freeze({
  NATIVE: 0,
  SIMULATED: 1,
});

export const ContextFlag = Object.freeze({
  CONTEXT_OBSERVE: 1,
});

export const AuditSync = Object.freeze({
  NONE: 0,
  RECORD: 1,
});

export const Verdict = Object.freeze({
  DENY: 0,
  ALLOW: 1,
  ASK: 2,
});

export const Access = Object.freeze({
  READ: 1,
  WRITE: 2,
  EXEC: 4,
});

export const Limit = Object.freeze({
  MEMORY: 1,
  PROCESSES: 2,
  CPU_MS: 3,
  WALL_MS: 4,
  FILE_SIZE: 5,
  OUTPUT: 6,
});

export const Weaken = Object.freeze({
  HOST_NETWORK: 1,
  NESTED_NAMESPACES: 2,
  BEST_EFFORT: 3,
});

export const Relation = Object.freeze({
  EQUAL: 0,
  WIDER: 1,
  NARROWER: 2,
  NEITHER: 3,
});

export const RequestKind = Object.freeze({
  PATH: 1,
  CONNECT: 2,
  HTTP: 3,
  EXEC: 4,
  LISTEN: 5,
  SOCKET: 6,
  ACTION: 7,
  CREDENTIAL: 8,
  SYSCALL: 9,
});

export const Stdio = Object.freeze({
  NULL: 0,
  PIPE: 1,
  HANDLE: 2,
  PTY: 3,
  CAPTURE: 4,
});

export const ExitReason = Object.freeze({
  CODE: 1,
  SIGNAL: 2,
  TIMEOUT: 3,
  LIMIT: 4,
  KILLED: 5,
});

export const EventType = Object.freeze({
  DENIAL: 1,
  APPROVAL: 2,
  CREDENTIAL: 3,
  STARTED: 4,
  EXITED: 5,
  DROPPED: 6,
  LOG: 7,
  NOTICE: 8,
});

export const Retry = Object.freeze({
  NONE: 0,
  HELD: 1,
  RERUN: 2,
});

export const Class = Object.freeze({
  POLICY: 1,
  APPROVAL: 2,
  IDENTITY: 3,
  VALIDATION: 4,
  TERMINAL: 5,
  LIMIT: 6,
});

export const Layer = Object.freeze({
  FILESYSTEM: 1,
  NETWORK: 2,
  PROCESS: 3,
  IDENTITY: 4,
  ACTION: 5,
  APPROVAL: 6,
  TERMINAL: 7,
  LIMIT: 8,
  SETUP: 9,
  AUDIT: 10,
});

export const Field = Object.freeze({
  SEQUENCE: 1,
  TIME_NS: 2,
  BOX: 3,
  PROCESS: 4,
  LABEL: 5,
  PID: 6,
  PROGRAM: 7,
  LAYER: 8,
  REQUEST: 9,
  ACCESS: 10,
  TARGET: 11,
  PORT: 12,
  VERB: 13,
  RULE: 14,
  SOURCE: 15,
  REASON: 16,
  ALTERNATIVE: 17,
  BACKEND: 18,
  REPEATS: 19,
  TICKET: 20,
  DEADLINE_MS: 21,
  DROPPED: 22,
  LEVEL: 23,
  MESSAGE: 24,
  ASKED: 25,
  ADDS: 26,
  RETRY: 27,
  EXIT_REASON: 28,
  EXIT_CODE: 29,
  PRINCIPAL: 30,
  AGENT_SESSION: 31,
  DELEGATION: 32,
  APPROVERS: 33,
  STEP_UP: 34,
  APPROVER: 35,
  EVIDENCE: 36,
  IDEMPOTENCY_KEY: 37,
  BOUND: 38,
  CLASS: 39,
  HTTP_STATUS: 40,
  PROBLEM: 41,
});

export const Scope = Object.freeze({
  ONCE: 0,
  COMMAND: 1,
  BOX: 2,
  UNTIL: 3,
});

export const Audit = Object.freeze({
  WHOLE: 0,
  TORN: 1,
  BROKEN: 2,
});

export const Replay = Object.freeze({
  SAME: 0,
  CHANGED: 1,
  BROKEN: 2,
});
