# SPDX-License-Identifier: Apache-2.0
"""One step of an installation."""
import subprocess
import sys


def step(*command, tries=1, **more):
    """What the command prints.  One that fails is shown with all that it said, and is the end; `tries=2` for one that downloads."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", **more)
    if done.returncode == 0:
        return done.stdout
    print(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}", file=sys.stderr)
    if tries > 1:
        return step(*command, tries=tries - 1, **more)
    sys.exit(1)
