// SPDX-License-Identifier: Apache-2.0
// The row about the Node package: denials.mjs PACKAGE WORKSPACE, with denials.py as standard input
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [folder, workspace] = process.argv.slice(2);
const { Context, EventType, Policy } = await import(pathToFileURL(`${folder}/lib/index.js`));
const late = [];
const context = new Context({
  onEvent: (event) => {
    // The wall clock as events have it; Date.now() has whole milliseconds only.
    if (event.type === EventType.DENIAL) late.push(performance.timeOrigin + performance.now() - Number(event.timeNs) / 1e6);
  },
});
const policy = Policy.fromProfile('workspace-write', { workspace, home: '/home/somebody' });
await context.run(policy, ['/usr/bin/python3', '-c', readFileSync(0, 'utf8')]);
context.close();
late.sort((a, b) => a - b);
const at = (share) => late[Math.floor(late.length * share)].toPrecision(4);
console.log(['a denial reaches Node\'s loop', at(0.5), at(0.95), 'ms', '< 2', '19 of 20'].join('\t'));
