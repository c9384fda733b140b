#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the host at random moments: no process, mount, file or descriptor is left, and the workspace is as before plus what
the command itself wrote.  Every second host keeps an audit log, one for all: nothing that stood in it is lost, and it goes on.
kill_host.py TOOL [ROUNDS]"""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOOL = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 200
# Writes in a guarded directory, in a free one and in the private /tmp, and leaves processes behind.
SCRIPT = r"""
sleep 1000.$0 & (setsid sleep 1000.$0 &)
mkdir -p d; i=0
while :; do i=$((i+1)); echo $i >f.$i; true 2>&- >/etc/denied.$i; echo $i >d/f.$i; mkdir -p n.$i; mv f.$i n.$i/; echo x >/tmp/t; done
"""
# What building a box could touch: the parents of everything that is mounted in one.
PARENTS = ["/", "/etc", "/dev", "/tmp", "/run", "/var/tmp"]


def listing(path):
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []


def tree(top):
    found = {}
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, top)] = os.path.islink(path) or os.path.isdir(path) or os.path.getsize(path)
    return found


def processes(mark):
    """Processes of the box, by the mark in their arguments."""
    left = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            arguments = open(f"/proc/{pid}/cmdline", "rb").read()
        except OSError:
            continue
        if mark in arguments:
            left.append((int(pid), arguments.replace(b"\0", b" ").decode(errors="replace")))
    return left


def children(pid):
    """Of all its threads: init, which has no mark."""
    found = []
    for thread in listing(f"/proc/{pid}/task"):
        try:
            found += open(f"/proc/{pid}/task/{thread}/children").read().split()
        except OSError:
            pass
    return found


def is_alive(pid):
    """The dead wait for whoever reaps them now."""
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def allowed(name):
    """Only names that the command itself makes."""
    return name.split("/")[0].split(".")[0] in ("f", "d", "n", "keep")


def records(log):
    """How many stand in the log, and what is wrong with it; one in part is no wrong."""
    done = subprocess.run([TOOL, "audit", "verify", log], capture_output=True, text=True)
    return int(done.stdout.split(" records")[0].split()[-1]), [] if done.returncode in (0, 1) else [done.stdout + done.stderr]


def log_goes_on(log, before):
    """After the next record, which cuts off one in part."""
    n, wrong = records(log)
    subprocess.run([TOOL, "run", "--profile", "read-only", "--audit", log, "--", "true"],
                   stdin=subprocess.DEVNULL, check=True)
    done = subprocess.run([TOOL, "audit", "verify", log], capture_output=True, text=True)
    return wrong + ([] if n >= before else [f"of {before} records {n} are left"]) + ([] if done.returncode == 0 else [done.stdout])


def round_once(number, work, policy, delay):
    mark = f"{os.getpid()}{number:04d}"
    audit = ["--audit", work + ".log"] if number % 4 < 2 else []
    tool = subprocess.Popen([TOOL, "run", *audit, "--policy", policy, "--workspace", work, "--", "sh", "-c", SCRIPT, mark],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(delay)
    if tool.poll() is not None:
        return [f"the tool ended by itself: {tool.stderr.read().decode()}"]
    tool.send_signal(signal.SIGSTOP)
    inits = children(tool.pid)
    tool.send_signal(signal.SIGKILL)
    tool.wait()
    tool.stderr.close()

    def left():
        return processes(mark.encode()) + [pid for pid in inits if is_alive(pid)]

    deadline = time.monotonic() + 5
    while left() and time.monotonic() < deadline:
        time.sleep(0.01)
    return [f"left running: {p}" for p in left()]


def main():
    work = tempfile.mkdtemp(prefix="agentbox-kill.", dir="/var/tmp")
    policy = work + ".policy"
    with open(policy, "w") as file:
        file.write('{"version":1,"filesystem":{"read":{"allow":["/"],"deny":["/var/tmp/agentbox-no-such"]},'
                   '"write":{"allow":["${workspace}","/tmp"]}},"environment":{"pass":["PATH"]}}')
    with open(work + "/keep", "w") as file:
        file.write("keep\n")
    before = {path: listing(path) for path in PARENTS if path != "/var/tmp"}
    mounts = open("/proc/self/mountinfo").read()
    random.seed(ROUNDS)
    wrong, recorded = [], 0
    for number in range(ROUNDS):
        # Most moments fall into the building of the box, some into the running command.
        wrong += round_once(number, work, policy, random.uniform(0, 0.02) if number % 4 else random.uniform(0, 0.15))
        if os.path.exists(work + ".log"):
            n, broken = records(work + ".log")
            wrong += broken + ([] if n >= recorded else [f"round {number}: of {recorded} records {n} are left"])
            recorded = n
        odd = [name for name in tree(work) if not allowed(name)]
        if odd or open(work + "/keep").read() != "keep\n":
            wrong.append(f"round {number}: the workspace has {odd}")
        for name in listing(work):
            path = os.path.join(work, name)
            if name != "keep":
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    for path, names in before.items():
        new = [n for n in listing(path) if n not in names and "agentbox" in n]
        if new:
            wrong.append(f"{path} has new names: {new}")
    if open("/proc/self/mountinfo").read() != mounts:
        wrong.append("mounts changed")
    if recorded == 0:
        wrong.append("nothing was recorded: no test")
    wrong += log_goes_on(work + ".log", recorded)
    shutil.rmtree(work)
    os.unlink(policy)
    os.unlink(work + ".log")
    print("\n".join(wrong))
    print(f"{ROUNDS - min(len(wrong), ROUNDS)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


sys.exit(main())
