#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The smallest agent: a model with two tools, commands that run in a box, a person who is asked on the terminal.

    pip install ./bindings/python
    python3 examples/agent-python/agent.py [--yes | --no]

`model.py` is a script in a model's place; a real one gets the same three things: the tools' descriptions, the conversation,
and of each call what the command printed followed by what stopped it."""
import asyncio
import json
import pathlib
import shutil
import sys
import tempfile
import textwrap

import agentbox
from model import ScriptedModel

HERE = pathlib.Path(__file__).resolve().parent


async def ask_person(question: str) -> bool:
    """A person may think as long as the policy's time-out; the loop goes on meanwhile."""
    print("\n" + textwrap.indent(question.rstrip("\n"), "  "))
    if len(sys.argv) > 1:
        said = sys.argv[1].strip("-")
        print(f"  allow it? {said}")
    else:
        said = await asyncio.to_thread(input, "  allow it? [yes/no] ")
    return said.startswith("y")


async def on_approval(event: agentbox.Event) -> agentbox.Answer:
    """The policy asks: the call is held, and goes on with the answer.  Nothing is run again."""
    if await ask_person(event.to_text()):  # no name in it that a command chose can look like another
        return agentbox.Answer.allow(agentbox.Scope.ONCE, approver="terminal")
    return agentbox.Answer.deny("the person at the terminal said no", approver="terminal")


class Tools:
    def __init__(self, box: agentbox.AsyncBox, policy: agentbox.Policy) -> None:
        self.box = box
        self.descriptions = {
            "run_command": f"Runs a shell command.\n{policy.describe()}",
            "request_access": "Asks the user to let commands write one file that the sandbox denied. Say why.",
        }

    async def run_command(self, call: str, command: str) -> str:
        """What the command printed (it may imitate anything), and last what stopped it, which is made from events alone."""
        result = await self.box.run(["sh", "-c", command], label=call, timeout=60)
        printed = ((result.stdout or b"") + (result.stderr or b"")).decode(errors="replace")
        if result.explanation and printed and not printed.endswith("\n"):
            printed += "\n"  # the explanation is a line of its own, however the output ended
        return f"exit {result.exit.code}\n{printed}{result.explanation}"

    async def request_access(self, call: str, path: str, why: str) -> str:
        if not await ask_person(f"the agent asks to write {ascii(path)} from now on, and says: {ascii(why)}"):
            return "The user said no.\n"
        try:
            await self.box.grant(agentbox.Request.write(path), approver="terminal")
        except agentbox.errors.DeniedError as error:  # a rule denies it, which no grant lifts
            return f"{error}\n"
        return "Granted.\n"


async def converse(model: ScriptedModel, tools: Tools) -> None:
    result = model.start(tools.descriptions)
    while (call := model.next(result)) is not None:
        print(f"\n[{call.id}] {call.thought}\n  {call.tool} {' '.join(call.arguments.values())}")
        result = await getattr(tools, call.tool)(call.id, **call.arguments)
        print(result, end="")
    print(f"\n{model.report}")


async def main() -> None:
    work = pathlib.Path(tempfile.mkdtemp(prefix="agent-", dir="/var/tmp"))
    workspace = work / "checkout"
    (workspace / "customers").mkdir(parents=True)
    (workspace / "notes.txt").write_text("write the release notes\n")
    try:
        policy = agentbox.Policy.from_profile("workspace-write", json.loads((HERE / "policy.json").read_text()), workspace=workspace, home=pathlib.Path.home())
        async with agentbox.AsyncContext(on_approval=on_approval) as context, await context.open_box(policy) as box:
            await converse(ScriptedModel(work), Tools(box, policy))
    finally:
        shutil.rmtree(work)


asyncio.run(main())
