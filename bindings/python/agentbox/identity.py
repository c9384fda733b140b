# SPDX-License-Identifier: Apache-2.0
"""On whose behalf a box works."""
from __future__ import annotations

from typing import Optional

from . import _raw
from ._raw import lib


class Identity(_raw.Handle):
    """Names that are on every event of a box that has them."""

    _unref = "abx_identity_unref"

    @_raw.documented("abx_identity_new")
    def __init__(self, principal: str, agent_session: str, delegation: Optional[str] = None, *,
                 delegation_expires_ms: int = 0) -> None:
        names = [_raw.encode(name) for name in (principal, agent_session, delegation)]
        super().__init__(_raw.made(lib.abx_identity_new, "abx_identity", *names, delegation_expires_ms))
