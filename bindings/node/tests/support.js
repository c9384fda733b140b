// SPDX-License-Identifier: Apache-2.0
export * from '../lib/index.js';
export * as errors from '../lib/errors.js';
