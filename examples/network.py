#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""npm, pip and cargo install from their registries with only those names allowed: network.py PATH-OF-AGENTBOX

The names are those of the tools' own configuration on this machine, so it runs behind a mirror, too, and those that events name when a tool is
denied what it wants by itself.  Each name that is allowed is printed.
Everything happens in a directory made for it and removed at the end."""
import ipaddress
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

TOOL = pathlib.Path(sys.argv[1]).resolve()


def configured(command, pattern):
    """The URLs that a tool is told to use; none: it has its own."""
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        text = ""
    return re.findall(pattern, text)


def cargo_registries():
    home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    texts = [file.read_text() for file in (home / "config.toml", home / "config") if file.exists()]
    return [url for text in texts for url in re.findall(r'"(?:sparse\+)?(https?://[^"]+)"', text)]


def place(url):
    parts = urllib.parse.urlsplit(url)
    return parts.hostname + (f":{parts.port}" if parts.port else "")


def closed_addresses(names):
    """A mirror may stand at a private address, which a name alone does not open."""
    found = set()
    for name in names:
        host, _, port = name.partition(":")
        try:
            addresses = {entry[4][0] for entry in socket.getaddrinfo(host, int(port or 443), type=socket.SOCK_STREAM)}
        except OSError:
            continue
        for address in addresses:
            if not ipaddress.ip_address(address).is_global:
                found.add((f"[{address}]" if ":" in address else address) + f":{port or 443}")
    return sorted(found)


class Demo:
    def __init__(self, work):
        self.work = work

    def policy(self, names):
        document = {"version": 1, "name": "registries", "extends": "workspace-write",
                    "filesystem": {"read": {"allow": ["/"]}},
                    "environment": {"pass": ["PATH", "LANG"], "set": {"HOME": str(self.work / "ws/home"), "CARGO_HOME": str(self.work / "ws/cargo"), **self.settings()}},
                    "network": {"mode": "filtered", "allow": sorted(names), "private": closed_addresses(names)}}
        (self.work / "policy.json").write_text(json.dumps(document))

    @staticmethod
    def settings():
        """The tools' own configuration goes along: it says where the registries are."""
        set_by = {"npm_config_userconfig": pathlib.Path.home() / ".npmrc", "PIP_CONFIG_FILE": pathlib.Path.home() / ".config/pip/pip.conf",
                  "RUSTUP_HOME": pathlib.Path.home() / ".rustup"}
        return {name: str(file) for name, file in set_by.items() if file.exists()}

    def run(self, command, names):
        """Its exit status, the end of its output, and the names that were denied."""
        self.policy(names)
        events = self.work / "events"
        events.unlink(missing_ok=True)
        started = time.monotonic()
        done = subprocess.run([str(TOOL), "run", "--policy", str(self.work / "policy.json"), "--workspace", str(self.work / "ws"), "--events", str(events), "--",
                               "sh", "-c", command], cwd=self.work / "ws", text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        told = [json.loads(line) for line in events.read_text().splitlines()] if events.exists() else []
        denied = {event["target"] for event in told if event.get("type") == "denial" and event.get("layer") == "network"} - names
        print(f"  exit {done.returncode} after {time.monotonic() - started:.1f} s; denied: {len(denied)}")
        print("  | " + "\n  | ".join(done.stdout.strip().splitlines()[-6:]))
        return done.returncode, denied

    def show(self, title, command, names):
        print(f"\n{title}, with nothing allowed")
        code, denied = self.run(command, set())
        if code == 0 or not denied:
            print("  it should have been denied")
            return False
        names = names | denied
        for _ in range(3):
            print(f"{title}, with {' '.join(sorted(names))} allowed")
            code, denied = self.run(command, names)
            if code == 0 or not denied:
                break
            names |= denied  # some have their files elsewhere than their index
        return code == 0


def main():
    work = pathlib.Path(tempfile.mkdtemp(prefix="agentbox-network.", dir="/var/tmp"))
    (work / "ws/crate/src").mkdir(parents=True)
    (work / "ws/cargo").mkdir()
    (work / "ws/home").mkdir()
    for name in ("config.toml", "config"):
        file = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo")) / name
        if file.exists():
            shutil.copy(file, work / "ws/cargo" / name)
    (work / "ws/crate/Cargo.toml").write_text('[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nitoa = "1"\n')
    (work / "ws/crate/src/main.rs").write_text('fn main() { println!("{}", itoa::Buffer::new().format(42)); }\n')
    npm = configured(["npm", "config", "get", "registry"], r"https?://\S+")
    pip = configured(["python3", "-m", "pip", "config", "list"], r"index-url='([^']+)'")
    tools = [("npm install", "rm -rf node && mkdir node && cd node && npm install --no-audit --no-fund --fetch-retries 0 is-odd && node -p 'require(\"is-odd\")(3)'", npm),
             ("pip install", "rm -rf py && python3 -m pip install --disable-pip-version-check --retries 0 --no-cache-dir --target py idna && PYTHONPATH=py python3 -c 'import idna; print(idna.__version__)'", pip),
             ("cargo build", "cd crate && rm -rf target && cargo build --quiet && target/debug/demo", cargo_registries())]
    demo, bad = Demo(work), []
    try:
        for title, command, urls in tools:
            if shutil.which(title.split()[0]) is None:
                print(f"\n{title}: not on this machine")
            elif not demo.show(title, command, {place(url) for url in urls}):
                bad.append(title)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"\n{'all' if not bad else ', '.join(bad)} {'worked' if not bad else 'did not work'}")
    return 1 if bad else 0


sys.exit(main())
