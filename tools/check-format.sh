#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source is formatted as .clang-format says.
cd "$1" || exit 1
git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror
