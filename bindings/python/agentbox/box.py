# SPDX-License-Identifier: Apache-2.0
"""Boxes: one open boundary, many commands."""
from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence

from . import _raw
from ._raw import ffi, lib
from .constants import Status, Stdio, Verdict
from .identity import Identity
from .policy import Policy
from .process import Process, Result
from .request import Attempt, Request, rule_of

if TYPE_CHECKING:
    from .context import Context


class Box(_raw.Handle):
    """A boundary.  Closing it ends every command in it.  Any thread may use it."""

    _unref = "abx_box_unref"

    @_raw.documented("abx_box_open")
    def __init__(self, context: "Context", policy: Policy, identity: Optional[Identity] = None) -> None:
        super().__init__(_raw.made(lib.abx_box_open, "abx_box", context._c, policy._c, ffi.NULL if identity is None else identity._c))
        self._context = context

    @property
    def id(self) -> int:
        return lib.abx_box_get_id(self._c)

    @_raw.documented("abx_box_receipt")
    def receipt(self) -> "dict[str, Any]":
        """What enforces what."""
        return json.loads(_raw.buffer(lib.abx_box_receipt, self._c))

    @_raw.documented("abx_box_spawn")
    def spawn(self, argv: Sequence[_raw.Text], **options: Any) -> Process:
        """Starts a command.

        Options: `cwd`; `env`, a mapping, over the policy's; `label`, on every event of the command; `timeout` in seconds;
        `stdin`, `stdout`, `stderr`: a `Stdio`, a descriptor or a file; `rows` and `columns` with `Stdio.PTY`."""
        return Process._spawn(self._c, argv, **options)

    def run(self, argv: Sequence[_raw.Text], **options: Any) -> Result:
        """Starts a command with captured output, waits for it, and says how it went; options as of `spawn`.

        While it runs, the context's handlers get what happens; without handlers events wait for `Context.next_event`.
        An exception, Ctrl-C too, ends the command."""
        options = {"stdout": Stdio.CAPTURE, "stderr": Stdio.CAPTURE, **options}
        return self._context._attend(lambda begun: self._run(argv, options, begun))

    def _run(self, argv: Sequence[_raw.Text], options: "dict[str, Any]", begun: Callable[[Process], None]) -> Result:
        with self.spawn(argv, **options) as process:
            begun(process)
            try:
                ended = process.wait()
            except BaseException:
                process.kill()
                raise
            assert ended is not None
            return process.result(ended)

    @_raw.documented("abx_box_grant")
    def grant(self, request: Request, *, expires_ms: int = 0, uses: int = 0, approver: Optional[str] = None) -> int:
        """Adds one request for a while: a path, a program, a connection, an HTTP request or an action; gives the number to revoke it by."""
        pattern, _kept = request._struct()
        number, error = ffi.new("uint64_t *"), ffi.new("abx_error **")
        _raw.check(lib.abx_box_grant(self._c, pattern, expires_ms, uses, _raw.encode(approver), number, error), error)
        return number[0]

    @_raw.documented("abx_box_revoke")
    def revoke(self, grant: int) -> None:
        _raw.check(lib.abx_box_revoke(self._c, grant))

    @_raw.documented("abx_box_grants")
    def grants(self) -> Any:
        """The grants in force, as `json.loads` reads them."""
        return json.loads(_raw.buffer(lib.abx_box_grants, self._c))

    @_raw.documented("abx_box_set_credential")
    def set_credential(self, name: str, secret: bytes, *, expires_ms: int = 0) -> None:
        """Gives a secret before it is wanted."""
        error = ffi.new("abx_error **")
        _raw.check(lib.abx_box_set_credential(self._c, _raw.encode(name), ffi.from_buffer(secret), len(secret), expires_ms, error), error)

    @_raw.documented("abx_box_request")
    def request(self, action: Request) -> "dict[str, Any]":
        """May this action (`Request.action`) be done?  What is answered has `verdict`, and `ticket` where an approver is asked."""
        asked, _kept = action._struct()
        decision, text, error = _raw.struct("abx_decision"), ffi.new("char **"), ffi.new("abx_error **")
        _raw.check(lib.abx_box_request(self._c, asked, decision, ffi.NULL, text, error), error)
        try:
            return json.loads(_raw.decode(text[0]))
        finally:
            lib.abx_free(text[0])

    @_raw.documented("abx_box_attempt")
    def attempt(self, request: Request, process: Optional[Process] = None) -> Attempt:
        """In a box of a simulated context: what comes of this request."""
        asked, _kept = request._struct()
        decision, ticket, error = _raw.struct("abx_decision"), ffi.new("uint64_t *"), ffi.new("abx_error **")
        _raw.check(lib.abx_box_attempt(self._c, ffi.NULL if process is None else process._c, asked, decision, ticket, error), error)
        return Attempt(_raw.known(Verdict, decision.verdict), rule_of(decision), decision.layer, ticket[0])

    @_raw.documented("abx_box_outcome")
    def outcome(self, ticket: int, timeout: float = 0) -> Optional[Verdict]:
        """What a held attempt came to; None: it is still held after `timeout` seconds."""
        verdict = ffi.new("abx_verdict *")
        status = _raw.check(lib.abx_box_outcome(self._c, ticket, math.ceil(timeout * 1000), verdict))
        return _raw.known(Verdict, verdict[0]) if status == Status.OK else None

    @_raw.documented("abx_box_suggest")
    def suggest(self) -> "dict[str, Any]":
        """The smallest policy document that allows again what was done in this box of an observing context."""
        text, length, error = ffi.new("char **"), ffi.new("size_t *"), ffi.new("abx_error **")
        _raw.check(lib.abx_box_suggest(self._c, text, length, error), error)
        return json.loads(_raw.taken(text, length))

    @_raw.documented("abx_box_kill")
    def kill(self) -> None:
        _raw.check(lib.abx_box_kill(self._c))
