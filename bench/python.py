#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows about the Python package: python.py LIBRARY WORKSPACE"""
import asyncio
import os
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bindings/python"))
os.environ["AGENTBOX_LIBRARY"] = sys.argv[1]
import agentbox  # noqa: E402

SCRIPT = (pathlib.Path(__file__).parent / "denials.py").read_text()
COMMANDS = 100


def row(name, ours, baseline, unit, goal, against):
    print(name, f"{ours:.4g}", f"{baseline:.4g}", unit, goal, against, sep="\t", flush=True)


async def main():
    late = []

    def take(event):
        if event.type == agentbox.EventType.DENIAL:
            late.append((time.time_ns() - event.time_ns) / 1e6)

    policy = agentbox.Policy.from_profile("workspace-write", workspace=sys.argv[2], home="/home/somebody")
    async with agentbox.AsyncContext(on_event=take) as context, await context.open_box(policy) as box:
        await box.run(["/usr/bin/python3", "-c", SCRIPT])
        row("a denial reaches asyncio", statistics.median(late), statistics.quantiles(late, n=20)[-1], "ms", "< 2", "19 of 20")
        boxed, bare = [], []
        for _ in range(COMMANDS):
            start = time.monotonic()
            await box.run(["/bin/true"])
            boxed.append((time.monotonic() - start) * 1e3)
            start = time.monotonic()
            await (await asyncio.create_subprocess_exec("/bin/true", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)).communicate()
            bare.append((time.monotonic() - start) * 1e3)
        row("command in an open box, from asyncio", statistics.median(boxed), statistics.median(bare), "ms", "<= 2", "asyncio's own")


asyncio.run(main())
