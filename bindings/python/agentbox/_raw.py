# SPDX-License-Identifier: Apache-2.0
"""The loaded library, and how values pass to it and back.  Nothing else in the package sees a pointer being made or freed.

Every C call gives up the interpreter's lock while it runs; none of them calls back."""
from __future__ import annotations

import os
import pathlib
from typing import Any, Callable, Optional, Union

from ._cdef import CDEF, DOCS
from ._failure import AgentboxError
from .constants import Status
from .errors import BY_STATUS, InvalidError, StateError

try:
    from ._abi import ffi  # CDEF, read when the wheel was built
except ImportError:
    from cffi import FFI

    ffi = FFI()
    ffi.cdef(CDEF)

Text = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


def _load() -> Any:
    """$AGENTBOX_LIBRARY, else the library that the wheel carries, else the system's."""
    carried = pathlib.Path(__file__).parent / "libagentbox.so.0"
    return ffi.dlopen(os.environ.get("AGENTBOX_LIBRARY") or (str(carried) if carried.exists() else carried.name))


lib = _load()
_forked = [False]
os.register_at_fork(after_in_child=lambda: _forked.__setitem__(0, True))


def owned(pointer: Any, unref: Callable[[Any], None]) -> Any:
    """A pointer that is released with its last use.  Not in a forked child, where the library's thread does not exist."""

    def release(raw: Any, unref: Callable[[Any], None] = unref, forked: "list[bool]" = _forked) -> None:
        if not forked[0]:
            unref(raw)

    return ffi.gc(pointer, release)


class Handle:
    """What all handles have in common: a context manager, closed once, unusable afterwards."""

    _unref = ""  # the C function

    def __init__(self, pointer: Any) -> None:
        self._pointer = owned(pointer, getattr(lib, self._unref))

    @property
    def _c(self) -> Any:
        pointer = self._pointer
        if pointer is None:
            raise StateError(Status.ERR_STATE, f"this {type(self).__name__} is closed")
        if _forked[0]:
            raise StateError(Status.ERR_STATE, "handles are dead in a forked child", remedy="make a context in the child, or use exec")
        return pointer

    def close(self) -> None:
        """Releases it.  A call that another thread is in ends first."""
        self._pointer = None

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def encode(value: Optional[Text], name: str = "an argument") -> Any:
    """As the C interface takes text: UTF-8, any bytes of a path, no NUL; None is NULL."""
    if value is None:
        return ffi.NULL
    value = os.fspath(value)
    data = value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise InvalidError(Status.ERR_INVALID, f"{name} has a NUL in it")
    return ffi.new("char[]", data)


def strings(values: "list[Any]") -> "tuple[Any, list[Any]]":
    """An array that ends with NULL, and what must live as long as it."""
    kept = [encode(value) for value in values]
    return ffi.new("const char *[]", kept + [ffi.NULL]), kept


def decode(pointer: Any) -> Optional[str]:
    return None if pointer == ffi.NULL else ffi.string(pointer).decode("utf-8", "surrogateescape")


def buffer(call: Callable[..., int], *arguments: Any) -> str:
    """The text that a call gives through `ret_text, ret_length`."""
    text, length = ffi.new("char **"), ffi.new("size_t *")
    check(call(*arguments, text, length))
    return taken(text, length)


def taken(text: Any, length: Any) -> str:
    """What a call gave through `ret_text` and `ret_length`; it is released."""
    try:
        return ffi.buffer(text[0], length[0])[:].decode("utf-8", "surrogateescape")
    finally:
        lib.abx_free(text[0])


def failure(status: int, error: Any = ffi.NULL) -> AgentboxError:
    """The exception of a status and of the C error behind it, which it releases."""
    kind = BY_STATUS.get(status, AgentboxError)
    if error == ffi.NULL:
        return kind(status, decode(lib.abx_status_name(status)) or f"status {status}")
    try:
        words = [decode(get(error)) or "" for get in (lib.abx_error_get_message, lib.abx_error_get_step, lib.abx_error_get_remedy)]
        return kind(status, words[0], words[1], lib.abx_error_get_os_code(error), words[2])
    finally:
        lib.abx_error_unref(error)


def check(status: int, error: Any = None) -> int:
    """The status, unless it is an error; `error` is where the call may have put what it knows."""
    if status < 0:
        raise failure(status, error[0] if error is not None else ffi.NULL)
    return status


def made(call: Callable[..., int], kind: str, *arguments: Any) -> Any:
    """The handle that a call gives through `ret_…, reterr`."""
    pointer, error = ffi.new(f"{kind} **"), ffi.new("abx_error **")
    check(call(*arguments, pointer, error), error)
    return pointer[0]


def struct(kind: str, /, **fields: Any) -> Any:
    """A size-first struct."""
    made_struct = ffi.new(f"{kind} *", fields)
    made_struct.size = ffi.sizeof(kind)
    return made_struct


def documented(*functions: str) -> Callable[[Any], Any]:
    """Adds what the header says of these functions to a docstring."""

    def add(what: Any) -> Any:
        said = [DOCS[name] for name in functions if name in DOCS]
        target = what.fget if isinstance(what, property) else what
        target.__doc__ = "\n\n".join(part for part in [target.__doc__, *said] if part)
        return what

    return add


def known(kind: Any, value: int) -> Any:
    """The constant of this value; a newer library may have one that is only a number here."""
    try:
        return kind(value)
    except ValueError:
        return value
