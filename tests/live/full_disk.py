# SPDX-License-Identifier: Apache-2.0
"""Real boxes whose audit log is on a real file system without room: what cannot be recorded is not done and is denied in the layer
`audit`, nothing that was recorded is lost, and with room everything goes on.  full_disk.py TOOL"""
import json
import os
import subprocess
import sys
import tempfile
import time

TOOL = os.path.abspath(sys.argv[1])
# Asks four times: with room, without (the first one of a kind, and the same again), and with room again.
SCRIPT = """
step() { echo "$1" >"../steps/$1"; while [ ! -e "../steps/$1.go" ]; do sleep 0.01; done; }
try() { true 2>&- >"asked/$1" && echo "$1 yes" || echo "$1 no"; }
try 1; step full; try 2; true 2>&- >/etc/denied; try 3; step free; try 4
"""
results = []


def check(what, good, *more):
    results.append(bool(good))
    if not good:
        print(f"FAIL {what}:", *more)


def wait_for(path, process):
    deadline = time.monotonic() + 60
    while not os.path.exists(path):
        if process.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"'{path}' does not come: {process.communicate()}")
        time.sleep(0.01)


def fill(path):
    """All of it but the rest of the last pages of other files."""
    with open(path, "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return


def write_policy(folder):
    policy = {"version": 1, "extends": "workspace-write", "filesystem": {"write": {"allow": [f"{folder}/steps"], "ask": ["${workspace}/asked"]}}}
    with open(f"{folder}/policy.json", "w") as file:
        json.dump(policy, file)
    with open(f"{folder}/answers", "w") as file:
        file.write("#!/bin/sh\necho once\n")
    os.chmod(f"{folder}/answers", 0o755)


def run(folder, log, *command):
    return [TOOL, "run", "--policy", f"{folder}/policy.json", "--ask", f"{folder}/answers", "--events", f"{folder}/events", "--audit", log, "--", *command]


def show(log):
    done = subprocess.run([TOOL, "audit", "show", "--json", log], capture_output=True, text=True, timeout=60)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def live(folder):
    log, ballast = f"{folder}/disk/log", f"{folder}/disk/ballast"
    for name in ("w", "w/asked", "steps"):
        os.mkdir(f"{folder}/{name}")
    write_policy(folder)
    process = subprocess.Popen(run(folder, log, "sh", "-c", SCRIPT), cwd=f"{folder}/w", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    wait_for(f"{folder}/steps/full", process)
    before = show(log)[1]
    fill(ballast)
    with open(log, "rb") as file:
        text = file.read()
    while True:  # what is left of the log's own page: other hosts take it
        done = subprocess.run(run(folder, log, "true"), cwd=f"{folder}/w", capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            break
    check("no box without a record", done.returncode == 125 and "audit log" in done.stderr and "No space left" in done.stderr, done)
    open(f"{folder}/steps/full.go", "w").close()
    wait_for(f"{folder}/steps/free", process)
    with open(log, "rb") as file:
        check("nothing is lost while there is no room", file.read().startswith(text))
    os.unlink(ballast)
    open(f"{folder}/steps/free.go", "w").close()
    output, errors = process.communicate(timeout=60)
    check("what the command could do", output.split("\n") == ["1 yes", "2 no", "3 no", "4 yes", ""], output, errors)
    with open(f"{folder}/events") as file:
        events = [json.loads(line) for line in file]
    refused = [event for event in events if event["type"] == "denial" and event["layer"] == "audit"]
    check("denied in the layer audit", [os.path.basename(event["target"]) for event in refused] == ["2", "3"], refused)
    check("what is denied anyway is told as that", [event["layer"] for event in events if event["type"] == "denial" and event["target"] == "/etc/denied"] ==
          ["filesystem"])
    check("the host is told", [event for event in events if event["type"] == "notice" and event["layer"] == "audit"])
    status, after = show(log)
    check("the log is whole", status == 0, status)
    check("every record is there", after[:len(before)] == before)
    check("how many are missing is said", [record for record in after if record["type"] == "lost"], [record["type"] for record in after])
    check("no part of a record was left", not [record for record in after if record["type"] == "recovered"])


def main():
    if len(sys.argv) < 3:
        with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="agentbox-full.") as folder:
            os.mkdir(f"{folder}/disk")
            mount = f"mount -t tmpfs -o size=64k,mode=700 small {folder}/disk && exec \"$@\""
            return subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh", sys.executable, __file__, TOOL, folder],
                                  timeout=110).returncode
    live(os.path.realpath(sys.argv[2]))
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if all(results) else 1


sys.exit(main())
