// SPDX-License-Identifier: Apache-2.0
import { Field, Scope, Verdict } from './constants.js';
import { buffer, lib, struct, text } from './raw.js';

const NUMBERS = ['sequence', 'box', 'process', 'pid', 'port', 'repeats', 'ticket', 'deadlineMs', 'dropped', 'approvers', 'stepUp', 'httpStatus', 'exitCode'];
const KINDS = ['layer', 'class', 'request', 'access', 'retry', 'exitReason'];
const TEXTS = ['label', 'program', 'target', 'asked', 'verb', 'rule', 'source', 'reason', 'alternative', 'backend', 'message', 'principal', 'agentSession', 'delegation', 'approver', 'evidence', 'idempotencyKey'];
const field = (name) => Field[name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()];

/** Something that happened, copied out of the library. A field that it does not have is null, or 0 for a count. */
export class Event {
  constructor(pointer) {
    try {
      this.type = lib.abx_event_get_type(pointer);
      for (const name of NUMBERS) this[name] = lib.abx_event_get_int(pointer, field(name));
      for (const name of KINDS) this[name] = lib.abx_event_get_int(pointer, field(name)) || null;
      for (const name of TEXTS) this[name] = lib.abx_event_get_string(pointer, field(name));
      this.timeNs = BigInt(lib.abx_event_get_int(pointer, Field.TIME_NS));
      this.adds = JSON.parse(lib.abx_event_get_string(pointer, Field.ADDS) ?? 'null');
      this.bound = JSON.parse(lib.abx_event_get_string(pointer, Field.BOUND) ?? 'null');
      this.problem = JSON.parse(lib.abx_event_get_string(pointer, Field.PROBLEM) ?? 'null');
      Object.defineProperty(this, 'json', { value: buffer(lib.abx_event_to_json, pointer) });
      Object.defineProperty(this, 'text', { value: buffer(lib.abx_event_to_text, pointer) });
    } finally {
      lib.abx_event_unref(pointer);
    }
  }

  /** As docs/events.md has it. */
  toJSON() {
    return JSON.parse(this.json);
  }
}

export const answer = Object.freeze({
  allow: ({ scope = Scope.ONCE, approver, evidence, expiresMs = 0 } = {}) => ({ verdict: Verdict.ALLOW, scope, approver, evidence, expiresMs }),
  deny: (message, { approver } = {}) => ({ verdict: Verdict.DENY, scope: Scope.ONCE, approver, message, expiresMs: 0 }),
});

export const answerStruct = (given) => struct('abx_answer', { verdict: given.verdict, scope: given.scope, expires_ms: given.expiresMs,
  approver: text(given.approver, 'the approver'), evidence: text(given.evidence, 'the evidence'), message: text(given.message, 'the message') });
