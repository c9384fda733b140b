// SPDX-License-Identifier: Apache-2.0
// In a model's place: it looks at the result of each call, and reacts to what stopped it as a model should.
const DENIED = 'It is policy, not a fault of the command';

export class ScriptedModel {
  constructor(work) {
    this.workspace = `${work}/checkout`;
    this.log = `${work}/agents.log`;
    this.calls = 0;
    this.report = '';
    this.then = this.look;
  }

  /** A real model is told of its tools here. */
  start(tools) {
    return Object.values(tools).join('\n');
  }

  /** The next call, given the result of the one before; null: done. */
  next(result) {
    return this.then(result);
  }

  call(thought, tool, given) {
    this.calls++;
    return { id: `call-${this.calls}`, thought, tool, given };
  }

  command(thought, command) {
    return this.call(thought, 'run_command', { command: `cd ${this.workspace} && ${command}` });
  }

  look() {
    this.then = this.writeLog;
    return this.command('I look at what there is to do.', 'cat notes.txt');
  }

  writeLog() {
    this.then = this.askForLog;
    return this.command('I add to the log that all agents share.', `echo started >>${this.log}`);
  }

  askForLog(result) {
    if (!result.includes(DENIED)) return this.readCustomers();
    this.then = this.writeLogAgain;
    return this.call('It is denied: I ask for it.', 'request_access', { path: this.log, why: 'agents tell each other what they do' });
  }

  writeLogAgain(result) {
    this.then = this.readCustomers;
    if (result.startsWith('Granted')) return this.command('I may now.', `echo started >>${this.log} && cat ${this.log}`);
    return this.command('I may not: the denial said that the workspace can be written.', 'echo started >>agents.log && cat agents.log');
  }

  readCustomers() {
    this.then = this.useSample;
    return this.command('I look at the customers.', 'cat customers/list.csv');
  }

  useSample(result) {
    this.then = this.release;
    if (result.includes('Instead: use customers-sample')) {
      return this.command('They are denied, with an alternative: I use that.', "mkdir customers-sample && echo 'Ada,1' | tee customers-sample/list.csv");
    }
    return this.command('I count them.', 'wc -l customers/list.csv');
  }

  release() {
    this.then = this.end;
    return this.command('I publish the release; a person will be asked.', 'mkdir release && echo published');
  }

  end(result) {
    this.report = result.includes('said no') ? 'The release waits: I was told no, and do not try another way.' : 'Released.';
    return null;
  }
}
