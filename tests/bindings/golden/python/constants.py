# SPDX-License-Identifier: Apache-2.0
# Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.
"""The constants of the C interface, by group."""
from enum import IntEnum, IntFlag


class Status(IntEnum):
    """What a call says of its outcome"""

    OK = 0
    ERR_INVALID = -1001  # "quoted" words
    ERR_STATE = -1003


class Access(IntFlag):
    """ABX_ACCESS_*"""

    READ = 1
    WRITE = 2


class ExitReason(IntEnum):
    """how it went out"""

    BURNT = 1
