#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What changes between the look of the supervisor and the act gains nothing: races.py TOOL

Each kind runs in a box of its own.  The path of a call lies in memory that another process of the box writes to all the time, so
that what the supervisor read and what the kernel reads differ; or another process comes in the moment in which something is made."""
import ctypes
import mmap
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

SECONDS = 1.5
ENOUGH = 50  # tries: fewer would tell nothing
AT_MOST = 60  # seconds, on a machine that is busy
LINK = b"gitdir: ../evil\n"
EVIL = b"[core]\n\tfsmonitor = /bin/evil\n"
IN_CREATE = 0x100
libc = ctypes.CDLL(None, use_errno=True)


class Memory:
    """Text that other processes see, and may change."""

    def __init__(self, text):
        self.map = mmap.mmap(-1, 4096)
        self.map[: len(text) + 1] = text + b"\0"
        self.at = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(self.map)))


class Child:
    """Another process, which does one thing until it is ended."""

    def __init__(self, work, *arguments):
        self.pid = os.fork()
        if self.pid == 0:
            work(*arguments)
            os._exit(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def alternate(memory, *texts):
    while True:
        for text in texts:
            memory.map[: len(text) + 1] = text + b"\0"


def race(attempt):
    """Attempts until one wins, or there were enough and the time is over."""
    start, tries = time.monotonic(), 0
    while time.monotonic() < start + (SECONDS if tries >= ENOUGH else AT_MOST):
        tries += 1
        if attempt():
            return f"won after {tries} tries"
    return "lost" if tries >= ENOUGH else f"only {tries} tries"


def content_of(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def remove(*names):
    for name in names:
        if os.path.isdir(name) and not os.path.islink(name):
            shutil.rmtree(name, ignore_errors=True)
        elif os.path.lexists(name):
            try:
                os.unlink(name)
            except OSError:
                pass


# ---- a name by which git finds its directories ----


def is_free():
    """Whether what stands at m/.git is one that the box may do with what it likes."""
    if not os.path.lexists("m/.git"):
        return False
    if os.path.islink("m/.git") or content_of("m/.git") == LINK:
        return True
    try:
        os.makedirs("m/.git/hooks", exist_ok=True)
        os.close(os.open("m/.git/hooks/post-checkout", os.O_WRONLY | os.O_CREAT, 0o755))
        return True
    except OSError:
        return False


def create(path):
    fd = libc.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    if fd >= 0:
        os.write(fd, LINK)
        os.close(fd)


def directory():
    os.makedirs("m/d/hooks", exist_ok=True)


def file():
    with open("m/f", "wb") as out:
        out.write(LINK)


def nothing():
    pass


# What is made ready, and the call.
NAMES = {
    "mkdir": (nothing, lambda path: libc.mkdir(path, 0o755)),
    "open": (nothing, create),
    "open of a file that is there": (lambda: open("m/xgit", "w").close(), create),
    "mknod": (nothing, lambda path: libc.mknod(path, 0o100644, 0) == 0 and create(path)),
    "symlink": (nothing, lambda path: libc.symlink(b"../evil", path)),
    "link": (file, lambda path: libc.link(b"m/f", path)),
    "rename of a directory": (directory, lambda path: libc.rename(b"m/d", path)),
    "rename of a file": (file, lambda path: libc.rename(b"m/f", path)),
}


def a_name_of_git(prepare, call):
    path = Memory(b"m/xgit")

    def attempt():
        remove("m/.git", "m/xgit")
        prepare()
        call(path.at)
        return is_free()

    with Child(alternate, path, b"m/.git", b"m/xgit"):
        return race(attempt)


# ---- in a git directory that is being made ----


def hook():
    while True:
        libc.mkdir(b"m/.git/hooks", 0o755)
        fd = libc.open(b"m/.git/hooks/post-checkout", os.O_WRONLY | os.O_CREAT, 0o755)
        if fd >= 0:
            os.close(fd)


def a_hook():
    def attempt():
        remove("m/.git")
        libc.mkdir(b"m/.git", 0o755)
        return os.path.lexists("m/.git/hooks/post-checkout")

    with Child(hook):
        return race(attempt)


def catch(out):
    """Sends a descriptor of a new m/.git by which it can be written to."""
    while True:
        fd = libc.open(b"m/.git", os.O_PATH | os.O_DIRECTORY)
        if fd >= 0:
            if not os.fstatvfs(fd).f_flag & os.ST_RDONLY:
                socket.send_fds(out, [b"x"], [fd])
            os.close(fd)


def caught():
    ours, theirs = socket.socketpair()
    ours.settimeout(0.02)
    with Child(catch, theirs):
        for _ in range(200):
            remove("m/.git")
            libc.mkdir(b"m/.git", 0o755)
            try:
                fd = socket.recv_fds(ours, 1, 1)[1][0]
            except OSError:
                continue
            if os.path.isdir("m/.git") and os.path.samestat(os.fstat(fd), os.stat("m/.git")):
                return fd
            os.close(fd)
    return None


def a_key():
    """The configuration is opened by a descriptor that leads around the mount which guards it."""
    fd = caught()
    if fd is None:
        return "lost"
    subprocess.run(["git", "init", "-q", "m"], check=True)
    open("m/aaa", "w").close()
    path = Memory(b"../aaa")

    def attempt():
        opened = libc.openat(fd, path.at, os.O_WRONLY | os.O_APPEND)
        if opened >= 0:
            os.write(opened, EVIL)
            os.close(opened)
        return EVIL in content_of("m/.git/config")

    with Child(alternate, path, b"../aaa", b"config"):
        return race(attempt)


def grab():
    """Opens for writing what comes into m/.git under a name that the supervisor makes."""
    watch = libc.inotify_init1(0)
    libc.inotify_add_watch(watch, b"m/.git", IN_CREATE)
    while True:
        events = os.read(watch, 65536)
        while events:
            length = struct.unpack("iIII", events[:16])[3]
            name, events = events[16 : 16 + length].rstrip(b"\0"), events[16 + length :]
            fd = libc.open(b"m/.git/" + name, os.O_WRONLY | os.O_APPEND) if name.startswith(b".abx-") else -1
            if fd >= 0:
                os.write(fd, EVIL)
                os.close(fd)


def list_always():
    while True:
        os.listdir("m/.git")


def a_copy():
    """What was judged and takes the name of the configuration is written to on its way there, which many readers make long."""
    subprocess.run(["git", "init", "-q", "m"], check=True)
    for i in range(2000):
        open(f"m/.git/{i:064}", "w").close()
    judged = content_of("m/.git/config")

    def attempt():
        with open("m/.git/config.lock", "wb") as lock:
            lock.write(judged)
        os.rename("m/.git/config.lock", "m/.git/config")
        return content_of("m/.git/config") != judged

    with Child(grab), Child(list_always), Child(list_always), Child(list_always):
        return race(attempt)


# ---- what the host handed in for reading ----


def handed_in(*flags, own=os.O_RDWR):
    """Descriptor 0 is of one file and of another by turns; its name in /proc is opened to write."""
    given, own = os.dup(0), os.open("m/own", own | os.O_CREAT)
    ends = []

    def swap():
        while not ends:
            os.dup2(own, 0)
            os.dup2(given, 0)

    def attempt():
        try:
            os.close(os.open("/proc/self/fd/0", *flags))
        except OSError:
            pass
        try:
            fd = os.open("/proc/self/fd/0", os.O_WRONLY)
        except OSError:
            return os.fstat(given).st_size == 0
        won = os.path.samestat(os.fstat(fd), os.fstat(given))
        os.close(fd)
        return won

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        return race(attempt)
    finally:
        ends.append(True)
        thread.join()


def is_changed(before):
    now = os.fstat(0)
    return (now.st_mode, now.st_mtime, os.listxattr(0)) != (before.st_mode, before.st_mtime, [])


def change(path):
    """All ways to change what is told about descriptor 9."""
    libc.fchmod(9, 0o666)
    libc.chmod(path, 0o666)
    libc.fsetxattr(9, b"user.evil", b"1", 1, 0)
    libc.setxattr(path, b"user.evil", b"1", 1, 0)
    for target in (9, path):
        try:
            os.utime(target, (1, 1))
        except OSError:
            pass
    for request in (0x40086602, 0x401C5820):  # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR
        flags = ctypes.create_string_buffer(b"\x80" + bytes(27))  # FS_NOATIME_FL
        if libc.ioctl(0, ctypes.c_ulong(request), flags) == 0:
            os.fchmod(0, 0o600)
            return True
    return False


def handed_in_attributes():
    before, own, ends = os.fstat(0), os.open("own", os.O_RDWR | os.O_CREAT), []
    os.dup2(own, 9)

    def swap():
        while not ends:
            os.dup2(0, 9)
            os.dup2(own, 9)

    def attempt():
        return change(b"/proc/self/fd/9") or is_changed(before)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        return race(attempt)
    finally:
        ends.append(True)
        thread.join()


def changed_path():
    """The text of a path leads to what was handed in when the kernel reads it."""
    before, path = os.fstat(0), Memory(b"own")
    open("own", "w").close()

    def attempt():
        libc.chmod(path.at, 0o666)
        return is_changed(before)

    with Child(alternate, path, b"own", b"/proc/self/fd/0"):
        return race(attempt)


def linked():
    """What may be read only gets a name under which it may be written."""

    def attempt():
        libc.linkat(-100, b"/proc/self/fd/0", -100, b"linked", 0x400)
        return libc.linkat(0, b"", -100, b"linked", 0x1000) == 0 or os.path.exists("linked")

    return race(attempt)


def leased():
    return race(lambda: libc.fcntl(0, 1024, 0) == 0 or libc.fcntl(0, 1024, 1) == 0)


# ---- below a protected name ----


def exchange(*names):
    paths = [ctypes.create_string_buffer(name) for name in names]
    while True:
        libc.renameat2(-100, paths[0], -100, paths[1], 2)


def turned():
    """A file is looked at, and a directory takes its name in which there is what may not be there."""

    def attempt():
        remove("ci")
        for name in (b"m/x", b"m/d"):
            fd = libc.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            if fd >= 0:
                os.close(fd)
        libc.rename(b"m/x", b"ci")
        return os.path.exists("ci/run")

    os.mkdir("m/d")
    for name in ("m/d/run", "m/x"):
        open(name, "w").close()
    with Child(exchange, b"m/x", b"m/d"):
        return race(attempt)


def fill():
    while True:
        fd = libc.open(b"o/deep/a.key", os.O_WRONLY | os.O_CREAT, 0o644)
        if fd >= 0:
            os.close(fd)
            libc.unlink(b"o/deep/a.key")


def filled():
    """A directory is looked at, and gets something that it may not have at its new place."""

    def attempt():
        os.makedirs("o/deep", exist_ok=True)
        for _ in range(20):
            if libc.rename(b"o", b"src") == 0:
                break
        won = os.path.exists("src/deep/a.key")
        remove("src")
        return won

    with Child(fill):
        return race(attempt)


POLICY = '{"version":1,"extends":"workspace-write","filesystem":{"protect":{"add":["ci/run"]}}}'
WITHOUT_GIT = '{"version":1,"extends":"workspace-write","filesystem":{"protect":{"git":"off","add":["ci/run"]}}}'
PATTERNS = '{"version":1,"extends":"workspace-write","filesystem":{"write":{"deny":["${workspace}/src/deep/*.key","${workspace}/ci/*"]}}}'
POLICIES = {
    "a directory for a file, made by the kernel": WITHOUT_GIT,
    "a directory for a file, under a pattern": PATTERNS,
    "a directory that is filled": PATTERNS,
    "a file that was handed in, without git": WITHOUT_GIT,
}
KINDS = {name: lambda made=made: a_name_of_git(*made) for name, made in NAMES.items()}
KINDS["a hook in a new git directory"] = a_hook
KINDS["a key in a new git directory"] = a_key
KINDS["a configuration that was judged"] = a_copy
KINDS["a file that was handed in"] = lambda: handed_in(os.O_WRONLY)
KINDS["a file that was handed in, cut off"] = lambda: handed_in(os.O_RDONLY | os.O_TRUNC)
KINDS["a file that was handed in, without git"] = lambda: handed_in(os.O_WRONLY, own=os.O_RDONLY)
KINDS["attributes of a file that was handed in"] = handed_in_attributes
KINDS["attributes of a file whose path changes"] = changed_path
KINDS["a link to a file that was handed in"] = linked
KINDS["a lease of a file that was handed in"] = leased
KINDS["a directory for a file"] = turned
KINDS["a directory for a file, made by the kernel"] = turned
KINDS["a directory for a file, under a pattern"] = turned
KINDS["a directory that is filled"] = filled


def main():
    tool = os.path.abspath(sys.argv[1])
    failed, kinds = 0, sys.argv[2:] or KINDS
    for kind in kinds:
        work = tempfile.mkdtemp()
        os.makedirs(f"{work}/ws/m")
        os.makedirs(f"{work}/ws/evil")
        shutil.copy(__file__, f"{work}/ws/races.py")
        given_path = f"{work}/ws/.bashrc" if kind == "a file that was handed in, without git" else f"{work}/given"
        with open(f"{work}/policy.json", "w") as policy, open(given_path, "w") as given:
            policy.write(POLICIES.get(kind, POLICY))
            given.write("x\n")
        with open(given_path) as given:
            done = subprocess.run([tool, "run", "--policy", f"{work}/policy.json", "--workspace", f"{work}/ws", "--var", f"home={work}/home",
                                   "--cwd", f"{work}/ws", "--", "python3", "races.py", "--inside", kind],
                                  stdin=given, capture_output=True, text=True, cwd=work)
        if done.stdout.strip() != "lost":
            failed += 1
            print(f"FAIL {kind}: {done.stdout}{done.stderr}")
        shutil.rmtree(work, ignore_errors=True)
    print(f"{len(kinds) - failed} passed, {failed} failed")
    return 1 if failed else 0


if sys.argv[1] == "--inside":
    print(KINDS[sys.argv[2]]())
else:
    sys.exit(main())
