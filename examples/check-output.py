#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs an example and compares its output: check-output.py EXPECTED PROGRAM [ARGS...]
What is different each time has a word in the expected file: a directory of an agent's is WORK, a process N, a time TIME."""
import difflib
import os
import re
import subprocess
import sys

expected = open(sys.argv[1]).read()
done = subprocess.run(sys.argv[2:], capture_output=True, text=True, timeout=50, stdin=subprocess.DEVNULL,
                      env=dict(os.environ, PATH="/usr/bin:/bin", LC_ALL="C.UTF-8"))
CHANGING = ((r"/var/tmp/agent-\w+", "WORK"), (r"\(process \d+\)", "(process N)"), (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d( UTC|Z)", "TIME"))
printed = done.stdout
for pattern, word in CHANGING:
    printed = re.sub(pattern, word, printed)
sys.stderr.write(done.stderr)
sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), printed.splitlines(True), "expected", "printed"))
sys.exit(done.returncode != 0 or printed != expected)
