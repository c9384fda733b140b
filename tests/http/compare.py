#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds our reader of HTTP against Node's: what the two understand differently is refused by ours.

  compare.py READ_HTTP CORPUS [SECONDS [SEED]]

The connections are the corpus of the fuzzer, and changes of it that a fixed seed makes.  Each request that ours reads must be read by
Node, the same one in the same place, or be refused by Node, whose answer then stops the connection; Node must see no request between ours.
"""
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time

BATCH = 2000
BATCHES = 8
NODE = pathlib.Path(__file__).with_name("node_http.js")
# What smuggling is made of.
PIECES = [b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"\0", b" ", b"\t", b":", b";", b",", b"0\r\n\r\n", b"5\r\nhello\r\n", b"\x0b", b"\xa0", b"\xff", b"\x7f",
          b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"content-length:+5\r\n", b"Content-Length : 5\r\n", b"Content-Length: 5,5\r\n",
          b"Content-Length: 0x5\r\n", b"Content-Length: 05\r\n", b"Content-Length:\r\n", b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: identity\r\n",
          b"Transfer-Encoding: chunked, identity\r\n", b"Transfer-Encoding:\r\n chunked\r\n", b"Transfer-Encoding : chunked\r\n", b"Transfer_Encoding: chunked\r\n",
          b"Transfer-Encoding: xchunked\r\n", b"Transfer-Encoding:\x0bchunked\r\n", b"Host: b.example\r\n", b"Host:\r\n", b"Connection: close\r\n",
          b"Connection: keep-alive\r\n", b"Connection: Content-Length\r\n", b"Upgrade: websocket\r\nConnection: Upgrade\r\n", b"Expect: 100-continue\r\n",
          b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", b"POST /x HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nhello",
          b"POST /y HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", b"HTTP/1.0", b"HTTP/1.1", b"HTTP/2.0",
          b"+", b"-", b"0x", b"5;a=b\r\nhello\r\n", b"5 \r\nhello\r\n", b"A: b\r\n", b" A: b\r\n", b"ffffffffffffffff\r\n", b"%2e%2e/", b"../", b"\\", b"#", b"@"]


def change(maker, corpus):
    text = bytearray(maker.choice(corpus))
    for _ in range(maker.choice((0, 1, 1, 1, 1, 2, 2, 3))):
        at = maker.randint(0, len(text))
        kind = maker.randrange(7)
        if kind == 0 and text:
            text[min(at, len(text) - 1)] = maker.randrange(256)
        elif kind == 1:
            del text[at:at + maker.randint(1, 6)]
        elif kind == 2:
            text[at:at] = maker.choice(PIECES)
        elif kind == 3:  # between lines, where it does most
            ends = [i + 2 for i in range(len(text)) if text[i:i + 2] == b"\r\n"] or [0]
            at = maker.choice(ends)
            text[at:at] = maker.choice(PIECES)
        elif kind == 4:
            end = min(len(text), at + maker.randint(1, 30))
            text[at:at] = text[at:end]
        elif kind == 5:
            text += maker.choice(corpus)
        else:
            text[at:at] = bytes([maker.choice(b"\0\t\n\v\f\r !\"#%&'()*+,-./0159:;<=>?@AZ[\\]^_`az{|}~\x7f\x80\xa0\xff")])
    return bytes(text[:8000])


def run(command, connections):
    data = b"".join(b"%d\n" % len(one) + one for one in connections)
    out = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True, timeout=300).stdout.decode().splitlines()
    answers, requests = [], []
    for line in out:
        words = line.split(" ")
        if words[0] == "request":
            requests.append(words[1:])
        else:
            answers.append((requests, line))
            requests = []
    assert len(answers) == len(connections), f"{command[0]}: {len(answers)} answers to {len(connections)} connections"
    return answers


def difference(ours, nodes):
    """What would let one program see another request than we do; None if there is nothing."""
    (mine, my_end), (theirs, their_end) = ours, nodes
    for place, request in enumerate(mine):
        method = bytes.fromhex(request[0])
        if method == b"CONNECT":  # Node's server has no handler for it
            return None
        if place >= len(theirs):
            return None if their_end.startswith("refused") else f"Node does not see request {place + 1}"
        other = theirs[place]
        if request[:2] != other[:2] or request[4:] != other[4:]:
            return f"request {place + 1} has another head"
        if request[3] != other[3] and not their_end.startswith("refused"):
            return f"the body of request {place + 1} is over for one only"
        if request[3] == other[3] and request[2] != other[2]:
            return f"request {place + 1} has another body"
    if my_end == "end" and len(theirs) > len(mine):
        return f"Node sees {len(theirs)} requests, and we {len(mine)}"
    return None


def main():
    tool, folder = sys.argv[1:3]
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    if shutil.which("node") is None:
        print("there is no node")
        return 77
    found = re.compile("[0-9a-f]{40}")  # by the fuzzer: too odd to make much of
    corpus = [path.read_bytes() for path in sorted(pathlib.Path(folder).iterdir()) if not found.fullmatch(path.name)]
    corpus = [text for text in corpus if not text.startswith(b"HTTP/")]
    batches, end = 0, time.monotonic() + seconds
    read = bad = compared = 0
    while batches < BATCHES if not seconds else time.monotonic() < end:
        maker = random.Random(seed * 1000003 + batches)
        connections = (corpus if batches == 0 else []) + [change(maker, corpus) for _ in range(BATCH)]
        ours = run([tool], connections)
        nodes = run(["node", str(NODE)], connections)
        for connection, mine, theirs in zip(connections, ours, nodes):
            read += len(mine[0])
            compared += sum(1 for _ in zip(mine[0], theirs[0]))
            what = difference(mine, theirs)
            if what:
                bad += 1
                print(f"{what}: {connection!r}\n  ours: {mine}\n  node: {theirs}")
        batches += 1
        if bad > 20:
            break
    print(f"{batches} batches; {read} requests read, {compared} of them by Node too; {bad} understood differently")
    return 1 if bad or compared < 1000 else 0


sys.exit(main())
