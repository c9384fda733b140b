// SPDX-License-Identifier: Apache-2.0
// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.

export declare const Status: {
  readonly OK: 0;
  /** "quoted" words */
  readonly ERR_INVALID: -1001;
  readonly ERR_STATE: -1003;
};
export type Status = (typeof Status)[keyof typeof Status];

export declare const Access: {
  readonly READ: 1;
  readonly WRITE: 2;
};
export type Access = (typeof Access)[keyof typeof Access];

/** how it went out */
export declare const ExitReason: {
  readonly BURNT: 1;
};
export type ExitReason = (typeof ExitReason)[keyof typeof ExitReason];
