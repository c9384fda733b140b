// SPDX-License-Identifier: Apache-2.0

/** A call failed. Its class says with which status. */
export declare class AgentboxError extends Error {
  /** `Status`, or a number that this package does not know yet. */
  readonly status: number;
  /** Where it stopped, in a machine's words: `mount:/proc`, `policy:/network/allow/3`, or `''`. */
  readonly step: string;
  /** errno behind it, or 0. */
  readonly osCode: number;
  /** What to change, or `''`. */
  readonly remedy: string;
}
