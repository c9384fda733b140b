# SPDX-License-Identifier: Apache-2.0
# Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.
"""An exception for each status that is an error."""
from typing import Dict, Type

from ._failure import AgentboxError
from .constants import Status


class InvalidError(AgentboxError):
    """An argument is wrong; correct the call."""


class AbiError(AgentboxError):
    """A struct is shorter than its first version, or sets fields that this library lacks; set the struct's size, or
    use a newer library."""


class StateError(AgentboxError):
    """The right call at the wrong time; see the function's description."""


class NomemError(AgentboxError):
    """Out of memory; free some, and call again."""


class PolicyError(AgentboxError):
    """The policy is malformed; the error names the rule and its place."""


class UnsupportedError(AgentboxError):
    """This host or this version cannot do it; the error's remedy says what to change; abx_preflight lists all."""


class SetupError(AgentboxError):
    """The boundary was not built and nothing was run; the error's step says where it failed."""


class ExecError(AgentboxError):
    """The boundary stands, the command could not be started; look at the OS code."""


class TimeoutError(AgentboxError):
    """It took too long; call again, or raise the limit."""


class IoError(AgentboxError):
    """A read, write or similar call failed; look at the OS code."""


class DeniedError(AgentboxError):
    """A decision said no; ask who wrote the policy."""


class InternalError(AgentboxError):
    """A fault of the library; report it."""


BY_STATUS: Dict[int, Type[AgentboxError]] = {
    Status.ERR_INVALID: InvalidError,
    Status.ERR_ABI: AbiError,
    Status.ERR_STATE: StateError,
    Status.ERR_NOMEM: NomemError,
    Status.ERR_POLICY: PolicyError,
    Status.ERR_UNSUPPORTED: UnsupportedError,
    Status.ERR_SETUP: SetupError,
    Status.ERR_EXEC: ExecError,
    Status.ERR_TIMEOUT: TimeoutError,
    Status.ERR_IO: IoError,
    Status.ERR_DENIED: DeniedError,
    Status.ERR_INTERNAL: InternalError,
}
