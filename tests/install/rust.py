#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the Rust crates and their tests, packs them, and runs the first program of their page in an empty project that has only what was
packed: rust.py BUILD FOLDER
What is built is left in FOLDER/target."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main():
    libraries, folder = pathlib.Path(sys.argv[1]).resolve() / "lib", pathlib.Path(sys.argv[2]).resolve()
    crates, packed, project = folder / "rust", folder / "packed", folder / "harness"
    shutil.copytree(ROOT / "bindings/rust", crates, ignore=shutil.ignore_patterns("target", "Cargo.lock"))
    environment = dict(os.environ, AGENTBOX_LIB_DIR=str(libraries), LD_LIBRARY_PATH=str(libraries), CARGO_TARGET_DIR=str(folder / "target"))

    def cargo(*words, cwd):
        return subprocess.run(["cargo", *words], cwd=cwd, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout

    cargo("build", "--quiet", "--tests", "--examples", cwd=crates)
    cargo("test", "--quiet", "-p", "agentbox-sys", "--lib", cwd=crates)
    # The safe crate wants the other one by its version, which is in no registry yet: it is not built while it is packed, but below.
    cargo("package", "--quiet", "--offline", "--workspace", "--no-verify", "--exclude-lockfile", cwd=crates)
    for crate in (folder / "target/package").glob("*.crate"):
        with tarfile.open(crate) as archive:
            archive.extractall(packed)
    paths = {path.name.rpartition("-")[0]: path for path in packed.iterdir()}
    for name, path in paths.items():
        missing = {"LICENSE", "README.md"} - {file.name for file in path.iterdir()}
        if missing:
            sys.exit(f"the packed {name} has no {', '.join(missing)}")
    (project / "src").mkdir(parents=True)
    (project / "Cargo.toml").write_text('[package]\nname = "harness"\nversion = "0.1.0"\nedition = "2021"\n\n'
                                        f'[dependencies]\nagentbox = {{ path = "{paths["agentbox"]}" }}\n\n'
                                        f'[patch.crates-io]\nagentbox-sys = {{ path = "{paths["agentbox-sys"]}" }}\n')
    (project / "src/main.rs").write_text(re.search(r"```rust\n(.*?)```", (crates / "README.md").read_text(), re.S).group(1))
    printed = cargo("run", "--quiet", "--offline", cwd=project)
    if '"target":"/etc/motd"' not in printed:
        sys.exit(f"no denial was printed:\n{printed}")
    print("built and packed; what was packed printed a denial")


main()
