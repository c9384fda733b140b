#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes bindings/api.json from the public header, and from that each language's raw layer: make-api.py [--check] SOURCE-ROOT

With --check nothing is written: it fails where a file in the tree is not what would be written."""
import pathlib
import sys

from api import describe, emit_node, emit_python, emit_rust

# Each emitter gives its files for the folder.
EMITTERS = {"bindings/python/agentbox": emit_python, "bindings/node/lib": emit_node, "bindings/rust": emit_rust}


def generated(root):
    """Path below the root, and what is to stand there."""
    api = describe.describe((root / "include/agentbox/agentbox.h").read_text(), (root / "lib/base/status.def").read_text())
    yield "bindings/api.json", describe.as_text(api)
    for folder, emitter in EMITTERS.items():
        for name, text in emitter.files(api).items():
            yield f"{folder}/{name}", text


def main():
    check = "--check" in sys.argv
    root = pathlib.Path(sys.argv[-1])
    old = []
    for name, text in generated(root):
        path = root / name
        if path.exists() and path.read_text() == text:
            continue
        old.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"wrote {name}")
    if check and old:
        print(f"not what the header says: {', '.join(old)}\nrun `./dev generate`, and commit what it writes")
    return 1 if check and old else 0


sys.exit(main())
