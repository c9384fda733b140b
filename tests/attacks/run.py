#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the attack kit inside the built tool: run.py --tool PATH --user root|user [--only none|filtered] [--id GLOB] [-v]

Starts as root, in a throw-away world like that of the cases.  Everything runs in a box without a network, and what is about the
network again in one with the mode `filtered`, whose policy lets through one name.  An attempt whose right outcome is "stopped"
must not be open, a control attempt must be open; one at the proxy must have been tried.  docs/attacks.md
lists attempts whose outcome is another one, with why.
"""
import argparse
import fnmatch
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
UID = 12345
sys.path.insert(0, os.path.join(ROOT, "tests", "cases"))
import lab  # noqa: E402

WORLD = r"""
set -e
T=$(mktemp -d /run/abxr.XXXXXX); mount -t tmpfs -o size=64m t $T; mkdir $T/L; mount --bind $LIB $T/L
mount -t tmpfs -o mode=1777 t /var/tmp; mkdir $LIB; mount --move $T/L $LIB; umount $T; rmdir $T
mount -t tmpfs -o mode=1777 t /tmp; mount -t tmpfs -o mode=1777 t /dev/shm; mount -t proc proc /proc
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts /dev/pts && mount --bind /dev/pts/ptmx /dev/ptmx
/usr/bin/python3 - "$LIB" <<'P'
import os,sys,subprocess
keep={"/tmp","/var/tmp","/dev/shm",sys.argv[1]}
for l in open("/proc/self/mountinfo"):
    f=l.split(); m=f[4].encode().decode("unicode_escape"); t=f[f.index("-")+1]
    if m in keep or t in("proc","devpts","mqueue","tmpfs") and m!="/dev" and m.startswith("/dev") or t=="proc" or m=="/dev": continue
    subprocess.run(["mount","-o","remount,bind,ro",m],stderr=subprocess.DEVNULL)
P
touch /root/.abx-probe 2>/dev/null && { rm -f /root/.abx-probe; echo "ERROR isolation failed"; exit 99; }
ip link set lo up; hostname abx.test
ip link add own0 type veth peer name own1; ip addr add 45.45.45.1/32 dev own0; ip link set own0 up; ip link set own1 up
B=/var/tmp
LABSTART
(cat /etc/passwd; echo "abxt:x:12345:12345:t:/var/tmp:/bin/sh") > $LIB/passwd; chmod 644 $LIB/passwd; mount --bind $LIB/passwd /etc/passwd
B=/var/tmp/k
/usr/bin/python3 $LIB/kit.py setup $B $KITUSER
set +e
$AS /usr/bin/python3 $LIB/kit.py launch $B -- $LIB/agentbox run --policy $LIB/$BOX.json --workspace $B/ws --cwd $B/ws --var base=$B \
    --events $B/ws.events -- /usr/bin/python3 $B/bin/kit.py attack $B --limits $LIMITS $MORE > $LIB/$BOX.jsonl 2> $LIB/err </dev/null
