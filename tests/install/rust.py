#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the Rust crates and their tests, and an empty project that uses them, as their page says: rust.py BUILD FOLDER
What is built is left in FOLDER/target."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    libraries, folder = pathlib.Path(sys.argv[1]).resolve() / "lib", pathlib.Path(sys.argv[2]).resolve()
    crates, project = folder / "rust", folder / "harness"
    shutil.copytree(ROOT / "bindings/rust", crates, ignore=shutil.ignore_patterns("target", "Cargo.lock"))
    environment = dict(os.environ, AGENTBOX_LIB_DIR=str(libraries), LD_LIBRARY_PATH=str(libraries), CARGO_TARGET_DIR=str(folder / "target"))

    def cargo(*words, cwd):
        return subprocess.run(["cargo", *words], cwd=cwd, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout

    cargo("build", "--quiet", "--tests", "--examples", cwd=crates)
    cargo("test", "--quiet", "-p", "agentbox-sys", "--lib", cwd=crates)
    (project / "src").mkdir(parents=True)
    (project / "Cargo.toml").write_text('[package]\nname = "harness"\nversion = "0.1.0"\nedition = "2021"\n\n'
                                        f'[dependencies]\nagentbox = {{ path = "{crates}/agentbox" }}\n')
    (project / "src/main.rs").write_text(re.search(r"```rust\n(.*?)```", (crates / "README.md").read_text(), re.S).group(1))
    printed = cargo("run", "--quiet", cwd=project)
    if '"target":"/etc/motd"' not in printed:
        sys.exit(f"no denial was printed:\n{printed}")
    print("built, and printed a denial")


main()
