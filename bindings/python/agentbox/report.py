# SPDX-License-Identifier: Apache-2.0
"""Rows of findings."""
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Iterator, Optional, Sequence, Tuple, Union

from . import _raw
from ._raw import ffi, lib
from .constants import Audit, Relation, Replay

if TYPE_CHECKING:
    from .policy import Policy


class Report(_raw.Handle):
    """Rows by number, their columns by name; `len`, iteration and `report[row]` work."""

    _unref = "abx_report_unref"

    def __len__(self) -> int:
        return lib.abx_report_get_count(self._c)

    def get(self, row: int, column: str) -> Optional[str]:
        return _raw.decode(lib.abx_report_get_string(self._c, row, _raw.encode(column)))

    def rows(self) -> Any:
        """All of it, as `json.loads` reads it."""
        return json.loads(_raw.buffer(lib.abx_report_to_json, self._c))

    def __iter__(self) -> "Iterator[Any]":
        return iter(self.rows())


class Comparison(Report):
    """How two policies differ."""

    def __init__(self, pointer: Any, relation: Union[Relation, int]) -> None:
        super().__init__(pointer)
        self.relation = relation


@_raw.documented("abx_audit_verify")
def verify_audit(paths: "Sequence[_raw.Text]") -> "Tuple[Union[Audit, int], Report]":
    """Reads an audit log, its files oldest first."""
    names, _kept = _raw.strings(list(paths))
    report, error = ffi.new("abx_report **"), ffi.new("abx_error **")
    outcome = _raw.check(lib.abx_audit_verify(names, len(paths), report, error), error)
    return _raw.known(Audit, outcome), Report(report[0])


@_raw.documented("abx_audit_render")
def render_audit(paths: "Sequence[_raw.Text]", format: str = "text", layer: Optional[str] = None) -> "Tuple[Union[Audit, int], str]":
    """The records of an audit log, its files oldest first."""
    names, _kept = _raw.strings(list(paths))
    text, length, error = ffi.new("char **"), ffi.new("size_t *"), ffi.new("abx_error **")
    outcome = _raw.check(lib.abx_audit_render(names, len(paths), _raw.encode(format), _raw.encode(layer), text, length, error), error)
    return _raw.known(Audit, outcome), _raw.taken(text, length)


@_raw.documented("abx_audit_redact")
def redact_audit(path: "_raw.Text", records: str) -> Report:
    """Takes out for good what some records of an audit log say."""
    return Report(_raw.made(lib.abx_audit_redact, "abx_report", _raw.encode(path), _raw.encode(records)))


@_raw.documented("abx_audit_replay")
def replay_audit(policy: "Policy", paths: "Sequence[_raw.Text]") -> "Tuple[Union[Replay, int], Report]":
    """What a policy says of the calls that an audit log tells of; of one file that is named all files of the log are read."""
    names, _kept = _raw.strings(list(paths))
    report, error = ffi.new("abx_report **"), ffi.new("abx_error **")
    outcome = _raw.check(lib.abx_audit_replay(policy._c, names, len(paths), report, error), error)
    return _raw.known(Replay, outcome), Report(report[0])


@_raw.documented("abx_preflight")
def preflight(policy: "Optional[Policy]" = None) -> Report:
    """What this host can enforce."""
    return Report(_raw.made(lib.abx_preflight, "abx_report", ffi.NULL if policy is None else policy._c))