echo "launcher: $?" >> $LIB/err
/usr/bin/python3 $LIB/kit.py post $B --log $LIB/events >> $LIB/$BOX.jsonl
/usr/bin/python3 $LIB/kit.py teardown $B
"""
POLICY = {
    "version": 1, "name": "attacks",
    "filesystem": {"read": {"allow": ["/"], "deny": ["${base}/secret", "**/.env"]}, "write": {"allow": ["${base}/ws", "/tmp"]},
                   "protect": {"add": [".git/hooks", ".git/config"]}},
    "environment": {"pass": ["PATH", "LANG", "TERM"]},
    "limits": {"processes": 150, "memory": 512 << 20, "file_size": 256 << 20},
}
LIMITS = "procs=150,mem_mb=512,file_mb=256"  # the same, as the kit wants them
# Boxes, with what is different in the policy, and the group of attempts that is run there.
BOXES = {"none": ({}, None), "filtered": ({"network": {"mode": "filtered", "allow": ["allowed.test"]}}, "network")}


def exceptions():
    """Rows `| id | who | outcome | why |` of docs/attacks.md; an id with a box before it is about that box only."""
    rows = {}
    for line in open(os.path.join(ROOT, "docs", "attacks.md")):
        row = re.match(r"\| ([a-z0-9/-]+) \| (root|user|both) \| (open|stopped|na|missing) \| (.+) \|$", line.strip())
        if row:
            rows[row.group(1)] = row.groups()[1:]
    return rows


def attempts(group):
    listing = subprocess.run([sys.executable, HERE + "/kit.py", "attack", "/nonexistent", "--list"] + (["--group", group] if group else []),
                             capture_output=True, text=True, check=True, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
    return [json.loads(line) for line in listing.stdout.splitlines()]


def make_library(tool):
    """Everything that the kit needs, where the ordinary user can read it."""
    library = tempfile.mkdtemp(prefix="abxatt.", dir="/var/tmp")
    os.chmod(library, 0o777)
    subprocess.run(["gcc", "-O1", "-static", "-pthread", "-w", "-o", library + "/attacks", HERE + "/attacks.c", "-lrt"], check=True)
    for file in [HERE + "/kit.py", HERE + "/kit_attempts.py", HERE + "/attacks.c", tool] + glob.glob(
            os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(tool))), "lib", "libagentbox.so.0")):
        shutil.copy(file, library)
    open(library + "/run-bwrap.sh", "w").close()
    lab.make(library, "45.45.45.1 abx.test\n")
    with open(library + "/world.sh", "w") as file:
        file.write(WORLD.replace("LABSTART", lab.START).replace("$B/ws.events", "$LIB/events"))
    return library


def run_box(box, options, library):
    """The outcomes in this box, and what was printed."""
    more, group = BOXES[box]
    with open(f"{library}/{box}.json", "w") as file:
        json.dump({**POLICY, **more}, file)
    user = options.user == "user"
    environment = dict(PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LIB=library, HOME="/var/tmp", LANG="C.UTF-8",
                       TERM="xterm", LIMITS=LIMITS, LD_LIBRARY_PATH=library, KITUSER="--user abxt" if user else "", BOX=box,
                       AS=f"setpriv --reuid={UID} --regid={UID} --clear-groups" if user else "",
                       MORE=(f"--id {options.id}" if options.id else "") + (f" --group {group}" if group else ""), PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run(["unshare", "-m", "--propagation", "private", "-n", "--uts", "--pid", "--fork", "--kill-child", "bash", library + "/world.sh"],
                          env=environment, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=1500)
    results = {}
    if os.path.exists(f"{library}/{box}.jsonl"):
        for line in open(f"{library}/{box}.jsonl", errors="replace"):
            try:
                result = json.loads(line)
                results[result["id"]] = result
            except (ValueError, KeyError, TypeError):
                pass
    said = done.stdout[-2000:]
    if os.path.exists(library + "/err"):
        said += open(library + "/err", errors="replace").read()[-2000:]
    return results, said


def is_right(box, attempt, outcome):
    """Whether the outcome is one that needs no row.  What could not be tried at the proxy, although there is one, shows nothing."""
    if box == "filtered" and attempt["id"].startswith("net-px-"):
        return outcome == attempt["want"]
    return outcome in (attempt["want"], "na") or attempt["want"] == "either" and outcome != "missing"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--user", choices=["root", "user"], default="user")
    parser.add_argument("--only", choices=sorted(BOXES))
    parser.add_argument("--id")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("start as root (user mode drops to another user by itself)")
    library = make_library(options.tool)
    listed = exceptions()
    passed = failed = held = 0
    for box in [options.only] if options.only else BOXES:
        results, said = run_box(box, options, library)
        wrong = 0
        for attempt in attempts(BOXES[box][1]):
            if options.id and not fnmatch.fnmatch(attempt["id"], options.id):
                continue
            result = results.get(attempt["id"], {"outcome": "missing", "detail": ""})
            outcome, name = result["outcome"], f"{box}/{attempt['id']}"
            who, allowed, why = listed.get(name, listed.get(attempt["id"], (None, None, None)))
            if who in ("both", options.user) and outcome == allowed:
                held += 1
                print(f"listed {name}: {outcome}: {why}")
            elif who not in ("both", options.user) and is_right(box, attempt, outcome):
                passed += 1
            else:
                wrong += 1
                print(f"WRONG  {name} ({attempt['group']}) is {outcome}, should be {allowed or attempt['want']}: {result['detail']}")
            if options.v:
                print(f"       {name:28} {outcome:8} want {attempt['want']:8} {result['detail'][:150]}")
        failed += wrong
        if wrong:
            print(said)
    shutil.rmtree(library, ignore_errors=True)
    print(f"{held} have another outcome and are listed with why in docs/attacks.md")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


sys.exit(main())
