# SPDX-License-Identifier: Apache-2.0
# Written by tools/make-api.py from include/agentbox/agentbox.h; change that, and run `./dev generate`.
"""The constants of the C interface, by group."""
from enum import IntEnum, IntFlag


class EnumKind(IntEnum):
    """ABX_ENUM_*"""

    STATUS = 1
    REQUEST = 2
    EVENT = 3


class Status(IntEnum):
    """What a call says of its outcome"""

    OK = 0
    NONE = 1  # nothing to return now: no event queued, still running
    ERR_INVALID = -1001  # caller error: bad argument or flag
    ERR_ABI = -1002  # struct is too short, or sets fields this build lacks
    ERR_STATE = -1003  # right call, wrong time
    ERR_NOMEM = -1004
    ERR_POLICY = -1005  # malformed policy; the error names the rule and the place
    ERR_UNSUPPORTED = -1006  # the host cannot enforce what the policy requires
    ERR_SETUP = -1007  # boundary not built, nothing was run; see the error's step
    ERR_EXEC = -1008  # boundary built, the command could not be started
    ERR_TIMEOUT = -1009
    ERR_IO = -1010
    ERR_DENIED = -1011  # a decision said no: a grant or a variable that the policy rules out
    ERR_INTERNAL = -1099


class Log(IntEnum):
    """ABX_LOG_*"""

    ERROR = 1
    WARNING = 2
    INFO = 3
    DEBUG = 4


class Backend(IntEnum):
    """ABX_BACKEND_*"""

    NATIVE = 0  # the strongest tier that this host can enforce
    SIMULATED = 1  # WARNING: nothing is enforced and no program runs; for tests of a harness


class ContextFlag(IntFlag):
    """ABX_CONTEXT_FLAG_*"""

    CONTEXT_OBSERVE = 1


class AuditSync(IntEnum):
    """When a record is on the disk: soon, so that it outlives the host program but maybe not the machine, or before what it tells of goes on."""

    NONE = 0
    RECORD = 1


class Verdict(IntEnum):
    """ABX_VERDICT_*"""

    DENY = 0
    ALLOW = 1
    ASK = 2


class Access(IntFlag):
    """ABX_ACCESS_*"""

    READ = 1
    WRITE = 2  # create, change, rename, delete
    EXEC = 4


class Limit(IntEnum):
    """ABX_LIMIT_*"""

    MEMORY = 1  # bytes, whole box
    PROCESSES = 2  # whole box
    CPU_MS = 3  # per command
    WALL_MS = 4  # per command
    FILE_SIZE = 5  # bytes
    OUTPUT = 6  # bytes captured per stream


class Weaken(IntEnum):
    """ABX_WEAKEN_*"""

    HOST_NETWORK = 1
    NESTED_NAMESPACES = 2
    BEST_EFFORT = 3  # run although some rule has no means on this host


class Relation(IntEnum):
    """ABX_RELATION_*"""

    EQUAL = 0
    WIDER = 1
    NARROWER = 2
    NEITHER = 3  # each allows something that the other does not


class RequestKind(IntEnum):
    """ABX_REQUEST_*"""

    PATH = 1  # target: absolute path; access
    CONNECT = 2  # target: host name or address; port
    HTTP = 3  # target: URL; verb: method, NULL is GET
    EXEC = 4  # target: absolute path
    LISTEN = 5  # port
    SOCKET = 6  # target: unix socket path, or "@name"
    ACTION = 7  # target: action name; verb: arguments as JSON
    CREDENTIAL = 8  # target: credential name; verb: host
    SYSCALL = 9  # target: name of a refused system call


class Stdio(IntEnum):
    """ABX_STDIO_*"""

    NULL = 0
    PIPE = 1
    HANDLE = 2
    PTY = 3
    CAPTURE = 4  # bounded, read with abx_process_get_output after exit


class ExitReason(IntEnum):
    """ABX_EXIT_*"""

    CODE = 1
    SIGNAL = 2
    TIMEOUT = 3
    LIMIT = 4
    KILLED = 5


