// SPDX-License-Identifier: Apache-2.0
// The smallest agent: a model with two tools, commands that run in a box, a person who is asked on the terminal.
//
//   (cd bindings/node && npm pack) && npm install ./bindings/node/agentbox-0.1.0.tgz
//   node examples/agent-node/agent.mjs [--yes | --no]
//
// `model.mjs` is a script in a model's place; a real one gets the same three things: the tools' descriptions, the conversation,
// and of each call what the command printed followed by what stopped it.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { answer, Context, DeniedError, Policy, request } from 'agentbox';
import { ScriptedModel } from './model.mjs';

/** What a model chose, so that it can neither make a line nor look like something else. */
const quoted = (text) => `'${JSON.stringify(text).slice(1, -1).replace(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)}'`;

/** A person may think as long as the policy's time-out; the loop goes on meanwhile. */
async function askPerson(question) {
  console.log(`\n${question.trimEnd().replace(/^(?=.)/gm, '  ')}`);
  if (process.argv.length > 2) {
    const said = process.argv[2].replaceAll('-', '');
    console.log(`  allow it? ${said}`);
    return said.startsWith('y');
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const said = await terminal.question('  allow it? [yes/no] ');
  terminal.close();
  return said.startsWith('y');
}

/** The policy asks: the call is held, and goes on with the answer. Nothing is run again. */
const onApproval = async (event) => ((await askPerson(event.text)) // no name in it that a command chose can look like another
  ? answer.allow({ approver: 'terminal' })
  : answer.deny('the person at the terminal said no', { approver: 'terminal' }));

class Tools {
  constructor(box, policy) {
    this.box = box;
    this.descriptions = {
      run_command: `Runs a shell command.\n${policy.describe()}`,
      request_access: 'Asks the user to let commands write one file that the sandbox denied. Say why.',
    };
  }

  /** What the command printed (it may imitate anything), and last what stopped it, which is made from events alone. */
  async run_command(call, { command }) {
    const result = await this.box.run(['sh', '-c', command], { label: call, timeoutMs: 60000 });
    const printed = `${result.stdout}${result.stderr}`;
    const gap = result.explanation && printed && !printed.endsWith('\n') ? '\n' : ''; // the explanation is a line of its own
    return `exit ${result.exit.code}\n${printed}${gap}${result.explanation}`;
  }

  async request_access(call, { path, why }) {
    if (!await askPerson(`the agent asks to write ${quoted(path)} from now on, and says: ${quoted(why)}`)) return 'The user said no.\n';
    try {
      this.box.grant(request.write(path), { approver: 'terminal' });
    } catch (error) {
      if (error instanceof DeniedError) return `${error.message}\n`; // a rule denies it, which no grant lifts
      throw error;
    }
    return 'Granted.\n';
  }
}

async function converse(model, tools) {
  let result = model.start(tools.descriptions);
  for (let call = model.next(result); call !== null; call = model.next(result)) {
    console.log(`\n[${call.id}] ${call.thought}\n  ${call.tool} ${Object.values(call.given).join(' ')}`);
    result = await tools[call.tool](call.id, call.given);
    process.stdout.write(result);
  }
  console.log(`\n${model.report}`);
}

const work = mkdtempSync('/var/tmp/agent-');
const workspace = `${work}/checkout`;
mkdirSync(`${workspace}/customers`, { recursive: true });
writeFileSync(`${workspace}/notes.txt`, 'write the release notes\n');
const policy = Policy.fromProfile('workspace-write', { workspace, home: homedir() }, readFileSync(new URL('policy.json', import.meta.url)));
const context = new Context({ onApproval });
const box = await context.openBox(policy);
try {
  await converse(new ScriptedModel(work), new Tools(box, policy));
} finally {
  await box.close();
  context.close();
  rmSync(work, { recursive: true });
}
