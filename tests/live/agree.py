# SPDX-License-Identifier: Apache-2.0
"""Runs in a real box: tries what stdin lists, a line each, and prints how each one ended."""
import errno
import os
import socket
import sys

PROXY = os.environ.get("http_proxy", "http://:0")[len("http://"):].split(":")


def read(path):
    os.close(os.open(path, os.O_RDONLY))


def write(path):
    os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT))


def execute(path):
    os.waitpid(os.posix_spawn(path, [path], {}), 0)


def connect(endpoint):
    host, port = endpoint.rsplit(":", 1)
    family, kind, _, _, address = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind) as one:
        one.setblocking(False)  # that it is begun says that it is allowed
        error = one.connect_ex(address)
        if error not in (0, errno.EINPROGRESS, errno.ENETUNREACH):
            raise OSError(error, "")


def request(method, url):
    host = url.split("/")[2]
    with socket.create_connection((PROXY[0], int(PROXY[1]))) as one:
        one.sendall(f"{method} {url} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        if one.makefile().readline().split()[1] == "403":
            raise OSError(errno.EACCES, "")


TRY = {"read": read, "write": write, "exec": execute, "connect": connect, "request": request}
for line in sys.stdin:
    verb, *words = line.split()
    try:
        TRY[verb](*words)
        print("allow")
    except OSError as error:  # what is not there, or no program, was not refused
        known = {errno.EACCES: "deny", errno.ENOENT: "allow", errno.ENOEXEC: "allow"}
        print(known.get(error.errno, f"{verb} {words}: {error}"))
