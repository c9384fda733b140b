#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of an audit log in a real browser without a network: it asks for nothing, runs nothing and breaks no rule of
its own, shows names as text, and hides the rows of other layers.  report.py PATH-OF-AGENTBOX

The browser is driven over its pipe (Chrome DevTools Protocol); the page itself has no script and may have none."""
import base64
import json
import os
import pathlib
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

agentbox = os.path.abspath(sys.argv[1])
BROWSER = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)
HOSTILE = ["<img src=x onerror=alert(1)>", "<script>alert(2)</script>", "\"><style>*{display:none}</style>",
           "&lt;b&gt;", "</td></tr></table><h1>forged", "\u202egpj.exe", "<a href='javascript:alert(3)'>go"]
UNSHARE = ["unshare", "--user", "--map-root-user", "--net"]
DEADLINE_S = 60
passed = failed = 0


def check(what, good, *more):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"FAIL {what}:", *more)


class Browser:
    """Commands and events over two descriptors, messages with a zero byte at the end."""

    def __init__(self, profile):
        to_browser, self.out = os.pipe()
        self.into, from_browser = os.pipe()
        command = [*UNSHARE, BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile}",
                   "--remote-debugging-pipe", "about:blank"]
        # The browser has the commands at 3 and answers at 4.
        self.process = subprocess.Popen(["sh", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "sh", *command],
                                        pass_fds=[to_browser, from_browser], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=open(os.path.join(profile, "stderr"), "w"), env=dict(os.environ, HOME=profile))
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        self.until = time.monotonic() + DEADLINE_S

    def read(self):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.into], [], [], max(0, self.until - time.monotonic()))
            more = os.read(self.into, 1 << 20) if ready else b""
            if not more:
                raise RuntimeError("the browser does not answer")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            got = self.read()
            if got.get("id") == self.number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]
            self.events.append(got)

    def wait_for(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.read())

    def value(self, expression):
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in got:
            raise RuntimeError(got["exceptionDetails"])
        return got["result"].get("value")

    def attach(self):
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Audits"):
            self.call(f"{domain}.enable")

    def open(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
        finally:
            os.close(self.out)
            self.process.wait(20)
            os.close(self.into)


def picture(browser):
    """Size and pixels of what is seen, unpacked so far that equal pictures are equal."""
    png = base64.b64decode(browser.call("Page.captureScreenshot", format="png")["data"])
    at, data, size = 8, b"", png[16:24]
    while at < len(png):
        (length,) = struct.unpack(">I", png[at:at + 4])
        if png[at + 4:at + 8] == b"IDAT":
            data += png[at + 8:at + 8 + length]
        at += 12 + length
    return size, zlib.decompress(data)


def make_page(folder):
    """Of a real log with several layers and names that are hostile; also of one that does not hold."""
    workspace = f"{folder}/w"
    os.mkdir(workspace)
    for name in HOSTILE:
        os.makedirs(os.path.dirname(f"{workspace}/names/{name}"), exist_ok=True)
    document = {"version": 1, "extends": "workspace-write", "filesystem": {"write": {"deny": ["${workspace}/names"]}},
                "environment": {"set": {f"NAME{i}": name for i, name in enumerate(HOSTILE)}}}
    with open(f"{folder}/policy.json", "w") as file:
        json.dump(document, file)
    script = "exec 2>&-; " + "".join(f'true >"names/$NAME{i}"; ' for i in range(len(HOSTILE)))
    script += "/usr/bin/python3 -c 'import socket; socket.create_connection((\"192.0.2.7\", 80))'; /usr/sbin/chroot /; true"
    log = f"{folder}/log"
    subprocess.run([agentbox, "run", "--policy", f"{folder}/policy.json", "--audit", log, "--", "/bin/sh", "-c", script],
                   cwd=workspace, check=True, timeout=60, stdin=subprocess.DEVNULL)
    records = [json.loads(line) for line in subprocess.run([agentbox, "audit", "show", "--json", log], capture_output=True, text=True, check=True).stdout.splitlines()]
    page = subprocess.run([agentbox, "audit", "report", "--html", log], capture_output=True, check=True).stdout
    pathlib.Path(f"{folder}/page.html").write_bytes(page)
    text = pathlib.Path(log).read_bytes()
    pathlib.Path(f"{folder}/broken").write_bytes(text.replace(b"exited", b"Exited"))
    page = subprocess.run([agentbox, "audit", "report", "--html", f"{folder}/broken"], capture_output=True).stdout
    pathlib.Path(f"{folder}/broken.html").write_bytes(page)
    return records


SHOWN = "[...document.querySelectorAll('tbody tr')].filter(row => getComputedStyle(row).display !== 'none')"


def shown(browser):
    """The numbers of the rows that are seen: with a style and with a height."""
    return browser.value(f"{SHOWN}.filter(row => row.getBoundingClientRect().height > 0).map(row => Number(row.cells[0].textContent))")


def check_page(browser, records):
    cells = browser.value("[...document.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))")
    check("a row for each record", [int(row[0]) for row in cells] == [record["n"] for record in records], len(cells))
    check("a row has all its cells", {len(row) for row in cells} == {7}, cells)
    text = "\n".join(row[-1] for row in cells)
    for name in HOSTILE:
        check(f"shown as text: {name!r}", "/names/" + name.replace("\u202e", r"\xE2\x80\xAE").replace("'", r"\'") in text, text)
    check("only elements of the page's own", set(browser.value("[...document.querySelectorAll('*')].map(one => one.localName)")) <=
          {"html", "head", "meta", "title", "style", "body", "h1", "label", "input", "table", "thead", "tbody", "tr", "th", "td"})
    check("one table and one heading", browser.value("document.querySelectorAll('table, h1').length") == 2)
    check("no attribute that acts", not [name for name in browser.value("[...document.querySelectorAll('*')].flatMap(one => one.getAttributeNames())")
                                         if name.startswith("on") or name in ("src", "href", "style", "action")])


def check_layers(browser, records):
    everything = [record["n"] for record in records]
    layers = browser.value("[...document.querySelectorAll('input[name=layer]')].map(one => one.id)")
    check("all rows are seen at first", shown(browser) == everything, shown(browser))
    before = picture(browser)
    check("some layers have rows", len({record.get("layer") for record in records}) >= 3, {record.get("layer") for record in records})
    for layer in layers:
        word = layer[len("show-"):]
        expected = [record["n"] for record in records if word in ("all", record.get("layer", "none"))]
        place = browser.value(f"(r => [r.x + r.width / 2, r.y + r.height / 2])(document.getElementById('{layer}').getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):  # as a person does it
            browser.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
        check(f"chosen: {word}", browser.value("document.querySelector('input[name=layer]:checked').id") == layer)
        check(f"seen of the layer {word}", shown(browser) == expected, shown(browser), expected)
        if word == "filesystem":
            check("what is seen is another picture", picture(browser) != before)


def check_quiet(browser, url):
    """Nothing was asked for but the page, nothing was said, and no rule was broken."""
    requests = [event["params"]["request"]["url"] for event in browser.events if event.get("method") == "Network.requestWillBeSent"]
    check("nothing is loaded but the page", requests == [url], requests)
    loud = [event for event in browser.events if event.get("method") in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown",
                                                                         "Audits.issueAdded", "Page.javascriptDialogOpening")]
    check("no error, no word, no rule broken", not loud, loud)


def check_rules(browser):
    """What the page forbids is forbidden: a script that gets into it does not run, and nothing is loaded."""
    browser.events.clear()
    browser.value("(() => { const one = document.createElement('script'); one.textContent = 'window.ran = 1'; document.body.append(one); })()")
    browser.value("(() => { const one = document.createElement('img'); one.src = 'http://192.0.2.7/x'; document.body.append(one); })()")
    check("a script does not run", browser.value("window.ran === undefined"))
    browser.value("new Promise(done => setTimeout(done, 0))")
    issues = [event for event in browser.events if event.get("method") == "Audits.issueAdded" and "contentSecurityPolicy" in json.dumps(event)]
    check("that is seen as a rule broken", len(issues) >= 2, browser.events)
    sent = [event["params"]["request"]["url"] for event in browser.events if event.get("method") == "Network.responseReceived"]
    check("no picture is loaded", not sent, sent)


def main():
    if BROWSER is None:
        print("no browser: install chromium-headless-shell")
        return 1 if os.environ.get("AGENTBOX_TESTS_MUST_RUN") else 77
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="report-", ignore_cleanup_errors=True) as folder:
        records = make_page(folder)
        os.mkdir(f"{folder}/profile")
        browser = Browser(f"{folder}/profile")
        try:
            browser.attach()
            devices = [line.split(":")[0].strip() for line in pathlib.Path(f"/proc/{browser.process.pid}/net/dev").read_text().splitlines()[2:]]
            check("there is no network", devices == ["lo"], devices)
            browser.open(f"file://{folder}/page.html")
            check_page(browser, records)
            check_layers(browser, records)
            check_quiet(browser, f"file://{folder}/page.html")
            check_rules(browser)
            browser.open(f"file://{folder}/broken.html")
            check("a log that does not hold says so", "Not whole: file 1, line" in browser.value("document.querySelector('.broken').textContent"))
            check("that is seen", browser.value("document.querySelector('.broken').getBoundingClientRect().height > 0"))
            check_quiet(browser, f"file://{folder}/broken.html")
        except RuntimeError as error:
            check("the browser works", False, error, pathlib.Path(f"{folder}/profile/stderr").read_text()[-2000:])
        finally:
            browser.close()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
