# SPDX-License-Identifier: Apache-2.0
"""What may be asked of a policy, and what it says."""
from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Tuple

from . import _raw
from .constants import Access, RequestKind, Verdict

DEFAULT_RULE = 0xFFFFFFFF


@dataclass(frozen=True)
class Request:
    """One act, as a policy decides it and as a grant adds it."""

    kind: int
    target: Optional[_raw.Text] = None
    access: int = 0
    port: int = 0
    verb: Optional[str] = None

    @classmethod
    def read(cls, path: _raw.Text) -> "Request":
        return cls(RequestKind.PATH, path, Access.READ)

    @classmethod
    def write(cls, path: _raw.Text) -> "Request":
        return cls(RequestKind.PATH, path, Access.WRITE)

    @classmethod
    def execute(cls, path: _raw.Text) -> "Request":
        return cls(RequestKind.EXEC, path)

    @classmethod
    def connect(cls, host: str, port: int) -> "Request":
        return cls(RequestKind.CONNECT, host, port=port)

    @classmethod
    def http(cls, url: str, method: str = "GET") -> "Request":
        return cls(RequestKind.HTTP, url, verb=method)

    @classmethod
    def listen(cls, port: int) -> "Request":
        return cls(RequestKind.LISTEN, port=port)

    @classmethod
    def socket(cls, path: _raw.Text) -> "Request":
        return cls(RequestKind.SOCKET, path)

    @classmethod
    def action(cls, name: str, arguments: Optional[Mapping[str, Any]] = None) -> "Request":
        return cls(RequestKind.ACTION, name, verb=None if arguments is None else json.dumps(arguments))

    @classmethod
    def credential(cls, name: str, host: str) -> "Request":
        return cls(RequestKind.CREDENTIAL, name, verb=host)

    def _struct(self) -> "Tuple[Any, Any]":
        """The C struct, and what must live as long as it."""
        kept = (_raw.encode(self.target, "the target"), _raw.encode(self.verb, "the verb"))
        return _raw.struct("abx_request", kind=self.kind, access=self.access, port=self.port, target=kept[0], verb=kept[1]), kept


def rule_of(decision: Any) -> Optional[int]:
    """Index of the rule in a C decision; None: the default decided."""
    return None if decision.rule == DEFAULT_RULE else decision.rule


@dataclass(frozen=True)
class Attempt:
    """What came of an attempt in a simulated box."""

    verdict: Verdict  #: `Verdict.ASK` is held, until the question is answered
    rule: Optional[int]
    layer: int
    ticket: int  #: of a held one, for `Context.answer` and `Box.outcome`; else 0


@dataclass(frozen=True)
class Decision:
    """What a policy says of a request."""

    verdict: Verdict
    rule: Optional[int]  #: index of the rule that decided; None: the default
    layer: int  #: index of the policy layer that it came from
