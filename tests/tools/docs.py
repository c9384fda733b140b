#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the pages together with what they describe: docs.py SOURCE-ROOT
Each status and each key of an event is on its page, each command and option on the tool's, and no link leads nowhere."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
bad = []


def text(name):
    return (root / name).read_text()


def expect(page, wanted):
    content = text(page)
    bad.extend(f"{page}: lacks {one}" for one in wanted if one not in content)


table = re.findall(r'STATUS\((\w+), (-?\d+), "([^"]*)", "([^"]*)",\s*"([^"]*)"\)', text("lib/base/status.def"))
rows = [f"| `ABX_{name}` | {number} | {since} | {what} | {remedy} |" for name, number, since, what, remedy in table]
expect("docs/errors.md", rows)
known = {f"ABX_{row[0]}" for row in table}
bad.extend(f"docs/errors.md: no such status {name}" for name in re.findall(r"^\| `(ABX_\w+)`", text("docs/errors.md"), re.M) if name not in known)
if not rows:
    bad.append("lib/base/status.def: no rows")

for field, name in re.findall(r'\{ ABX_FIELD_(\w+), "(\w+)"', text("lib/event/json.c")):
    expect("docs/events.md", [f"`{field}`", f"`{name}`"])

usage = text("cli/main.c") + text("cli/options.c")
expect("docs/agentbox-cli.md", sorted(set(re.findall(r'"(--[a-z-]+)"', usage)) - {"--help", "--version"}))

for page in [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("bindings/*/*.md"), *root.glob("examples/*/*.md")]:
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        if not (page.parent / link).exists():
            bad.append(f"{page.relative_to(root)}: no {link}")

print("\n".join(bad) or "docs: all there")
sys.exit(1 if bad else 0)
