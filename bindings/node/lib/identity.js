// SPDX-License-Identifier: Apache-2.0
import { Handle, lib, made, text } from './raw.js';

/** On whose behalf a box works: names that are on each of its events. */
export class Identity extends Handle {
  constructor(principal, agentSession, delegation, { delegationExpiresMs = 0 } = {}) {
    super(made(lib.abx_identity_new, text(principal), text(agentSession), text(delegation), delegationExpiresMs), 'abx_identity_unref');
  }
}
