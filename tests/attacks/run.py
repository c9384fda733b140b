#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the attack kit inside the built tool: run.py --tool PATH --user root|user [--id GLOB] [-v]

Starts as root, in a throw-away world like that of the cases.  An attempt whose right outcome is "stopped" must not be open, a
control attempt must be open.  docs/attacks.md lists attempts whose outcome is another one, with why.
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
(cat /etc/passwd; echo "abxt:x:12345:12345:t:/var/tmp:/bin/sh") > $LIB/passwd; chmod 644 $LIB/passwd; mount --bind $LIB/passwd /etc/passwd
B=/var/tmp/k
/usr/bin/python3 $LIB/kit.py setup $B $KITUSER
set +e
$AS /usr/bin/python3 $LIB/kit.py launch $B -- $LIB/agentbox run --policy $LIB/policy.json --workspace $B/ws --cwd $B/ws --var base=$B \
    --events $B/ws.events -- /usr/bin/python3 $B/bin/kit.py attack $B --limits $LIMITS $MORE > $LIB/out.jsonl 2> $LIB/err </dev/null
echo "launcher: $?" >> $LIB/err
/usr/bin/python3 $LIB/kit.py post $B --log $LIB/events >> $LIB/out.jsonl
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


def exceptions():
    """Rows `| id | who | outcome | why |` of docs/attacks.md."""
    rows = {}
    for line in open(os.path.join(ROOT, "docs", "attacks.md")):
        row = re.match(r"\| ([a-z0-9-]+) \| (root|user|both) \| (open|stopped|na|missing) \| (.+) \|$", line.strip())
        if row:
            rows[row.group(1)] = row.groups()[1:]
    return rows


def attempts():
    listing = subprocess.run([sys.executable, HERE + "/kit.py", "attack", "/nonexistent", "--list"], capture_output=True, text=True,
                             check=True, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
    return [json.loads(line) for line in listing.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--user", choices=["root", "user"], default="user")
    parser.add_argument("--id")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("start as root (user mode drops to another user by itself)")
    library = tempfile.mkdtemp(prefix="abxatt.", dir="/var/tmp")
    os.chmod(library, 0o777)
    subprocess.run(["gcc", "-O1", "-static", "-pthread", "-w", "-o", library + "/attacks", HERE + "/attacks.c", "-lrt"], check=True)
    for file in [HERE + "/kit.py", HERE + "/kit_attempts.py", HERE + "/attacks.c", options.tool] + glob.glob(
            os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(options.tool))), "lib", "libagentbox.so.0")):
        shutil.copy(file, library)
    open(library + "/run-bwrap.sh", "w").close()
    with open(library + "/policy.json", "w") as file:
        json.dump(POLICY, file)
    user = options.user == "user"
    environment = dict(PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LIB=library, HOME="/var/tmp", LANG="C.UTF-8",
                       TERM="xterm", LIMITS=LIMITS, LD_LIBRARY_PATH=library, KITUSER="--user abxt" if user else "",
                       AS=f"setpriv --reuid={UID} --regid={UID} --clear-groups" if user else "",
                       MORE=f"--id {options.id}" if options.id else "", PYTHONDONTWRITEBYTECODE="1")
    with open(library + "/world.sh", "w") as file:
        file.write(WORLD.replace("$B/ws.events", "$LIB/events"))
    done = subprocess.run(["unshare", "-m", "--propagation", "private", "-n", "--uts", "--pid", "--fork", "--kill-child", "bash", library + "/world.sh"],
                          env=environment, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=1500)
    results = {}
    if os.path.exists(library + "/out.jsonl"):
        for line in open(library + "/out.jsonl", errors="replace"):
            try:
                result = json.loads(line)
                results[result["id"]] = result
            except (ValueError, KeyError, TypeError):
                pass
    listed = exceptions()
    passed = failed = held = 0
    for attempt in attempts():
        if options.id and not fnmatch.fnmatch(attempt["id"], options.id):
            continue
        result = results.get(attempt["id"], {"outcome": "missing", "detail": ""})
        outcome, want = result["outcome"], attempt["want"]
        good = outcome in (want, "na") or want == "either" and outcome != "missing"
        who, allowed, why = listed.get(attempt["id"], (None, None, None))
        if who in ("both", options.user):
            if outcome == allowed:
                held += 1
                print(f"listed {attempt['id']}: {outcome}: {why}")
                continue
            good = False
            why = f"docs/attacks.md says {allowed}; mend the row"
        if good:
            passed += 1
        else:
            failed += 1
            print(f"WRONG  {attempt['id']} ({attempt['group']}) is {outcome}, should be {want}: {result['detail']} {why or ''}")
        if options.v:
            print(f"       {attempt['id']:28} {outcome:8} want {want:8} {result['detail'][:150]}")
    if failed:
        print(done.stdout[-2000:])
        if os.path.exists(library + "/err"):
            print(open(library + "/err", errors="replace").read()[-2000:])
    shutil.rmtree(library, ignore_errors=True)
    print(f"{held} have another outcome and are listed with why in docs/attacks.md")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


sys.exit(main())
