#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Public header, symbol map and shared library name the same functions."""
import re
import subprocess
import sys

library, symbol_map, header = sys.argv[1:4]
text = re.sub(r"/\*.*?\*/", "", open(header).read(), flags=re.S)
declared = set(re.findall(r"\bABX_API\b[^;]*?\b(abx_\w+)\s*\(", text, flags=re.S))
mapped = set(re.findall(r"^\s*(abx_\w+);", open(symbol_map).read(), flags=re.M))
dump = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
exported = {line.split()[2].split("@")[0] for line in dump.stdout.splitlines() if " T " in line}
failed = False
for name, a, b in (("declared, not exported", declared, exported), ("exported, not declared", exported, declared),
                   ("declared, not in the map", declared, mapped), ("in the map, not declared", mapped, declared)):
    for symbol in sorted(a - b):
        print(f"{symbol}: {name}")
        failed = True
print(f"exports: {len(exported)} functions")
sys.exit(1 if failed else 0)
