#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The example of a server, line by line; tests/install/python.py tries it with the client of the package `mcp`: test_mcp.py SOURCE-ROOT"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

EXAMPLE = pathlib.Path(sys.argv.pop(1)).resolve() / "examples/mcp-server"


class Session(unittest.TestCase):
    def setUp(self):
        self.workspace = tempfile.mkdtemp(prefix="agentbox-mcp.", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.workspace, True)
        self.server = subprocess.Popen([sys.executable, EXAMPLE / "server.py", self.workspace, EXAMPLE / "policy.json"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.number = 0

    def tearDown(self):
        self.server.stdin.close()
        self.assertEqual(self.server.stdout.read(), "")
        self.assertEqual(self.server.wait(), 0)
        self.server.stdout.close()

    def send(self, **message):
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.server.stdin.flush()

    def receive(self):
        return json.loads(self.server.stdout.readline())

    def request(self, method, **params):
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        return self.number

    def call(self, method, **params):
        number, reply = self.request(method, **params), self.receive()
        self.assertEqual(reply["id"], number)
        return reply

    def run_command(self, command, **more):
        return {"name": "run_command", "arguments": {"command": command, **more}}

    def start(self, **capabilities):
        self.assertEqual(self.call("initialize", protocolVersion="2025-06-18", capabilities=capabilities)["result"]["protocolVersion"], "2025-06-18")
        self.send(method="notifications/initialized")

    def test_tool_and_denial(self):
        self.start()
        self.assertIn(self.workspace, self.call("tools/list")["result"]["tools"][0]["description"])
        self.assertEqual(self.call("tools/call", **self.run_command("echo hello"))["result"], {"content": [{"type": "text", "text": "exit 0\nhello\n"}], "isError": False})
        denied = self.call("tools/call", **self.run_command("echo x >/etc/motd"))["result"]
        self.assertTrue(denied["isError"])
        self.assertIn("denied by rule 'default'", denied["content"][0]["text"])

    def test_question_goes_to_the_client_while_the_call_waits(self):
        self.start(elicitation={})
        number = self.request("tools/call", **self.run_command("mkdir release && echo released"))
        question = self.receive()
        self.assertEqual(question["method"], "elicitation/create")
        self.assertIn("a release needs a person", question["params"]["message"])
        self.assertEqual(self.call("ping")["result"], {})
        self.send(id=question["id"], result={"action": "accept", "content": {"allow": True}})
        reply = self.receive()
        self.assertEqual((reply["id"], reply["result"]["content"][0]["text"]), (number, "exit 0\nreleased\n"))

    def test_client_that_cannot_ask_refuses(self):
        self.start()
        self.assertIn("cannot ask", self.call("tools/call", **self.run_command("mkdir release"))["result"]["content"][0]["text"])

    def test_cancelled_call_ends_its_command(self):
        self.start(elicitation={})
        number = self.request("tools/call", **self.run_command("sleep 1000 & mkdir release; wait"))
        question = self.receive()
        self.call("tools/call", **self.run_command("until ps -C sleep >/dev/null; do :; done"))
        self.send(method="notifications/cancelled", params={"requestId": number})
        self.send(id=question["id"], result={"action": "decline"})
        text = self.call("tools/call", **self.run_command("until ! ps -eo args | grep -q '[s]leep 1000'; do :; done"))["result"]["content"][0]["text"]
        self.assertEqual(text, "exit 0\n")

    def test_what_is_wrong_is_said(self):
        self.start()
        self.assertEqual(self.call("no/such")["error"]["code"], -32601)
        self.assertEqual(self.call("tools/call", name="other")["error"]["code"], -32602)
        self.assertEqual(self.call("tools/call", **self.run_command("true", timeout_seconds=-1))["error"]["code"], -32602)
        self.server.stdin.write("{\n")
        self.server.stdin.flush()
        self.assertEqual(self.receive()["error"]["code"], -32700)


unittest.main()
