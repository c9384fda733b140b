#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs an example and compares its output: check-output.py EXPECTED PROGRAM"""
import difflib
import os
import subprocess
import sys

expected = open(sys.argv[1]).read()
done = subprocess.run([sys.argv[2]], capture_output=True, text=True, timeout=50, stdin=subprocess.DEVNULL,
                      env=dict(os.environ, PATH="/usr/bin:/bin"))
sys.stderr.write(done.stderr)
sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), done.stdout.splitlines(True), "expected", "printed"))
sys.exit(done.returncode != 0 or done.stdout != expected)
