# SPDX-License-Identifier: Apache-2.0
"""Policies and how they are made."""
from __future__ import annotations

import json
from typing import Any, Mapping, Optional, Union

from . import _raw
from ._raw import ffi, lib
from .constants import Access, Limit, Relation, Verdict, Weaken
from .report import Comparison
from .request import Decision, Request, rule_of

Document = Union[str, bytes, Mapping[str, Any]]


def _bytes_of(document: Document) -> bytes:
    if isinstance(document, bytes):
        return document
    return (document if isinstance(document, str) else json.dumps(document)).encode("utf-8", "surrogateescape")


class Policy(_raw.Handle):
    """Compiled rules.  It never changes, and any thread may use it."""

    _unref = "abx_policy_unref"

    @classmethod
    def from_profile(cls, profile: str, *documents: Document, **variables: _raw.Text) -> "Policy":
        """A built-in profile, the variables that it uses, and documents merged over it."""
        builder = PolicyBuilder(profile)
        for name, value in variables.items():
            builder.variable(name, value)
        for document in documents:
            builder.merge(document)
        return builder.build()

    @classmethod
    @_raw.documented("abx_policy_from_json")
    def from_json(cls, document: Document) -> "Policy":
        """A policy from one document: text, or what `json.load` gives."""
        data = _bytes_of(document)
        return cls(_raw.made(lib.abx_policy_from_json, "abx_policy", data, len(data)))

    @_raw.documented("abx_policy_to_json")
    def to_json(self) -> "dict[str, Any]":
        """The document that says the same, as `json.loads` reads it."""
        return json.loads(_raw.buffer(lib.abx_policy_to_json, self._c))

    @_raw.documented("abx_policy_intersect")
    def under(self, ceiling: "Policy") -> "Policy":
        """This policy under a ceiling."""
        return Policy(_raw.made(lib.abx_policy_intersect, "abx_policy", ceiling._c, self._c))

    @_raw.documented("abx_policy_compare")
    def compare(self, after: "Policy") -> Comparison:
        """What `after` allows and this one does not, and the reverse."""
        report, error = ffi.new("abx_report **"), ffi.new("abx_error **")
        relation = _raw.check(lib.abx_policy_compare(self._c, after._c, report, error), error)
        return Comparison(report[0], _raw.known(Relation, relation))

    @_raw.documented("abx_policy_describe")
    def describe(self, format: str = "text") -> str:
        """The boundary in words."""
        return _raw.buffer(lib.abx_policy_describe, self._c, _raw.encode(format))

    @property
    def digest(self) -> str:
        """SHA-256 of the policy, hex."""
        return _raw.decode(lib.abx_policy_get_digest(self._c)) or ""

    @_raw.documented("abx_policy_evaluate")
    def evaluate(self, request: Request) -> Decision:
        """What the policy says of one request: pure, no I/O."""
        asked, _kept = request._struct()
        decision = _raw.struct("abx_decision")
        _raw.check(lib.abx_policy_evaluate(self._c, asked, decision))
        return Decision(_raw.known(Verdict, decision.verdict), rule_of(decision), decision.layer)

    @_raw.documented("abx_policy_explain")
    def explain(self, request: Request) -> "dict[str, Any]":
        """Which rule decides, and why."""
        asked, _kept = request._struct()
        return json.loads(_raw.buffer(lib.abx_policy_explain, self._c, asked))


class PolicyBuilder(_raw.Handle):
    """Collects rules.  Each setter returns the builder, and raises what is wrong with what it was given.  One thread at a time."""

    _unref = "abx_policy_builder_unref"

    def __init__(self, profile: Optional[str] = None) -> None:
        super().__init__(_raw.made(lib.abx_policy_builder_new, "abx_policy_builder", _raw.encode(profile)))

    def _set(self, status: int) -> "PolicyBuilder":
        if status < 0:
            self.build()  # a poisoned builder says what was wrong with the setter
            _raw.check(status)
        return self

    @_raw.documented("abx_policy_builder_variable")
    def variable(self, name: str, value: _raw.Text) -> "PolicyBuilder":
        return self._set(lib.abx_policy_builder_variable(self._c, _raw.encode(name), _raw.encode(value)))

    @_raw.documented("abx_policy_builder_path")
    def path(self, pattern: _raw.Text, access: Union[Access, int], verdict: Union[Verdict, int]) -> "PolicyBuilder":
        """A rule about paths."""
        return self._set(lib.abx_policy_builder_path(self._c, _raw.encode(pattern), access, verdict))

    @_raw.documented("abx_policy_builder_host")
    def host(self, host: str, verdict: Union[Verdict, int], port_first: int = 0, port_last: int = 0) -> "PolicyBuilder":
        """A rule about a host; no ports: the usual ones."""
        return self._set(lib.abx_policy_builder_host(self._c, _raw.encode(host), port_first, port_last or port_first, verdict))

    @_raw.documented("abx_policy_builder_env")
    def env(self, name: str, value: Optional[str] = None) -> "PolicyBuilder":
        """Sets a variable of the commands' environment; None passes the host's."""
        return self._set(lib.abx_policy_builder_env(self._c, _raw.encode(name), _raw.encode(value)))

    @_raw.documented("abx_policy_builder_limit")
    def limit(self, limit: Union[Limit, int], value: int) -> "PolicyBuilder":
        return self._set(lib.abx_policy_builder_limit(self._c, limit, value))

    @_raw.documented("abx_policy_builder_explain")
    def explain(self, reason: str, alternative: Optional[str] = None) -> "PolicyBuilder":
        return self._set(lib.abx_policy_builder_explain(self._c, _raw.encode(reason), _raw.encode(alternative)))

    @_raw.documented("abx_policy_builder_weaken")
    def weaken(self, what: Union[Weaken, int], reason: str) -> "PolicyBuilder":
        return self._set(lib.abx_policy_builder_weaken(self._c, what, _raw.encode(reason)))

    @_raw.documented("abx_policy_builder_merge_json", "abx_policy_builder_source")
    def merge(self, document: Document, source: Optional[str] = None) -> "PolicyBuilder":
        """Merges a document: text, or what `json.load` gives.  `source` is its name in errors and events."""
        if source is not None:
            self._set(lib.abx_policy_builder_source(self._c, _raw.encode(source)))
        data = _bytes_of(document)
        return self._set(lib.abx_policy_builder_merge_json(self._c, data, len(data)))

    @_raw.documented("abx_policy_builder_build")
    def build(self) -> Policy:
        """The policy; the builder can be closed afterwards."""
        return Policy(_raw.made(lib.abx_policy_builder_build, "abx_policy", self._c))
