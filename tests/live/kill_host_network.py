#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the host while its boxes are made and in the middle of transfers: no process, link, network or connection is left.
kill_host_network.py TOOL [ROUNDS]"""
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

TOOL = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 40
SCRIPT = """
import socket, sys, threading
def read(port):
    s = socket.create_connection(("localhost", port))
    while s.recv(65536): pass
for i in range(4): threading.Thread(target=read, args=(int(sys.argv[1]),)).start()
"""


class Server:
    """Sends to everyone for as long as they read."""

    def __init__(self):
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listening.getsockname()[1]
        self.open, self.served, self.lock = 0, 0, threading.Lock()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            client = self.listening.accept()[0]
            with self.lock:
                self.open, self.served = self.open + 1, self.served + 1
            threading.Thread(target=self.send, args=(client,), daemon=True).start()

    def send(self, client):
        data = bytes(65536)
        try:
            while True:
                client.sendall(data)
                time.sleep(0.002)
        except OSError:
            pass
        client.close()
        with self.lock:
            self.open -= 1


def networks():
    """Network namespaces that the kernel has; None: only root may know."""
    try:
        with open("/proc/slabinfo") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("net_namespace ")), None)
    except OSError:
        return None


def links():
    return sorted(os.listdir("/sys/class/net"))


def processes(mark):
    left = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if mark in file.read():
                    left.append(int(pid))
        except OSError:
            pass
    return left


def wait_until(what, seconds=10):
    deadline = time.monotonic() + seconds
    while not what() and time.monotonic() < deadline:
        time.sleep(0.02)
    return what()


def round_once(server, policy, work, mark, in_transfer):
    tool = subprocess.Popen([TOOL, "run", "--policy", policy, "--workspace", work, "--", "python3", "-c", SCRIPT,
                             str(server.port), mark], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)
    if in_transfer:
        wait_until(lambda: server.open > 0 or tool.poll() is not None, 60)
    time.sleep(random.uniform(0, 0.03))
    wrong = [] if tool.poll() is None else [f"the tool ended by itself: {tool.stderr.read().decode()}"]
    tool.send_signal(signal.SIGKILL)
    tool.wait()
    tool.stderr.close()
    if not wait_until(lambda: not processes(mark.encode())):
        wrong.append(f"left running: {processes(mark.encode())}")
    if not wait_until(lambda: server.open == 0):
        wrong.append(f"{server.open} connections are left")
    return wrong


def main():
    work = tempfile.mkdtemp(prefix="agentbox-kill.", dir="/var/tmp")
    policy = work + ".policy"
    server = Server()
    with open(policy, "w") as file:
        json.dump({"version": 1, "filesystem": {"read": {"allow": ["/"]}, "write": {"allow": ["${workspace}"]}},
                   "network": {"mode": "filtered", "host_loopback": [server.port]}, "environment": {"pass": ["PATH"]}}, file)
    before, links_before, wrong = networks(), links(), []
    random.seed(ROUNDS)
    for number in range(ROUNDS):
        # Half of the moments fall into the building of the box, half into transfers.
        wrong += round_once(server, policy, work, f"{os.getpid()}-{number}", number % 2 == 0)
    if links() != links_before:
        wrong.append(f"links: {links()}, before: {links_before}")
    # Others may come and go meanwhile, but not as many as there were boxes.
    if before is not None and not wait_until(lambda: networks() < before + ROUNDS // 2):
        wrong.append(f"{networks()} networks, before: {before}")
    if server.served == 0:
        wrong.append("nothing was transferred")
    shutil.rmtree(work)
    os.unlink(policy)
    print("\n".join(wrong))
    print(f"{ROUNDS - min(len(wrong), ROUNDS)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


sys.exit(main())
