#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real clients in boxes against real servers: run.py --tool PATH --user root|user [--only NAME,NAME] [-v]

Starts as root.  The servers stand in a throw-away world (world.sh): own network with public addresses on its loopback,
own hosts file, a root of its own in the trust store, and a resolver with a search list.  Each check runs `agentbox run`
in it and looks at what the client printed, at the events, and at what the servers saw.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
USER = 12345
PATH = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # what every user has
checks = []


class Result:
    def __init__(self, code, out, events, seconds):
        self.code, self.out, self.events, self.seconds = code, out, events, seconds

    def denials(self, **wanted):
        return [e for e in self.events if e.get("type") == "denial" and all(e.get(k) == v for k, v in wanted.items())]

    def __str__(self):
        return f"exit {self.code} after {self.seconds:.1f} s\n{self.out[-3000:]}\n" + "\n".join(json.dumps(e) for e in self.events[-12:])


class World:
    """What a check gets."""

    def __init__(self, folder, tool, user):
        self.folder, self.tool, self.user = folder, tool, user
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="agentbox-clients.", dir="/var/tmp"))
        self.number = 0
        if user == "user":
            os.chown(self.work, USER, USER)
        self.programs = folder / "programs"
        self.bundle = "/etc/ssl/certs/ca-certificates.crt"

    def policy(self, network=None, **more):
        document = {"version": 1, "extends": "workspace-write", "network": {
            "mode": "filtered", "allow": ["allowed.test", "*.allowed.test", "*.allowed.test:22", "*.allowed.test:8080", "allowed.test:8080", "*.allowed.test:8090",
                                          "*.allowed.test:8453", "*.allowed.test:50051-50052", "*.allowed.test:5432"],
            "ask": ["asked.test"],
            "deny": [{"host": "denied.test", "reason": "nothing goes to denied.test", "instead": "use allowed.test"},
                     {"host": "denied.allowed.test", "reason": "nothing goes to denied.test", "instead": "use allowed.test"}]},
            "environment": {"pass": ["PATH", "LANG"], "set": {
                "HOME": str(self.work), "NODE_EXTRA_CA_CERTS": self.bundle, "REQUESTS_CA_BUNDLE": self.bundle, "SSL_CERT_FILE": self.bundle,
                "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.email", "GIT_CONFIG_VALUE_0": "t@t", "GIT_AUTHOR_NAME": "t", "GIT_COMMITTER_NAME": "t"}}}
        document["network"].update(network or {})
        for key, value in more.items():
            document[key] = {**document[key], **value} if isinstance(document.get(key), dict) else value
        return document

    def box(self, argv, policy=None, ask=None, seconds=60, environment=None, options=()):
        """Runs argv (a list, or a script for sh) in a box; as whoever this run is for."""
        self.number += 1
        file, events = self.work / f"{self.number}.policy", self.work / f"{self.number}.events"
        file.write_text(json.dumps(policy or self.policy()))
        command = [str(self.tool), "run", "--policy", str(file), "--workspace", str(self.work), "--cwd", str(self.work), "--events", str(events), "--explain", *options]
        if ask:
            answers = self.work / f"{self.number}.ask"
            answers.write_text(f"#!/bin/sh\ncat >>{answers}.questions\necho '{ask}'\n")
            answers.chmod(0o755)
            command += ["--ask", str(answers)]
        command += ["--", *(["sh", "-c", argv] if isinstance(argv, str) else [str(word) for word in argv])]
        if self.user == "user":
            command = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *command]
        started = time.monotonic()
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=seconds,
                                  env=dict(PATH=PATH, HOME=str(self.work), LANG="C.UTF-8", **(environment or {})), errors="replace")
            code, out = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            code, out = -1, (late.stdout or b"").decode(errors="replace") + "\nno end"
        told = [json.loads(line) for line in events.read_text().splitlines()] if events.exists() else []
        return Result(code, out, told, time.monotonic() - started)

    def questions(self):
        file = self.work / f"{self.number}.ask.questions"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def seen(self):
        file = self.folder / "seen"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def check(fn):
    checks.append(fn)
    return fn


def expect(truth, result, text=""):
    if not truth:
        raise AssertionError(f"{text}\n{result}")


def inside(options):
    """In the world: every check, each by its name."""
    folder = pathlib.Path(options.inside)
    passed = failed = 0
    sys.path.insert(0, str(HERE))
    import check_clients
    import check_trust  # noqa: F401  (each adds to the list)
    import check_upstream  # noqa: F401
    for fn in check_clients.checks:
        name = fn.__name__
        if options.only and name not in options.only.split(","):
            continue
        world = World(folder, options.tool, options.user)
        started = time.monotonic()
        try:
            fn(world)
            passed += 1
            print(f"ok   {name} {time.monotonic() - started:.1f}s", flush=True)
        except Exception as error:
            failed += 1
            print(f"FAIL {name} {time.monotonic() - started:.1f}s {error if isinstance(error, AssertionError) else traceback.format_exc()}", flush=True)
        shutil.rmtree(world.work, ignore_errors=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--user", choices=["root", "user"], default="user")
    parser.add_argument("--only")
    parser.add_argument("--made", help="what servers and clients need is here; if not, it is made here, and left")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return inside(options)
    if os.geteuid() != 0:
        sys.exit("start as root (user mode drops to another user by itself)")
    import prepare
    base = pathlib.Path(tempfile.mkdtemp(prefix="agentbox-world.", dir="/var/tmp"))
    base.chmod(0o755)
    made = pathlib.Path(options.made or base / "made")
    if not made.exists():
        prepare.prepare(made)
    folder = base / "world"  # each run its own: servers write there
    subprocess.run(["cp", "-a", str(made), str(folder)], check=True)
    for text in ("sshd_config", "nginx.conf", "tinyproxy.conf", "postgres/start"):
        (folder / text).write_text((folder / text).read_text().replace(str(made), str(folder)))
    child = subprocess.Popen(["unshare", "-m", "--propagation", "private", "-n", "--uts", "--pid", "--fork", "--kill-child", "sh", str(HERE / "world.sh"),
                              str(folder), sys.executable, str(HERE / "run.py"), "--inside", str(folder), "--tool", os.path.abspath(options.tool),
                              "--user", options.user] + (["--only", options.only] if options.only else []),
                             stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        code = child.wait(timeout=1500)
    except subprocess.TimeoutExpired:
        print("no end\n0 passed, 1 failed, 0 skipped")
        code = 1
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    shutil.rmtree(base, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
