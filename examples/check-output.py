#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs an example and compares its output: check-output.py EXPECTED PROGRAM [ARGS...]
The name of a directory that an agent made is WORK in the expected file."""
import difflib
import os
import re
import subprocess
import sys

expected = open(sys.argv[1]).read()
done = subprocess.run(sys.argv[2:], capture_output=True, text=True, timeout=50, stdin=subprocess.DEVNULL,
                      env=dict(os.environ, PATH="/usr/bin:/bin", LC_ALL="C.UTF-8"))
printed = re.sub(r"/var/tmp/agent-\w+", "WORK", done.stdout)
sys.stderr.write(done.stderr)
sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), printed.splitlines(True), "expected", "printed"))
sys.exit(done.returncode != 0 or printed != expected)
