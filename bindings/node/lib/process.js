// SPDX-License-Identifier: Apache-2.0
import { Socket } from 'node:net';
import { constants as system } from 'node:os';
import { ExitReason, Status } from './constants.js';
import { StateError } from './errors.js';
import { buffer, bytes, check, Handle, lib, struct, text } from './raw.js';

const WRITABLE = 0;

/** One command in a box. Closing it does not end the command; closing its box does. */
export class Process extends Handle {
  #context;
  #box;
  #streams = [];

  constructor(context, box, pointer) {
    super(pointer, 'abx_process_unref');
    this.#context = context;
    this.#box = box;
    this.id = lib.abx_process_get_id(pointer);
    for (const [which, name] of ['stdin', 'stdout', 'stderr'].entries()) {
      Object.defineProperty(this, name, { get: () => this.#stream(which) });
    }
  }

  /** How it ended, or null while it runs. */
  poll() {
    const exit = struct('abx_exit');
    if (check(lib.abx_process_wait(this.c, 0, exit)) === Status.NONE) return null;
    return { reason: exit.reason, code: exit.code, denials: exit.denials, cpuUs: exit.cpu_us, peakMemory: exit.peak_memory,
      ok: exit.reason === ExitReason.CODE && exit.code === 0 };
  }

  /** Waits for the end; the event loop goes on. */
  async wait() {
    const { promise } = this.#context.end(this.#box, this.id);
    this.#context.use(1);
    try {
      while (this.poll() === null) await promise;
      return this.poll();
    } finally {
      this.#context.use(-1);
      this.#context.forgetEnd(this.#box, this.id);
    }
  }

  signal(number) {
    check(lib.abx_process_signal(this.c, number));
  }

  /** Ends the command and all that it started, unless it ended already. */
  kill() {
    try {
      this.signal(system.signals.SIGKILL);
    } catch (error) {
      if (!(error instanceof StateError)) throw error;
    }
  }

  resize(rows, columns) {
    check(lib.abx_process_resize(this.c, rows, columns));
  }

  /** The host's end of a stream as a descriptor that the caller closes, or null. */
  takeStdio(which) {
    const descriptor = Number(lib.abx_process_take_stdio(this.c, which));
    return descriptor < 0 ? null : descriptor;
  }

  #stream(which) {
    if (this.#streams[which] === undefined) {
      const descriptor = this.takeStdio(which);
      this.#streams[which] = descriptor === null ? null : new Socket({ fd: descriptor, readable: which !== WRITABLE, writable: which === WRITABLE });
    }
    return this.#streams[which];
  }

  /** What a captured stream held, once the command ended. */
  output(which) {
    const length = [0];
    const data = lib.abx_process_get_output(this.c, which, length);
    return data === null ? null : bytes(data, length[0]);
  }

  explain(format = 'text') {
    return buffer(lib.abx_process_explain, this.c, text(format));
  }

  result(exit) {
    const found = this.explain('json');
    const failures = found ? JSON.parse(found).events : [];
    const denials = failures.filter((failure) => failure.type === 'denial');
    return { exit, ok: exit.ok, stdout: this.output(1), stderr: this.output(2), explanation: this.explain(), failures, denials };
  }

  close() {
    for (const stream of this.#streams) stream?.destroy();
    super.close();
  }
}
