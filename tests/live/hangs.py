#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nothing that a box does holds up the supervisor: hangs.py TOOL

Each kind runs in a box of its own, and prints "done" after its attempt.  A supervisor that waits for what only itself or the
attacker could end never gets there."""
import ctypes
import fcntl
import mmap
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

SECONDS = 60  # none takes a second; a machine may be busy
DECOY = ".aws/credentials"
libc = ctypes.CDLL(None, use_errno=True)


def argument_in_a_decoy():
    """The page that has the path of a call is one that the mask must be asked for."""
    fd = os.open(os.path.expanduser(f"~/{DECOY}"), os.O_RDONLY)
    libc.mmap.restype = ctypes.c_void_p
    page = libc.mmap(None, ctypes.c_size_t(4096), mmap.PROT_READ, mmap.MAP_PRIVATE, fd, ctypes.c_long(0))
    if page in (None, ctypes.c_void_p(-1).value):
        sys.exit("the decoy cannot be mapped")
    if libc.open(ctypes.c_void_p(page), os.O_WRONLY) >= 0:
        sys.exit("a file with the name of a secret was opened")


def full(path):
    """A listener whose backlog is full."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(0)
    clients = []
    while True:
        client = socket.socket(socket.AF_UNIX)
        client.setblocking(False)
        try:
            client.connect(path)
        except BlockingIOError:
            return listener, clients
        clients.append(client)


def forever(work):
    pid = os.fork()
    while pid == 0:
        work()
    return pid


def connect_blindly(client, path):
    """Whatever the socket is by now: Python would look at its own mind."""
    address = struct.pack("H", socket.AF_UNIX) + path.encode()
    return libc.connect(client.fileno(), address, len(address))


def stuck(client, path):
    """Processes, of which one connects until that waits: who looks sees a socket that waits for nobody, and another makes it wait."""

    def change():
        fcntl.fcntl(client, fcntl.F_SETFL, os.O_RDWR | os.O_NONBLOCK)
        fcntl.fcntl(client, fcntl.F_SETFL, os.O_RDWR)

    return [forever(change), forever(lambda: connect_blindly(client, path))]


def end(pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def work_goes_on():
    """What is done by the supervisor's thread, and by its workers."""
    for i in range(20):
        time.sleep(0.05)
        os.close(os.open(f"probe{i}", os.O_CREAT | os.O_WRONLY, 0o644))
        os.mkdir(f"made{i}")
        os.mkdir(f"made{i}/.git")


def connects_made_to_wait():
    """More than there are threads for them."""
    held = full("\0full")
    pids = []
    for _ in range(6):
        pids += stuck(socket.socket(socket.AF_UNIX), "\0full")
    work_goes_on()
    end(pids)
    del held


def left_waiting():
    """The box ends while they wait."""
    held = full("\0full")
    for _ in range(6):
        stuck(socket.socket(socket.AF_UNIX), "\0full")
    work_goes_on()
    del held


def listener_on_its_way():
    """What a connect waits for is a listener in the queue of the very socket that is connected."""
    listener, held = full("\0full")
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    socket.send_fds(theirs, [b"x"], [listener.fileno()])
    listener.close()
    pids = stuck(ours, "\0full")
    work_goes_on()
    end(pids)
    del held


KINDS = {
    "an argument in a decoy": argument_in_a_decoy,
    "connects that are made to wait": connects_made_to_wait,
    "connects that wait when the box ends": left_waiting,
    "a connect that waits for what its own socket has": listener_on_its_way,
}


def run(tool, kind, work):
    """What is wrong, or None."""
    command = [tool, "run", "--policy", f"{work}/policy.json", "--workspace", f"{work}/ws", "--var", f"home={work}/home",
               "--cwd", f"{work}/ws", "--", "python3", "hangs.py", "--inside", kind]
    environment = dict(os.environ, HOME=f"{work}/home")
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=work, env=environment, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "the supervisor does nothing any more"
    return None if done.stdout == "done\n" else done.stdout + done.stderr


def main():
    tool = os.path.abspath(sys.argv[1])
    failed = 0
    for kind in KINDS:
        work = tempfile.mkdtemp(dir="/var/tmp")  # not in the box's own /tmp
        os.makedirs(f"{work}/ws")
        os.makedirs(os.path.dirname(f"{work}/home/{DECOY}"))
        shutil.copy(__file__, f"{work}/ws/hangs.py")
        with open(f"{work}/policy.json", "w") as policy:
            policy.write('{"version":1,"extends":"workspace-write","filesystem":{"decoys":["~/%s"]}}' % DECOY)
        wrong = run(tool, kind, work)
        if wrong is not None:
            failed += 1
            print(f"FAIL {kind}: {wrong}")
        shutil.rmtree(work, ignore_errors=True)
    print(f"{len(KINDS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if sys.argv[1] == "--inside":
    KINDS[sys.argv[2]]()
    print("done")
else:
    sys.exit(main())
