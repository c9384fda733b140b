#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tool's own words: exit statuses, messages and lines that programs read.  run.py PATH-OF-AGENTBOX"""
import hashlib
import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile

agentbox = os.path.abspath(sys.argv[1])
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$"
KIM = ["--principal", "kim@example.com", "--agent-session", "s-9"]
# what is tried, arguments, exit status, what standard output and standard error then match
CASES = [
    ("help", ["help"], 0, r"^usage: agentbox", r"^$"),
    ("help of a command", ["run", "--help"], 0, r"^usage: agentbox", r"^$"),
    ("help after an option", ["run", "--tty", "--help"], 0, r"^usage: agentbox", r"^$"),
    ("help of the command to run", ["run", "--", "ls", "--help"], 0, r"^Usage: ls", r"^$"),
    ("a dollar", ["run", "--policy", "dollar.json", "--", "true"], 125, r"^$", r"write '\$\{home\}' or '~'"),
    ("a byte order mark", ["run", "--policy", "mark.json", "--", "true"], 125, r"^$", r"mark.json:1:1: a byte order mark"),
    ("an input that is not there", ["run", "--policy", "input.json", "--", "true"], 125, r"^$", r"create it, or remove it from /filesystem/inputs"),
    ("authorities that are not there", ["run", "--policy", "no-ca.json", "--", "true"], 125, r"^$", r"(?s)'/nonexistent'.*/network/extra_ca wants a file"),
    ("authorities that are none", ["run", "--policy", "bad-ca.json", "--", "true"], 125, r"^$", r"/network/extra_ca wants a file"),
    ("an audit log without its directory", ["run", "--audit", "/nonexistent/x", "--", "true"], 125, r"^$", r"audit log '/nonexistent/x'.*: No such file or directory\n$"),
    ("an unknown command", ["rnu"], 125, r"^$", r"unknown command 'rnu'"),
    ("an unknown option", ["run", "--tyt", "x", "--", "true"], 125, r"^$", r"unknown option '--tyt'"),
    *((f"an option of other commands: {' '.join(words)}", [*words, *rest], 125, r"^$", rf"this command does not take the option '{words[-1].partition('=')[0]}'")
      for words, rest in ((["run", "--json"], ["--", "true"]), (["run", "-o"], ["x", "--", "true"]), (["run", "--output=x"], ["--", "true"]),
                          (["replay", "--delegation-expires"], ["garbage", "x"]), (["replay", "--tty"], ["x"]), (["explain", "--json"], ["read", "/x"]),
                          (["describe", "--ask=tty"], []), (["preflight", "--timeout"], ["3"]), (["policy", "compare", "--cwd"], ["/", "ask.json"]),
                          (["policy", "validate", "--profile"], ["task", "ask.json"]), (["policy", "validate", "--audit"], ["x", "ask.json"]))),
    ("a value for a flag", ["run", "--tty=yes", "--", "true"], 125, r"^$", r"no value belongs to '--tty'"),
    ("an unknown short option", ["run", "-t", "3", "--", "true"], 125, r"^$", r"unknown option '-t'"),
    ("options of the command", ["run", "sh", "-c", "exit 3"], 3, r"^$", r"^$"),
    ("a command without a name", ["run"], 125, r"^$", r"no command"),
    ("a command that is not there", ["run", "--", "/nonexistent"], 127, r"^$", r"No such file"),
    ("a command that is none", ["run", "--", "/etc/passwd"], 126, r"^$", r"Permission denied"),
    ("a signal", ["run", "--", "sh", "-c", "kill -TERM $$"], 143, r"^$", r"^$"),
    ("a time-out", ["run", "--timeout", "0.2", "--", "sleep", "60"], 124, r"^$", r"^$"),
    ("a profile in the reason", ["run", "--explain", "--", "sh", "-c", "exec 2>&-; : >/etc/x"], 2, r"^$",
     r"write '/etc/x' by .* of 'workspace-write'. Reason: no rule of the policy 'workspace-write'"),
    ("an approver that is not there", ["run", "--policy", "ask.json", "--ask", "/nonexistent", "--", "true"], 125, r"^$",
     r"--ask: the program '/nonexistent' cannot be started: No such file"),
    ("an approver that PATH has not", ["run", "--ask", "nonexistent", "--", "true"], 125, r"^$",
     r"--ask: the program 'nonexistent' cannot be started: No such file"),
    ("an approver that is none", ["run", "--ask", "./secret", "--", "true"], 125, r"^$",
     r"--ask: the program './secret' cannot be started: Permission denied"),
    ("an approver without an interpreter", ["run", "--policy", "ask.json", "--explain", "--ask", "./broken", "--", "touch", "asked"], 1, r"^$",
     r"(?s)cannot be started, so the answer is no: Exec format.*the approver could not be started"),
    ("a word that is no answer", ["run", "--policy", "ask.json", "--explain", "--ask", "./yes", "--", "touch", "asked"], 1, r"^$",
     r"(?s)answered 'yes', which is not understood: once, command, box, deny.*Reason: the approver './yes' answered 'yes', which is not"),
    ("no answer", ["run", "--policy", "ask.json", "--explain", "--ask", "true", "--", "touch", "asked"], 1, r"^$",
     r"Reason: the approver 'true' ended without an answer"),
    ("an approver of PATH", ["run", "--policy", "ask.json", "--ask", "answers-once", "--", "sh", "-c", ": >asked && rm asked"], 0, r"^$", r"^$"),
    ("a program that is read after a question", ["run", "--policy", "ask-read.json", "--ask", "answers-once", "--", "sh", "-c", "places/tool; echo $?"], 0,
     r"^run\n0\n$", r"^$"),
    ("the same where names decide", ["run", "--policy", "ask-names.json", "--ask", "answers-once", "--", "sh", "-c", "cat places/tool; places/tool; echo $?"],
     0, r"^#!/bin/sh\necho run\nrun\n0\n$", r"^$"),
    ("a program that may not be read", ["run", "--policy", "ask-read.json", "--explain", "--", "sh", "-c", "places/tool 2>&1; echo $?"], 0,
     r"Permission denied\n126\n$", r"read '.*/places/tool'"),
    ("a document with layers", ["policy", "validate", "layers.json"], 0, r"^layers.json: valid, digest", r"^$"),
    ("a run of one", ["run", "--policy", "layers.json", "--", "true"], 125, r"^$", r"a document with layers stands alone"),
    ("nobody to ask", ["run", "--policy", "ask.json", "--explain", "--", "touch", "asked"], 1, r"^$",
     r"Reason: nobody was asked, since agentbox was started without --ask"),
    ("the secret's file", ["run", "--explain", "--policy", "credential.json", "--credential", "hr=file:secret", "--", "cat", "secret"], 1, r"^$",
     r"Reason: the file has the secret of a credential"),
    ("the link to the secret's file", ["run", "--explain", "--policy", "credential.json", "--credential", "hr=file:link", "--", "cat", "link", "secret"],
     1, r"^$", r"read '[^']*/secret'.*Reason: the file has the secret of a credential"),
    ("a descriptor of the secret's file", ["run", "--explain", "--policy", "credential.json", "--credential", "hr=fd:FD", "--", "cat", "secret"], 1,
     r"^$", r"Reason: the file has the secret of a credential"),
    ("a secret in /tmp", ["run", "--policy", "credential.json", "--credential", "hr=file:TMP", "--", "cat", "TMP"], 1, r"^$", r"cat: "),
    ("a policy that can be read", ["run", "--policy", "ask.json", "--", "cat", "ask.json"], 0, r"version", r"^$"),
    ("a policy with a password", ["run", "--policy", "proxy.json", "--explain", "--", "cat", "proxy.json"], 1, r"^$",
     r"Reason: the policy document of this run has the password"),
    ("the events", ["run", "--events", "kept", "--explain", "--", "sh", "-c",
                    "{ true >kept; rm -f kept; mv kept k; ln kept l; mv ../w ../v; } 2>/dev/null; cat kept; ls k l 2>/dev/null"], 2, r'^[^\n]*"type":"started"',
     r"(?s)'[^']*/kept'.*Reason: the events of this run cannot be changed by it"),
    ("the approver", ["run", "--policy", "ask.json", "--ask", "./yes", "--explain", "--", "sh", "-c",
                      "{ echo >yes; rm -f yes; mv yes k; } 2>/dev/null; cat yes"], 0, r"echo yes",
     r"Reason: the program that answers for this run cannot be changed by it"),
    ("the policy", ["run", "--policy", "ask.json", "--explain", "--", "sh", "-c", "{ echo >ask.json; rm -f ask.json; } 2>/dev/null; cat ask.json"], 0,
     r"version", r"Reason: the policy document of this run cannot be changed by it"),
    ("the link to the policy", ["run", "--policy", "ask-link", "--explain", "--", "sh", "-c", "rm -f ask-link 2>/dev/null; cat ask-link"], 0,
     r"version", r"(?s)'[^']*/ask-link'.*Reason: the policy document of this run cannot be changed by it"),
    ("no port", ["explain", "connect", "example.com:http"], 125, r"^$", r"HOST:PORT"),
    ("an address without a port", ["explain", "connect", "::1"], 0, r'"verdict":"deny"', r"^$"),
    ("a request", ["explain", "--policy", "credential.json", "GET", "https://hr.test/v1"], 0, r'"verdict":"allow"', r"^$"),
    ("a request that no rule names", ["explain", "--policy", "credential.json", "PUT", "https://hr.test/v1"], 0, r'"verdict":"deny"', r"^$"),
    ("an action", ["explain", "--policy", "action.json", "action", "hr.read", '{"id":"7"}'], 0, r'"verdict":"allow".*"arguments":\{"id":"7"\}', r"^$"),
    ("an action without its arguments", ["explain", "--policy", "action.json", "action", "hr.read"], 0,
     r'"verdict":"deny","rule":"action:arguments",.*"reason":"/id: it is missing"', r"^$"),
    ("a path that does not fit", ["explain", "--policy", "action.json", "GET", "https://hr.test/x"], 0, r'"rule":"action:arguments".*"reason":"/id: ', r"^$"),
    ("an action with too much", ["explain", "action", "hr.read", "{}", "{}"], 125, r"^$", r"action NAME \[JSON\]"),
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
    ("a principal alone", ["run", "--principal", "kim", "--", "true"], 125, r"^$", r"belong together: give also '--agent-session'"),
    ("a session alone", ["learn", "-o", "learned", "--agent-session", "s", "--", "true"], 125, r"^$", r"belong together: give also '--principal'"),
    ("nothing that expires", ["run", *KIM, "--delegation-expires", "+60", "--", "true"], 125, r"^$", r"what expires is a delegation: give also '--delegation'"),
    ("a name that is not seen", ["run", "--principal", "k\u200bim", "--agent-session", "s", "--", "true"], 125, r"^$", r"the principal is empty, longer than"),
    *((f"an hour that is none: {when}", ["run", *KIM, "--delegation", "d", "--delegation-expires", when, "--", "true"], 125, r"^$",
       r"--delegation-expires wants a time such as [^,]*Z, or \+SECONDS from now, not") for when in
      ("18:00", "60", "+", "+1s", "+-1", "+nan", "2126-02-30T00:00:00Z", "2126-05-01T18:00:00", "2126-05-01T18:00:00.Z", "2126-05-01T18:00:00+1", "2126-05-01T25:00:00Z",
                  "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.9Z", "1970-01-01T01:00:00+01:00", "1969-12-31T23:59:59Z", "2126-05-01T18:00:00++5:30", "2126-05-01T18:00:00+05:+5")),
    *((f"a delegation that is over: {when}", ["run", *KIM, "--delegation", "d", "--delegation-expires", when, "--", "true"], 125, r"^$",
       r"the delegation 'd' that this session acts under expired at 20[^\n]*\[identity:delegation\]\n[^\n]*under a new delegation\n$") for when in
      ("+0", "2020-02-29T23:59:59Z", "2020-02-29T23:59:59.25+23:00")),
    *((f"a delegation that holds: {when}", ["run", *KIM, "--delegation", "d", "--delegation-expires", when, "--policy", "identity.json", "--", "true"], 0,
       r"^$", r"^$") for when in ("+600", "+600.5", "2126-02-28T23:59:59Z", "2126-05-01T18:00:00.25-01:30")),
    ("an identity that is wanted", ["run", "--policy", "identity.json", "--", "true"], 125, r"^$", r"the box has no identity.*\n.*agentbox run --principal"),
    ("a host for a policy that wants an identity", ["preflight", "--policy", "identity.json"], 0, r"(?m)^box +yes ", r"^$"),
    ("a relative path", ["explain", "read", "x"], 125, r"^$", r"'x': the target must be an absolute path"),
    ("a host that can", ["preflight"], 0, r"(?m)^box +yes ", r"^$"),
    ("a policy that this build cannot", ["preflight", "--policy", "nested.json"], 1, r"(?m)^box +no ", r"^$"),
    ("a variable that is not set", ["run", "--profile", "task", "--", "true"], 125, r"^$", r"(?s)'output' is not set.*--var output=DIR"),
    ("a command that the policy denies", ["run", "--policy", "bare.json", "--explain", "--events", "denied", "--", "true"], 126, r"^$",
     r"(?s)denied to .*/bin/true' by rule 'default' of 'bare.json': no rule.*'true' cannot be executed: Permission denied.*the policy denies it: allow to read"),
    ("a name that is nothing", ["run", "--", "no-such-program"], 127, r"^$", r"name a program that PATH of the box has"),
    ("a refusal in the events", ["run", "--policy", "nested.json", "--events", "events", "--", "true"], 125, r"^$",
     r"not enforced by this build"),
]


