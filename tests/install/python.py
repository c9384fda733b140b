#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the Python package into an empty environment, as its page says, and runs the page's first program, and the example of an MCP server
with the client of the package `mcp`: python.py BUILD"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    library = pathlib.Path(sys.argv[1]).resolve() / "lib/libagentbox.so.0"
    work = pathlib.Path(tempfile.mkdtemp(prefix="agentbox-install.", dir="/var/tmp"))
    try:
        subprocess.run([sys.executable, "-m", "venv", work / "venv"], check=True)
        shutil.copytree(ROOT / "bindings/python", work / "package", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        subprocess.run([work / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", work / "package"], check=True,
                       env=dict(os.environ, AGENTBOX_LIBRARY=str(library)))
        program = re.search(r"```python\n(.*?)```", (ROOT / "bindings/python/README.md").read_text(), re.S).group(1)
        outside = {name: value for name, value in os.environ.items() if name not in ("AGENTBOX_LIBRARY", "PYTHONPATH", "LD_LIBRARY_PATH")}
        printed = subprocess.run([work / "venv/bin/python", "-c", program], check=True, cwd=work, env=outside, stdout=subprocess.PIPE, text=True).stdout
        subprocess.run([work / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "mcp"], check=True)
        subprocess.run([work / "venv/bin/python", ROOT / "tests/bindings/mcp_client.py", ROOT / "examples/mcp-server/server.py", work,
                        ROOT / "examples/mcp-server/policy.json"], check=True, env=outside, stderr=subprocess.DEVNULL)
        carried = next(work.glob("venv/lib/python3*/site-packages/agentbox/libagentbox.so.0"))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if "/etc/motd" not in printed:
        sys.exit(f"no denial was printed:\n{printed}")
    print(f"installed with {carried.name}, and printed a denial")


main()
