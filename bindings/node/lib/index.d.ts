// SPDX-License-Identifier: Apache-2.0
import type { Duplex } from 'node:stream';
import type { Access, Audit, AuditSync, Class, EventType, ExitReason, Layer, Limit, Relation, Replay, RequestKind, Retry, Scope, Verdict, Weaken } from './constants.js';

export * from './constants.js';
export * from './errors.js';
export { AgentboxError } from './failure.js';

/** Text, or what `JSON.parse` gives. */
export type Document = string | Uint8Array | object;
/** What of a stream: a descriptor is the caller's own, duplicated. */
export type Stream = 'null' | 'pipe' | 'pty' | 'capture' | number;

export interface Request {
  readonly kind: RequestKind;
  readonly target?: string;
  readonly access?: number;
  readonly port?: number;
  readonly verb?: string;
}
export declare const request: {
  read(path: string): Request;
  write(path: string): Request;
  execute(path: string): Request;
  connect(host: string, port: number): Request;
  http(url: string, method?: string): Request;
  listen(port: number): Request;
  socket(path: string): Request;
  action(name: string, given?: object): Request;
  credential(name: string, host: string): Request;
};

export interface Decision {
  readonly verdict: Verdict;
  /** Index of the rule that decided; null: the default. */
  readonly rule: number | null;
  readonly layer: number;
}

declare class Handle {
  /** Releases it; a handle that was forgotten is released too, some time. */
  close(): void;
  readonly closed: boolean;
}

/** Compiled rules; they never change. */
export declare class Policy extends Handle {
  private constructor();
  /** A built-in profile, the variables that it uses, and documents merged over it. */
  static fromProfile(profile: string, variables?: Record<string, string>, ...documents: Document[]): Policy;
  static fromJson(document: Document): Policy;
  /** The document that says the same. */
  document(): Record<string, unknown>;
  /** This policy under a ceiling. */
  under(ceiling: Policy): Policy;
  /** What `after` allows and this one does not, and the reverse. */
  compare(after: Policy): { relation: Relation; rows: Record<string, string>[] };
  /** The boundary in words, for a model's tool description. */
  describe(format?: 'text' | 'markdown' | 'json'): string;
  readonly digest: string;
  evaluate(asked: Request): Decision;
  explain(asked: Request): Record<string, unknown>;
}

/** Each setter returns the builder, and throws what is wrong with what it was given. */
export declare class PolicyBuilder extends Handle {
  constructor(profile?: string);
  variable(name: string, value: string): this;
  path(pattern: string, access: number, verdict: Verdict): this;
  host(host: string, verdict: Verdict, portFirst?: number, portLast?: number): this;
  /** No value passes the host's. */
  env(name: string, value?: string): this;
  limit(limit: Limit, value: number): this;
  explain(reason: string, alternative?: string): this;
  weaken(what: Weaken, reason: string): this;
  merge(document: Document, source?: string): this;
  build(): Policy;
}

/** On whose behalf a box works: names that are on each of its events. */
export declare class Identity extends Handle {
  constructor(principal: string, agentSession: string, delegation?: string, options?: { delegationExpiresMs?: number });
}

/** Something that happened; docs/events.md says what each field means. */
export interface Event {
  readonly type: EventType;
  readonly sequence: number;
  readonly timeNs: bigint;
  readonly box: number;
  readonly process: number;
  readonly pid: number;
  readonly port: number;
  readonly repeats: number;
  readonly ticket: number;
  readonly deadlineMs: number;
  readonly dropped: number;
  readonly approvers: number;
  readonly stepUp: number;
  readonly httpStatus: number;
  readonly exitCode: number;
  readonly layer: Layer | null;
  readonly class: Class | null;
  readonly request: RequestKind | null;
  readonly access: Access | null;
  readonly retry: Retry | null;
  readonly exitReason: ExitReason | null;
  readonly label: string | null;
  readonly program: string | null;
  readonly target: string | null;
  readonly asked: string | null;
  readonly verb: string | null;
  readonly rule: string | null;
  readonly source: string | null;
  readonly reason: string | null;
  readonly alternative: string | null;
  readonly backend: string | null;
  readonly message: string | null;
  readonly principal: string | null;
  readonly agentSession: string | null;
  readonly delegation: string | null;
  readonly approver: string | null;
  readonly evidence: string | null;
  readonly idempotencyKey: string | null;
  /** Of an approval: exactly what an answer for longer than once would add; of a grant: what it adds. */
  readonly adds: unknown;
  /** Of an approval: what else was shown, which a yes is for. */
  readonly bound: unknown;
  /** What a server said when it refused a request: its words, not to be trusted. */
  readonly problem: { readonly title?: string; readonly detail?: string; readonly fields?: readonly string[] } | null;
  /** One object on one line. */
  readonly json: string;
  /** Lines for the person who is asked; no name that a command chose can make one. */
  readonly text: string;
  toJSON(): Record<string, unknown>;
}

