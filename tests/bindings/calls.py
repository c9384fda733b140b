#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The forty-four calls, in Python; what they give, as JSON: calls.py WORKSPACE"""
import json
import pathlib
import signal
import sys

from agentbox import Access, AgentboxError, Answer, Context, EventType, Limit, Policy, PolicyBuilder, Request, Scope, Stdio, Verdict, Weaken, redact_audit, replay_audit

WORKSPACE = pathlib.Path(sys.argv[1])
ASK = {"version": 1, "name": "asking", "filesystem": {"write": {"ask": [{"path": "${workspace}/release", "id": "release", "reason": "a release needs a person"}],
                                                                "deny": [{"path": "${workspace}/never", "id": "never", "instead": "write elsewhere"}]}}}
REQUESTS = {"version": 1, "network": {"mode": "filtered", "allow": [{"host": "api.test", "http": [{"methods": ["PUT"], "path": "/v1/**", "action": "change"}]}]},
            "actions": [{"name": "change", "verdict": "ask"}, {"name": "update", "verdict": "ask", "arguments": {"id": {"type": "string"}}}]}
CALLS = {}


def call(function):
    CALLS[function.__name__.replace("_", "-")] = function


def refused(function, *arguments, **more):
    """Status and step of what a call refuses with."""
    try:
        function(*arguments, **more)
    except AgentboxError as error:
        return {"status": error.status, "step": error.step}


def policy(*documents):
    return Policy.from_profile("workspace-write", *documents, workspace=WORKSPACE, home="/home/somebody")


def verdict(of, request):
    decision = of.evaluate(request)
    return {"verdict": decision.verdict, "default": decision.rule is None}


def ended(found):
    return {"reason": found.reason, "code": found.code, "denials": found.denials}


def run(*command, document=None, **options):
    with Context() as context:
        return context.run(policy(document or {"version": 1}), command, **options)


def events_of(script):
    with Context() as context:
        context.run(policy(), ["sh", "-c", script], label="call-1")
        return list(context.events())


def denial():
    return [event for event in events_of("echo x >/etc/motd") if event.type == EventType.DENIAL][0]


def asked(script, answer):
    """A command under ASK, each of its questions answered so; the questions, and how it went."""
    questions = []

    def on_approval(event):
        questions.append(event)
        return answer

    with Context(on_approval=on_approval) as context:
        return questions, context.run(policy(ASK), ["sh", "-c", script], cwd=WORKSPACE)


# ---- policies
@call
def policy_unknown_key():
    return refused(Policy.from_json, '{"version": 1, "filesytem": {}}')


@call
def policy_not_json():
    return refused(Policy.from_json, "{")


@call
def policy_other_version():
    return refused(Policy.from_json, '{"version": 99}')


@call
def builder_unknown_profile():
    return refused(PolicyBuilder, "no-such-profile")


@call
def builder_variable_not_set():
    return refused(PolicyBuilder("workspace-write").build)


@call
def builder_weaken_without_reason():
    return refused(PolicyBuilder().weaken, Weaken.HOST_NETWORK, "")


@call
def builder_rules():
    built = PolicyBuilder().path("/srv", Access.READ, Verdict.ALLOW).host("example.org", Verdict.ALLOW, 443).build()
    return [verdict(built, Request.read("/srv/a")), verdict(built, Request.connect("example.org", 443)), verdict(built, Request.connect("example.org", 80))]


@call
def digest_of_the_same():
    return [policy(ASK).digest == policy(ASK).digest, policy(ASK).digest == policy().digest, len(policy().digest)]


@call
def policy_to_json_and_back():
    return Policy.from_json(policy(ASK).to_json()).digest == policy(ASK).digest


@call
def describe():
    return [str(WORKSPACE) in policy().describe(), json.loads(policy().describe("json")) is not None]


@call
def evaluate_allowed():
    return verdict(policy(), Request.write(WORKSPACE / "a"))


@call
def evaluate_denied():
    return verdict(policy(), Request.write("/etc/motd"))


@call
def evaluate_asked():
    return verdict(policy(ASK), Request.write(WORKSPACE / "release/1"))


@call
def evaluate_connect():
    return verdict(policy(), Request.connect("example.org", 443))


@call
def evaluate_unknown_kind():
    return refused(policy().evaluate, Request(99, "/"))


@call
def explain_request():
    return policy(ASK).explain(Request.write(WORKSPACE / "release/1"))["verdict"]


@call
def intersect():
    return verdict(policy().under(policy(ASK)), Request.write(WORKSPACE / "release/1"))


@call
def compare():
    found = policy(ASK).compare(policy())
    return [found.relation, found.get(0, "change")]


@call
def replay():
    outcome, report = replay_audit(policy(ASK), [WORKSPACE / "log"])
    return [outcome, *(report.get(0, column) for column in ("change", "target", "calls"))]


@call
def redact():
    return redact_audit(WORKSPACE / "log", "2").rows()


# ---- commands
@call
def receipt():
    with Context() as context, context.open_box(policy()) as box:
        return "rung" in box.receipt()


@call
def output():
    result = run("sh", "-c", "echo out; echo err >&2")
    return [result.stdout.decode(), result.stderr.decode(), ended(result.exit)]


