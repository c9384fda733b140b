#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nothing that a box does holds up the supervisor: hangs.py TOOL

Each kind runs in a box of its own, and prints "done" after its attempt.  A supervisor that waits for what only itself or the
attacker could end never gets there."""
import ctypes
import mmap
import os
import shutil
import subprocess
import sys
import tempfile

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


KINDS = {"an argument in a decoy": argument_in_a_decoy}


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