export interface Answer {
  readonly verdict: Verdict;
  readonly scope: Scope;
  readonly expiresMs: number;
  readonly approver?: string;
  readonly evidence?: string;
  readonly message?: string;
}
export declare const answer: {
  allow(options?: { scope?: Scope; approver?: string; evidence?: string; expiresMs?: number }): Answer;
  /** The message reaches the model. */
  deny(message?: string, options?: { approver?: string }): Answer;
};

export interface SpawnOptions {
  cwd?: string;
  /** On top of the policy's. */
  env?: Record<string, string>;
  /** On every event of the command. */
  label?: string;
  timeoutMs?: number;
  stdin?: Stream;
  stdout?: Stream;
  stderr?: Stream;
  rows?: number;
  columns?: number;
  /** Aborted, it ends the command. */
  signal?: AbortSignal;
}

export interface Exit {
  readonly reason: ExitReason;
  readonly code: number;
  readonly denials: number;
  readonly cpuUs: number;
  readonly peakMemory: number;
  readonly ok: boolean;
}

export interface Result {
  readonly exit: Exit;
  readonly ok: boolean;
  readonly stdout: Buffer | null;
  readonly stderr: Buffer | null;
  /** For the model, to append to the tool's result; '' if nothing was stopped. */
  readonly explanation: string;
  /** The same for a program: events as docs/events.md has them, each with its `class`. */
  readonly failures: Record<string, unknown>[];
  /** Those of the failures that are denials; the others are what servers refused, a terminal that is not there, a limit. */
  readonly denials: Record<string, unknown>[];
}

export interface ContextOptions {
  /** Asked while a call waits; several answers where the policy wants several approvers; nothing refuses what is still open, so it may also call `answer` itself. Failing, it has refused. */
  onApproval?: (event: Event) => Answer | Answer[] | null | Promise<Answer | Answer[] | null>;
  /** Gives the secret that a request waits for, or nothing. */
  onCredential?: (event: Event) => Uint8Array | null | Promise<Uint8Array | null>;
  /** Sees every event. */
  onEvent?: (event: Event) => void;
  /** How many events wait at most before denials are dropped. */
  events?: number;
  initPath?: string;
  /** Enforces nothing and runs nothing, for tests of a harness; see `Box.attempt`. */
  simulated?: boolean;
  /** The audit log; what cannot be recorded is not done. */
  auditPath?: string;
  /** It goes on in a new file after that many; 0 is 64 MiB. */
  auditBytes?: number;
  auditSync?: AuditSync;
  /** Allows what is safe and no rule speaks of, and tells of it; see `Box.suggest`. */
  observe?: boolean;
}

/** An instance of the library in this event loop. */
export declare class Context extends Handle {
  constructor(options?: ContextOptions);
  openBox(policy: Policy, identity?: Identity): Promise<Box>;
  /** Opens a box, runs one command in it, and closes it. */
  run(policy: Policy, argv: string[], options?: SpawnOptions & { identity?: Identity }): Promise<Result>;
  /** Every event from now on, until the context is closed or the loop over it is left. */
  events(): AsyncIterableIterator<Event>;
  /** False: this yes counts, and another approver must say it too. */
  answer(question: Event | number, given: Answer): boolean;
  supply(question: Event | number, secret: Uint8Array, options?: { expiresMs?: number }): void;
  stats(): Stats;
}

