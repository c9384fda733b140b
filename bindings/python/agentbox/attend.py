# SPDX-License-Identifier: Apache-2.0
"""A command on a thread of its own, while the caller's thread hands events to the context's handlers: a question can hold the
start of a command too, so whoever answers must not be the one who starts it."""
from __future__ import annotations

import math
import os
import select
import threading
from typing import TYPE_CHECKING, Any, Callable, Optional

from .process import Process

if TYPE_CHECKING:
    from .context import Context

Work = Callable[[Callable[[Process], None]], Any]


class Attended:
    """`work` gets a function to which it gives the process as soon as there is one."""

    def __init__(self, context: "Context", work: Work) -> None:
        self.context, self.work = context, work
        self.process: Optional[Process] = None
        self.stopping = False
        self.outcome: Any = None
        self.error: Optional[BaseException] = None

    def begun(self, process: Process) -> None:
        self.process = process
        if self.stopping:
            process.kill()

    def do(self, over: int) -> None:
        try:
            self.outcome = self.work(self.begun)
        except BaseException as error:  # the caller's thread raises it
            self.error = error
        finally:
            os.close(over)

    def run(self) -> Any:
        events, (over, write_end) = self.context.take_wait_handle(), os.pipe()
        thread = threading.Thread(target=self.do, args=(write_end,), name="agentbox-run")
        try:
            thread.start()
            try:
                self.until(over, events, self.context._handle)
            except BaseException:
                self.stop(over, events)
                raise
            thread.join()
        finally:
            os.close(events)
            os.close(over)
        if self.error is not None:
            raise self.error
        return self.outcome

    def until(self, over: int, events: int, handle: Callable[[Any], None]) -> None:
        """Handles events until the work is over, and those that it left."""
        finished = False
        while not finished:
            finished = over in ready([events, over])
            for event in self.context.events():
                handle(event)

    def stop(self, over: int, events: int) -> None:
        """Ends the command, or keeps it from starting: nobody answers any more."""
        self.stopping = True
        if self.process is not None:
            self.process.kill()
        self.until(over, events, self.context._refuse)


def ready(descriptors: "list[int]", timeout: Optional[float] = None) -> "list[int]":
    """Which of them can be read, after `timeout` seconds at most."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(None if timeout is None else math.ceil(timeout * 1000))]
