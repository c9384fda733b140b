// SPDX-License-Identifier: Apache-2.0
export * from './constants.js';
export * from './errors.js';
export { AgentboxError } from './failure.js';
export { answer, Event } from './event.js';
export { Box } from './box.js';
export { Context } from './context.js';
export { Identity } from './identity.js';
export { libraryVersion, Policy, PolicyBuilder, preflight, redactAudit, renderAudit, replayAudit, request, verifyAudit } from './policy.js';
export { Process } from './process.js';
