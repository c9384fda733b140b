# SPDX-License-Identifier: Apache-2.0
import errno
import os
import signal
import threading
import unittest

import agentbox
from agentbox import Answer, Context, EventType, ExitReason, Request, Scope, Stdio, Verdict
from agentbox.errors import DeniedError, ExecError, InvalidError, PolicyError, StateError
from support import ASK, ASK_EXEC, PATIENCE, Workspace


class Commands(Workspace):
    def test_output_and_end(self):
        with Context() as context:
            result = context.run(self.policy(), ["sh", "-c", "echo out; echo err >&2; exit 3"])
        self.assertEqual((result.stdout, result.stderr, result.exit.code, result.ok), (b"out\n", b"err\n", 3, False))
        self.assertEqual((result.explanation, result.failures, result.denials), ("", [], []))

    def test_denial_is_an_event_and_an_explanation(self):
        with Context() as context:
            result = context.run(self.policy(), ["sh", "-c", "echo x >/etc/motd"], label="call-7")
            denial = [event for event in context.events() if event.type == EventType.DENIAL][0]
        self.assertEqual((denial.target, denial.verb, denial.rule, denial.label), ("/etc/motd", "open", "default", "call-7"))
        self.assertEqual((denial.layer, denial.access, denial.repeats), (agentbox.Layer.FILESYSTEM, agentbox.Access.WRITE, 1))
        self.assertEqual(denial.to_dict()["target"], "/etc/motd")
        self.assertEqual(result.denials[0]["target"], "/etc/motd")
        self.assertIn("/etc/motd", result.explanation)
        self.assertEqual(result.exit.denials, 1)

    def test_a_failure_that_is_no_denial(self):
        with Context() as context:
            result = context.run(self.policy(), ["sh", "-c", "echo x >/etc/motd; echo y >/dev/tty"])
        self.assertEqual([failure["class"] for failure in result.failures], ["policy", "terminal"])
        self.assertEqual([denial["target"] for denial in result.denials], ["/etc/motd"])

    def test_files_of_pipes(self):
        with Context() as context, context.open_box(self.policy()) as box:
            with box.spawn(["tr", "a-z", "A-Z"], stdin=Stdio.PIPE, stdout=Stdio.PIPE) as process:
                process.stdin.write(b"hello")
                process.stdin.close()
                self.assertEqual(process.stdout.read(), b"HELLO")
                self.assertIsNone(process.stderr)
                self.assertTrue(process.wait(PATIENCE).ok)

    def test_descriptors_of_the_caller(self):
        with Context() as context, context.open_box(self.policy()) as box, open(self.workspace / "log", "wb") as log:
            with box.spawn(["sh", "-c", "echo one; echo two >&2"], stdout=log, stderr=log.fileno()) as process:
                process.wait(PATIENCE)
        self.assertEqual((self.workspace / "log").read_bytes(), b"one\ntwo\n")

    def test_terminal(self):
        with Context() as context, context.open_box(self.policy()) as box:
            with box.spawn(["sh", "-c", "stty size; read x"], stdin=Stdio.PTY, stdout=Stdio.PTY, stderr=Stdio.PTY, rows=30, columns=91) as process:
                self.assertEqual(process.stdout.read(100).split(), [b"30", b"91"])
                process.stdin.write(b"\n")
                self.assertTrue(process.wait(PATIENCE).ok)

    def test_directory_and_environment(self):
        with Context() as context:
            result = context.run(self.policy(), ["sh", "-c", "pwd; echo $NAME"], cwd=self.workspace, env={"NAME": "value"})
        self.assertEqual(result.stdout, f"{self.workspace}\nvalue\n".encode())

    def test_time_out_signal_and_kill(self):
        with Context() as context, context.open_box(self.policy()) as box:
            self.assertEqual(box.run(["sleep", "1000"], timeout=0.05).exit.reason, ExitReason.TIMEOUT)
            with box.spawn(["sleep", "1000"]) as process:
                self.assertIsNone(process.wait(0))
                process.signal(signal.SIGTERM)
                self.assertEqual(process.wait(PATIENCE).code, signal.SIGTERM)
                process.kill()
                with self.assertRaises(StateError):
                    process.signal(signal.SIGTERM)
            with box.spawn(["sleep", "1000"]) as process:
                box.kill()
                self.assertEqual(process.wait(PATIENCE).reason, ExitReason.KILLED)

    def test_command_that_is_not_there(self):
        with Context() as context, self.assertRaises(ExecError) as caught:
            context.run(self.policy(), ["no-such-program"])
        self.assertEqual(caught.exception.step, "exec:no-such-program")
        self.assertIn(caught.exception.os_code, (errno.ENOENT, errno.EACCES))

    def test_one_string_is_no_command(self):
        with Context() as context, self.assertRaises(TypeError):
            context.run(self.policy(), "echo hello")

    def test_grants(self):
        (self.workspace / "release").mkdir()
        with Context() as context, context.open_box(self.policy(ASK)) as box:
            grant = box.grant(Request.write(self.workspace / "release/**"), approver="somebody")
            self.assertTrue(box.run(["sh", "-c", f"echo 1 >{self.workspace}/release/1"]).ok)
            self.assertEqual(len(box.grants()), 1)
            box.revoke(grant)
            with self.assertRaises(StateError):
                box.revoke(grant)
            self.assertIn("rung", box.receipt())


