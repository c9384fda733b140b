// SPDX-License-Identifier: Apache-2.0
// The forty-four calls, in Node; what they give, as JSON: calls.mjs PACKAGE WORKSPACE
import { mkdirSync } from 'node:fs';
import { constants as system } from 'node:os';
import { pathToFileURL } from 'node:url';

const [root, workspace] = process.argv.slice(2);
const { Access, AgentboxError, answer, Context, EventType, Limit, Policy, PolicyBuilder, redactAudit, replayAudit, request, Scope, Verdict, Weaken } = await import(pathToFileURL(`${root}/lib/index.js`));

const NOTHING = { version: 1 };
const ASK = { version: 1, name: 'asking', filesystem: { write: {
  ask: [{ path: '${workspace}/release', id: 'release', reason: 'a release needs a person' }],
  deny: [{ path: '${workspace}/never', id: 'never', instead: 'write elsewhere' }] } } };
const REQUESTS = { version: 1,
  network: { mode: 'filtered', allow: [{ host: 'api.test', http: [{ methods: ['PUT'], path: '/v1/**', action: 'change' }] }] },
  actions: [{ name: 'change', verdict: 'ask' }, { name: 'update', verdict: 'ask', arguments: { id: { type: 'string' } } }] };
const MOTD = ['sh', '-c', 'echo x >/etc/motd'];

/** Status and step of what a call refuses with. */
async function refused(call) {
  try {
    await call();
  } catch (error) {
    if (error instanceof AgentboxError) return { status: error.status, step: error.step };
    throw error;
  }
}

const below = (name) => `${workspace}/${name}`;
const policy = (document = NOTHING) => Policy.fromProfile('workspace-write', { workspace, home: '/home/somebody' }, document);
const ended = ({ reason, code, denials }) => ({ reason, code, denials });

function verdict(of, asked) {
  const decision = of.evaluate(asked);
  return { verdict: decision.verdict, default: decision.rule === null };
}

/** A context with handlers, and a box in it, for as long as `work` takes. */
async function inBox(document, work, handlers = {}) {
  const context = new Context(handlers);
  const box = await context.openBox(document instanceof Policy ? document : policy(document));
  try {
    return await work(box, context);
  } finally {
    await box.close();
    context.close();
  }
}

const run = (argv, options, document = NOTHING, handlers = {}) => inBox(document, (box) => box.run(argv, options), handlers);
const shell = (script, options, document) => run(['sh', '-c', script], options, document);

async function events() {
  const all = [];
  await run(MOTD, { label: 'call-1' }, NOTHING, { onEvent: (event) => all.push(event) });
  return all;
}

const denial = async () => (await events()).find((event) => event.type === EventType.DENIAL);

/** A command under ASK, each of its questions answered so; the questions, and how it went. */
async function asked(script, given) {
  const questions = [];
  const onApproval = (event) => {
    questions.push(event);
    return given;
  };
  return [questions, await run(['sh', '-c', script], { cwd: workspace }, ASK, { onApproval })];
}

const pick = (from, ...keys) => Object.fromEntries(keys.map((key) => [key, from[key]]));