/** What a context counted since it was made, of all its boxes: `asked` is granted + refused + timedOut + abandoned + what is open. */
export interface Stats {
  readonly boxes: number;
  readonly commands: number;
  readonly denials: number;
  /** Of the denials: an equal attempt of the same command was denied before. */
  readonly repeats: number;
  /** Questions, each once, however many calls wait for it. */
  readonly asked: number;
  readonly granted: number;
  readonly refused: number;
  readonly timedOut: number;
  /** Nobody waited any more: the command or the box ended. */
  readonly abandoned: number;
  /** That calls waited for answers, each for itself. */
  readonly heldNs: number;
}

/** One open boundary, many commands. */
export declare class Box {
  private constructor();
  readonly id: number;
  readonly closed: boolean;
  spawn(argv: string[], options?: SpawnOptions): Promise<Process>;
  /** Starts a command with captured output, waits for it, and says how it went. */
  run(argv: string[], options?: SpawnOptions): Promise<Result>;
  /** What enforces what. */
  receipt(): Record<string, unknown>;
  /** Adds one request for a while: a path, a program, a connection, an HTTP request or an action; gives the number to revoke it by. */
  grant(asked: Request, options?: { expiresMs?: number; uses?: number; approver?: string }): number;
  revoke(grant: number): Promise<void>;
  grants(): unknown[];
  setCredential(name: string, secret: Uint8Array, options?: { expiresMs?: number }): void;
  /** In a box of a simulated context: what comes of this request; with Verdict.ASK it is held under the ticket. */
  attempt(asked: Request, process?: Process): Decision & { readonly ticket: number };
  /** May this action (`request.action`) be done?  `ticket`: an approver is asked. */
  request(action: Request): Record<string, unknown> & { readonly verdict: string; readonly ticket?: number };
  /** What a held attempt came to, or null while it is held. */
  outcome(ticket: number): Verdict | null;
  /** The smallest policy document that allows again what was done in this box of an observing context. */
  suggest(): Record<string, unknown>;
  kill(): Promise<void>;
  /** Ends every command in it. */
  close(): Promise<void>;
}

/** One command in a box. Closing it does not end the command; closing its box does. */
export declare class Process extends Handle {
  private constructor();
  readonly id: number;
  /** Of 'pipe'; closed with the process. */
  readonly stdin: Duplex | null;
  readonly stdout: Duplex | null;
  readonly stderr: Duplex | null;
  /** How it ended, or null while it runs. */
  poll(): Exit | null;
  wait(): Promise<Exit>;
  signal(number: number): void;
  /** Ends the command and all that it started, unless it ended already. */
  kill(): void;
  resize(rows: number, columns: number): void;
  /** The host's end of a stream as a descriptor that the caller closes, or null; with 'pty' the terminal's master. */
  takeStdio(which: 0 | 1 | 2): number | null;
  /** What a captured stream held, once the command ended. */
  output(which: 0 | 1 | 2): Buffer | null;
  explain(format?: 'text' | 'json'): string;
}

/** What this host can enforce, of a policy or of everything. */
export declare function preflight(policy?: Policy): Record<string, string>[];
/** Reads an audit log, its files oldest first: a row for each. */
export declare function verifyAudit(paths: string[]): { outcome: Audit; rows: Record<string, string>[] };
/** Its records, for people or programs; of one layer (`'filesystem'` and so on) or of all. */
export declare function renderAudit(paths: string[], options?: { format?: 'text' | 'json' | 'html'; layer?: string }): { outcome: Audit; text: string };
/** Takes out for good what some records say (`'3,7-9'`); a row for each file that was written anew. */
export declare function redactAudit(path: string, records: string): Record<string, string>[];
/** What a policy says of the calls that an audit log tells of; of one file that is named all files of the log are read. */
export declare function replayAudit(policy: Policy, paths: string[]): { outcome: Replay; rows: Record<string, string>[] };
export declare function libraryVersion(): string;
