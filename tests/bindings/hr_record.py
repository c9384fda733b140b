#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands that examples/hr-assistant/README.md gives for the record work as they stand there, and what people do wrong at first is told plainly: hr_record.py ROOT TOOL"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

root, tool = pathlib.Path(sys.argv[1]), os.path.abspath(sys.argv[2])
failed = 0


def check(name, good, *details):
    global failed
    if not good:
        failed += 1
        print(name, *details)


def run(words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=50, stdin=subprocess.DEVNULL, cwd=root, **more)


record = (root / "examples/hr-assistant/README.md").read_text().split("## The record", 1)[1]
block = re.search(r"```\n(.*?)```", record, re.S).group(1).replace("\\\n", " ")
with tempfile.TemporaryDirectory(prefix="hr-record-", dir="/var/tmp") as top:
    folder, environment = f"{top}/hr", dict(os.environ, PATH="/usr/bin:/bin")
    os.mkdir(f"{top}/bin")
    os.symlink(tool, f"{top}/bin/agentbox")
    environment["PATH"] = f"{top}/bin:/usr/bin:/bin"
    commands = [line[2:].replace("/var/tmp/hr", shlex.quote(folder)) for line in block.splitlines() if line.startswith("$ ")]
    check("all commands", len(commands) == 5, commands)
    for command in commands:
        done = run(["sh", "-c", command], env=environment)
        check(command, done.returncode == 0 and not done.stderr, done.returncode, done.stderr)
    check("the same policy says the same", "the same: " in done.stdout and "now " not in done.stdout, done.stdout)
    done = run(["sh", "-c", commands[0]], env=environment)
    check("a folder that is there", done.returncode == 2 and "Traceback" not in done.stderr and "is not there yet" in done.stderr, done.stderr)
    done = run(["python3", "examples/hr-assistant/agent.py", "--ask"], env=environment)
    check("nobody answers", done.returncode == 0 and "nobody is there to answer" in done.stdout and "Traceback" not in done.stderr, done.stderr)
print(f"hr_record: {failed} failed")
sys.exit(failed != 0)
