#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Events of `agentbox run --events FILE` as a table: events-table.py [--check] FILE [REQUEST ACCESS TARGET]...

With --check nothing is printed; each further argument must be one of the denials or approvals in the file."""
import json
import sys


def main():
    check = "--check" in sys.argv
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    events = [json.loads(line) for line in open(arguments[0])]
    shown = [e for e in events if e["type"] in ("denial", "approval", "notice", "setup", "dropped")]
    if check:
        seen = {f"{e.get('request', '-')} {e.get('access') or '-'} {e.get('target', '-')}" for e in shown}
        missing = [wanted for wanted in arguments[1:] if wanted not in seen]
        for wanted in missing:
            print(f"no event: {wanted}\nthere are: " + "\n  ".join(sorted(seen)))
        return 1 if missing else 0
    rows = [("event", "program", "what", "target", "rule", "reason")]
    for e in shown:
        target = e.get("target", e.get("message", ""))
        if e.get("port"):
            target += f":{e['port']}"
        what = e.get("access") or e.get("request") or e.get("step", "")
        rows.append((e["type"], e.get("program", "").rsplit("/", 1)[-1], what, target, e.get("rule", ""), e.get("reason", "")))
    widths = [min(48, max(len(row[i]) for row in rows)) for i in range(6)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    counts = {}
    for e in events:
        counts[e["type"]] = counts.get(e["type"], 0) + 1
    print(", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())))
    return 0


sys.exit(main())
