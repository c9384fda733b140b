// SPDX-License-Identifier: Apache-2.0
// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.
import { AgentboxError } from './failure.js';

export class InvalidError extends AgentboxError {}

export class StateError extends AgentboxError {}

export const BY_STATUS = new Map([
  [-1001, InvalidError],
  [-1003, StateError],
]);
