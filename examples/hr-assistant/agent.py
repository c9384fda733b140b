#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An agent in HR: two files that the employee chose, the HR API, people who agree to what changes it or leaves it, and a record.

    pip install ./bindings/python
    python3 examples/hr-assistant/agent.py [--ask] [FOLDER]

With --ask you answer for the people who are asked.  FOLDER is made, and stays, with the audit log; without it nothing stays.  README.md tells the story.  `model.py` is a script in
a model's place, `people.py` in that of the people who are asked, and `server.py` is the company."""
import argparse
import json
import os
import pathlib
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Iterator

import agentbox
from model import Call, ScriptedModel, day, next_morning
from people import HrDesk

HERE = pathlib.Path(__file__).resolve().parent
EMPLOYEE, SESSION = "maria.keller@nordwind.example", "hr-assistant/4711"


class Company:
    """server.py, as long as this runs.  The key of its API is there and here, and in no box."""

    def __init__(self, folder: pathlib.Path) -> None:
        folder.mkdir()
        self.key, self.authority, self.log = secrets.token_urlsafe(32), folder / "ca.pem", folder / "requests.log"
        self.process = subprocess.Popen([sys.executable, HERE / "server.py", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(self.key + "\n")
        self.process.stdin.flush()
        self.proxy = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def close(self) -> None:
        self.process.communicate()


def make_policy(work: pathlib.Path, company: Company) -> agentbox.Policy:
    """Maria's home has many files, of which she chose two; results go to a folder of their own."""
    home, results = work / "home", work / "results"
    results.mkdir()
    shutil.copytree(HERE / "inputs", home)
    (home / "salaries.csv").write_text("1042,47200\n1043,41800\n")
    builder = agentbox.PolicyBuilder("task")
    for name, value in {"home": home, "request": home / "request.txt", "phones": home / "phones.csv", "output": results, "ca": company.authority}.items():
        builder.variable(name, value)
    return builder.merge((HERE / "policy.json").read_text(), "policy.json").build()


def marked(output: bytes) -> str:
    """Each line of what a command printed, marked, so that none is taken for the library's words; nothing in it moves a cursor."""
    lines = output.decode(errors="backslashreplace").removesuffix("\n").split("\n") if output else []
    shown = ("".join(c if c.isprintable() or c == "\t" else f"\\u{{{ord(c):x}}}" for c in line) for line in lines)
    return "".join(f"> {line}\n" for line in shown)


def regular_files(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """What a command left may be a link to another place, or a pipe that never ends."""
    return (file for file in sorted(folder.iterdir()) if file.is_file() and not file.is_symlink())


class Assistant:
    """The harness: what the model wants to run goes into a box, and what stopped it comes back."""

    def __init__(self, context: agentbox.Context, policy: agentbox.Policy, company: Company, results: pathlib.Path) -> None:
        self.context, self.policy, self.company, self.results = context, policy, company, results
        self.calls, self.told = 0, ""
        self.start_s = 0.0  # what a box and its first call took

    def work(self, model: ScriptedModel, delegation: str, seconds: float) -> None:
        """One box for all that is done on behalf of the employee and under one delegation."""
        print(f"== for {EMPLOYEE}, by {SESSION}, under {delegation}")
        begun = time.monotonic()
        identity = agentbox.Identity(EMPLOYEE, SESSION, delegation, delegation_expires_ms=int((time.time() + seconds) * 1000))
        with self.context.open_box(self.policy, identity) as box:
            box.set_credential("hr-api", self.company.key.encode())
            told = self.policy.describe()
            while (call := model.next(told)) is not None:
                told = self.run_command(box, call, {"DELEGATION_SECONDS": str(seconds)})
                self.told += told
                self.start_s = self.start_s or time.monotonic() - begun
        print()

    def run_command(self, box: agentbox.Box, call: Call, env: dict) -> str:
        self.calls += 1
        print(f"\n[call-{self.calls}] {call.thought}\n" + "".join(f"  {line}\n" for line in call.command.splitlines()), end="")
        result = box.run(["sh", "-c", call.command], label=f"call-{self.calls}", cwd=self.results, env=env, timeout=60)
        told = marked(result.stdout + result.stderr) + result.explanation
        print(told, end="")
        return told


def print_record(log: pathlib.Path) -> None:
    """Who did what, on whose behalf, and who agreed: of each call what was allowed, asked, and not done, for what kind of reason."""
    state, text = agentbox.render_audit([log], "json")
    records = [json.loads(line) for line in text.splitlines()]
    print(f"== {log.name}: {state.name.lower()}")
    for one in records:
        if one["type"] in ("approval", "denial", "notice") and "label" in one:
            word = "agreed" if one.get("verb") == "approve" else one.get("class", "asked" if one["type"] == "approval" else "allowed")
            by = f" by {one['approver']}" if word in ("agreed", "approval") else ""
            print(f"{one['principal']} {one['delegation']} {one['label']:8}{word:11}{one['target']} (rule {one['rule']}){by}")


def main() -> None:
    parser = argparse.ArgumentParser(description="An agent in HR, from end to end.")
    parser.add_argument("--ask", action="store_true", help="you answer for the people who are asked")
    parser.add_argument("folder", nargs="?", type=pathlib.Path, help="is made, and stays; without it nothing does")
    options = parser.parse_args()
    kept = options.folder
    if kept is not None:
        try:
            kept.mkdir(mode=0o700)
        except OSError as error:
            parser.error(f"FOLDER is made by this, and '{kept}' cannot be: {error.strerror}; name one that is not there yet")
    work = kept.resolve() if kept is not None else pathlib.Path(tempfile.mkdtemp(prefix="agent-", dir="/var/tmp"))
    company, desk, log = Company(work / "company"), HrDesk(options.ask), work / "audit.jsonl"
    os.environ["https_proxy"] = company.proxy  # "upstream": "environment" of the policy
    for exceptions in ("no_proxy", "NO_PROXY"):
        os.environ.pop(exceptions, None)
    try:
        with agentbox.Context(on_approval=lambda event: desk.ask(context, event), audit_path=log) as context:
            assistant = Assistant(context, make_policy(work, company), company, work / "results")
            assistant.work(ScriptedModel(day(work / "home")), "delegation-81", 8 * 3600)
            assistant.work(ScriptedModel(next_morning()), "delegation-82", 1 + 5 * assistant.start_s)  # the last seconds of it
        print_record(log)
        print("== what the API's own log says of changes and exports")
        print("".join(line for line in company.log.open() if " GET " not in line), end="")
        seen = assistant.told + log.read_text() + "".join(file.read_text(errors="replace") for file in regular_files(work / "results"))
        print("== the key of the API was " + ("SEEN" if company.key in seen else "nowhere in what the model was told, the results and the audit log"))
    finally:
        company.close()
        if kept is None:
            shutil.rmtree(work)


main()
