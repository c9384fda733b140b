# SPDX-License-Identifier: Apache-2.0
"""What happened in a box, and the answer to a question."""
from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Optional, Union

from . import _raw
from ._raw import lib
from .constants import Access, Class, EventType, ExitReason, Field, Layer, RequestKind, Retry, Scope, Verdict


class _Number:
    """A numeric field; with a kind it is that enum, and None where it is 0."""

    def __init__(self, field: int, kind: Any = None) -> None:
        self.field, self.kind = field, kind

    def __get__(self, event: Any, _owner: Any = None) -> Any:
        if event is None:
            return self
        value = event.number(self.field)
        if self.kind is None:
            return value
        return _raw.known(self.kind, value) if value else None


class _Text:
    def __init__(self, field: int) -> None:
        self.field = field

    def __get__(self, event: Any, _owner: Any = None) -> Any:
        return self if event is None else event.string(self.field)


class Event(_raw.Handle):
    """Something that happened.  A field that it does not have is None, or 0 for a count; docs/events.md says what each means."""

    _unref = "abx_event_unref"

    sequence: int = _Number(Field.SEQUENCE)  # type: ignore[assignment]
    time_ns: int = _Number(Field.TIME_NS)  # type: ignore[assignment]
    box: int = _Number(Field.BOX)  # type: ignore[assignment]
    process: int = _Number(Field.PROCESS)  # type: ignore[assignment]
    label: Optional[str] = _Text(Field.LABEL)  # type: ignore[assignment]
    pid: int = _Number(Field.PID)  # type: ignore[assignment]
    program: Optional[str] = _Text(Field.PROGRAM)  # type: ignore[assignment]
    layer: Optional[Layer] = _Number(Field.LAYER, Layer)  # type: ignore[assignment]
    class_: Optional[Class] = _Number(Field.CLASS, Class)  # type: ignore[assignment]
    request: Optional[RequestKind] = _Number(Field.REQUEST, RequestKind)  # type: ignore[assignment]
    access: Optional[Access] = _Number(Field.ACCESS, Access)  # type: ignore[assignment]
    target: Optional[str] = _Text(Field.TARGET)  # type: ignore[assignment]
    asked: Optional[str] = _Text(Field.ASKED)  # type: ignore[assignment]
    port: int = _Number(Field.PORT)  # type: ignore[assignment]
    verb: Optional[str] = _Text(Field.VERB)  # type: ignore[assignment]
    rule: Optional[str] = _Text(Field.RULE)  # type: ignore[assignment]
    source: Optional[str] = _Text(Field.SOURCE)  # type: ignore[assignment]
    reason: Optional[str] = _Text(Field.REASON)  # type: ignore[assignment]
    alternative: Optional[str] = _Text(Field.ALTERNATIVE)  # type: ignore[assignment]
    backend: Optional[str] = _Text(Field.BACKEND)  # type: ignore[assignment]
    repeats: int = _Number(Field.REPEATS)  # type: ignore[assignment]
    ticket: int = _Number(Field.TICKET)  # type: ignore[assignment]
    deadline_ms: int = _Number(Field.DEADLINE_MS)  # type: ignore[assignment]
    dropped: int = _Number(Field.DROPPED)  # type: ignore[assignment]
    message: Optional[str] = _Text(Field.MESSAGE)  # type: ignore[assignment]
    retry: Union[Retry, int, None] = _Number(Field.RETRY, Retry)  # type: ignore[assignment]
    exit_reason: Optional[ExitReason] = _Number(Field.EXIT_REASON, ExitReason)  # type: ignore[assignment]
    principal: Optional[str] = _Text(Field.PRINCIPAL)  # type: ignore[assignment]
    agent_session: Optional[str] = _Text(Field.AGENT_SESSION)  # type: ignore[assignment]
    delegation: Optional[str] = _Text(Field.DELEGATION)  # type: ignore[assignment]
    approvers: int = _Number(Field.APPROVERS)  # type: ignore[assignment]
    step_up: int = _Number(Field.STEP_UP)  # type: ignore[assignment]
    approver: Optional[str] = _Text(Field.APPROVER)  # type: ignore[assignment]
    evidence: Optional[str] = _Text(Field.EVIDENCE)  # type: ignore[assignment]
    idempotency_key: Optional[str] = _Text(Field.IDEMPOTENCY_KEY)  # type: ignore[assignment]
    http_status: int = _Number(Field.HTTP_STATUS)  # type: ignore[assignment]
    exit_code: int = _Number(Field.EXIT_CODE)  # type: ignore[assignment]

    @property
    def type(self) -> Union[EventType, int]:
        return _raw.known(EventType, lib.abx_event_get_type(self._c))

    @property
    def adds(self) -> Any:
        """Of an approval: exactly what an answer for longer than once would add; of a grant: what it adds."""
        text = self.string(Field.ADDS)
        return None if text is None else json.loads(text)

    @property
    def bound(self) -> Any:
        """Of an approval: what else was shown, which a yes is for."""
        text = self.string(Field.BOUND)
        return None if text is None else json.loads(text)

    @property
    def problem(self) -> Any:
        """What a server said when it refused a request: its words, not to be trusted."""
        text = self.string(Field.PROBLEM)
        return None if text is None else json.loads(text)

    def number(self, field: int) -> int:
        """A field by its number, for those that have no attribute here."""
        return lib.abx_event_get_int(self._c, field)

    def string(self, field: int) -> Optional[str]:
        return _raw.decode(lib.abx_event_get_string(self._c, field))

    def to_json(self) -> str:
        """One object on one line."""
        return _raw.buffer(lib.abx_event_to_json, self._c)

    @_raw.documented("abx_event_to_text")
    def to_text(self) -> str:
        """Lines for a person."""
        return _raw.buffer(lib.abx_event_to_text, self._c)

    def to_dict(self) -> "dict[str, Any]":
        return json.loads(self.to_json())

    def __repr__(self) -> str:
        return f"<Event {self.to_json()}>"


@dataclass(frozen=True)
class Answer:
    """The answer to an approval."""

    verdict: int
    scope: int = Scope.ONCE
    expires_ms: int = 0  #: Unix time, with `Scope.UNTIL`
    approver: Optional[str] = None  #: who said so
    evidence: Optional[str] = None  #: step-up proof that the host has checked; only its digest is kept
    message: Optional[str] = None  #: reaches the model with a refusal

    @classmethod
    def allow(cls, scope: int = Scope.ONCE, approver: Optional[str] = None, expires_ms: int = 0,
              evidence: Optional[str] = None) -> "Answer":
        return cls(Verdict.ALLOW, scope, expires_ms, approver, evidence)

    @classmethod
    def deny(cls, message: Optional[str] = None, approver: Optional[str] = None) -> "Answer":
        return cls(Verdict.DENY, approver=approver, message=message)
