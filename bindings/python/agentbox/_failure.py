# SPDX-License-Identifier: Apache-2.0
"""What every exception of this package has."""
from __future__ import annotations

from .constants import Status


class AgentboxError(Exception):
    """A call failed.  Its class says with which status; `errors.BY_STATUS` has them all."""

    def __init__(self, status: int, message: str, step: str = "", os_code: int = 0, remedy: str = "") -> None:
        super().__init__(message)
        #: ``Status``, or a number that this package does not know yet
        self.status = Status(status) if status in Status._value2member_map_ else status
        #: one line for people
        self.message = message
        #: where it stopped, in a machine's words: ``mount:/proc``, ``policy:/network/allow/3``, or ``""``
        self.step = step
        #: errno behind it, or 0
        self.os_code = os_code
        #: what to change, or ``""``
        self.remedy = remedy

    def __str__(self) -> str:
        return self.message + (f" [{self.step}]" if self.step else "") + (f"; {self.remedy}" if self.remedy else "")