class Page(html.parser.HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.text = set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.elements |= {name for name, _ in attrs if name.startswith("on") or name in ("src", "href")}

    def handle_data(self, data):
        self.text += data


def audit():
    """What is tried, and whether it is as it should be."""
    hostile = "/etc/<img src=x onerror=alert(1)>"

    def call(*words):
        return subprocess.run([agentbox, *words], cwd=workspace, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)

    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        workspace = os.path.join(folder, "w")
        os.mkdir(workspace)
        with open(os.path.join(workspace, "log.000000000001-00000000"), "w") as file:
            file.write("opened")
        done = call("run", "--audit", "log", "--", "sh", "-c", f"echo >'{hostile}'; cat log log.0*; echo >log; echo >log.new")
        yield "the box has it not", "Permission denied" in done.stderr and "opened" not in done.stdout
        done = call("audit", "verify", "log")
        yield "a log that is whole", done.returncode == 0 and done.stdout.startswith("log: ") and done.stdout.endswith(": whole\n")
        lines = [json.loads(line) for line in call("audit", "show", "--json", "log").stdout.splitlines()]
        types = [line["type"] for line in lines]
        yield "the policy that it was opened with", lines[0]["source"] == "workspace-write"
        yield "its records", types[:3] == ["opened", "spawn", "started"] and types[-2:] == ["exited", "closed"] and types.count("denial") == 5
        done = call("audit", "show", "--layer", "filesystem", "log")
        yield "one layer", done.stdout.count("\n") == 5 and hostile in done.stdout
        done = call("audit", "show", "--layer", "filesytem", "log")
        yield "a layer that there is not", done.returncode == 125 and done.stdout == "" and "filesystem, network, process" in done.stderr
        page = Page(call("audit", "report", "--html", "log").stdout)
        yield "the page's text", hostile in page.text
        yield "nothing but its own elements", not page.elements & {"script", "img", "src", "href", "onerror", "link", "iframe"}
        call("run", *KIM, "--delegation", "d-7", "--events", "events", "--audit", "named", "--", "sh", "-c", "echo >/etc/x")
        with open(os.path.join(workspace, "events")) as file:
            lines = [*map(json.loads, [*file, *call("audit", "show", "--json", "named").stdout.splitlines()])]
        yield "on whose behalf", len(lines) == 9 and {(line["principal"], line["agent_session"], line["delegation"]) for line in lines} == {
            ("kim@example.com", "s-9", "d-7")}
        shown = call("audit", "show", "named").stdout.splitlines()
        yield "on whose behalf, for people", len(shown) == 6 and all(" for kim@example.com by s-9 under d-7" in line for line in shown)
        # Its signal, SIGXFSZ, would end the host.
        for limit in (0, 1000, 20000):
            done = subprocess.run(["prlimit", f"--fsize={limit}", agentbox, "run", "--audit", "../small", "--", "true"], cwd=workspace,
                                  capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
            yield f"a host that may make files of {limit} bytes", done.returncode == 125 and "File too large" in done.stderr and "ulimit -f" in done.stderr
        done = call("audit", "verify", "/dev/null")
        yield "no regular file", done.returncode == 125 and "no regular file" in done.stderr
        os.rename(os.path.join(workspace, "named"), os.path.join(folder, "named"))
        done = call("audit", "redact", "--record", "4-5", "../named")
        yield "records that are redacted", done.returncode == 0 and done.stdout == "named: 2 redacted\n"
        done = call("audit", "verify", "../named")
        yield "how many are redacted", done.returncode == 0 and done.stdout.endswith(": whole\n  2 redacted\n")
        shown = call("audit", "show", "../named").stdout
        yield "what they said", "4 redacted\n5 redacted\n" in shown and "/etc/x" not in shown and f"redaction  4-5 uid {os.getuid()}\n" in shown
        done = call("audit", "redact", "--record", "4", "../named")
        yield "nothing left to redact", done.returncode == 0 and done.stdout == "nothing was left to redact\n"
        done = call("audit", "redact", "--record", "4-99", "../named")
        yield "records that there are not", done.returncode == 125 and "records 1 to 7, not 99" in done.stderr
        with open(os.path.join(workspace, "log"), "r+b") as file:
            text = file.read()
            file.seek(text.index(b"denial"))
            file.write(b"Denial")
        done = call("audit", "verify", "log")
        yield "a change", done.returncode == 2 and bool(re.search(r"line 4, byte \d+: the record was changed", done.stdout))
        done = call("audit", "show", "log")
        yield "a change in what is shown", done.returncode == 2 and "NOT WHOLE: file 1, line 4" in done.stdout


def approvers():
    """Who a program says answered, and what is recorded of that."""
    def run(policy, answers, *how):
        """The exit status, standard error, and who is named by the records of answers."""
        with open(os.path.join(workspace, "approver"), "w") as file:
            file.write(f"#!/bin/sh\n{answers}\n")
        os.chmod(os.path.join(workspace, "approver"), 0o755)
        done = subprocess.run([agentbox, "run", "--policy", policy, "--audit", "../log", *how, "--", "sh", "-c", ": >asked"], cwd=workspace,
                              capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        shown = subprocess.run([agentbox, "audit", "show", "--json", "../log"], cwd=workspace, capture_output=True, text=True, timeout=60).stdout
        os.unlink(os.path.join(folder, "log"))
        if os.path.exists(os.path.join(workspace, "asked")):
            os.unlink(os.path.join(workspace, "asked"))
        lines = [json.loads(line) for line in shown.splitlines()]
        return done.returncode, done.stderr, [(line["type"], line.get("approver"), line.get("evidence")) for line in lines if line.get("layer") == "approval"
                                              and line["type"] != "approval"]

    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        workspace = os.path.join(folder, "w")
        os.mkdir(workspace)
        for name, approvals in (("one", {}), ("two", {"approvers": 2}), ("proof", {"step_up": True})):
            with open(os.path.join(workspace, name), "w") as file:
                json.dump({"version": 1, "extends": "workspace-write", "filesystem": {"write": {"ask": ["${workspace}/asked"]}}, "approvals": approvals}, file)
        program = ("--ask", "./approver")
        nobody = [("denial", None, None)]
        yield "nobody is asked", run("one", "")[2] == nobody
        yield "a program names nobody", run("one", "echo once", *program)[2] == [("notice", "./approver", None)]
        yield "nor in a no", run("one", "echo deny", *program)[2] == [("denial", "./approver", None)]
        yield "a program names who agreed", run("one", "echo approver kim; echo once", *program)[2] == [("notice", "kim", None)]
        yield "and who refused", run("one", "echo approver kim; echo deny no", *program)[2] == [("denial", "kim", None)]
        for answer in ("true", "echo yes", "echo approver kim", "echo approver kim; echo approver pat; echo once", "exec ./nonexistent"):
            yield f"what is no answer is of nobody: {answer}", run("one", answer, *program)[2] == nobody
        done = run("one", "printf 'approver k\\342\\200\\213im\\nonce\\n'", *program)
        yield "a name that is not seen", done[0] != 0 and done[2] == nobody and "not seen" in done[1]
        done = run("two", 'echo approver ${1:+not-}kim; echo once', *program)
        yield "two agree", done[0] == 0 and done[2] == [("notice", "kim", None), ("notice", "kim, not-kim", None)]
        yield "the second is told who the first was", run("two", 'echo approver "${1:-kim}!"; echo once', *program)[2][1] == ("notice", "kim!, kim!!", None)
        done = run("two", "echo approver kim; echo once", *program)
        yield "nobody agrees twice", done[0] != 0 and done[2] == [("notice", "kim", None), ("denial", None, None)] and "said yes before" in done[1]
        yield "of two each has a name", run("two", "echo once", *program)[2] == nobody
        done = run("proof", "echo approver kim; echo evidence zzproof; echo once", *program)
        yield "evidence", done[0] == 0 and done[2] == [("notice", "kim", hashlib.sha256(b"zzproof").hexdigest())]
        done = run("proof", "echo approver kim; echo once", *program)
        yield "no evidence", done[0] != 0 and done[2] == nobody
        done = run("proof", "echo evidence zzproof; echo evidence zzproof; echo once", *program)
        yield "evidence is not printed", done[0] != 0 and "not understood" in done[1] and "zzproof" not in done[1]


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        workspace = os.path.join(folder, "w")
        os.mkdir(workspace)
        with open(os.path.join(workspace, "ask.json"), "w") as file:
            json.dump({"version": 1, "extends": "workspace-write",
                       "filesystem": {"write": {"ask": ["${workspace}/asked"]}}}, file)
        with open(os.path.join(workspace, "layers.json"), "w") as file:
            json.dump({"version": 1, "layers": [{"version": 1, "filesystem": {"read": {"allow": ["/"]}}}]}, file)
        os.mkdir(os.path.join(workspace, "places"))
        with open(os.path.join(workspace, "places/tool"), "w") as file:
            file.write("#!/bin/sh\necho run\n")
        os.chmod(os.path.join(workspace, "places/tool"), 0o755)
        for name, deny in (("ask-read", []), ("ask-names", ["**/.env"])):
            with open(os.path.join(workspace, name + ".json"), "w") as file:
                json.dump({"version": 1, "filesystem": {"read": {"allow": ["/"], "ask": ["${workspace}/places"], "deny": deny}}}, file)
        with open(os.path.join(workspace, "nested.json"), "w") as file:
            json.dump({"version": 1, "extends": "workspace-write",
                       "weaken": [{"what": "nested-namespaces", "reason": "test"}]}, file)
        with open(os.path.join(workspace, "credential.json"), "w") as file:
            json.dump({"version": 1, "extends": "workspace-write", "network": {"mode": "filtered", "allow": [
                {"host": "hr.test", "http": [{"methods": ["GET"], "path": "/v1"}]}]},
                "credentials": [{"name": "hr", "env": "HR_TOKEN", "hosts": ["hr.test"]}]}, file)
        with open(os.path.join(workspace, "action.json"), "w") as file:
            json.dump({"version": 1, "actions": [{"name": "hr.read", "verdict": "allow", "arguments": {"id": {"type": "string", "pattern": "[0-9]"}}}],
                       "network": {"mode": "filtered", "allow": [{"host": "hr.test", "http": [{"methods": ["GET"], "path": "/{id}", "action": "hr.read"}]}]}}, file)
        with open(os.path.join(workspace, "identity.json"), "w") as file:
            json.dump({"version": 1, "extends": "workspace-write", "network": {"mode": "filtered", "allow": ["hr.test"]},
                       "identity": {"header": "X-Agent-Identity", "hosts": ["hr.test"]}}, file)
        with open(os.path.join(workspace, "proxy.json"), "w") as file:
            json.dump({"version": 1, "extends": "workspace-write",
                       "network": {"mode": "filtered", "upstream": "http://user:zzreal1234567890@proxy.test:3128"}}, file)
        programs = os.path.join(folder, "bin")
        os.mkdir(programs)
        for name, text in (("w/yes", "#!/bin/sh\necho yes\n"), ("bin/answers-once", "#!/bin/sh\necho once\n"), ("w/broken", "\0\n")):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
            os.chmod(os.path.join(folder, name), 0o755)
        os.symlink("secret", os.path.join(workspace, "link"))
        os.symlink("ask.json", os.path.join(workspace, "ask-link"))
        filtered = {"version": 1, "extends": "workspace-write"}
        for name, document in (("bare", {"version": 1}), ("dollar", {"version": 1, "filesystem": {"read": {"allow": ["$HOME/x"]}}}),
                               ("input", dict(filtered, filesystem={"inputs": [{"from": "/nonexistent"}]})),
                               ("no-ca", dict(filtered, network={"mode": "filtered", "extra_ca": "/nonexistent"})),
                               ("bad-ca", dict(filtered, network={"mode": "filtered", "extra_ca": "/etc/passwd"}))):
            with open(os.path.join(workspace, name + ".json"), "w") as file:
                json.dump(document, file)
        with open(os.path.join(workspace, "mark.json"), "w") as file:
            file.write("\ufeff" + json.dumps(filtered))
        for name, text in (("short", "1234567\n"), ("secret", "zzreal1234567890\n")):
            with open(os.path.join(workspace, name), "w") as file:
                file.write(text)
        environment = dict(os.environ, PATH=f"/usr/bin:/bin:{programs}", HOME=folder)
        for what, arguments, status, output, errors in CASES:
            with open(os.path.join(workspace, "secret")) as secret, tempfile.NamedTemporaryFile("w", dir="/tmp") as outside:
                outside.write("zzreal1234567890\n")
                outside.flush()
                words = [word.replace("fd:FD", f"fd:{secret.fileno()}").replace("TMP", outside.name) for word in arguments]
                done = subprocess.run([agentbox] + words, cwd=workspace, capture_output=True, text=True, timeout=60,
                                      pass_fds=[secret.fileno()], stdin=subprocess.DEVNULL, env=environment)
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
        with open(os.path.join(workspace, "denied")) as file:
            types = [json.loads(line)["type"] for line in file]
        good = types[-1] == "setup" and set(types[:-1]) == {"denial"}
        passed, failed = passed + good, failed + (not good)
        if not good:
            print("the events of a command that did not start:", types)
    for where, checks in (("the audit log", audit), ("approvers", approvers)):
        for what, good in checks():
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"{where}: {what}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
