# SPDX-License-Identifier: Apache-2.0
# Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.
"""An exception for each status that is an error."""
from typing import Dict, Type

from ._failure import AgentboxError
from .constants import Status


class InvalidError(AgentboxError):
    """An argument is wrong; correct the call."""


class StateError(AgentboxError):
    """The wrong time."""


BY_STATUS: Dict[int, Type[AgentboxError]] = {
    Status.ERR_INVALID: InvalidError,
    Status.ERR_STATE: StateError,
}
