# SPDX-License-Identifier: Apache-2.0
"""The library in a program without an event loop: a context, its events, and the answers to questions."""
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Optional, Sequence, Union

from . import _raw
from ._raw import ffi, lib
from .attend import Attended, Work, ready
from .box import Box
from .constants import AuditSync, Backend, ContextFlag, EventType, Status, Verdict
from .errors import StateError
from .event import Answer, Event
from .identity import Identity
from .policy import Policy
from .process import Result

Handler = Callable[[Event], Any]


@dataclass(frozen=True)
class Stats:
    """What a context counted since it was made, of all its boxes.  `asked` is granted + refused + timed_out + abandoned + what is open."""

    boxes: int
    commands: int
    denials: int
    repeats: int  #: of the denials: an equal attempt of the same command was denied before
    asked: int  #: questions, each once, however many calls wait for it
    granted: int
    refused: int
    timed_out: int
    abandoned: int  #: nobody waited any more: the command or the box ended
    held_ns: int  #: that calls waited for answers, each for itself


class Context(_raw.Handle):
    """An instance of the library, with its queue of events.  Any thread may use it.

    `on_approval` is asked while a call waits and returns an `Answer`, or several where the policy wants several approvers; None refuses what is still open, so it may also
    give one `answer` after the other itself.  One alone where two are wanted counts, and the call waits for the other until its deadline: any thread may `answer` the
    same question meanwhile.  `on_credential` returns the secret as bytes, or None;
    `on_event` sees everything else.  They run inside `Box.run`, on the thread that called it.  Without them events wait for
    `next_event` and `wait_event`.  A `simulated` one enforces nothing and runs nothing, for tests of a harness: see `Box.attempt`.
    An `observe` one allows what is safe and no rule speaks of, and tells of it: see `Box.suggest`."""

    _unref = "abx_context_unref"

    @_raw.documented("abx_context_new")
    def __init__(self, *, on_approval: Optional[Callable[[Event], Union[Answer, Sequence[Answer], None]]] = None, on_credential: Optional[Callable[[Event], Optional[bytes]]] = None,
                 on_event: Optional[Handler] = None, events: int = 0, init_path: Optional[_raw.Text] = None,
                 simulated: bool = False, audit_path: Optional[_raw.Text] = None, audit_bytes: int = 0, audit_sync: int = AuditSync.NONE, observe: bool = False) -> None:
        kept = _raw.encode(init_path), _raw.encode(audit_path)
        options = _raw.struct("abx_context_options", events=events, init_path=kept[0], backend=Backend.SIMULATED if simulated else Backend.NATIVE,
                              audit_path=kept[1], audit_bytes=audit_bytes, audit_sync=audit_sync,
                              flags=ContextFlag.CONTEXT_OBSERVE if observe else 0)
        super().__init__(_raw.made(lib.abx_context_new, "abx_context", options))
        self._on_approval, self._on_credential, self._on_event = on_approval, on_credential, on_event

    def open_box(self, policy: Policy, identity: Optional[Identity] = None) -> Box:
        """Builds a boundary, in which commands then start."""
        return Box(self, policy, identity)

    def run(self, policy: Policy, argv: Sequence[_raw.Text], *, identity: Optional[Identity] = None, **options: Any) -> Result:
        """Opens a box, runs one command in it, and closes it; options as of `Box.spawn`."""
        with self.open_box(policy, identity) as box:
            return box.run(argv, **options)

    # ---- events
    @_raw.documented("abx_context_next_event")
    def next_event(self) -> Optional[Event]:
        """The oldest event, or None."""
        event = ffi.new("abx_event **")
        return Event(event[0]) if _raw.check(lib.abx_context_next_event(self._c, event)) == Status.OK else None

    def events(self) -> Iterator[Event]:
        """What is queued now."""
        return iter(self.next_event, None)

    def wait_event(self, timeout: Optional[float] = None) -> Optional[Event]:
        """The next event, for which it waits `timeout` seconds at most; None if none came."""
        event = self.next_event()
        if event is not None:
            return event
        descriptor = self.take_wait_handle()
        try:
            return self.next_event() if ready([descriptor], timeout) else None
        finally:
            os.close(descriptor)

    @_raw.documented("abx_context_take_wait_handle")
    def take_wait_handle(self) -> int:
        return lib.abx_context_take_wait_handle(self._c)

    @_raw.documented("abx_context_stats")
    def stats(self) -> Stats:
        found = _raw.struct("abx_stats")
        _raw.check(lib.abx_context_stats(self._c, found))
        return Stats(found.boxes, found.commands, found.denials, found.repeats, found.asked, found.granted, found.refused, found.timed_out,
                     found.abandoned, found.held_ns)

    # ---- answers
    @_raw.documented("abx_context_answer")
    def answer(self, question: Union[Event, int], answer: Answer) -> bool:
        """Answers an approval, given as the event or as its ticket; False: this yes counts, and another approver must say it too."""
        kept = (_raw.encode(answer.approver), _raw.encode(answer.evidence, "the evidence"), _raw.encode(answer.message, "the message"))
        given = _raw.struct("abx_answer", verdict=answer.verdict, scope=answer.scope, expires_ms=answer.expires_ms,
                            approver=kept[0], evidence=kept[1], message=kept[2])
        error = ffi.new("abx_error **")
        return _raw.check(lib.abx_context_answer(self._c, ticket_of(question), given, error), error) == Status.OK

    @_raw.documented("abx_context_supply")
    def supply(self, question: Union[Event, int], secret: bytes, *, expires_ms: int = 0) -> None:
        """Gives the secret that a request waits for."""
        error = ffi.new("abx_error **")
        _raw.check(lib.abx_context_supply(self._c, ticket_of(question), ffi.from_buffer(secret), len(secret), expires_ms, error), error)

    # ---- handlers
    def _attend(self, work: Work) -> Any:
        """Does `work`; where there are handlers, they get what happens meanwhile."""
        if self._on_approval is None and self._on_credential is None and self._on_event is None:
            return work(lambda process: None)
        return Attended(self, work).run()

    def _handle(self, event: Event) -> None:
        kind = event.type
        handler: Any = self._on_approval if kind == EventType.APPROVAL else self._on_credential if kind == EventType.CREDENTIAL else None
        if handler is None:
            if self._on_event is not None:
                self._on_event(event)
            return
        try:
            settle(self, event, handler(event))
        except BaseException:
            self._refuse(event)  # a handler that fails has refused: the call must not wait for its deadline
            raise

    def _refuse(self, event: Event) -> None:
        if event.type in (EventType.APPROVAL, EventType.CREDENTIAL):
            settle(self, event, None)


def settle(context: Context, event: Event, answer: "Union[Answer, Sequence[Answer], bytes, None]") -> None:
    """Answers a question; a question that is over, since its command or its time is, needs no answer.  It does not wait: one that wants
    another approver stays open."""
    try:
        if isinstance(answer, Answer):
            context.answer(event, answer)
        elif isinstance(answer, (list, tuple)) and answer and all(isinstance(one, Answer) for one in answer):
            for one in answer:
                context.answer(event, one)
        elif isinstance(answer, (bytes, bytearray, memoryview)) and event.type == EventType.CREDENTIAL:
            context.supply(event, answer)
        elif answer is None:
            context.answer(event, Answer(Verdict.DENY))
        else:
            raise TypeError(f"an answer is an Answer, not {type(answer).__name__}")
    except StateError:
        pass


def ticket_of(question: Union[Event, int]) -> int:
    return question.ticket if isinstance(question, Event) else question