class Questions(Workspace):
    def make_release(self, **handlers):
        self.script = f"mkdir {self.workspace}/release && echo done"
        with Context(**handlers) as context:
            return context.run(self.policy(ASK), ["sh", "-c", self.script])

    def test_held_call_goes_on(self):
        seen, where = [], []

        def approve(event):
            seen.append((event.rule, event.reason, event.target, event.retry))
            where.append(threading.current_thread())
            return Answer.allow(approver="test")

        result = self.make_release(on_approval=approve)
        self.assertEqual(seen, [("release", "a release needs a person", f"{self.workspace}/release", agentbox.Retry.HELD)])
        self.assertEqual(where, [threading.current_thread()])
        self.assertEqual((result.stdout, result.exit.denials), (b"done\n", 0))

    def test_refusal_has_its_message(self):
        result = self.make_release(on_approval=lambda event: Answer.deny("not on a Friday"))
        self.assertEqual(result.exit.denials, 1)
        self.assertIn("not on a Friday", result.explanation)

    def test_handler_that_fails_has_refused_and_ends_the_command(self):
        def fail(event):
            raise RuntimeError("no idea")

        with self.assertRaisesRegex(RuntimeError, "no idea"):
            self.make_release(on_approval=fail)
        self.assertFalse((self.workspace / "release").exists())

    def test_answer_of_another_kind_is_a_refusal(self):
        with self.assertRaises(TypeError):
            self.make_release(on_approval=lambda event: True)
        self.assertFalse((self.workspace / "release").exists())

    def test_question_about_the_command_itself(self):
        with Context(on_approval=lambda event: Answer.allow(Scope.BOX)) as context:
            self.assertTrue(context.run(self.policy(ASK_EXEC), ["id"]).ok)
        with Context(on_approval=lambda event: Answer.deny()) as context, self.assertRaises((ExecError, DeniedError)):
            context.run(self.policy(ASK_EXEC), ["id"])

    def test_interrupt_while_the_start_is_held(self):
        def interrupt(event):
            raise KeyboardInterrupt

        with Context(on_approval=interrupt) as context, self.assertRaises(KeyboardInterrupt):
            context.run(self.policy(ASK_EXEC), ["id"])

    def test_two_approvers(self):
        asked = []

        def approve(event):
            asked.append((event.approvers, event.step_up))
            return [Answer.allow(approver=name, evidence="token") for name in ("ada", "bob")]

        with Context(on_approval=approve) as context:
            policy = self.policy(ASK, {"version": 1, "approvals": {"approvers": 2, "step_up": True}})
            self.assertTrue(context.run(policy, ["mkdir", self.workspace / "release"]).ok)
        self.assertEqual(asked, [(2, 1)])

    def test_approvers_one_after_the_other(self):
        counted = []

        def approve(event):
            for name in self.present:
                try:
                    counted.append(context.answer(event, Answer.allow(approver=name)))
                except DeniedError as error:
                    counted.append(error.message)

        policy = self.policy(ASK, {"version": 1, "approvals": {"approvers": 2}})
        with Context(on_approval=approve) as context:
            self.present = ["ada", "ada"]
            self.assertFalse(context.run(policy, ["mkdir", self.workspace / "release"]).ok)
            self.present = ["ada", "bob"]
            self.assertTrue(context.run(policy, ["mkdir", self.workspace / "release"]).ok)
        self.assertEqual(counted, [False, "this approver said yes before, and two different ones must", False, True])

    def test_one_yes_of_two_leaves_the_question_to_others(self):
        def approve(event):
            threading.Timer(0.1, lambda: others.append(context.answer(event.ticket, Answer.allow(approver="bob")))).start()
            return Answer.allow(approver="ada")

        others = []
        policy = self.policy(ASK, {"version": 1, "approvals": {"approvers": 2}})
        with Context(on_approval=approve) as context:
            self.assertTrue(context.run(policy, ["mkdir", self.workspace / "release"]).ok)
        self.assertEqual(others, [True])

    def test_yes_that_does_not_count_is_a_fault_of_the_handler(self):
        with Context(on_approval=lambda event: Answer.allow(approver="ada")) as context, self.assertRaises(DeniedError):
            context.run(self.policy(ASK, {"version": 1, "approvals": {"step_up": True}}), ["mkdir", self.workspace / "release"])
        self.assertFalse((self.workspace / "release").exists())

    def test_question_in_words_for_a_person(self):
        words = []

        def approve(event):
            words.append(event.to_text())
            return Answer.allow()

        self.make_release(on_approval=approve)
        self.assertIn("a release needs a person", words[0])

    def test_simulated_box_has_the_same_events(self):
        with Context(simulated=True) as context, context.open_box(self.policy(ASK)) as box:
            self.assertEqual(box.attempt(Request.write("/etc/motd")).verdict, Verdict.DENY)
            held = box.attempt(Request.write(self.workspace / "release"))
            self.assertEqual((held.verdict, box.outcome(held.ticket)), (Verdict.ASK, None))
            context.answer(held.ticket, Answer.allow())
            self.assertEqual(box.outcome(held.ticket, PATIENCE), Verdict.ALLOW)
            self.assertIn(EventType.DENIAL, [event.type for event in context.events()])
            result = box.run(["sh", "-c", "print hello; write /etc/motd"])
            self.assertEqual((result.exit.denials, result.denials[0]["target"]), (1, "/etc/motd"))

    def test_events_reach_the_handler_in_order(self):
        events = []
        with Context(on_event=events.append) as context:
            context.run(self.policy(), ["sh", "-c", "echo x >/etc/motd"])
        self.assertEqual([event.type for event in events], [EventType.STARTED, EventType.DENIAL, EventType.EXITED])

    def test_answers_without_handlers(self):
        with Context() as context, context.open_box(self.policy(ASK)) as box:
            with box.spawn(["mkdir", self.workspace / "release"]) as process:
                event = context.wait_event(PATIENCE)
                while event.type != EventType.APPROVAL:
                    event = context.wait_event(PATIENCE)
                context.answer(event, Answer.allow())
                with self.assertRaises(StateError):
                    context.answer(event, Answer.allow())
                self.assertTrue(process.wait(PATIENCE).ok)
            list(context.events())
            self.assertIsNone(context.wait_event(0))


