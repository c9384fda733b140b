// SPDX-License-Identifier: Apache-2.0
// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.
import { AgentboxError } from './failure.js';

export class InvalidError extends AgentboxError {}

export class AbiError extends AgentboxError {}

export class StateError extends AgentboxError {}

export class NomemError extends AgentboxError {}

export class PolicyError extends AgentboxError {}

export class UnsupportedError extends AgentboxError {}

export class SetupError extends AgentboxError {}

export class ExecError extends AgentboxError {}

export class TimeoutError extends AgentboxError {}

export class IoError extends AgentboxError {}

export class DeniedError extends AgentboxError {}

export class InternalError extends AgentboxError {}

export const BY_STATUS = new Map([
  [-1001, InvalidError],
  [-1002, AbiError],
  [-1003, StateError],
  [-1004, NomemError],
  [-1005, PolicyError],
  [-1006, UnsupportedError],
  [-1007, SetupError],
  [-1008, ExecError],
  [-1009, TimeoutError],
  [-1010, IoError],
  [-1011, DeniedError],
  [-1099, InternalError],
]);
