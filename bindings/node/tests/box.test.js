// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { createHash, createSign, generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import test from 'node:test';
import * as tls from 'node:tls';
import { answer, Audit, Context, errors, EventType, ExitReason, Identity, Policy, renderAudit, request, Status, Verdict, verifyAudit } from './support.js';
import koffi from 'koffi';
import { lib, offsetOf, sizeOf } from '../lib/raw.js';

const api = JSON.parse(readFileSync(new URL('../../api.json', import.meta.url)));
const ASK = { version: 1, filesystem: { write: { ask: [{ path: '${workspace}/release', id: 'release' }] } } };
const ASK_EXEC = { version: 1, filesystem: { exec: { ask: [{ path: '/usr/bin/id' }] } } };
const DENIED = ['sh', '-c', 'echo x; echo x >/etc/motd'];

/** A workspace and a box for as long as `work` takes. */
async function inBox(document, handlers, work) {
  const workspace = mkdtempSync('/var/tmp/agentbox-node.');
  const context = new Context(handlers);
  const policy = Policy.fromProfile('workspace-write', { workspace, home: '/home/somebody' }, document);
  const box = await context.openBox(policy);
  try {
    return await work(box, context, workspace);
  } finally {
    await box.close();
    context.close();
    policy.close();
    rmSync(workspace, { recursive: true });
  }
}

test('the library has each function, and structs are laid out as described', () => {
  for (const { name } of api.functions) assert.ok(lib[name], name);
  for (const { name, size, fields } of api.structs) {
    assert.equal(sizeOf(name), size, name);
    for (const field of fields) assert.equal(offsetOf(name, field.name), field.offset, `${name}.${field.name}`);
  }
  for (const { name, value } of api.statuses) if (value < 0) assert.ok(errors.BY_STATUS.get(value), name);
});

test('text with a NUL is refused, not cut', () => {
  assert.throws(() => Policy.fromProfile('workspace-write', { workspace: '/srv\0/etc' }), errors.InvalidError);
});

test('a closed handle cannot be used', () => {
  const policy = Policy.fromJson({ version: 1 });
  policy.close();
  policy.close();
  assert.throws(() => policy.digest, (error) => error instanceof errors.StateError && error.status === Status.ERR_STATE);
});

test('a question is answered by a promise while the loop and other commands go on', () => inBox(ASK, {
  onApproval: async () => {
    await another;
    return answer.allow();
  },
}, async (box, context, workspace) => {
  const held = box.run(['mkdir', `${workspace}/release`]);
  another = box.run(['true']);
  assert.ok((await held).ok);
}));
let another;

test('a failure that is no denial', () => inBox(ASK, {}, async (box) => {
  const { failures, denials } = await box.run(['sh', '-c', 'echo x >/etc/motd; echo y >/dev/tty']);
  assert.deepEqual(failures.map((failure) => failure.class), ['policy', 'terminal']);
  assert.deepEqual(denials.map((denial) => denial.target), ['/etc/motd']);
}));

test('a handler that fails has refused', async () => {
  const faults = [];
  const listeners = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', (error) => faults.push(error.message));
  await inBox(ASK, { onApproval: () => { throw new Error('no idea'); } }, async (box, context, workspace) => {
    const result = await box.run(['mkdir', `${workspace}/release`]);
    assert.equal(result.exit.denials, 1);
    assert.ok(!existsSync(`${workspace}/release`));
  });
  process.removeAllListeners('unhandledRejection');
  for (const listener of listeners) process.on('unhandledRejection', listener);
  assert.deepEqual(faults, ['no idea']);
});

test('held starts leave threads of the pool free', () => {
  const held = [];
  return inBox(ASK_EXEC, {
    onApproval: async (event) => {
      held.push(event);
      createHash('sha256');
      await import('node:fs/promises').then((files) => files.readFile('/proc/self/stat'));
      return answer.allow();
    },
  }, async (box) => {
    const results = await Promise.all(Array.from({ length: 8 }, () => box.run(['id'])));
    assert.ok(results.every((result) => result.ok));
    assert.equal(held.length, 8);
  });
});

test('an aborted signal ends the command', () => inBox({ version: 1 }, {}, async (box, context) => {
  const controller = new AbortController();
  const events = context.events();
  const running = box.run(['sleep', '1000'], { signal: controller.signal });
  for await (const event of events) if (event.type === EventType.STARTED) break;
  controller.abort(new Error('enough'));
  await assert.rejects(running, /enough/);
  await assert.rejects(box.run(['true'], { signal: controller.signal }), /enough/);
}));

test('a signal that is aborted while the start is held ends the command', () => {
  const controller = new AbortController();
  return inBox(ASK_EXEC, {
    onApproval: () => {
      controller.abort(new Error('enough'));
      return answer.allow();
    },
  }, (box) => assert.rejects(box.run(['id'], { signal: controller.signal }), /enough/));
});

test('events are an async iterator that ends with the context', async () => {
  const kinds = [];
  let reading;
  await inBox({ version: 1 }, {}, async (box, context) => {
    reading = (async () => {
      for await (const event of context.events()) kinds.push(event.type);
    })();
    await box.run(DENIED);
  });
  await reading;
  assert.deepEqual(kinds, [EventType.STARTED, EventType.DENIAL, EventType.EXITED]);
});

