// SPDX-License-Identifier: Apache-2.0
import { Access, RequestKind } from './constants.js';
import { buffer, check, failure, Handle, lib, made, strings, struct, taken, text } from './raw.js';

const DEFAULT_RULE = 0xffffffff;
const bytesOf = (document) => Buffer.from(typeof document === 'string' || document instanceof Uint8Array ? document : JSON.stringify(document));

/** One act, as a policy decides it and as a grant adds it. */
export const request = Object.freeze({
  read: (path) => ({ kind: RequestKind.PATH, target: path, access: Access.READ }),
  write: (path) => ({ kind: RequestKind.PATH, target: path, access: Access.WRITE }),
  execute: (path) => ({ kind: RequestKind.EXEC, target: path }),
  connect: (host, port) => ({ kind: RequestKind.CONNECT, target: host, port }),
  http: (url, method = 'GET') => ({ kind: RequestKind.HTTP, target: url, verb: method }),
  listen: (port) => ({ kind: RequestKind.LISTEN, port }),
  socket: (path) => ({ kind: RequestKind.SOCKET, target: path }),
  action: (name, given) => ({ kind: RequestKind.ACTION, target: name, verb: given === undefined ? undefined : JSON.stringify(given) }),
  credential: (name, host) => ({ kind: RequestKind.CREDENTIAL, target: name, verb: host }),
});

export const requestStruct = (asked) => struct('abx_request', { ...asked, target: text(asked.target, 'the target'), verb: text(asked.verb, 'the verb') });

/** Of the C struct: a rule of null is the default. */
export const decisionOf = ({ verdict, rule, layer }) => ({ verdict, rule: rule === DEFAULT_RULE ? null : rule, layer });

export class Policy extends Handle {
  constructor(pointer) {
    super(pointer, 'abx_policy_unref');
  }

  static fromProfile(profile, variables = {}, ...documents) {
    const builder = new PolicyBuilder(profile);
    try {
      for (const [name, value] of Object.entries(variables)) builder.variable(name, value);
      for (const document of documents) builder.merge(document);
      return builder.build();
    } finally {
      builder.close();
    }
  }

  static fromJson(document) {
    const data = bytesOf(document);
    return new Policy(made(lib.abx_policy_from_json, data, data.length));
  }

  document() {
    return JSON.parse(buffer(lib.abx_policy_to_json, this.c));
  }

  under(ceiling) {
    return new Policy(made(lib.abx_policy_intersect, ceiling.c, this.c));
  }

  compare(after) {
    const report = [null];
    const error = [null];
    const relation = check(lib.abx_policy_compare(this.c, after.c, report, error), error[0]);
    return { relation, rows: rowsOf(report[0]) };
  }

  describe(format = 'text') {
    return buffer(lib.abx_policy_describe, this.c, text(format));
  }

  get digest() {
    return lib.abx_policy_get_digest(this.c);
  }

  evaluate(asked) {
    const decision = struct('abx_decision');
    check(lib.abx_policy_evaluate(this.c, requestStruct(asked), decision));
    return decisionOf(decision);
  }

  explain(asked) {
    return JSON.parse(buffer(lib.abx_policy_explain, this.c, requestStruct(asked)));
  }
}

/** Each setter returns the builder, and throws what is wrong with what it was given. */
export class PolicyBuilder extends Handle {
  constructor(profile) {
    super(made(lib.abx_policy_builder_new, text(profile)), 'abx_policy_builder_unref');
  }

  #set(status) {
    if (status < 0) {
      this.build(); // a poisoned builder says what was wrong with the setter
      throw failure(status);
    }
    return this;
  }

  variable(name, value) {
    return this.#set(lib.abx_policy_builder_variable(this.c, text(name), text(value, name)));
  }

  path(pattern, access, verdict) {
    return this.#set(lib.abx_policy_builder_path(this.c, text(pattern), access, verdict));
  }

  host(host, verdict, portFirst = 0, portLast = portFirst) {
    return this.#set(lib.abx_policy_builder_host(this.c, text(host), portFirst, portLast, verdict));
  }

  env(name, value) {
    return this.#set(lib.abx_policy_builder_env(this.c, text(name), text(value)));
  }

  limit(limit, value) {
    return this.#set(lib.abx_policy_builder_limit(this.c, limit, value));
  }

  explain(reason, alternative) {
    return this.#set(lib.abx_policy_builder_explain(this.c, text(reason), text(alternative)));
  }

  weaken(what, reason) {
    return this.#set(lib.abx_policy_builder_weaken(this.c, what, text(reason)));
  }

  merge(document, source) {
    if (source !== undefined) this.#set(lib.abx_policy_builder_source(this.c, text(source)));
    const data = bytesOf(document);
    return this.#set(lib.abx_policy_builder_merge_json(this.c, data, data.length));
  }

  build() {
    return new Policy(made(lib.abx_policy_builder_build, this.c));
  }
}

function rowsOf(report) {
  try {
    return JSON.parse(buffer(lib.abx_report_to_json, report));
  } finally {
    lib.abx_report_unref(report);
  }
}

/** Reads an audit log, its files oldest first. */
export function verifyAudit(paths) {
  const report = [null];
  const error = [null];
  const outcome = check(lib.abx_audit_verify(strings(paths, 'a path'), paths.length, report, error), error[0]);
  return { outcome, rows: rowsOf(report[0]) };
}

/** The records of an audit log, its files oldest first, as 'text', 'json' or 'html'; of one layer or of all. */
export function renderAudit(paths, { format = 'text', layer } = {}) {
  const given = [[null], [0], [null]];
  const outcome = check(lib.abx_audit_render(strings(paths, 'a path'), paths.length, text(format), text(layer), ...given), given[2][0]);
  return { outcome, text: taken(given[0][0], given[1][0]) };
}

/** Takes out for good what some records of an audit log say: 'N', 'N-M' or several of them with commas. */
export const redactAudit = (path, records) => rowsOf(made(lib.abx_audit_redact, text(path), text(records)));

/** What a policy says of the calls that an audit log tells of; of one file that is named all files of the log are read. */
export function replayAudit(policy, paths) {
  const report = [null];
  const error = [null];
  const outcome = check(lib.abx_audit_replay(policy.c, strings(paths, 'a path'), paths.length, report, error), error[0]);
  return { outcome, rows: rowsOf(report[0]) };
}

/** What this host can enforce, of a policy or of everything. */
export const preflight = (policy) => rowsOf(made(lib.abx_preflight, policy ? policy.c : null));
export const libraryVersion = () => lib.abx_version_string();