const CALLS = {
  // ---- policies
  'policy-unknown-key': () => refused(() => Policy.fromJson('{"version": 1, "filesytem": {}}')),
  'policy-not-json': () => refused(() => Policy.fromJson('{')),
  'policy-other-version': () => refused(() => Policy.fromJson('{"version": 99}')),
  'builder-unknown-profile': () => refused(() => new PolicyBuilder('no-such-profile')),
  'builder-variable-not-set': () => refused(() => new PolicyBuilder('workspace-write').build()),
  'builder-weaken-without-reason': () => refused(() => new PolicyBuilder().weaken(Weaken.HOST_NETWORK, '')),
  'builder-rules': () => {
    const built = new PolicyBuilder().path('/srv', Access.READ, Verdict.ALLOW).host('example.org', Verdict.ALLOW, 443).build();
    return [request.read('/srv/a'), request.connect('example.org', 443), request.connect('example.org', 80)].map((one) => verdict(built, one));
  },
  'digest-of-the-same': () => [policy(ASK).digest === policy(ASK).digest, policy(ASK).digest === policy().digest, policy().digest.length],
  'policy-to-json-and-back': () => Policy.fromJson(policy(ASK).document()).digest === policy(ASK).digest,
  describe: () => [policy().describe().includes(workspace), JSON.parse(policy().describe('json')) !== null],
  'evaluate-allowed': () => verdict(policy(), request.write(below('a'))),
  'evaluate-denied': () => verdict(policy(), request.write('/etc/motd')),
  'evaluate-asked': () => verdict(policy(ASK), request.write(below('release/1'))),
  'evaluate-connect': () => verdict(policy(), request.connect('example.org', 443)),
  'evaluate-unknown-kind': () => refused(() => policy().evaluate({ kind: 99, target: '/' })),
  'explain-request': () => policy(ASK).explain(request.write(below('release/1'))).verdict,
  intersect: () => verdict(policy().under(policy(ASK)), request.write(below('release/1'))),
  compare: () => {
    const { relation, rows } = policy(ASK).compare(policy());
    return [relation, rows[0].change];
  },
  replay: () => {
    const { outcome, rows } = replayAudit(policy(ASK), [below('log')]);
    return [outcome, rows[0].change, rows[0].target, rows[0].calls];
  },
  redact: () => redactAudit(below('log'), '2'),
  // ---- commands
  receipt: () => inBox(NOTHING, (box) => 'rung' in box.receipt()),
  output: async () => {
    const result = await shell('echo out; echo err >&2');
    return [String(result.stdout), String(result.stderr), ended(result.exit)];
  },
  'exit-code': async () => ended((await shell('exit 3')).exit),
  'ended-by-a-signal': async () => ended((await shell('kill -9 $$')).exit),
  'environment-and-directory': async () => String((await shell('echo $NAME; pwd', { env: { NAME: 'value' }, cwd: workspace })).stdout),
  'output-limit': async () => {
    const built = new PolicyBuilder('workspace-write').variable('workspace', workspace).variable('home', '/home/somebody').limit(Limit.OUTPUT, 4).build();
    return String((await run(['echo', '0123456789'], {}, built)).stdout);
  },
  pipes: () => inBox(NOTHING, async (box) => {
    const command = await box.spawn(['tr', 'a-z', 'A-Z'], { stdin: 'pipe', stdout: 'pipe' });
    command.stdin.end('hello');
    let read = '';
    for await (const data of command.stdout) read += data;
    return [read, ended(await command.wait())];
  }),
  'not-found': () => refused(() => run(['no-such-program'], { env: { PATH: '/usr/bin:/bin' } })),
  'time-out': async () => ended((await run(['sleep', '1000'], { timeoutMs: 50 })).exit),
  'poll-signal-and-wait': () => inBox(NOTHING, async (box) => {
    const command = await box.spawn(['sleep', '1000']);
    const running = command.poll() === null;
    command.signal(system.signals.SIGTERM);
    return [running, ended(await command.wait()), (await refused(() => command.signal(system.signals.SIGTERM))).status];
  }),
  kill: () => inBox(NOTHING, async (box) => {
    const command = await box.spawn(['sleep', '1000']);
    await box.kill();
    return ended(await command.wait());
  }),
  // ---- denials
  'denial-fields': async () => pick(await denial(), 'type', 'layer', 'class', 'request', 'access', 'target', 'verb', 'rule', 'source', 'reason', 'retry', 'repeats', 'label'),
  'denial-as-json': async () => pick((await denial()).toJSON(), 'type', 'layer', 'class', 'request', 'access', 'target', 'verb', 'rule', 'retry', 'backend'),
  'order-of-events': async () => (await events()).map((event) => event.type),
  explanation: async () => [(await run(MOTD)).explanation.split('\n')[0], (await run(['true'])).explanation],
  alternative: async () => {
    const result = await shell(`echo x >${below('never')}`, {}, ASK);
    return [result.denials[0].rule, result.denials[0].alternative, result.explanation.includes('write elsewhere')];
  },
  // ---- questions
  'question-fields': async () => {
    const [questions, result] = await asked('mkdir release', answer.allow({ approver: 'somebody' }));
    return [...questions.map((one) => pick(one, 'rule', 'reason', 'target', 'verb', 'retry')), ended(result.exit)];
  },
  'once-and-for-the-command': async () => {
    mkdirSync(below('release'), { recursive: true });
    const once = await asked('mkdir release/a; rmdir release/a; mkdir release/a', answer.allow());
    const command = await asked('mkdir release/b; rmdir release/b; mkdir release/b', answer.allow({ scope: Scope.COMMAND }));
    return [once[0].length, ended(once[1].exit), command[0].length, ended(command[1].exit)];
  },
  'refusal-has-its-message': async () => {
    const [questions, result] = await asked('mkdir release/no', answer.deny('not on a Friday'));
    return [questions.length, result.exit.denials, result.explanation.includes('not on a Friday')];
  },
  stats: () => inBox(ASK, async (box, context) => {
    await box.run(['sh', '-c', `${MOTD[2]}; ${MOTD[2]}; mkdir release/no`], { cwd: workspace });
    const { heldNs, ...counts } = context.stats();
    return [...Object.values(counts), heldNs > 0];
  }, { onApproval: () => answer.deny() }),
  'answer-to-nothing': () => inBox(NOTHING, (box, context) => refused(() => context.answer(12345, answer.allow()))),
  'grant-and-revoke': () => inBox(ASK, async (box) => {
    const grant = box.grant(request.write(below('release/**')), { approver: 'somebody' });
    const result = await box.run(['mkdir', below('release/granted')]);
    await box.revoke(grant);
    return [ended(result.exit), (await refused(() => box.revoke(grant))).status];
  }),
  'grant-of-what-a-rule-denies': () => inBox(ASK, async (box) => (await refused(() => box.grant(request.write(below('never'))))).status),
  'grants-of-requests-and-actions': () => inBox(REQUESTS, async (box) => {
    const update = request.action('update', { id: '7' });
    box.grant(request.http('https://API.test/v1/**', 'PUT'));
    box.grant(update, { uses: 1 });
    const listed = box.grants().map(({ request: kind, target, verb }) => [kind, target, verb]);
    const other = request.http('https://other.test/');
    return [listed, box.request(update).verdict, box.request(update).verdict, (await refused(() => box.grant(other))).status];
  }),
};

const given = {};
for (const [name, call] of Object.entries(CALLS)) given[name] = await call();
console.log(JSON.stringify(given, null, 1));
