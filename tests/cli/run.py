#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tool's own words: exit statuses, messages and lines that programs read.  run.py PATH-OF-AGENTBOX"""
import json
import os
import re
import subprocess
import sys
import tempfile

agentbox = os.path.abspath(sys.argv[1])
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$"
# what is tried, arguments, exit status, what standard output and standard error then match
CASES = [
    ("help", ["help"], 0, r"^usage: agentbox", r"^$"),
    ("help of a command", ["run", "--help"], 0, r"^usage: agentbox", r"^$"),
    ("an unknown command", ["rnu"], 125, r"^$", r"unknown command 'rnu'"),
    ("an unknown option", ["run", "--tyt", "x", "--", "true"], 125, r"^$", r"unknown option '--tyt'"),
    ("an unknown short option", ["run", "-t", "3", "--", "true"], 125, r"^$", r"unknown option '-t'"),
    ("options of the command", ["run", "sh", "-c", "exit 3"], 3, r"^$", r"^$"),
    ("a command without a name", ["run"], 125, r"^$", r"no command"),
    ("a command that is not there", ["run", "--", "/nonexistent"], 127, r"^$", r"No such file"),
    ("a command that is none", ["run", "--", "/etc/passwd"], 126, r"^$", r"Permission denied"),
    ("a signal", ["run", "--", "sh", "-c", "kill -TERM $$"], 143, r"^$", r"^$"),
    ("a time-out", ["run", "--timeout", "0.2", "--", "sleep", "60"], 124, r"^$", r"^$"),
    ("a profile in the reason", ["run", "--explain", "--", "sh", "-c", "exec 2>&-; : >/etc/x"], 2, r"^$",
     r"write '/etc/x' by .* of 'workspace-write'. Reason: no rule of the policy 'workspace-write'"),
    ("an approver that is not there", ["run", "--policy", "ask.json", "--ask", "/nonexistent", "--", "sh", "-c",
                                       "exec 3>&2 2>&-; : >asked || echo no >&3"], 2, r"^$",
     r"--ask: '/nonexistent' cannot be started, so the answer is no"),
    ("no port", ["explain", "connect", "example.com:http"], 125, r"^$", r"HOST:PORT"),
    ("an address without a port", ["explain", "connect", "::1"], 0, r'"verdict":"deny"', r"^$"),
    ("a request", ["explain", "--policy", "credential.json", "GET", "https://hr.test/v1"], 0, r'"verdict":"allow"', r"^$"),
    ("a request that no rule names", ["explain", "--policy", "credential.json", "PUT", "https://hr.test/v1"], 0, r'"verdict":"deny"', r"^$"),
    ("an act that is none", ["explain", "eat", "/x"], 125, r"^$", r"usage: agentbox explain"),
    ("a secret without a source", ["run", "--policy", "credential.json", "--credential", "hr", "--", "true"], 125, r"^$",
     r"--credential wants NAME=env:VARIABLE"),
    ("a source that is none", ["run", "--policy", "credential.json", "--credential", "hr=x", "--", "true"], 125, r"^$",
     r"--credential hr=x: say where it is"),
    ("a variable without a secret", ["run", "--policy", "credential.json", "--credential", "hr=env:NOT_SET", "--", "true"], 125, r"^$",
     r"the variable is not set"),
    ("a file without a secret", ["run", "--policy", "credential.json", "--credential", "hr=file:/nonexistent", "--", "true"], 125, r"^$",
     r"No such file"),
    ("a secret that is too short", ["run", "--policy", "credential.json", "--credential", "hr=file:short", "--", "true"], 125, r"^$",
     r"shorter than 8 bytes"),
    ("a secret of another name", ["run", "--policy", "credential.json", "--credential", "rh=file:secret", "--", "true"], 125, r"^$",
     r"no credential 'rh'"),
    ("what stands for a secret", ["run", "--policy", "credential.json", "--credential", "hr=file:secret", "--", "sh", "-c",
                                  "echo ${#HR_TOKEN}; env"], 0, r"(?s)^40\n(?!.*zzreal)", r"^$"),
    ("a relative path", ["explain", "read", "x"], 125, r"^$", r"'x': the target must be an absolute path"),
    ("a host that can", ["preflight"], 0, r"(?m)^box +yes ", r"^$"),
    ("a policy that this build cannot", ["preflight", "--policy", "nested.json"], 1, r"(?m)^box +no ", r"^$"),
    ("a variable that is not set", ["run", "--profile", "task", "--", "true"], 125, r"^$", r"'output' is not set"),
    ("a refusal in the events", ["run", "--policy", "nested.json", "--events", "events", "--", "true"], 125, r"^$",
     r"not enforced by this build"),
]


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        workspace = os.path.join(folder, "w")
        os.mkdir(workspace)
        with open(os.path.join(workspace, "ask.json"), "w") as file:
            json.dump({"version": 1, "extends": "workspace-write",
                       "filesystem": {"write": {"ask": ["${workspace}/asked"]}}}, file)
        with open(os.path.join(workspace, "nested.json"), "w") as file:
            json.dump({"version": 1, "extends": "workspace-write",
                       "weaken": [{"what": "nested-namespaces", "reason": "test"}]}, file)
        with open(os.path.join(workspace, "credential.json"), "w") as file:
            json.dump({"version": 1, "extends": "workspace-write", "network": {"mode": "filtered", "allow": [
                {"host": "hr.test", "http": [{"methods": ["GET"], "path": "/v1"}]}]},
                "credentials": [{"name": "hr", "env": "HR_TOKEN", "hosts": ["hr.test"]}]}, file)
        for name, text in (("short", "1234567\n"), ("secret", "zzreal1234567890\n")):
            with open(os.path.join(workspace, name), "w") as file:
                file.write(text)
        for what, arguments, status, output, errors in CASES:
            done = subprocess.run([agentbox] + arguments, cwd=workspace, capture_output=True, text=True, timeout=60,
                                  stdin=subprocess.DEVNULL, env=dict(os.environ, PATH="/usr/bin:/bin", HOME=folder))
            good = done.returncode == status and re.search(output, done.stdout) and re.search(errors, done.stderr)
            passed, failed = passed + bool(good), failed + (not good)
            if not good:
                print(f"{what}: exit {done.returncode}, not {status}\n  {done.stdout}\n  {done.stderr}")
        for where in ("/", folder):
            done = subprocess.run([agentbox, "run", "--", "true"], cwd=where, capture_output=True, text=True, timeout=60,
                                  env=dict(os.environ, PATH="/usr/bin:/bin", HOME=folder))
            good = done.returncode == 125 and "--workspace" in done.stderr
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"{where} as a workspace nobody named: exit {done.returncode}\n  {done.stderr}")
        with open(os.path.join(workspace, "events")) as file:
            lines = [json.loads(line) for line in file]
        good = len(lines) == 1 and lines[0]["type"] == "setup" and re.match(TIME, str(lines[0]["time"])) and lines[0]["step"]
        passed, failed = passed + bool(good), failed + (not good)
        if not good:
            print("the setup line:", lines)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
