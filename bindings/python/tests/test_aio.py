# SPDX-License-Identifier: Apache-2.0
import asyncio
import unittest

from agentbox import Answer, AsyncContext, EventType, ExitReason, Stdio
from agentbox.errors import ExecError
from support import ASK, ASK_EXEC, PATIENCE, Workspace


class Loop(Workspace):
    def go(self, main):
        return asyncio.run(asyncio.wait_for(main(), PATIENCE))

    def test_command_and_denial(self):
        seen = []

        async def main():
            async with AsyncContext(on_event=seen.append) as context:
                return await context.run(self.policy(), ["sh", "-c", "echo out; echo x >/etc/motd"], label="call-1")

        result = self.go(main)
        self.assertEqual((result.stdout, result.exit.denials), (b"out\n", 1))
        self.assertEqual([event.type for event in seen], [EventType.STARTED, EventType.DENIAL, EventType.EXITED])

    def test_question_is_awaited_while_the_loop_goes_on(self):
        order = []

        async def approve(event):
            order.append("asked")
            await elsewhere.wait()
            order.append("answered")
            return Answer.allow()

        async def main():
            nonlocal elsewhere
            elsewhere = asyncio.Event()
            async with AsyncContext(on_approval=approve) as context, await context.open_box(self.policy(ASK)) as box:
                held = asyncio.ensure_future(box.run(["mkdir", self.workspace / "release"]))
                self.assertTrue((await box.run(["true"])).ok)  # another command of the box
                order.append("another")
                elsewhere.set()
                return await held

        elsewhere = None
        self.assertTrue(self.go(main).ok)
        self.assertEqual(order[-1], "answered")
        self.assertEqual(sorted(order), ["another", "answered", "asked"])

    def test_refusal_has_its_message(self):
        async def refuse(event):
            return Answer.deny("ask again on Monday")

        async def main():
            async with AsyncContext(on_approval=refuse) as context:
                return await context.run(self.policy(ASK), ["mkdir", self.workspace / "release"])

        self.assertIn("ask again on Monday", self.go(main).explanation)

    def test_handler_that_fails_has_refused(self):
        told = []

        async def fail(event):
            raise RuntimeError("no idea")

        async def main():
            asyncio.get_running_loop().set_exception_handler(lambda loop, what: told.append(what["exception"]))
            async with AsyncContext(on_approval=fail) as context:
                return await context.run(self.policy(ASK), ["mkdir", self.workspace / "release"])

        self.assertEqual(self.go(main).exit.denials, 1)
        self.assertIsInstance(told[0], RuntimeError)

    def test_start_that_is_held_does_not_stop_the_loop(self):
        async def approve(event):
            return Answer.allow() if event.target.endswith("/id") else Answer.deny()

        async def main():
            async with AsyncContext(on_approval=approve) as context:
                return await context.run(self.policy(ASK_EXEC), ["id"])

        self.assertTrue(self.go(main).ok)

    def test_cancelled_run_ends_its_command(self):
        async def main():
            events = []
            async with AsyncContext(on_event=events.append) as context, await context.open_box(self.policy()) as box:
                running = asyncio.ensure_future(box.run(["sh", "-c", "sleep 1000"]))
                while not events:  # it started
                    await asyncio.wait([asyncio.ensure_future(box.run(["true"]))])
                running.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await running
                first = events[0].process
                while not any(event.type == EventType.EXITED and event.process == first for event in events):
                    await box.run(["true"])

        self.go(main)

    def test_cancelled_start_leaves_no_command(self):
        asked = []

        async def approve(event):
            asked.append(event)
            starting.cancel()
            await asyncio.wait([starting])
            return Answer.allow()

        async def main():
            nonlocal starting
            exits = []
            async with AsyncContext(on_approval=approve, on_event=lambda event: exits.append(event) if event.type == EventType.EXITED else None) as context:
                async with await context.open_box(self.policy({"version": 1, "filesystem": {"exec": {"ask": [{"path": "/usr/bin/sleep"}]}}})) as box:
                    starting = asyncio.ensure_future(box.spawn(["sleep", "1000"]))
                    with self.assertRaises(asyncio.CancelledError):
                        await starting
                    while not exits:
                        await asyncio.sleep(0)
            self.assertEqual(exits[0].exit_code, 9)

        starting = None
        self.go(main)
        self.assertEqual(len(asked), 1)

    def test_pipes_are_streams(self):
        async def main():
            async with AsyncContext() as context, await context.open_box(self.policy()) as box:
                async with await box.spawn(["tr", "a-z", "A-Z"], stdin=Stdio.PIPE, stdout=Stdio.PIPE) as process:
                    writer, reader = await process.writer(), await process.reader()
                    writer.write(b"hello")
                    await writer.drain()
                    writer.close()
                    self.assertEqual(await reader.read(), b"HELLO")
                    self.assertTrue((await process.wait()).ok)

        self.go(main)

    def test_events_as_an_iterator(self):
        async def main():
            kinds = []
            async with AsyncContext() as context:
                async def collect():
                    async for event in context.events():
                        kinds.append(event.type)

                reading = asyncio.ensure_future(collect())
                await asyncio.sleep(0)
                await context.run(self.policy(), ["true"])
            await reading
            return kinds

        self.assertEqual(self.go(main), [EventType.STARTED, EventType.EXITED])

    def test_many_commands_at_a_time(self):
        async def main():
            async with AsyncContext() as context, await context.open_box(self.policy()) as box:
                results = await asyncio.gather(*(box.run(["sh", "-c", f"echo {number}; echo x >/etc/{number}"]) for number in range(60)))
            self.assertEqual([int(result.stdout) for result in results], list(range(60)))
            self.assertEqual([result.denials[0]["target"] for result in results], [f"/etc/{number}" for number in range(60)])

        self.go(main)

    def test_time_out_and_kill(self):
        async def main():
            async with AsyncContext() as context, await context.open_box(self.policy()) as box:
                self.assertEqual((await box.run(["sleep", "1000"], timeout=0.05)).exit.reason, ExitReason.TIMEOUT)
                async with await box.spawn(["sleep", "1000"]) as process:
                    await box.kill()
                    self.assertEqual((await process.wait()).reason, ExitReason.KILLED)

        self.go(main)

    def test_error_of_a_start(self):
        async def main():
            async with AsyncContext() as context:
                with self.assertRaises(ExecError):
                    await context.run(self.policy(), ["no-such-program"])

        self.go(main)


if __name__ == "__main__":
    unittest.main()
