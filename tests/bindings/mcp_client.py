#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The example of a server, used by the client of the package `mcp`: mcp_client.py SERVER WORKSPACE POLICY"""
import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client


async def talk(answer):
    """What a client that gives its user's answer (None: cannot ask) sees."""
    questions = []

    async def elicit(_context, given):
        questions.append(given.message)
        return types.ElicitResult(action="accept", content={"allow": answer})

    server = StdioServerParameters(command=sys.executable, args=sys.argv[1:], env=dict(os.environ))
    async with stdio_client(server) as streams:
        async with ClientSession(*streams, **({} if answer is None else {"elicitation_callback": elicit})) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            assert [tool.name for tool in tools] == ["run_command"], tools
            assert sys.argv[2] in tools[0].description, tools[0].description
            done = [await session.call_tool("run_command", {"command": command}) for command in (
                "echo hello; pwd", "echo x >/etc/motd", "mkdir release && rmdir release && echo released")]
    return questions, [(one.model_dump(by_alias=True)["isError"], one.content[0].text) for one in done]


async def main():
    for answer, words, n_questions in ((True, "released", 2), (False, "the user said no", 1), (None, "the client cannot ask", 0)):
        questions, (hello, denied, asked) = await talk(answer)
        assert hello == (False, f"exit 0\nhello\n{sys.argv[2]}\n"), hello
        assert denied[0] and "denied by rule 'default'" in denied[1], denied
        assert words in asked[1] and asked[0] is (answer is not True), asked
        assert len(questions) == n_questions and all("release needs a person" in one for one in questions), questions
    print("a client of the package mcp: three sessions")


asyncio.run(main())
