#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The company's side: the HR API and the handbook, by HTTPS, behind the company's proxy, all on loopback.

    server.py FOLDER      (agent.py starts it)

Makes an authority and a certificate in FOLDER, reads the API's key from its standard input, prints the proxy's port, and
ends with its standard input.  FOLDER/requests.log has a line for each request: who, on whose behalf, what, and how it ended."""
import http.server
import json
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import threading

COMPANY = "nordwind"
NAMES = ("hr.nordwind.example", "handbook.nordwind.example")  # what the proxy knows; it leads nowhere else
EMPLOYEES = {
    "1042": {"company": "nordwind", "name": "Ines Oduya", "department": "warehouse", "title": "Shift lead", "phone": "+49 30 5550 110", "salary": 47200},
    "1043": {"company": "nordwind", "name": "Paul Brandt", "department": "warehouse", "title": "Dispatcher", "phone": "+49 30 5550 111", "salary": 41800},
    "1058": {"company": "nordwind", "name": "Mina Sato", "department": "warehouse", "title": "Dispatcher", "phone": "+49 30 5550 112", "salary": 42300},
    "2001": {"company": "suedwind", "name": "Karl Moser", "department": "fleet", "title": "Driver", "phone": "+43 1 5550 200", "salary": 39000},
}
SHOWN = ("name", "department", "title", "phone")  # who reads a record does not read the salary


class Refused(Exception):
    """A problem document (RFC 9457)."""

    def __init__(self, status: int, title: str, detail: str) -> None:
        self.status, self.title, self.detail = status, title, detail


class Api(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    key = ""
    log: pathlib.Path
    done: "dict[str, dict]" = {}  # by idempotency key: what comes twice is done once

    def do_GET(self) -> None:
        self.answer(self.read)

    def do_PATCH(self) -> None:
        self.answer(lambda: self.once(self.update))

    def do_POST(self) -> None:
        self.answer(lambda: self.once(self.export))

    # ---- what may be asked for
    def read(self) -> "dict | list":
        if self.headers["Host"] == "handbook.nordwind.example":
            return {"page": "Phone numbers are written as +49 30 5550 110."}
        self.check_key()
        department = re.fullmatch(r"/v1/employees\?department=(\w+)", self.path)
        if department:
            return [{"id": number, "name": one["name"]} for number, one in EMPLOYEES.items()
                    if one["company"] == COMPANY and one["department"] == department[1]]
        number, one = self.employee()
        return {"id": number, **{name: one[name] for name in SHOWN}}

    def update(self) -> "dict":
        self.check_key()
        number, one = self.employee()
        asked = self.body()
        one[asked["field"]] = asked["value"]
        return {"id": number, asked["field"]: asked["value"]}

    def export(self) -> "dict":
        self.check_key()
        asked = self.body()
        return {"phones": {EMPLOYEES[number]["name"]: EMPLOYEES[number]["phone"] for number in asked["ids"]}}

    # ---- what is checked
    def check_key(self) -> None:
        if self.headers["Authorization"] != "Bearer " + self.key:
            raise Refused(401, "Who are you?", "the key is not one of ours")

    def employee(self) -> "tuple[str, dict]":
        number = self.path.rsplit("/", 1)[-1]
        if number not in EMPLOYEES:
            raise Refused(404, "No such person", f"nobody has the number {number}")
        if EMPLOYEES[number]["company"] != COMPANY:
            raise Refused(422, "Another company's record", f"{number} works for {EMPLOYEES[number]['company']}, and this key is for {COMPANY}")
        return number, EMPLOYEES[number]

    def body(self) -> "dict":
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def once(self, do) -> "dict":
        key = self.headers["Idempotency-Key"]
        if key not in self.done:
            self.done[key] = do()
        return self.done[key]

    def answer(self, do) -> None:
        try:
            status, kind, content = 200, "application/json", do()
        except Refused as no:
            status, kind, content = no.status, "application/problem+json", {"status": no.status, "title": no.title, "detail": no.detail}
        sent = json.dumps(content).encode() + b"\n"
        with self.log.open("a") as log:
            log.write(f"{status} {self.command} {self.headers['Host']}{self.path} for {self.headers.get('X-Agent-Identity', 'nobody')}\n")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        pass


class Proxy(http.server.BaseHTTPRequestHandler):
    """Connects to the company's names, and to nothing else."""

    api = 0

    def do_CONNECT(self) -> None:
        if self.path not in [name + ":443" for name in NAMES]:
            self.send_error(403)
            return
        with socket.create_connection(("127.0.0.1", self.api)) as there:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=self.pump, args=(there, self.connection), daemon=True)
            back.start()
            self.pump(self.connection, there)
            back.join()
        self.close_connection = True

    @staticmethod
    def pump(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the other side is gone

    def log_message(self, *_: object) -> None:
        pass


def make_certificate(folder: pathlib.Path) -> None:
    """An authority of the company's own, and what it signed for its hosts."""
    def openssl(*words: str) -> None:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", *words],
                       cwd=folder, check=True, stderr=subprocess.DEVNULL)
    openssl("-subj", "/CN=Nordwind authority", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("-subj", "/CN=" + NAMES[0], "-CA", "ca.pem", "-CAkey", "ca.key", "-keyout", "server.key", "-out", "server.pem",
            "-addext", "subjectAltName=" + ",".join("DNS:" + name for name in NAMES), "-addext", "basicConstraints=critical,CA:FALSE")


def serve(handler: type, tls: "ssl.SSLContext | None" = None) -> int:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    make_certificate(folder)
    Api.key, Api.log = sys.stdin.readline().strip(), folder / "requests.log"
    Api.log.touch()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "server.pem", folder / "server.key")
    Proxy.api = serve(Api, tls)
    print(serve(Proxy), flush=True)
    sys.stdin.read()


main()
