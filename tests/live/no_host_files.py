#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No file is ever made on the host by building a box: the listing of the parent of every mount point, as seen by a command in the
box, is the same on the host before, during and after.  no_host_files.py TOOL"""
import os
import shutil
import subprocess
import sys
import tempfile

TOOL = os.path.abspath(sys.argv[1])


def snapshot(parents):
    """Names only: times change by themselves."""
    found = {}
    for parent in parents:
        try:
            found[parent] = sorted(n for n in os.listdir(parent) if not n.isdigit())
        except OSError:
            pass
    return found


def run(policy, work, *command, **more):
    return subprocess.run([TOOL, "run", "--policy", policy, "--workspace", work, "--var", f"home={work}/home", "--", *command],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, **more)


def main():
    work = tempfile.mkdtemp(prefix="agentbox-files.", dir="/var/tmp")
    for name in ("home/.ssh", "ws/.git/hooks", "ws/src"):
        os.makedirs(f"{work}/{name}")
    policies = {
        "workspace": '{"version":1,"extends":"workspace-write"}',
        "masks": '{"version":1,"filesystem":{"read":{"allow":["/"],"deny":["${home}/.ssh","/etc/shadow"]},"write":{"allow":'
                 '["${workspace}","/tmp"],"deny":["${workspace}/src/deep/never"]}}}',
        "pieces": '{"version":1,"filesystem":{"read":{"allow":["/usr","/bin","/lib","/lib64","/etc"]},"write":{"allow":["${workspace}"]}}}',
    }
    wrong = []
    for name, text in policies.items():
        policy = f"{work}/{name}.json"
        with open(policy, "w") as file:
            file.write(text)
        mounted = run(policy, f"{work}/ws", "cat", "/proc/self/mountinfo")
        points = {line.split()[4] for line in mounted.stdout.splitlines()}
        if mounted.returncode != 0 or len(points) < 5:
            wrong.append(f"{name}: {mounted.returncode} {mounted.stderr} {sorted(points)}")
            continue
        parents = sorted({os.path.dirname(p) for p in points if not p.startswith("/proc/")} | {f"{work}/ws", f"{work}/home", work})
        before = snapshot(parents)
        box = subprocess.Popen([TOOL, "run", "--policy", policy, "--workspace", f"{work}/ws", "--var", f"home={work}/home", "--",
                                "sh", "-c", "echo up; read -r line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        box.stdout.readline()
        during = snapshot(parents)
        box.communicate("end\n")
        after = snapshot(parents)
        for moment, seen in (("during", during), ("after", after)):
            for parent in parents:
                if before.get(parent) != seen.get(parent):
                    new = set(seen.get(parent, [])) ^ set(before.get(parent, []))
                    # Other programs of this machine may use the shared directories meanwhile.
                    if parent not in ("/tmp", "/var/tmp", "/dev/shm", "/run") or any("agentbox" in n and n != os.path.basename(work) for n in new):
                        wrong.append(f"{name}: {parent} changed {moment}: {sorted(new)}")
    shutil.rmtree(work)
    print("\n".join(wrong))
    print(f"{len(policies) - min(len(wrong), len(policies))} passed, {len(wrong)} failed")
    return 1 if wrong else 0


sys.exit(main())
