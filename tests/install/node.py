#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the Node package, installs it into an empty project, as its page says, and runs the page's first program: node.py BUILD FOLDER
What is left in FOLDER, `package` with what it depends on, is what its tests run in."""
import os
import pathlib
import re
import shutil
import sys

from step import step

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUIET = ["--loglevel=error", "--no-audit", "--no-fund", "--no-update-notifier"]


def main():
    library, folder = pathlib.Path(sys.argv[1]).resolve() / "lib/libagentbox.so.0", pathlib.Path(sys.argv[2])
    package, project = folder / "package", folder / "project"
    shutil.copytree(ROOT / "bindings/node", package, ignore=shutil.ignore_patterns("node_modules", "build"))
    shutil.copy(ROOT / "bindings/api.json", folder)
    environment = dict(os.environ, AGENTBOX_LIBRARY=str(library), npm_config_cache=str(folder / "cache"))
    step("npm", "install", "--no-package-lock", *QUIET, tries=2, cwd=package, env=environment)
    step("npm", "pack", *QUIET, cwd=package, env=environment)
    project.mkdir()
    (project / "package.json").write_text('{ "type": "module" }\n')
    step("npm", "install", *QUIET, next(package.glob("*.tgz")), tries=2, cwd=project, env=environment)
    shutil.copytree(ROOT / "examples/agent-node", project / "agent-node")
    (project / "first.js").write_text(re.search(r"```js\n(.*?)```", (package / "README.md").read_text(), re.S).group(1))
    outside = {name: value for name, value in os.environ.items() if name not in ("AGENTBOX_LIBRARY", "LD_LIBRARY_PATH")}
    printed = step("node", "first.js", cwd=project, env=outside)
    if "/etc/motd" not in printed or not (project / "node_modules/agentbox/libagentbox.so.0").exists():
        sys.exit(f"no denial was printed:\n{printed}")
    print("installed, and printed a denial")


main()
