#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `agentbox replay` says of a log is what happens: real boxes try the same calls under one policy, which is
recorded, and under another, about which the log is asked.  replay.py PATH-OF-AGENTBOX"""
import collections
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

agentbox = os.path.abspath(sys.argv[1])
TRY = (pathlib.Path(__file__).parent.parent / "live/agree.py").read_text()
results = collections.Counter()


def check(what, good, *more):
    results[bool(good)] += 1
    if not good:
        print(f"FAIL {what}:", *more)


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_DELETE = do_GET

    def log_message(self, *_):
        pass


def make_files(workspace):
    for directory in ("r/yes", "r/ask", "r/no", "r/no/but", "w/yes", "w/yes/plain", "w/yes/fixed", "w/ask", "w/no", "w/no/run"):
        os.makedirs(f"{workspace}/{directory}")
        for name in ("one", "two", "a b\\c"):
            path = f"{workspace}/{directory}/{name}"
            with open(path, "w") as file:
                file.write("#!/bin/true\n")
            os.chmod(path, 0o755)


    # Protected names, and what git makes of its directory: rules that no policy spells out.
    os.makedirs(f"{workspace}/w/yes/.git/hooks")
    for name in (".bashrc", ".git/HEAD", ".git/config", ".git/hooks/pre-commit"):
        with open(f"{workspace}/w/yes/{name}", "w") as file:
            file.write("[core]\n" if name == ".git/config" else "ref: refs/heads/main\n")


def calls_of(workspace, port):
    """(request, target) and the line that agree.py takes."""
    for directory in ("r/yes", "r/ask", "r/no", "r/no/but"):
        for name in ("one", "two"):
            yield ("read", f"{workspace}/{directory}/{name}"), f"read {workspace}/{directory}/{name}"
    for directory in ("w/yes", "w/yes/fixed", "w/ask", "w/no", "w/no/run"):
        for name in ("one", "two"):
            yield ("write", f"{workspace}/{directory}/{name}"), f"write {workspace}/{directory}/{name}"
            yield ("exec", f"{workspace}/{directory}/{name}"), f"exec {workspace}/{directory}/{name}"
    for name in (".bashrc", ".git/HEAD", ".git/config", ".git/hooks/pre-commit", ".git/hooks/new", ".git/index", "plain/new"):
        yield ("write", f"{workspace}/w/yes/{name}"), f"write {workspace}/w/yes/{name}"
    for host in ("allowed.test", "one.wild.test", "no.wild.test", "ask.test", "192.0.2.7", "10.1.2.3"):
        for number in (80, 443, 8443):
            yield ("connect", f"{host}:{number}"), f"connect {host}:{number}"
    for method in ("GET", "POST", "DELETE"):
        for path in ("/open/a", "/open/in", "/closed", "/act/1"):
            url = f"http://127.0.0.1:{port}{path}"
            yield (method, url), f"request {method} {url}"


def policies(workspace, port):
    """Strict, wide, and one that says nothing of what is tried."""
    system = {"read": {"allow": ["/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/dev", workspace]}}
    loopback = {"host": f"127.0.0.1:{port}", "http": [{"methods": ["GET"], "path": "/nothing"}]}
    environment = {"set": {"PATH": "/usr/bin:/bin"}}
    approvals = {"timeout_ms": 60000, "per_minute": 10000}
    strict = {"version": 1, "name": "strict", "filesystem": {"read": {"allow": ["/"], "deny": [f"{workspace}/r"]},
                                                             "exec": {"deny": [f"{workspace}/w"]}},
              "network": {"mode": "filtered", "host_loopback": [port], "allow": [loopback]}, "environment": environment}
    wide = {"version": 1, "name": "wide", "filesystem": {
        "read": {"allow": ["/", f"{workspace}/r/no/but"], "ask": [f"{workspace}/r/ask"], "deny": [f"{workspace}/r/no"]},
        "write": {"allow": [f"{workspace}/w/yes"], "ask": [f"{workspace}/w/ask"], "deny": [f"{workspace}/w/yes/fixed"]},
        "exec": {"deny": [f"{workspace}/w/no"]}},
        "network": {"mode": "filtered", "host_loopback": [port], "allow": [
            "allowed.test", "*.wild.test:8443", {"host": f"127.0.0.1:{port}", "http": [
                {"methods": ["GET"], "path": "/open/**"}, {"methods": ["POST"], "path": "/open/in"},
                {"methods": ["GET"], "path": "/act/{id}", "action": "see"}]}],
            "ask": ["ask.test"], "deny": [{"host": "no.wild.test", "id": "no"}]},
        "actions": [{"name": "see", "verdict": "ask"}], "environment": environment, "approvals": approvals}
    silent = {"version": 1, "name": "silent", "filesystem": {**system, "read": {"allow": system["read"]["allow"][:-1] + [f"{workspace}/w"]},
                                                             "write": {"allow": [f"{workspace}/w"]}},
              "network": {"mode": "filtered", "host_loopback": [port], "allow": [loopback]}, "environment": environment}
    return strict, wide, silent


def run(folder, name, lines, *more, command="run"):
    """What agree.py said of each call, and the events."""
    events = f"{folder}/events-{len(os.listdir(folder))}"
    done = subprocess.run([agentbox, command, "--policy", f"{folder}/{name}.json", "--events", events, *more, "--",
                           "/usr/bin/python3", "-c", TRY], input="".join(line + "\n" for line in lines), capture_output=True, text=True,
                          cwd=f"{folder}/w", timeout=120)
    said = done.stdout.split("\n")[:-1]
    check(f"all calls were tried under '{name}'", len(said) == len(lines) and set(said) <= {"allow", "deny"},
          done.returncode, [(line, word) for line, word in zip(lines, said) if word not in ("allow", "deny")], done.stderr[-2000:])
    with open(events) as file:
        return said, [json.loads(line) for line in file]


def key_of(event):
    """As a row of a replay has it."""
    request, target = event["request"], event["target"]
    if request == "connect":
        return "connect", f"{target}:{event['port']}"
    return (event["access"] if request == "path" else event["verb"] if request == "http" else request), target


def what_happened(lines, said, events):
    asked = {key_of(event) for event in events if event["type"] == "approval"}
    return {key: "ask" if key in asked else word for (key, _), word in zip(lines, said)}


def replay(folder, name, log, expected):
    done = subprocess.run([agentbox, "replay", "--json", "--policy", f"{folder}/{name}.json", f"{folder}/{log}"], capture_output=True, text=True,
                          cwd=f"{folder}/w", timeout=60)
    check(f"the exit status for '{log}' under '{name}'", done.returncode == expected, done.returncode, done.stderr)
    return json.loads(done.stdout)


def compare(what, calls, before, rows, happened):
    """`before`: what was recorded, by call."""
    words = {"denied": "deny", "asked": "ask", "allowed": "allow"}
    found = {(row["request"], row["target"]): words[row["change"]] for row in rows if row["change"] in words}
    for key, _ in calls:
        if key in before:
            check(f"{what}: {key}", found.get(key, before[key]) == happened[key], "said", found.get(key, before[key]), "was", happened[key])
    changed = sum(int(row["calls"]) for row in rows if row["change"] in words)
    same = next(int(row["calls"]) for row in rows if row["change"] == "same")
    check(f"{what}: every call was found", changed + same >= len(before), changed, same, len(before))


def agreement(folder, port):
    workspace = f"{folder}/w"
    make_files(workspace)
    for policy in policies(workspace, port):
        with open(f"{folder}/{policy['name']}.json", "w") as file:
            json.dump(policy, file)
    calls = list(calls_of(workspace, port))
    lines = [line for _, line in calls]
    check("there are many calls", len(calls) >= 50, len(calls))

    said, _ = run(folder, "strict", lines, "--audit", f"{folder}/log-strict")
    check("the strict policy denies them", set(said) == {"deny"}, [line for line, word in zip(lines, said) if word == "allow"])
    said, events = run(folder, "wide", lines, "--audit", f"{folder}/log-wide", "--ask", "deny")
    wide = what_happened(calls, said, events)
    check("the wide one decides in each way", set(wide.values()) == {"allow", "ask", "deny"})
    compare("strict, then wide", calls, {key: "deny" for key, _ in calls}, replay(folder, "wide", "log-strict", 1), wide)

    noted = {key: word for key, word in wide.items() if word != "allow"}
    compare("wide, then strict", calls, noted, replay(folder, "strict", "log-wide", 1), {key: "deny" for key, _ in calls})
    rows = replay(folder, "wide", "log-wide", 0)
    check("nothing changes under the same policy", not {row["change"] for row in rows} & {"denied", "asked", "allowed"}, rows)

    said, events = run(folder, "silent", lines, "--audit", f"{folder}/log-observed", "-o", f"{folder}/learned.json", command="learn")
    observed = {key_of(event): "allow" for event in events if event["type"] == "notice" and event.get("reason", "").startswith("would be denied")}
    observed.update({key_of(event): "deny" for event in events if event["type"] == "denial"})
    known = {key: word for key, word in observed.items() if key in dict(calls)}
    check("observed calls were recorded", list(known.values()).count("allow") >= 10, known)
    compare("observed, then wide", calls, known, replay(folder, "wide", "log-observed", 1), wide)


def words(folder):
    """Lines for people, names that programs choose, files of one log, and a log that does not hold."""
    workspace = f"{folder}/w"

    def call(*arguments):
        return subprocess.run([agentbox, *arguments], cwd=workspace, capture_output=True, text=True, errors="replace", timeout=60,
                              stdin=subprocess.DEVNULL)

    with open(f"{folder}/etc.json", "w") as file:
        json.dump({"version": 1, "extends": "workspace-write", "filesystem": {"write": {"allow": ["/etc"]}}}, file)
    call("run", "--audit", "../log", "--", "/bin/sh", "-c", "for i in 1 2 3; do true >/etc/motd; done; true >\"$(printf '/etc/a\\033[31m\\\\\\377')\"; cat ../log")
    done = call("replay", "--policy", "../etc.json", "../log")
    check("for people", done.returncode == 1 and "What a policy allowed left no record" in done.stdout and
          "now allowed: write /etc/motd, 3 times (was deny)\n" in done.stdout, done)
    check("no control character gets out", "\033" not in done.stdout and r"/etc/a\x1B[31m\\xFF" in done.stdout, done.stdout)
    check("the log stays out of reach", f"now allowed: read {folder}/log" not in done.stdout, done.stdout)
    check("a program that started", "the same: 2" in done.stdout, done.stdout)
    check("its rule", "rule ../etc.json#/filesystem/write/allow/0: " in done.stdout, done.stdout)
    done = call("replay", "../log")
    check("nothing changes", done.returncode == 0 and "now " not in done.stdout, done)
    check("no file", call("replay").returncode == 125 and call("replay", "../nothing").returncode == 125)
    with open(f"{folder}/log", "rb") as file:
        text = file.read()
    with open(f"{folder}/torn", "wb") as file:
        file.write(text[:-20])
    done = call("replay", "--audit", "../log", "../torn")
    check("a record in part", done.returncode == 0 and "not replayed: 1, the last record was written in part" in done.stdout, done)
    with open(f"{folder}/broken", "wb") as file:
        file.write(text.replace(b"denial", b"Denial", 1))
    done = call("replay", "../broken")
    check("a log that does not hold", done.returncode == 2 and "NOT WHOLE: file 1, line 4" in done.stdout, done)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for part in (lambda folder: agreement(folder, server.server_port), words):
        with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="replay-") as folder:
            os.mkdir(f"{folder}/w")
            part(os.path.realpath(folder))
    server.shutdown()
    print(f"{results[True]} passed, {results[False]} failed")
    return 1 if results[False] else 0


sys.exit(main())
