#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the Python package into an empty environment, as its page says, and runs the page's first program, and the example of an MCP server
with the client of the package `mcp`: python.py BUILD"""
import os
import pathlib
import re
import shutil
import sys
import tempfile

from step import step

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    library = pathlib.Path(sys.argv[1]).resolve() / "lib/libagentbox.so.0"
    work = pathlib.Path(tempfile.mkdtemp(prefix="agentbox-install.", dir="/var/tmp"))
    try:
        step(sys.executable, "-m", "venv", work / "venv")
        shutil.copytree(ROOT / "bindings/python", work / "package", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        install = [work / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        step(*install, work / "package", tries=2, env=dict(os.environ, AGENTBOX_LIBRARY=str(library)))
        program = re.search(r"```python\n(.*?)```", (ROOT / "bindings/python/README.md").read_text(), re.S).group(1)
        outside = {name: value for name, value in os.environ.items() if name not in ("AGENTBOX_LIBRARY", "PYTHONPATH", "LD_LIBRARY_PATH")}
        printed = step(work / "venv/bin/python", "-c", program, cwd=work, env=outside)
        step(*install, "mcp", tries=2)
        step(work / "venv/bin/python", ROOT / "tests/bindings/mcp_client.py", ROOT / "examples/mcp-server/server.py", work,
             ROOT / "examples/mcp-server/policy.json", env=outside)
        carried = next(work.glob("venv/lib/python3*/site-packages/agentbox/libagentbox.so.0"))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if "/etc/motd" not in printed:
        sys.exit(f"no denial was printed:\n{printed}")
    print(f"installed with {carried.name}, and printed a denial")


main()
