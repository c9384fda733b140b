# SPDX-License-Identifier: Apache-2.0
"""A thousand commands, and nothing is left of them."""
import asyncio
import ctypes
import gc
import os
import time
import unittest

from agentbox import AsyncContext, Context, _raw
from support import PATIENCE, Workspace, descriptors, threads


class Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


def in_use():
    """Bytes that malloc gave and did not get back."""
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = Memory
    return libc.mallinfo2().uordblks


def handles():
    gc.collect()
    return sum(isinstance(one, _raw.Handle) for one in gc.get_objects())


def settled(look, wanted):
    """What there is once it is as wanted: a thread that ended is listed a moment longer."""
    limit = time.monotonic() + PATIENCE
    found = look()
    while found != wanted and time.monotonic() < limit:
        os.sched_yield()
        found = look()
    return found


class Leaks(Workspace):
    script = ["sh", "-c", "echo x; echo x >/etc/motd"]

    def test_thousand_commands_leave_nothing(self):
        before = settled(lambda: (descriptors(), threads()), (descriptors(), 1))
        with Context() as context:
            with self.policy() as policy, context.open_box(policy) as box:
                for number in range(1000):
                    if number == 200:  # what is made once is made
                        known, memory = handles(), in_use()
                    box.run(self.script)
                    for event in context.events():
                        event.to_dict()
                self.assertEqual(handles(), known)
                # 320 bytes of each. It goes up and down by some tens of KiB at first; from 1,200 commands on nothing is added.
                self.assertLess(in_use() - memory, 256 * 1024)
        self.assertEqual(settled(lambda: (descriptors(), threads()), before), before)

    def test_boxes_and_loops_leave_nothing(self):
        async def main():
            async with AsyncContext() as context:
                for _ in range(5):
                    await context.run(self.policy(), self.script)

        alive = handles()
        asyncio.run(main())  # what is made once is made
        self.assertEqual(settled(lambda: (threads(), handles()), (1, alive)), (1, alive))
        before = descriptors(), 1, alive
        for _ in range(3):
            asyncio.run(main())
        self.assertEqual(settled(lambda: (descriptors(), threads(), handles()), before), before)


if __name__ == "__main__":
    unittest.main()
