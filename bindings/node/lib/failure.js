// SPDX-License-Identifier: Apache-2.0

/** A call failed. Its class says with which status. */
export class AgentboxError extends Error {
  constructor(status, message, { step = '', osCode = 0, remedy = '' } = {}) {
    super(message + (step ? ` [${step}]` : '') + (remedy ? `; ${remedy}` : ''));
    this.name = new.target.name;
    this.status = status;
    this.step = step;
    this.osCode = osCode;
    this.remedy = remedy;
  }
}
