# SPDX-License-Identifier: Apache-2.0
"""The library in an asyncio program.  The loop watches one descriptor, and every call that can take long or be held by a
question runs on a thread of a pool of the context's own."""
from __future__ import annotations

import asyncio
import os
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, AsyncIterator, Awaitable, Callable, Dict, Optional, Sequence, Set, Union

from . import _raw
from .box import Box
from .constants import EventType, Stdio
from .context import Context, Stats, settle
from .event import Answer, Event
from .identity import Identity
from .policy import Policy
from .process import Exit, Process, Result
from .request import Request

THREADS = 32  # so many calls can be held by questions at a time; more wait for a thread


class AsyncContext:
    """An instance of the library in the running loop: `async with AsyncContext(...) as context`.

    `on_approval` is awaited while a call waits and returns an `Answer`, or several where the policy wants several
    approvers; None refuses what is still open, so it may also give one `answer` after the other itself.  `on_credential` returns the secret as bytes, or None;
    `on_event` is a plain function that sees every event.  A handler that raises has refused.  `events()` gives events too."""

    def __init__(self, *, on_approval: Optional[Callable[[Event], Awaitable[Union[Answer, Sequence[Answer], None]]]] = None,
                 on_credential: Optional[Callable[[Event], Awaitable[Optional[bytes]]]] = None,
                 on_event: Optional[Callable[[Event], None]] = None, **options: Any) -> None:
        self._context = Context(**options)
        self._on_approval, self._on_credential, self._on_event = on_approval, on_credential, on_event
        self._pool = ThreadPoolExecutor(THREADS, "agentbox")
        self._handle = -1
        self._ends: "Dict[tuple[int, int], asyncio.Event]" = {}
        self._readers: "Set[asyncio.Queue[Optional[Event]]]" = set()
        self._questions: "Set[asyncio.Task[None]]" = set()

    async def __aenter__(self) -> "AsyncContext":
        self._loop = asyncio.get_running_loop()
        self._handle = self._context.take_wait_handle()
        self._loop.add_reader(self._handle, self._take_events)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stops watching.  Close boxes before; an open one goes on, but its questions find nobody here."""
        if self._handle < 0:
            return
        for question in self._questions:
            question.cancel()
        await asyncio.gather(*self._questions, return_exceptions=True)
        self._take_events()
        self._loop.remove_reader(self._handle)
        os.close(self._handle)
        self._handle = -1
        for reader in self._readers:
            reader.put_nowait(None)
        await self._call(self._context.close)
        self._pool.shutdown(wait=False)

    def _call(self, function: Callable[..., Any], *arguments: Any) -> "asyncio.Future[Any]":
        return self._loop.run_in_executor(self._pool, function, *arguments)

    # ---- events
    def _take_events(self) -> None:
        for event in self._context.events():
            self._take(event)

    def _take(self, event: Event) -> None:
        kind = event.type
        if kind == EventType.EXITED and (event.box, event.process) in self._ends:
            self._ends[event.box, event.process].set()
        for reader in self._readers:
            reader.put_nowait(event)
        if self._on_event is not None:
            self._on_event(event)
        handler = self._on_approval if kind == EventType.APPROVAL else self._on_credential if kind == EventType.CREDENTIAL else None
        if handler is not None:
            question = self._loop.create_task(self._ask(handler, event))
            self._questions.add(question)
            question.add_done_callback(self._questions.discard)

    async def _ask(self, handler: Callable[[Event], Awaitable[Any]], event: Event) -> None:
        try:
            settle(self._context, event, await handler(event))
        except BaseException as error:
            settle(self._context, event, None)
            if not isinstance(error, Exception):
                raise
            self._loop.call_exception_handler({"message": "agentbox: a handler failed, and what it was asked for is denied", "exception": error})

    async def events(self) -> AsyncIterator[Event]:
        """Every event from now on, until the context is closed."""
        reader: "asyncio.Queue[Optional[Event]]" = asyncio.Queue()
        self._readers.add(reader)
        try:
            while True:
                event = await reader.get()
                if event is None:
                    return
                yield event
        finally:
            self._readers.discard(reader)

    def stats(self) -> Stats:
        return self._context.stats()

    def answer(self, question: "Event | int", answer: Answer) -> bool:
        """Answers an approval that no handler is there for; False: another approver must say it too."""
        return self._context.answer(question, answer)

    def supply(self, question: "Event | int", secret: bytes, *, expires_ms: int = 0) -> None:
        self._context.supply(question, secret, expires_ms=expires_ms)

    # ---- boxes
    @_raw.documented("abx_box_open")
    async def open_box(self, policy: Policy, identity: Optional[Identity] = None) -> "AsyncBox":
        """Builds a boundary, in which commands then start."""
        return AsyncBox(self, await self._call(self._context.open_box, policy, identity))

    async def run(self, policy: Policy, argv: Sequence[_raw.Text], *, identity: Optional[Identity] = None, **options: Any) -> Result:
        """Opens a box, runs one command in it, and closes it; options as of `Box.spawn`."""
        async with await self.open_box(policy, identity) as box:
            return await box.run(argv, **options)


class AsyncBox:
    """A boundary.  Closing it ends every command in it."""

    def __init__(self, context: AsyncContext, box: Box) -> None:
        self._context, self._box, self.id = context, box, box.id

    async def __aenter__(self) -> "AsyncBox":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await asyncio.shield(self._context._call(self._box.close))

    @_raw.documented("abx_box_spawn")
    async def spawn(self, argv: Sequence[_raw.Text], **options: Any) -> "AsyncProcess":
        """Starts a command; options as of `Box.spawn`.  If this is cancelled, the command is ended."""
        starting = self._context._pool.submit(lambda: self._box.spawn(argv, **options))
        try:
            return AsyncProcess(self._context, self.id, await asyncio.shield(asyncio.wrap_future(starting)))
        except asyncio.CancelledError:
            starting.add_done_callback(_kill_started)
            raise

    async def run(self, argv: Sequence[_raw.Text], **options: Any) -> Result:
        """Starts a command with captured output, waits for it, and says how it went.  If this is cancelled, the command is ended."""
        async with await self.spawn(argv, **{"stdout": Stdio.CAPTURE, "stderr": Stdio.CAPTURE, **options}) as process:
            try:
                return process.process.result(await process.wait())
            except asyncio.CancelledError:
                process.kill()
                raise

    async def receipt(self) -> "dict[str, Any]":
        return await self._context._call(self._box.receipt)

    @_raw.documented("abx_box_grant")
    async def grant(self, request: Request, *, expires_ms: int = 0, uses: int = 0, approver: Optional[str] = None) -> int:
        return await self._context._call(lambda: self._box.grant(request, expires_ms=expires_ms, uses=uses, approver=approver))

    @_raw.documented("abx_box_revoke")
    async def revoke(self, grant: int) -> None:
        await self._context._call(self._box.revoke, grant)

    async def grants(self) -> Any:
        return await self._context._call(self._box.grants)

    @_raw.documented("abx_box_set_credential")
    async def set_credential(self, name: str, secret: bytes, *, expires_ms: int = 0) -> None:
        await self._context._call(lambda: self._box.set_credential(name, secret, expires_ms=expires_ms))

    async def kill(self) -> None:
        await self._context._call(self._box.kill)


def _kill_started(starting: "Future[Process]") -> None:
    if not starting.cancelled() and starting.exception() is None:
        starting.result().kill()


class AsyncProcess:
    """One command.  `process` is it for calls that do not wait: `output`, `explain`, `signal`, `resize`."""

    def __init__(self, context: AsyncContext, box: int, process: Process) -> None:
        self._context, self.process, self.id = context, process, process.id
        self._key = (box, process.id)
        self._end = context._ends[self._key] = asyncio.Event()
        self._pipes: "list[Any]" = []
        if process._poll(0) is not None:  # its event may have come before
            self._end.set()

    async def __aenter__(self) -> "AsyncProcess":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases it; the command goes on."""
        self._context._ends.pop(self._key, None)
        for pipe in self._pipes:
            pipe.close()
        self.process.close()

    def kill(self) -> None:
        """Ends the command and all that it started, unless it ended already."""
        self.process.kill()

    async def wait(self) -> Exit:
        """Waits for the end; if this is cancelled, the command goes on."""
        await self._end.wait()
        ended = self.process.wait()
        assert ended is not None
        return ended

    async def reader(self, which: int = 1) -> asyncio.StreamReader:
        """What the command writes to a `Stdio.PIPE`."""
        reader = asyncio.StreamReader()
        descriptor = self.process.take_stdio(which)
        if descriptor is None:
            raise ValueError(f"stream {which} is no pipe, or was taken")
        transport, _ = await self._context._loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0))
        self._pipes.append(transport)
        return reader

    async def writer(self) -> asyncio.StreamWriter:
        """The command's input, a `Stdio.PIPE`; close it to end the input."""
        descriptor = self.process.take_stdio(0)
        if descriptor is None:
            raise ValueError("the input is no pipe, or was taken")
        loop = self._context._loop
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(descriptor, "wb", buffering=0))
        self._pipes.append(transport)
        return asyncio.StreamWriter(transport, protocol, None, loop)