class EventType(IntEnum):
    """ABX_EVENT_*"""

    DENIAL = 1
    APPROVAL = 2  # a call is held until answered or until the deadline
    CREDENTIAL = 3  # a secret is wanted: TARGET is its name, VERB the host; a request is held
    STARTED = 4
    EXITED = 5
    DROPPED = 6
    LOG = 7
    NOTICE = 8  # not denied, and worth knowing: a port opened, a yes, a grant given or taken back, a set-uid program, a server that refused a request (ABX_FIELD_CLASS)


class Retry(IntEnum):
    """how a grant takes effect"""

    NONE = 0  # no grant can help
    HELD = 1  # the call is waiting and goes on
    RERUN = 2  # grant, then run the command again


class Class(IntEnum):
    """what kind of failure it is: tells a model what to do next"""

    POLICY = 1  # the policy or the boundary denied it, and would again
    APPROVAL = 2  # it needed a yes, and somebody refused or nobody answered
    IDENTITY = 3  # who asks was not accepted: no login, no right, no secret, an expired delegation
    VALIDATION = 4  # a server refused the values of a named action: not the sandbox
    TERMINAL = 5  # the program asked for a terminal, and has none
    LIMIT = 6  # a limit was reached


class Layer(IntEnum):
    """which boundary spoke: tells a model where to look"""

    FILESYSTEM = 1
    NETWORK = 2
    PROCESS = 3
    IDENTITY = 4
    ACTION = 5
    APPROVAL = 6
    TERMINAL = 7
    LIMIT = 8
    SETUP = 9
    AUDIT = 10  # it could not be recorded, so it was not done


class Field(IntEnum):
    """ABX_FIELD_*"""

    SEQUENCE = 1
    TIME_NS = 2  # Unix time
    BOX = 3
    PROCESS = 4
    LABEL = 5
    PID = 6
    PROGRAM = 7
    LAYER = 8
    REQUEST = 9
    ACCESS = 10
    TARGET = 11
    PORT = 12
    VERB = 13
    RULE = 14
    SOURCE = 15  # the policy layer: "managed", "user", "task" or a file name
    REASON = 16
    ALTERNATIVE = 17  # what is allowed instead
    BACKEND = 18
    REPEATS = 19  # how many equal attempts this event stands for; 1 is one
    TICKET = 20
    DEADLINE_MS = 21  # Unix time after which no answer is a denial
    DROPPED = 22
    LEVEL = 23
    MESSAGE = 24
    ASKED = 25  # the name as the program gave it, where TARGET is another
    ADDS = 26  # on an approval: exactly what a grant would add, as JSON; on a grant: what it adds, until when and how often
    RETRY = 27  # ABX_RETRY_*
    EXIT_REASON = 28
    EXIT_CODE = 29
    PRINCIPAL = 30  # of the box's identity, on each of its events
    AGENT_SESSION = 31
    DELEGATION = 32
    APPROVERS = 33  # on an approval: how many different ones must say yes
    STEP_UP = 34  # on an approval: 1, a yes needs evidence
    APPROVER = 35  # who answered or gave a grant: a name, or two with a comma between them; on an action that was allowed by that, too
    EVIDENCE = 36  # SHA-256 of the evidence, hex; two with a comma
    IDEMPOTENCY_KEY = 37  # of an action that was allowed
    BOUND = 38  # on an approval: what else was shown, which a yes is for, as JSON
    CLASS = 39  # ABX_CLASS_*: of what kept a command from its end; other events have none
    HTTP_STATUS = 40  # with which a server, or a proxy outside, refused a request
    PROBLEM = 41  # what a server said about it, as JSON: "title", "detail", and "fields", the names of values it does not take. Bounded, and its words: not to be trusted


class Scope(IntEnum):
    """ABX_SCOPE_*"""

    ONCE = 0  # the calls that wait on this question, and nothing else: all equal ones do that come until it is answered, also after it was shown
    COMMAND = 1  # until this command ends
    BOX = 2  # until the box is closed
    UNTIL = 3  # in this box until expires_ms, Unix time


class Audit(IntEnum):
    """ABX_AUDIT_*"""

    WHOLE = 0
    TORN = 1  # the last record was written in part: a writer was killed, or writes now
    BROKEN = 2  # something was changed, taken out, put in or moved


class Replay(IntEnum):
    """ABX_REPLAY_*"""

    SAME = 0  # all calls are decided as they were
    CHANGED = 1  # some are not
    BROKEN = 2  # the log does not hold; the rows are about the records before that
