// SPDX-License-Identifier: Apache-2.0
// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.
import { AgentboxError } from './failure.js';

/** an argument is wrong; correct the call */
export declare class InvalidError extends AgentboxError {}

/** a struct is shorter than its first version, or sets fields that this library lacks; set the struct's size, or use a newer library */
export declare class AbiError extends AgentboxError {}

/** the right call at the wrong time; see the function's description */
export declare class StateError extends AgentboxError {}

/** out of memory; free some, and call again */
export declare class NomemError extends AgentboxError {}

/** the policy is malformed; the error names the rule and its place */
export declare class PolicyError extends AgentboxError {}

/** this host or this version cannot do it; the error's remedy says what to change; abx_preflight lists all */
export declare class UnsupportedError extends AgentboxError {}

/** the boundary was not built and nothing was run; the error's step says where it failed */
export declare class SetupError extends AgentboxError {}

/** the boundary stands, the command could not be started; look at the OS code */
export declare class ExecError extends AgentboxError {}

/** it took too long; call again, or raise the limit */
export declare class TimeoutError extends AgentboxError {}

/** a read, write or similar call failed; look at the OS code */
export declare class IoError extends AgentboxError {}

/** a decision said no; ask who wrote the policy */
export declare class DeniedError extends AgentboxError {}

/** a fault of the library; report it */
export declare class InternalError extends AgentboxError {}
