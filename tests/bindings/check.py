#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a language's program of the forty-four calls in a workspace of its own, and compares with expected.json: check.py PROGRAM [ARGS...]
AGENTBOX_UPDATE_GOLDEN=1 writes the file anew."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

EXPECTED = pathlib.Path(__file__).resolve().parent / "expected.json"


def write_log(path, *bodies):
    """An audit log, as docs/audit.md says."""
    before, salt = 64 * "0", 32 * "0"
    with open(path, "w") as file:
        for n, body in enumerate(map(json.dumps, bodies), 1):
            digest = hashlib.sha256(f"{salt} {body}".encode()).hexdigest()
            link = hashlib.sha256(f"{n} {before} {digest}".encode()).hexdigest()
            file.write(f'{{"n":{n},"prev":"{before}","salt":"{salt}","body":{body},"hash":"{link}"}}\n')
            before = link
    os.chmod(path, 0o600)


def give(program):
    """What the calls gave, with the workspace's name taken out."""
    workspace = tempfile.mkdtemp(prefix="agentbox-calls.", dir="/var/tmp")
    call = {"type": "denial", "request": "path", "access": "write", "rule": "default"}
    write_log(f"{workspace}/log", {**call, "target": f"{workspace}/release/1", "repeats": 3}, {**call, "target": "/etc/motd"})
    try:
        done = subprocess.run([*program, workspace], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=110)
        if done.returncode != 0:
            sys.exit(f"{program[-1]}: exit status {done.returncode}")
        return json.loads(done.stdout.replace(workspace, "${workspace}"))
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def main():
    given = give(sys.argv[1:])
    if os.environ.get("AGENTBOX_UPDATE_GOLDEN"):
        EXPECTED.write_text(json.dumps(given, indent=1) + "\n")
    expected = json.loads(EXPECTED.read_text())
    wrong = [name for name in {**expected, **given} if name not in given or name not in expected or given[name] != expected[name]]
    for name in wrong:
        print(f"{name}: expected {json.dumps(expected.get(name))}\n{' ' * len(name)}  but was {json.dumps(given.get(name))}")
    print(f"{len(expected) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


sys.exit(main())