@call
def exit_code():
    return ended(run("sh", "-c", "exit 3").exit)


@call
def ended_by_a_signal():
    return ended(run("sh", "-c", "kill -9 $$").exit)


@call
def environment_and_directory():
    return run("sh", "-c", "echo $NAME; pwd", env={"NAME": "value"}, cwd=WORKSPACE).stdout.decode()


@call
def output_limit():
    built = PolicyBuilder("workspace-write").variable("workspace", WORKSPACE).variable("home", "/home/somebody").limit(Limit.OUTPUT, 4).build()
    with Context() as context:
        return context.run(built, ["echo", "0123456789"]).stdout.decode()


@call
def pipes():
    with Context() as context, context.open_box(policy()) as box, box.spawn(["tr", "a-z", "A-Z"], stdin=Stdio.PIPE, stdout=Stdio.PIPE) as process:
        process.stdin.write(b"hello")
        process.stdin.close()
        return [process.stdout.read().decode(), ended(process.wait())]


@call
def not_found():
    return refused(run, "no-such-program", env={"PATH": "/usr/bin:/bin"})


@call
def time_out():
    return ended(run("sleep", "1000", timeout=0.05).exit)


@call
def poll_signal_and_wait():
    with Context() as context, context.open_box(policy()) as box, box.spawn(["sleep", "1000"]) as process:
        running = process.wait(0) is None
        process.signal(signal.SIGTERM)
        return [running, ended(process.wait()), refused(process.signal, signal.SIGTERM)["status"]]


@call
def kill():
    with Context() as context, context.open_box(policy()) as box, box.spawn(["sleep", "1000"]) as process:
        box.kill()
        return ended(process.wait())


# ---- denials
@call
def denial_fields():
    found = denial()
    return {"type": found.type, "layer": found.layer, "class": found.class_, "request": found.request, "access": found.access, "target": found.target, "verb": found.verb,
            "rule": found.rule, "source": found.source, "reason": found.reason, "retry": found.retry, "repeats": found.repeats, "label": found.label}


@call
def denial_as_json():
    found = denial().to_dict()
    return {key: found[key] for key in ("type", "layer", "class", "request", "access", "target", "verb", "rule", "retry", "backend")}


@call
def order_of_events():
    return [event.type for event in events_of("echo x >/etc/motd")]


@call
def explanation():
    return [run("sh", "-c", "echo x >/etc/motd").explanation.splitlines()[0], run("true").explanation]


@call
def alternative():
    result = run("sh", "-c", f"echo x >{WORKSPACE}/never", document=ASK)
    return [result.denials[0]["rule"], result.denials[0]["alternative"], "write elsewhere" in result.explanation]


# ---- questions
@call
def question_fields():
    questions, result = asked("mkdir release", Answer.allow(approver="somebody"))
    return [{"rule": one.rule, "reason": one.reason, "target": one.target, "verb": one.verb, "retry": one.retry} for one in questions] + [ended(result.exit)]


@call
def once_and_for_the_command():
    script = "mkdir release/a; rmdir release/a; mkdir release/a"
    (WORKSPACE / "release").mkdir(exist_ok=True)
    once, command = asked(script, Answer.allow()), asked(script.replace("/a", "/b"), Answer.allow(Scope.COMMAND))
    return [len(once[0]), ended(once[1].exit), len(command[0]), ended(command[1].exit)]


@call
def refusal_has_its_message():
    questions, result = asked("mkdir release/no", Answer.deny("not on a Friday"))
    return [len(questions), result.exit.denials, "not on a Friday" in result.explanation]


@call
def stats():
    with Context(on_approval=lambda event: Answer.deny()) as context:
        context.run(policy(ASK), ["sh", "-c", "echo x >/etc/motd; echo x >/etc/motd; mkdir release/no"], cwd=WORKSPACE)
        found = context.stats()
    return [found.boxes, found.commands, found.denials, found.repeats, found.asked, found.granted, found.refused, found.timed_out,
            found.abandoned, found.held_ns > 0]


@call
def answer_to_nothing():
    with Context() as context:
        return refused(context.answer, 12345, Answer.allow())


@call
def grant_and_revoke():
    with Context() as context, context.open_box(policy(ASK)) as box:
        grant = box.grant(Request.write(WORKSPACE / "release/**"), approver="somebody")
        result = box.run(["mkdir", WORKSPACE / "release/granted"])
        box.revoke(grant)
        return [ended(result.exit), refused(box.revoke, grant)["status"]]


@call
def grant_of_what_a_rule_denies():
    with Context() as context, context.open_box(policy(ASK)) as box:
        return refused(box.grant, Request.write(WORKSPACE / "never"))["status"]


@call
def grants_of_requests_and_actions():
    with Context() as context, context.open_box(policy(REQUESTS)) as box:
        update = Request.action("update", {"id": "7"})
        box.grant(Request.http("https://API.test/v1/**", "PUT"))
        box.grant(update, uses=1)
        listed = [[grant["request"], grant["target"], grant["verb"]] for grant in box.grants()]
        other = Request.http("https://other.test/")
        return [listed, box.request(update)["verdict"], box.request(update)["verdict"], refused(box.grant, other)["status"]]


print(json.dumps({name: function() for name, function in CALLS.items()}, indent=1))
