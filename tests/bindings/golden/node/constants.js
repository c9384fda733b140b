// SPDX-License-Identifier: Apache-2.0
// Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.

export const Status = Object.freeze({
  OK: 0,
  ERR_INVALID: -1001,
  ERR_STATE: -1003,
});

export const Access = Object.freeze({
  READ: 1,
  WRITE: 2,
});

export const ExitReason = Object.freeze({
  BURNT: 1,
});
