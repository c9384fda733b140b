# SPDX-License-Identifier: Apache-2.0
"""JSON-RPC over standard input and output, a message a line: requests of the client, each a task, and requests to it."""
import asyncio
import itertools
import json
import sys
from typing import Any, Awaitable, Callable, Dict

LINE_MAX = 1 << 20
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
Method = Callable[[Dict[str, Any]], Awaitable[Any]]


class Invalid(Exception):
    """A request's parameters are wrong."""


class Connection:
    def __init__(self, methods: "Dict[str, Method]") -> None:
        self.methods = methods
        self.calls: "Dict[Any, asyncio.Task[None]]" = {}
        self.waiting: "Dict[int, asyncio.Future[Dict[str, Any]]]" = {}
        self.numbers = itertools.count(1)

    async def serve(self) -> None:
        """Until the client closes its end; what still runs is then cancelled."""
        reader = asyncio.StreamReader(limit=LINE_MAX)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        try:
            while line := await reader.readline():
                self.take(line)
        finally:
            for call in self.calls.values():
                call.cancel()
            await asyncio.gather(*self.calls.values(), return_exceptions=True)

    def take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            self.send({"id": None, "error": {"code": PARSE_ERROR, "message": "no JSON"}})
            return
        if not isinstance(message, dict):
            self.send({"id": None, "error": {"code": INVALID_REQUEST, "message": "no object"}})
        elif "method" not in message:
            self.take_reply(message)
        elif "id" in message:
            self.calls[message["id"]] = asyncio.get_running_loop().create_task(self.answer(message))
        elif message["method"] == "notifications/cancelled":
            call = self.calls.get(message.get("params", {}).get("requestId"))
            if call is not None:
                call.cancel()

    def take_reply(self, message: "Dict[str, Any]") -> None:
        waiting = self.waiting.pop(message.get("id"), None)
        if waiting is not None and not waiting.done():
            waiting.set_result(message.get("result", {}))

    async def answer(self, message: "Dict[str, Any]") -> None:
        """A cancelled request has no answer."""
        reply: "Dict[str, Any]" = {"id": message["id"]}
        try:
            method = self.methods.get(message["method"])
            if method is None:
                reply["error"] = {"code": NO_METHOD, "message": f"no method {message['method']}"}
            else:
                reply["result"] = await method(message.get("params") or {})
        except Invalid as error:
            reply["error"] = {"code": INVALID_PARAMS, "message": str(error)}
        except Exception as error:
            reply["error"] = {"code": INTERNAL, "message": str(error)}
        finally:
            self.calls.pop(message["id"], None)
        self.send(reply)

    async def request(self, method: str, parameters: "Dict[str, Any]") -> "Dict[str, Any]":
        """Asks the client; an error of its is an empty result."""
        number = next(self.numbers)
        self.waiting[number] = asyncio.get_running_loop().create_future()
        self.send({"id": number, "method": method, "params": parameters})
        return await self.waiting[number]

    def send(self, message: "Dict[str, Any]") -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()
