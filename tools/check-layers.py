#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Data flows one way: who may include what.  Prints each include that goes against it."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]) / "lib"
ALLOWED = {
    "base": set(),
    "policy": {"base"},
    "plan": {"base", "policy"},
    "event": {"base"},
    "audit": {"base", "event"},
    "backend": {"base", "plan"},
    "linux": {"base", "plan", "backend"},
    "egress": {"base", "policy", "backend"},
    # The place of a system's backend and of the way out, so it spells hosts and knows what a request is.
    "simulated": {"base", "policy", "plan", "backend"},
    "supervise": {"base", "policy", "plan", "event", "audit", "backend", "egress"},
    "api": {"base", "policy", "plan", "event", "audit", "backend", "egress", "supervise"},
}
# The program in the box: its own headers, the wire format and its numbers of the network, nothing else.
INIT = {"plan/wire.h", "plan/network.h"}
# A library is known in one place.
ONLY_HERE = {"jansson.h": "base/json.c", "seccomp.h": "linux/filter/filter.c", "nettle/sha2.h": "base/digest.c",
             "nettle/hmac.h": "base/digest.c",
             "gnutls/gnutls.h": "egress/tls", "gnutls/x509.h": "egress/tls", "gnutls/crypto.h": "egress/tls"}

bad = []
for path in sorted(root.rglob("*.[ch]")):
    name = path.relative_to(root).as_posix()
    layer = name.split("/")[0]
    if "/" not in name:
        continue
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = re.match(r'\s*#\s*include\s+([<"])([^>"]+)[>"]', line)
        if not found:
            continue
        kind, target = found.groups()
        where = f"lib/{name}:{number}: includes {target}"
        for header, owner in ONLY_HERE.items():
            if target == header and not name.startswith(owner):
                bad.append(f"{where}; only {owner} may")
        if kind == "<" and (target.startswith("linux/") or not (root / target).exists()):
            continue
        if name.startswith("linux/init/"):
            if "/" in target and target not in INIT and not target.startswith("linux/init/"):
                bad.append(f"{where}; init knows only its own headers, plan/wire.h and plan/network.h")
            continue
        other = target.split("/")[0] if "/" in target else layer
        if other != layer and other not in ALLOWED.get(layer, set()):
            bad.append(f"{where}; {layer} may not know {other}")
for path in sorted((root.parent / "cli").glob("*.[ch]")):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = re.match(r'\s*#\s*include\s+["<](\w+)/', line)
        if found and found.group(1) in ALLOWED:
            bad.append(f"cli/{path.name}:{number}: the tool knows the public header only")
print("\n".join(bad) or "layers: data flows one way")
sys.exit(1 if bad else 0)
