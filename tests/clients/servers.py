#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The servers of the clients' world: servers.py FOLDER.  Started as root in the world's own namespaces.

Names are in the world's hosts file, certificates are of its root.  What a server saw is one JSON line in FOLDER/seen.
FOLDER/ready is made when all listen.
"""
import asyncio
import http.server
import json
import os
import shutil
import ssl
import subprocess
import sys
import threading

import grpc
import websockets
from concurrent import futures

FOLDER = sys.argv[1]
ALLOWED, OTHER = "45.45.45.10", "45.45.45.20"
seen_lock = threading.Lock()


def saw(**what):
    with seen_lock, open(FOLDER + "/seen", "a") as file:
        file.write(json.dumps(what) + "\n")


def context(*alpn, of="server"):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(f"{FOLDER}/{of}.pem", f"{FOLDER}/{of}.key")
    if alpn:
        made.set_alpn_protocols(list(alpn))
    return made


class Pages(http.server.BaseHTTPRequestHandler):
    """Says what it was asked; git repositories below /git/; everything else is echoed."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            parts = b""
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                parts += self.rfile.read(size)
                self.rfile.readline()
                if size == 0:
                    return parts
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def answer(self):
        body = self.body()
        saw(ip=self.server.server_address[0], port=self.server.server_address[1], method=self.command, path=self.path,
            headers=dict(self.headers), body=body.decode("latin1")[:4000])
        if self.path.startswith("/git/"):
            return self.git(body)
        text = json.dumps({"hello": self.headers.get("host"), "method": self.command, "path": self.path,
                           "headers": dict(self.headers), "body": body.decode("latin1")}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = answer

    def git(self, body):
        path, _, query = self.path[4:].partition("?")
        done = subprocess.run(["git", "http-backend"], input=body, stdout=subprocess.PIPE, env=dict(
            PATH=os.environ["PATH"], GIT_PROJECT_ROOT=FOLDER + "/repositories", GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path,
            QUERY_STRING=query, REQUEST_METHOD=self.command, CONTENT_TYPE=self.headers.get("content-type", ""),
            CONTENT_LENGTH=str(len(body)), HTTP_CONTENT_ENCODING=self.headers.get("content-encoding", ""),
            GIT_PROTOCOL=self.headers.get("git-protocol", ""), GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0="*"))
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)


def pages(ip, port, of):
    server = http.server.ThreadingHTTPServer((ip, port), Pages)
    server.daemon_threads = True
    if of:
        made = context("http/1.1", of=of)
        inner = server.get_request

        def get_request():
            connection, peer = inner()
            connection.settimeout(30)
            return made.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), peer
        server.get_request = get_request
    threading.Thread(target=server.serve_forever, daemon=True).start()


def repositories():
    work = FOLDER + "/start"
    os.makedirs(FOLDER + "/repositories")
    run = lambda *words, cwd=work: subprocess.run(words, cwd=cwd, check=True, stdout=subprocess.DEVNULL)
    run("git", "init", "-q", "-b", "main", work, cwd="/")
    with open(work + "/README", "w") as file:
        file.write("a repository\n")
    run("git", "add", ".")
    run("git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "first")
    run("git", "clone", "-q", "--bare", work, FOLDER + "/repositories/one.git", cwd="/")
    run("git", "-C", FOLDER + "/repositories/one.git", "config", "http.receivepack", "true", cwd="/")
    shutil.rmtree(work)


def grpc_server():
    class Echo(grpc.GenericRpcHandler):
        def service(self, details):
            if details.method != "/lab.Echo/Say":
                return None
            saw(grpc=details.method)
            return grpc.unary_unary_rpc_method_handler(lambda request, _: b"heard " + request)
    server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[Echo()])
    with open(FOLDER + "/server.key", "rb") as key, open(FOLDER + "/server.pem", "rb") as chain:
        credentials = grpc.ssl_server_credentials([(key.read(), chain.read())])
    for ip in (ALLOWED, OTHER):
        server.add_insecure_port(ip + ":50051")
        server.add_secure_port(ip + ":50052", credentials)
    server.start()
    return server


async def sockets():
    async def echo(connection, *_):
        async for message in connection:
            saw(websocket=str(message))
            await connection.send(message)
    for ip in (ALLOWED, OTHER):
        await websockets.serve(echo, ip, 8090)
        await websockets.serve(echo, ip, 8453, ssl=context())
    open(FOLDER + "/ready", "w").close()
    await asyncio.Future()


repositories()
for address in (ALLOWED, OTHER, "45.45.45.30"):
    pages(address, 80, None)
    pages(address, 8080, None)
    pages(address, 443, "server")
pages(ALLOWED, 8444, "stranger")
pages("127.0.0.1", 8123, None)
kept = grpc_server()
asyncio.run(sockets())