class Hosts(Workspace):
    def test_audit_log_is_whole(self):
        log = self.workspace / "logs/audit"
        log.parent.mkdir()
        hidden = {"version": 1, "filesystem": {kind: {"deny": ["${workspace}/logs"]} for kind in ("read", "write")}}
        with Context(audit_path=log, audit_sync=agentbox.AuditSync.RECORD) as context:
            context.run(self.policy(hidden), ["true"])
        outcome, files = agentbox.verify_audit([log])
        self.assertEqual((outcome, files.get(0, "state")), (agentbox.Audit.WHOLE, "whole"))
        self.assertEqual(agentbox.render_audit([log], "json")[0], agentbox.Audit.WHOLE)
        self.assertTrue(agentbox.render_audit([log])[1])
        log.write_bytes(log.read_bytes().replace(b'"', b"'", 1))
        self.assertEqual(agentbox.verify_audit([log])[0], agentbox.Audit.BROKEN)

    def test_observed_box_suggests_a_policy(self):
        with Context(observe=True) as context, context.open_box(self.policy()) as box:
            self.assertTrue(box.run(["touch", self.workspace / "a"]).ok)
            self.assertEqual(box.suggest()["version"], 1)
        with Context() as context, context.open_box(self.policy()) as box, self.assertRaises(StateError):
            box.suggest()

    def test_action_is_asked_for(self):
        actions = {"version": 1, "actions": [{"name": "read", "verdict": "allow", "arguments": {"id": {"type": "string"}}}]}
        with Context() as context, context.open_box(self.policy(actions)) as box:
            done = box.request(Request.action("read", {"id": "7"}))
            self.assertEqual((done["verdict"], done["arguments"]), ("allow", {"id": "7"}))
            self.assertEqual(box.request(Request.action("read", {"id": 7}))["verdict"], "deny")

    def test_identity_is_on_each_event(self):
        with agentbox.Identity("ada", "session-1") as identity, Context() as context:
            context.run(self.policy(), ["true"], identity=identity)
            self.assertEqual({(event.principal, event.agent_session, event.delegation) for event in context.events()}, {("ada", "session-1", None)})
        with self.assertRaises(InvalidError):
            agentbox.Identity("ada", "")
        with self.assertRaises(TypeError):
            agentbox.Identity("ada")  # type: ignore[call-arg]

    def test_event_has_every_field(self):
        other = {"LEVEL": "not in this version"}
        self.assertEqual([field.name for field in agentbox.Field if field.name not in other and not hasattr(agentbox.Event, {"CLASS": "class_"}.get(field.name, field.name.lower()))], [])

    def test_forked_child_has_no_handles_and_leaves_them_alone(self):
        with Context() as context, context.open_box(self.policy()) as box:
            child = os.fork()
            if child == 0:
                try:
                    box.run(["true"])
                except StateError:
                    box.close()
                    context.close()
                    os._exit(7)
                os._exit(1)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
            self.assertTrue(box.run(["true"]).ok)

    def test_closing_a_box_ends_its_commands(self):
        with Context() as context:
            with context.open_box(self.policy()) as box:
                process = box.spawn(["sleep", "1000"])
            self.assertEqual(process.wait(PATIENCE).reason, ExitReason.KILLED)
            process.close()

    def test_handle_closed_by_another_thread_stays_valid_for_a_call(self):
        with Context() as context, context.open_box(self.policy()) as box:
            process = box.spawn(["sh", "-c", "read x"], stdin=Stdio.PIPE)
            writer, ended = process.take_stdio(0), []
            pointer = process._c
            thread = threading.Thread(target=lambda: ended.append(agentbox._raw.lib.abx_process_wait(pointer, -1, agentbox._raw.struct("abx_exit"))))
            thread.start()
            process.close()
            os.close(writer)
            thread.join(PATIENCE)
            self.assertEqual(ended, [0])

    def test_refused_policy_opens_no_box(self):
        with self.assertRaises(PolicyError), Context() as context:
            context.open_box(agentbox.Policy.from_json({"version": 2}))


if __name__ == "__main__":
    unittest.main()
