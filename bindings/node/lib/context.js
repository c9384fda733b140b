// SPDX-License-Identifier: Apache-2.0
import { Socket } from 'node:net';
import { Box } from './box.js';
import { Backend, ContextFlag, EventType, Status, Verdict } from './constants.js';
import { StateError } from './errors.js';
import { answer as answers, answerStruct, Event } from './event.js';
import { check, Handle, lib, made, madeElsewhere, struct, text } from './raw.js';

/** An instance of the library in this event loop. Handlers: `onApproval` and `onCredential` may return promises; `onEvent` sees every event. */
export class Context extends Handle {
  #socket;
  #handlers;
  #ends = new Map();
  #readers = new Set();
  #users = 0;

  constructor({ onApproval, onCredential, onEvent, events = 0, initPath, simulated = false, auditPath, auditBytes = 0, auditSync = 0, observe = false } = {}) {
    super(made(lib.abx_context_new, struct('abx_context_options', { events, init_path: text(initPath), backend: simulated ? Backend.SIMULATED : Backend.NATIVE,
      audit_path: text(auditPath), audit_bytes: auditBytes, audit_sync: auditSync,
      flags: observe ? ContextFlag.CONTEXT_OBSERVE : 0 })), 'abx_context_unref');
    this.#handlers = { onApproval, onCredential, onEvent };
    this.#socket = new Socket({ fd: Number(lib.abx_context_take_wait_handle(this.c)), readable: true, writable: false });
    this.#socket.on('data', () => this.takeEvents());
    this.#socket.unref(); // a program ends with its work, not with its context
  }

  /** Keeps the program alive while something is awaited. */
  use(change) {
    this.#users += change;
    if (this.#users > 0) this.#socket.ref();
    else this.#socket.unref();
  }

  /** Settles when this command's `exited` was taken. */
  end(box, process) {
    const key = `${box}:${process}`;
    let entry = this.#ends.get(key);
    if (entry === undefined) {
      entry = {};
      entry.promise = new Promise((resolve) => { entry.resolve = resolve; });
      this.#ends.set(key, entry);
    }
    return entry;
  }

  forgetEnd(box, process) {
    this.#ends.delete(`${box}:${process}`);
  }

  takeEvents() {
    if (this.closed) return;
    const event = [null];
    while (!this.closed && check(lib.abx_context_next_event(this.c, event)) === Status.OK) this.#take(new Event(event[0]));
  }

  #take(event) {
    if (event.type === EventType.EXITED) this.#ends.get(`${event.box}:${event.process}`)?.resolve();
    for (const reader of this.#readers) reader(event);
    const { onApproval, onCredential, onEvent } = this.#handlers;
    if (event.type === EventType.APPROVAL && onApproval) this.#ask(onApproval, event);
    if (event.type === EventType.CREDENTIAL && onCredential) this.#ask(onCredential, event);
    onEvent?.(event);
  }

  /** A handler that fails has refused: the held call must not wait for its deadline. */
  async #ask(handler, event) {
    try {
      this.#settle(event, await handler(event));
    } catch (error) {
      this.#settle(event, null);
      throw error; // as an unhandled rejection: a handler's fault is the program's
    }
  }

  /** A question that is over, since its command or its time is, needs no answer. */
  #settle(event, given) {
    if (this.closed) return;
    try {
      if (given instanceof Uint8Array && event.type === EventType.CREDENTIAL) this.supply(event, given);
      else if (given === null || given === undefined) this.answer(event, answers.deny());
      else if ([given].flat().every((one) => one.verdict === Verdict.ALLOW || one.verdict === Verdict.DENY)) for (const one of [given].flat()) this.answer(event, one);
      else throw new TypeError('an answer is made by answer.allow or answer.deny');
    } catch (error) {
      if (!(error instanceof StateError)) throw error;
    }
  }

  /** False: this yes counts, and another approver must say it too. */
  answer(question, given) {
    const error = [null];
    return check(lib.abx_context_answer(this.c, question.ticket ?? question, answerStruct(given), error), error[0]) === Status.OK;
  }

  supply(question, secret, { expiresMs = 0 } = {}) {
    const error = [null];
    check(lib.abx_context_supply(this.c, question.ticket ?? question, secret, secret.length, expiresMs, error), error[0]);
  }

  stats() {
    const found = struct('abx_stats');
    check(lib.abx_context_stats(this.c, found));
    return { boxes: found.boxes, commands: found.commands, denials: found.denials, repeats: found.repeats, asked: found.asked, granted: found.granted,
      refused: found.refused, timedOut: found.timed_out, abandoned: found.abandoned, heldNs: found.held_ns };
  }

  /** Every event from now on, until the context is closed or the loop over it is left. */
  events() {
    const queue = [];
    let wake = () => {};
    let over = false;
    const reader = (event) => {
      if (event === null) over = true;
      else queue.push(event);
      wake();
    };
    const leave = () => {
      if (this.#readers.delete(reader)) this.use(-1);
      over = true;
      wake();
      return Promise.resolve({ value: undefined, done: true });
    };
    this.#readers.add(reader);
    this.use(1);
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      async next() {
        while (queue.length === 0 && !over) await new Promise((resolve) => { wake = resolve; });
        return queue.length > 0 ? { value: queue.shift(), done: false } : leave();
      },
      return: leave,
    };
  }

  async openBox(policy, identity) {
    return new Box(this, await madeElsewhere(lib.abx_box_open, this.c, policy.c, identity ? identity.c : null));
  }

  async run(policy, argv, { identity, ...options } = {}) {
    const box = await this.openBox(policy, identity);
    try {
      return await box.run(argv, options);
    } finally {
      await box.close();
    }
  }

  /** Close boxes before; what is queued is taken first. */
  close() {
    if (this.closed) return;
    this.takeEvents();
    this.#socket.destroy();
    for (const reader of [...this.#readers]) reader(null);
    super.close();
  }
}
