// SPDX-License-Identifier: Apache-2.0
import { Status, Stdio } from './constants.js';
import { Process } from './process.js';
import { decisionOf, requestStruct } from './policy.js';
import { buffer, check, doneElsewhere, failure, Handle, lib, made, madeElsewhere, strings, struct, takenText, text } from './raw.js';

const KINDS = { null: Stdio.NULL, pipe: Stdio.PIPE, pty: Stdio.PTY, capture: Stdio.CAPTURE };

function streams(given) {
  const handles = given.map((one) => (typeof one === 'number' ? one : -1));
  const kinds = given.map((one) => (typeof one === 'number' ? Stdio.HANDLE : KINDS[one ?? 'null']));
  if (kinds.includes(undefined)) throw new TypeError("a stream is 'null', 'pipe', 'pty', 'capture' or a descriptor");
  return { stdio: kinds, handle: handles };
}

function spawnOptions({ cwd, env, label, timeoutMs = 0, stdin, stdout, stderr, rows = 0, columns = 0 }) {
  return struct('abx_spawn_options', { ...streams([stdin, stdout, stderr]), rows, columns, timeout_ms: timeoutMs, cwd: text(cwd, 'cwd'), label: text(label, 'the label'),
    env: env ? strings(Object.entries(env).map(([name, value]) => `${name}=${value}`), 'env') : null });
}

/** One open boundary, many commands. Closing it ends them. */
export class Box extends Handle {
  #context;

  constructor(context, pointer) {
    super(pointer, 'abx_box_unref');
    this.#context = context;
    this.id = lib.abx_box_get_id(pointer);
  }

  async spawn(argv, { signal, ...options } = {}) {
    if (!Array.isArray(argv)) throw new TypeError('argv is an array: the program and its arguments');
    signal?.throwIfAborted();
    const starting = madeElsewhere(lib.abx_box_spawn, this.c, strings(argv, 'argv'), spawnOptions(options));
    const process = new Process(this.#context, this.id, await starting);
    if (signal?.aborted) {
      process.kill();
      process.close();
      throw signal.reason;
    }
    return process;
  }

  /** Starts a command with captured output, waits for it, and says how it went. An aborted signal ends the command. */
  async run(argv, { signal, ...options } = {}) {
    const process = await this.spawn(argv, { stdout: 'capture', stderr: 'capture', signal, ...options });
    const abort = () => process.kill();
    signal?.addEventListener('abort', abort);
    try {
      const exit = await process.wait();
      signal?.throwIfAborted();
      return process.result(exit);
    } finally {
      signal?.removeEventListener('abort', abort);
      process.close();
    }
  }

  receipt() {
    return JSON.parse(buffer(lib.abx_box_receipt, this.c));
  }

  grant(asked, { expiresMs = 0, uses = 0, approver } = {}) {
    return made(lib.abx_box_grant, this.c, requestStruct(asked), expiresMs, uses, text(approver, 'the approver'));
  }

  async revoke(grant) {
    await doneElsewhere(lib.abx_box_revoke, this.c, grant);
  }

  grants() {
    return JSON.parse(buffer(lib.abx_box_grants, this.c));
  }

  setCredential(name, secret, { expiresMs = 0 } = {}) {
    const error = [null];
    check(lib.abx_box_set_credential(this.c, text(name), secret, secret.length, expiresMs, error), error[0]);
  }

  /** In a box of a simulated context: what comes of this request. */
  attempt(asked, process) {
    const decision = struct('abx_decision');
    const ticket = [0];
    const error = [null];
    check(lib.abx_box_attempt(this.c, process ? process.c : null, requestStruct(asked), decision, ticket, error), error[0]);
    return { ...decisionOf(decision), ticket: ticket[0] };
  }

  /** May this action (`request.action`) be done?  `ticket`: an approver is asked. */
  request(action) {
    const text = [null];
    const error = [null];
    check(lib.abx_box_request(this.c, requestStruct(action), struct('abx_decision'), null, text, error), error[0]);
    return JSON.parse(takenText(text[0]));
  }

  /** What a held attempt came to, or null while it is held. */
  outcome(ticket) {
    const verdict = [0];
    return check(lib.abx_box_outcome(this.c, ticket, 0, verdict)) === Status.OK ? verdict[0] : null;
  }

  /** The smallest policy document that allows again what was done in this box of an observing context. */
  suggest() {
    const error = [null];
    try {
      return JSON.parse(buffer((...given) => lib.abx_box_suggest(...given, error), this.c));
    } catch (failed) {
      throw error[0] ? failure(failed.status, error[0]) : failed;
    }
  }

  async kill() {
    await doneElsewhere(lib.abx_box_kill, this.c);
  }

  /** Ends every command in it. */
  async close() {
    const pointer = this.take();
    if (pointer === null) return;
    await new Promise((resolve, reject) => lib.abx_box_unref.async(pointer, (broken) => (broken ? reject(broken) : resolve())));
    if (!this.#context.closed) this.#context.takeEvents();
  }
}
