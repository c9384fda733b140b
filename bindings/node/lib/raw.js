// SPDX-License-Identifier: Apache-2.0
// The loaded library, and how values pass to it and back. Nothing else in the package sees a pointer being made or freed.
// No call takes a function of ours: events are pulled.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import koffi from 'koffi';
import { BY_STATUS, InvalidError, StateError } from './errors.js';
import { AgentboxError } from './failure.js';
import { FUNCTIONS, HANDLES, STRUCTS } from './interface.js';
import { Status } from './constants.js';

for (const name of HANDLES) koffi.opaque(name);
const structs = {};
for (const [name, { fields }] of Object.entries(STRUCTS)) {
  structs[name] = koffi.struct(name, Object.fromEntries(Object.entries(fields).map(([field, [type, count]]) => [field, count > 1 ? koffi.array(type, count) : type])));
}

/** $AGENTBOX_LIBRARY, else the library that the package carries, else the system's. */
function path() {
  const carried = fileURLToPath(new URL('../libagentbox.so.0', import.meta.url));
  return process.env.AGENTBOX_LIBRARY || (existsSync(carried) ? carried : 'libagentbox.so.0');
}

const library = koffi.load(path());
export const lib = Object.fromEntries(Object.entries(FUNCTIONS).map(([name, prototype]) => [name, library.func(prototype)]));
export const sizeOf = (name) => koffi.sizeof(structs[name]);
export const offsetOf = (name, field) => koffi.offsetof(structs[name], field);

/** The failure that a status and the C error behind it are; the error is released. */
export function failure(status, error) {
  const Kind = BY_STATUS.get(status) ?? AgentboxError;
  if (!error) return new Kind(status, lib.abx_status_name(status) ?? `status ${status}`);
  try {
    return new Kind(status, lib.abx_error_get_message(error),
      { step: lib.abx_error_get_step(error), osCode: lib.abx_error_get_os_code(error), remedy: lib.abx_error_get_remedy(error) });
  } finally {
    lib.abx_error_unref(error);
  }
}

/** The status, unless it is an error. */
export function check(status, error) {
  if (status < 0) throw failure(status, error);
  return status;
}

/** What a call gives through `ret_…, reterr`. */
export function made(call, ...given) {
  const result = [null];
  const error = [null];
  check(call(...given, result, error), error[0]);
  return result[0];
}

// libuv has few threads, and a call that a question holds keeps one: two stay free for files and names.
const AT_A_TIME = Math.max(1, (Number(process.env.UV_THREADPOOL_SIZE) || 4) - 2);
const waiting = [];
let running = 0;

function next() {
  while (running < AT_A_TIME && waiting.length > 0) {
    running++;
    waiting.shift()();
  }
}

/** The same off the main thread, for calls that take long or can be held. */
export function madeElsewhere(call, ...given) {
  const result = [null];
  const error = [null];
  return new Promise((resolve, reject) => {
    waiting.push(() => call.async(...given, result, error, (broken, status) => {
      running--;
      next();
      if (broken) reject(broken);
      else if (status < 0) reject(failure(status, error[0]));
      else resolve(result[0]);
    }));
    next();
  });
}

/** A call without results of its own, off the main thread. */
export function doneElsewhere(call, ...given) {
  return new Promise((resolve, reject) => call.async(...given, (broken, status) => {
    if (broken) reject(broken);
    else if (status < 0) reject(failure(status));
    else resolve(status);
  }));
}

/** The text that a call gives through `ret_text, ret_length`. */
export function buffer(call, ...given) {
  const text = [null];
  const length = [0];
  check(call(...given, text, length));
  return taken(text[0], length[0]);
}

/** What a call gave through `ret_text` and `ret_length`; it is released. */
export function taken(text, length) {
  try {
    return bytes(text, length).toString('utf8');
  } finally {
    lib.abx_free(text);
  }
}

/** The same where a NUL ends it. */
export function takenText(text) {
  try {
    return koffi.decode(text, 'char', -1);
  } finally {
    lib.abx_free(text);
  }
}

/** A copy.  (A type of arrays of this length would stay for ever.) */
export function bytes(pointer, length) {
  return length === 0 ? Buffer.alloc(0) : Buffer.from(koffi.decode(pointer, 'uint8_t', Number(length)));
}

/** Text as the C interface takes it: no NUL, behind which C would not look. */
export function text(value, name = 'an argument') {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw new TypeError(`${name} is a string`);
  if (value.includes('\0')) throw new InvalidError(Status.ERR_INVALID, `${name} has a NUL in it`);
  return value;
}

export const strings = (values, name) => [...values.map((value) => text(value, name)), null];

/** A size-first struct. */
export function struct(name, given = {}) {
  const made_struct = {};
  for (const [field, [type, count]] of Object.entries(STRUCTS[name].fields)) {
    const empty = type.startsWith('str') ? null : 0;
    made_struct[field] = given[field] ?? (count > 1 ? Array(count).fill(empty) : empty);
  }
  return { ...made_struct, size: STRUCTS[name].size_of };
}

const forgotten = new FinalizationRegistry(({ pointer, unref }) => lib[unref](pointer));

/** What all handles have in common: closed once, unusable afterwards, released if it was forgotten. */
export class Handle {
  #pointer;

  constructor(pointer, unref) {
    this.#pointer = pointer;
    this.unref = unref;
    Object.defineProperty(this, 'unref', { enumerable: false });
    forgotten.register(this, { pointer, unref }, this);
  }

  get c() {
    if (this.#pointer === null) throw new StateError(Status.ERR_STATE, `this ${this.constructor.name} is closed`);
    return this.#pointer;
  }

  get closed() {
    return this.#pointer === null;
  }

  /** Takes the pointer: whoever has it releases it. */
  take() {
    const pointer = this.#pointer;
    this.#pointer = null;
    forgotten.unregister(this);
    return pointer;
  }

  close() {
    const pointer = this.take();
    if (pointer !== null) lib[this.unref](pointer);
  }

  [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() {
    this.close();
  }
}
