// SPDX-License-Identifier: Apache-2.0
// Before `npm pack`: puts the C library beside the package, built from the checkout that this folder is part of, or $AGENTBOX_LIBRARY.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));
const build = `${here}build`;

function built() {
  if (process.env.AGENTBOX_LIBRARY) return process.env.AGENTBOX_LIBRARY;
  const run = (...command) => execFileSync(command[0], command.slice(1), { stdio: ['ignore', 'ignore', 'inherit'] });
  if (!existsSync(`${build}/build.ninja`)) run('meson', 'setup', '--buildtype=release', '-Dtests=disabled', '-Dfuzz=disabled', '-Dexamples=disabled', build, root);
  run('meson', 'compile', '-C', build, 'lib/agentbox:shared_library');
  return `${build}/lib/libagentbox.so.0`;
}

copyFileSync(built(), `${here}libagentbox.so.0`);
