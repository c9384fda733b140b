// SPDX-License-Identifier: Apache-2.0
// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.
import { AgentboxError } from './failure.js';

/** an argument is wrong; correct the call */
export declare class InvalidError extends AgentboxError {}

/** the wrong time */
export declare class StateError extends AgentboxError {}
