# SPDX-License-Identifier: Apache-2.0
"""Commands: how they are started, and how they end."""
from __future__ import annotations

import json
import math
import os
import signal as signals
import time
from dataclasses import dataclass
from typing import IO, Any, Mapping, Optional, Sequence, Tuple, Union

from . import _raw
from ._raw import ffi, lib
from .constants import ExitReason, Status, Stdio

Stream = Union[Stdio, int, IO[Any]]
# So often a waiting main thread looks for Ctrl-C; the end of a command is seen at once.
LOOK_MS = 200


@dataclass(frozen=True)
class Exit:
    """How a command ended."""

    reason: Union[ExitReason, int]
    code: int  #: exit code, or the signal that ended it
    denials: int  #: attempts that were denied, all of them
    cpu_us: int
    peak_memory: int

    @property
    def ok(self) -> bool:
        return self.reason == ExitReason.CODE and self.code == 0


@dataclass(frozen=True)
class Result:
    """What `run` gives: the end, the captured output, and what stopped the command."""

    exit: Exit
    stdout: Optional[bytes]
    stderr: Optional[bytes]
    explanation: str  #: for the model, to append to the tool's result; "" if nothing was stopped
    failures: "list[dict[str, Any]]"  #: the same for a program: events as docs/events.md has them, each with its "class"

    @property
    def denials(self) -> "list[dict[str, Any]]":
        """Those of the failures that are denials; the others are what servers refused, a terminal that is not there, a limit."""
        return [failure for failure in self.failures if failure["type"] == "denial"]

    @property
    def ok(self) -> bool:
        return self.exit.ok


def milliseconds(seconds: Optional[float]) -> int:
    """None is 0, which the C interface takes for no limit; anything else is at least 1."""
    return 0 if seconds is None else max(1, math.ceil(seconds * 1000))


def spawn_options(cwd: Optional[_raw.Text], env: Optional[Mapping[str, str]], label: Optional[str], timeout: Optional[float],
                  streams: "Tuple[Stream, Stream, Stream]", size: "Tuple[int, int]") -> "Tuple[Any, Any]":
    """The C struct, and what must live as long as it."""
    kinds, descriptors = [], []
    for stream in streams:
        given = not isinstance(stream, Stdio)
        kinds.append(Stdio.HANDLE if given else stream)
        descriptors.append((stream if isinstance(stream, int) else stream.fileno()) if given else -1)
    texts = [_raw.encode(cwd, "cwd"), _raw.encode(label, "the label")]
    variables, kept = _raw.strings([f"{name}={value}" for name, value in env.items()]) if env else (ffi.NULL, [])
    options = _raw.struct("abx_spawn_options", stdio=kinds, rows=size[0], columns=size[1], handle=descriptors,
                          timeout_ms=milliseconds(timeout), cwd=texts[0], label=texts[1], env=variables)
    return options, (texts, variables, kept)


class Process(_raw.Handle):
    """One command in a box.  Closing it does not end the command; closing its box does.  Any thread may use it."""

    _unref = "abx_process_unref"

    def __init__(self, pointer: Any) -> None:
        super().__init__(pointer)
        self._files: "dict[int, Optional[IO[bytes]]]" = {}

    @classmethod
    def _spawn(cls, box: Any, argv: Sequence[_raw.Text], *, cwd: Optional[_raw.Text] = None, env: Optional[Mapping[str, str]] = None,
               label: Optional[str] = None, timeout: Optional[float] = None, stdin: Stream = Stdio.NULL, stdout: Stream = Stdio.NULL,
               stderr: Stream = Stdio.NULL, rows: int = 0, columns: int = 0) -> "Process":
        if isinstance(argv, (str, bytes)):
            raise TypeError("argv is a list: the program and its arguments")
        options, _kept = spawn_options(cwd, env, label, timeout, (stdin, stdout, stderr), (rows, columns))
        words, _kept_words = _raw.strings(list(argv))
        return cls(_raw.made(lib.abx_box_spawn, "abx_process", box, words, options))

    @property
    def id(self) -> int:
        return lib.abx_process_get_id(self._c)

    def _poll(self, timeout_ms: int) -> Optional[Exit]:
        ended = _raw.struct("abx_exit")
        if _raw.check(lib.abx_process_wait(self._c, timeout_ms, ended)) == Status.NONE:
            return None
        return Exit(_raw.known(ExitReason, ended.reason), ended.code, ended.denials, ended.cpu_us, ended.peak_memory)

    @_raw.documented("abx_process_wait")
    def wait(self, timeout: Optional[float] = None) -> Optional[Exit]:
        """Waits for the end, `timeout` seconds at most; None if it did not come."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = LOOK_MS if deadline is None else min(LOOK_MS, max(0, math.ceil((deadline - time.monotonic()) * 1000)))
            ended = self._poll(left)
            if ended is not None or left == 0:
                return ended

    @_raw.documented("abx_process_signal")
    def signal(self, number: int) -> None:
        """Sends a signal to the command's process group; SIGKILL ends all that it started."""
        _raw.check(lib.abx_process_signal(self._c, number))

    def kill(self) -> None:
        """Ends the command and all that it started, unless it ended already."""
        from .errors import StateError

        try:
            self.signal(signals.SIGKILL)
        except StateError:
            pass

    @_raw.documented("abx_process_resize")
    def resize(self, rows: int, columns: int) -> None:
        _raw.check(lib.abx_process_resize(self._c, rows, columns))

    @_raw.documented("abx_process_take_stdio")
    def take_stdio(self, which: int) -> Optional[int]:
        """The host's end of a stream as a descriptor that the caller closes; None: there is none."""
        descriptor = lib.abx_process_take_stdio(self._c, which)
        return None if descriptor < 0 else descriptor

    def _file(self, which: int, mode: str) -> Optional[IO[bytes]]:
        if which not in self._files:
            descriptor = self.take_stdio(which)
            self._files[which] = None if descriptor is None else os.fdopen(descriptor, mode, buffering=0)
        return self._files[which]

    @property
    def stdin(self) -> Optional[IO[bytes]]:
        """Of `Stdio.PIPE` and `Stdio.PTY`: an unbuffered file, closed with the process."""
        return self._file(0, "wb")

    @property
    def stdout(self) -> Optional[IO[bytes]]:
        return self._file(1, "rb")

    @property
    def stderr(self) -> Optional[IO[bytes]]:
        return self._file(2, "rb")

    @_raw.documented("abx_process_get_output")
    def output(self, which: int) -> Optional[bytes]:
        """What a `Stdio.CAPTURE` stream held."""
        length = ffi.new("size_t *")
        data = lib.abx_process_get_output(self._c, which, length)
        return None if data == ffi.NULL else ffi.buffer(data, length[0])[:]

    @_raw.documented("abx_process_explain")
    def explain(self, format: str = "text") -> str:
        """What stopped this command."""
        return _raw.buffer(lib.abx_process_explain, self._c, _raw.encode(format))

    def result(self, ended: Exit) -> Result:
        """All that is known of a command that ended so."""
        found = self.explain("json")
        return Result(ended, self.output(1), self.output(2), self.explain(), json.loads(found)["events"] if found else [])

    def close(self) -> None:
        for file in self._files.values():
            if file is not None:
                file.close()
        self._files.clear()
        super().close()
