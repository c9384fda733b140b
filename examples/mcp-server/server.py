#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server of the Model Context Protocol over standard input and output, with one tool: run_command, in a box.

    pip install ./bindings/python
    python3 server.py WORKSPACE [POLICY.json]

What the policy asks goes to the client as an elicitation, while the call waits; a client that cannot ask its user refuses.
A cancelled call ends its command.  Standard error has one line for each denial."""
import asyncio
import pathlib
import sys
from typing import Any, Awaitable, Callable, Dict, Optional

import agentbox
from connection import Connection, Invalid

VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
QUESTION = {"type": "object", "properties": {"allow": {"type": "boolean", "title": "Allow it", "default": False}}, "required": ["allow"]}
INPUT = {"type": "object", "required": ["command"], "properties": {
    "command": {"type": "string", "description": "What `sh -c` runs, in the workspace."},
    "timeout_seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": 3600, "description": "End it then; 120 if not given."}}}


class Server:
    def __init__(self, workspace: pathlib.Path, policy: agentbox.Policy) -> None:
        self.workspace, self.policy, self.can_ask = workspace, policy, False
        self.connection = Connection(self.methods())

    def methods(self) -> "Dict[str, Callable[[Dict[str, Any]], Awaitable[Any]]]":
        return {"initialize": self.initialize, "ping": self.ping, "tools/list": self.list_tools, "tools/call": self.call_tool}

    async def initialize(self, given: "Dict[str, Any]") -> "Dict[str, Any]":
        self.can_ask = "elicitation" in given.get("capabilities", {})
        wanted = given.get("protocolVersion")
        return {"protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0], "capabilities": {"tools": {}},
                "serverInfo": {"name": "agentbox", "version": agentbox.library_version()}}

    async def ping(self, _: "Dict[str, Any]") -> "Dict[str, Any]":
        return {}

    async def list_tools(self, _: "Dict[str, Any]") -> "Dict[str, Any]":
        """The description says what is allowed, so that a model need not find out by being denied."""
        return {"tools": [{"name": "run_command", "description": f"Runs a shell command.\n{self.policy.describe()}", "inputSchema": INPUT}]}

    async def call_tool(self, given: "Dict[str, Any]") -> "Dict[str, Any]":
        arguments = given.get("arguments", {})
        if given.get("name") != "run_command" or not isinstance(arguments.get("command"), str):
            raise Invalid("the tool is run_command, with a command")
        timeout = arguments.get("timeout_seconds", 120)
        if not isinstance(timeout, (int, float)) or not 0 < timeout <= 3600:
            raise Invalid("timeout_seconds is above 0 and at most 3600")
        try:
            result = await self.box.run(["sh", "-c", arguments["command"]], cwd=self.workspace, timeout=timeout)
        except agentbox.AgentboxError as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}
        printed = ((result.stdout or b"") + (result.stderr or b"")).decode(errors="replace")
        if result.explanation and printed and not printed.endswith("\n"):
            printed += "\n"  # the explanation is a line of its own, however the output ended
        return {"content": [{"type": "text", "text": f"exit {result.exit.code}\n{printed}{result.explanation}"}], "isError": not result.ok}

    async def on_approval(self, event: agentbox.Event) -> agentbox.Answer:
        if not self.can_ask:
            return agentbox.Answer.deny("the client cannot ask its user")
        reply = await self.connection.request("elicitation/create", {"message": event.to_text(), "requestedSchema": QUESTION})
        if reply.get("action") == "accept" and reply.get("content", {}).get("allow") is True:
            return agentbox.Answer.allow(approver="client")
        return agentbox.Answer.deny("the user said no", approver="client")

    def on_event(self, event: agentbox.Event) -> None:
        if event.type == agentbox.EventType.DENIAL:
            print(event.to_json(), file=sys.stderr, flush=True)

    async def serve(self) -> None:
        async with agentbox.AsyncContext(on_approval=self.on_approval, on_event=self.on_event) as context:
            async with await context.open_box(self.policy) as self.box:
                await self.connection.serve()


def policy_of(workspace: pathlib.Path, document: Optional[str]) -> agentbox.Policy:
    documents = [] if document is None else [pathlib.Path(document).read_bytes()]
    return agentbox.Policy.from_profile("workspace-write", *documents, workspace=workspace, home=pathlib.Path.home())


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: server.py WORKSPACE [POLICY.json]")
    workspace = pathlib.Path(sys.argv[1]).resolve()
    asyncio.run(Server(workspace, policy_of(workspace, sys.argv[2] if len(sys.argv) == 3 else None)).serve())


main()
