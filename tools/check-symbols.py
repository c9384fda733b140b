#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No function or variable of the inside has a name of a library that we link: who links the static library, as the tests
do, would get the one for the other."""
import re
import subprocess
import sys

archive, library = sys.argv[1:3]


def names(*command):
    dump = subprocess.run(["nm", "--defined-only", *command], capture_output=True, text=True, check=True)
    found = (line.split() for line in dump.stdout.splitlines())
    return {parts[2].split("@")[0] for parts in found if len(parts) == 3 and parts[1] in "TDBRWV"}


ours = {name for name in names(archive) if not name.startswith(("__asan", "__tsan", "__ubsan", "__odr_asan", "DW.ref"))}
needed = re.findall(r"=> (/\S+)", subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout)
clashes = [f"{name}: also in {path}" for path in needed for name in sorted(ours & names("-D", path))]
print("\n".join(clashes) or f"symbols: {len(ours)}, none of {len(needed)} libraries")
sys.exit(1 if clashes or not needed else 0)