test('two approvers with evidence, and an identity on each event', async () => {
  const questions = [];
  const document = { ...ASK, approvals: { approvers: 2, step_up: true } };
  const onApproval = (event) => {
    questions.push([event.approvers, event.stepUp]);
    return ['ada', 'bob'].map((approver) => answer.allow({ approver, evidence: 'token' }));
  };
  await inBox(document, { onApproval }, async (box, context, workspace) => assert.ok((await box.run(['mkdir', `${workspace}/release`])).ok));
  assert.deepEqual(questions, [[2, 1]]);
  const principals = new Set();
  const context = new Context({ onEvent: (event) => principals.add(`${event.principal} ${event.agentSession}`) });
  await context.run(Policy.fromProfile('read-only', { workspace: '/var/tmp', home: '/home/somebody' }), ['true'], { identity: new Identity('ada', 'session-1') });
  context.close();
  assert.deepEqual([...principals], ['ada session-1']);
});

test('a simulated box has the same events', async () => {
  const seen = [];
  const context = new Context({ simulated: true, onEvent: (event) => seen.push(event) });
  const box = await context.openBox(Policy.fromProfile('workspace-write', { workspace: '/var/tmp', home: '/home/somebody' }, ASK));
  assert.equal(box.attempt(request.write('/etc/motd')).verdict, Verdict.DENY);
  const held = box.attempt(request.write('/var/tmp/release'));
  assert.deepEqual([held.verdict, box.outcome(held.ticket)], [Verdict.ASK, null]);
  context.answer(held.ticket, answer.allow());
  assert.equal((await box.run(['sh', '-c', 'print hello; write /etc/motd'])).denials[0].target, '/etc/motd');
  assert.equal(box.outcome(held.ticket), Verdict.ALLOW);
  await box.close();
  context.close();
  assert.ok(seen.find((event) => event.type === EventType.APPROVAL).text.includes('/var/tmp/release'));
});

test('an audit log is whole', async () => {
  const folder = mkdtempSync('/var/tmp/agentbox-node.');
  const context = new Context({ auditPath: `${folder}/audit` });
  const hidden = { version: 1, filesystem: { read: { deny: [folder] }, write: { deny: [folder] } } };
  await context.run(Policy.fromProfile('read-only', { workspace: '/var/tmp', home: '/home/somebody' }, hidden), ['true']);
  context.close();
  const { outcome, rows } = verifyAudit([`${folder}/audit`]);
  assert.equal(renderAudit([`${folder}/audit`], { format: 'json' }).outcome, Audit.WHOLE);
  rmSync(folder, { recursive: true });
  assert.deepEqual([outcome, rows[0].state], [Audit.WHOLE, 'whole']);
});

test('an action is asked for', async () => {
  const actions = [{ name: 'read', verdict: 'allow', arguments: { id: { type: 'string' } } }];
  await inBox({ version: 1, actions }, {}, (box) => {
    const done = box.request(request.action('read', { id: '7' }));
    assert.deepEqual([done.verdict, done.arguments], ['allow', { id: '7' }]);
    assert.equal(box.request(request.action('read', { id: 7 })).verdict, 'deny');
  });
});

test('an observed box suggests a policy', async () => {
  const policy = Policy.fromProfile('workspace-write', { workspace: '/var/tmp', home: '/home/somebody' });
  const context = new Context({ observe: true });
  const box = await context.openBox(policy);
  await box.run(['true']);
  assert.equal(box.suggest().version, 1);
  await box.close();
  context.close();
  await inBox({ version: 1 }, {}, (other) => assert.throws(() => other.suggest(), errors.StateError));
});

test('closing a box ends its commands', async () => {
  let waiting;
  await inBox({ version: 1 }, {}, async (box) => {
    const command = await box.spawn(['sleep', '1000']);
    waiting = command.wait();
  });
  assert.equal((await waiting).reason, ExitReason.KILLED);
});

test('many commands at a time', () => inBox({ version: 1 }, {}, async (box) => {
  const numbers = Array.from({ length: 40 }, (_, number) => number);
  const results = await Promise.all(numbers.map((number) => box.run(['sh', '-c', `echo ${number}; echo x >/etc/${number}`])));
  assert.deepEqual(results.map((result) => [Number(result.stdout), result.denials[0].target]), numbers.map((number) => [number, `/etc/${number}`]));
}));

test('what the library needs does not collide with what Node exports', () => inBox({ version: 1 }, {}, async (box) => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  assert.ok(createSign('sha256').update('x').sign(privateKey).length > 0);
  assert.ok(tls.createSecureContext().context);
  const server = createServer((_, response) => response.end('hello'));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const body = await (await fetch(`http://127.0.0.1:${server.address().port}`)).text();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  assert.equal(body, 'hello');
  assert.equal((await box.run(DENIED)).exit.denials, 1);
  assert.equal(createHash('sha256').update('x').digest('hex').length, 64);
}));

const memoryInfo = koffi.load(null).func('mallinfo2', koffi.struct(Object.fromEntries([...'abcdefghij'].map((name) => [name, 'size_t']))), []);
/** Bytes that malloc gave and did not get back. */
const inUse = () => memoryInfo().h;

test('a thousand commands leave nothing', async () => {
  const descriptors = () => readdirSync('/proc/self/fd').length;
  const before = descriptors();
  const least = { before: Infinity, after: Infinity }; // what waits for the collector comes and goes
  let open;
  await inBox({ version: 1 }, {}, async (box) => {
    for (let number = 0; number < 1000; number++) {
      const result = await box.run(DENIED);
      assert.equal(result.exit.denials, 1);
      if (number >= 300) {
        const half = number < 650 ? 'before' : 'after';
        least[half] = Math.min(least[half], inUse());
      }
      if (number === 300) { // what is made once is made
        open = descriptors();
      }
    }
    assert.ok(descriptors() < open + 30, 'the library keeps some for the next command, not one for each');
  });
  const grown = least.after - least.before;
  assert.ok(grown < 350 * 1024, `${grown} bytes`);
  assert.ok(descriptors() <= before);
});
