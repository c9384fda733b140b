// SPDX-License-Identifier: Apache-2.0
//! The forty-three calls of tests/bindings/expected.json, in Rust; what they give, as JSON: calls WORKSPACE
use agentbox::{redact_audit, replay_audit, AgentBox, Access, Answer, Command, Context, Error, Event, EventType, Exit, Limit, Outcome, Policy, PolicyBuilder, Request, Result, Scope, Stream, Verdict, Weaken};
use serde_json::{from_str, json, Map, Value};
use std::io::{Read, Write};
use std::time::Duration;

const NOTHING: &str = r#"{"version": 1}"#;
const ASK: &str = r#"{"version": 1, "name": "asking", "filesystem": {"write": {
    "ask": [{"path": "${workspace}/release", "id": "release", "reason": "a release needs a person"}],
    "deny": [{"path": "${workspace}/never", "id": "never", "instead": "write elsewhere"}]}}}"#;
const REQUESTS: &str = r#"{"version": 1,
    "network": {"mode": "filtered", "allow": [{"host": "api.test", "http": [{"methods": ["PUT"], "path": "/v1/**", "action": "change"}]}]},
    "actions": [{"name": "change", "verdict": "ask"}, {"name": "update", "verdict": "ask", "arguments": {"id": {"type": "string"}}}]}"#;
const MOTD: &str = "echo x >/etc/motd";
const TERM: i32 = 15;

type Call = (&'static str, fn(&Calls) -> Result<Value>);

struct Calls {
    workspace: String,
}

fn refused<T>(outcome: Result<T>) -> Value {
    outcome.err().map_or(Value::Null, |Error { status, step, .. }| json!({ "status": status, "step": step }))
}

fn status_of<T>(outcome: Result<T>) -> Value {
    refused(outcome)["status"].clone()
}

fn ended(exit: &Exit) -> Value {
    json!({ "reason": exit.reason.0, "code": exit.code, "denials": exit.denials })
}

fn verdict(policy: &Policy, request: &Request) -> Result<Value> {
    let found = policy.evaluate(request)?;
    Ok(json!({ "verdict": found.verdict.0, "default": found.rule.is_none() }))
}

fn words(bytes: Option<Vec<u8>>) -> String {
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

fn parsed(text: &str) -> Value {
    from_str(text).unwrap_or(Value::Null)
}

fn shell(script: &str) -> Command {
    Command::new(["sh", "-c", script])
}

impl Calls {
    fn below(&self, name: &str) -> String {
        format!("{}/{name}", self.workspace)
    }

    fn policy(&self, document: &str) -> Result<Policy> {
        Policy::from_profile("workspace-write", &[("workspace", &self.workspace), ("home", "/home/somebody")], &[document])
    }

    fn open(&self, document: &str) -> Result<AgentBox> {
        Context::new()?.open_box(&self.policy(document)?, None)
    }

    fn run(&self, document: &str, command: &Command) -> Result<Outcome> {
        self.open(document)?.run(command)
    }

    fn events(&self) -> Result<Vec<Event>> {
        let mut all = Vec::new();
        let from = self.open(NOTHING)?;
        from.run(&shell(MOTD).label("call-1"))?;
        while let Some(event) = from.context().next_event()? {
            all.push(event);
        }
        Ok(all)
    }

    fn denial(&self) -> Result<Event> {
        let found = self.events()?.into_iter().find(|event| event.event_type() == EventType::DENIAL);
        Ok(found.expect("a denial"))
    }

    /// A command under ASK, each of its questions answered so; the questions, and how it went.
    fn asked(&self, script: &str, answer: Answer) -> Result<(Vec<Value>, Outcome)> {
        let mut questions = Vec::new();
        let outcome = self.open(ASK)?.run_with(&shell(script).cwd(&self.workspace), |event| {
            if event.event_type() != EventType::APPROVAL {
                return None;
            }
            questions.push(json!({ "rule": event.rule(), "reason": event.reason(), "target": event.target(), "verb": event.verb(), "retry": event.retry().0 }));
            Some(answer.clone())
        })?;
        Ok((questions, outcome))
    }
}

const POLICIES: &[Call] = &[
    ("policy-unknown-key", |_| Ok(refused(Policy::from_json(r#"{"version": 1, "filesytem": {}}"#)))),
    ("policy-not-json", |_| Ok(refused(Policy::from_json("{")))),
    ("policy-other-version", |_| Ok(refused(Policy::from_json(r#"{"version": 99}"#)))),
    ("builder-unknown-profile", |_| Ok(refused(PolicyBuilder::new(Some("no-such-profile"))))),
    ("builder-variable-not-set", |_| Ok(refused(PolicyBuilder::new(Some("workspace-write"))?.build()))),
    ("builder-weaken-without-reason", |_| Ok(refused(PolicyBuilder::new(None)?.weaken(Weaken::HOST_NETWORK, "")))),
    ("builder-rules", |_| {
        let mut builder = PolicyBuilder::new(None)?;
        builder.path("/srv", Access::READ, Verdict::ALLOW)?.host("example.org", (443, 443), Verdict::ALLOW)?;
        let built = builder.build()?;
        let requests = [Request::read("/srv/a"), Request::connect("example.org", 443), Request::connect("example.org", 80)];
        requests.iter().map(|request| verdict(&built, request)).collect()
    }),
    ("digest-of-the-same", |calls| {
        let digest = calls.policy(ASK)?.digest();
        Ok(json!([digest == calls.policy(ASK)?.digest(), digest == calls.policy(NOTHING)?.digest(), digest.len()]))
    }),
    ("policy-to-json-and-back", |calls| {
        let policy = calls.policy(ASK)?;
        Ok(json!(Policy::from_json(&policy.to_json()?)?.digest() == policy.digest()))
    }),
    ("describe", |calls| {
        let policy = calls.policy(NOTHING)?;
        Ok(json!([policy.describe("text")?.contains(&calls.workspace), !parsed(&policy.describe("json")?).is_null()]))
    }),
    ("evaluate-allowed", |calls| verdict(&calls.policy(NOTHING)?, &Request::write(calls.below("a")))),
    ("evaluate-denied", |calls| verdict(&calls.policy(NOTHING)?, &Request::write("/etc/motd"))),
    ("evaluate-asked", |calls| verdict(&calls.policy(ASK)?, &Request::write(calls.below("release/1")))),
    ("evaluate-connect", |calls| verdict(&calls.policy(NOTHING)?, &Request::connect("example.org", 443))),
    ("evaluate-unknown-kind", |calls| {
        Ok(refused(calls.policy(NOTHING)?.evaluate(&Request { kind: agentbox::RequestKind(99), target: Some("/".into()), ..Request::default() })))
    }),
    ("explain-request", |calls| Ok(parsed(&calls.policy(ASK)?.explain(&Request::write(calls.below("release/1")))?)["verdict"].clone())),
    ("intersect", |calls| verdict(&calls.policy(NOTHING)?.under(&calls.policy(ASK)?)?, &Request::write(calls.below("release/1")))),
    ("compare", |calls| {
        let found = calls.policy(ASK)?.compare(&calls.policy(NOTHING)?)?;
        Ok(json!([found.relation.0, parsed(&found.rows)[0]["change"]]))
    }),
    ("replay", |calls| {
        let (outcome, rows) = replay_audit(&calls.policy(ASK)?, &[calls.below("log")])?;
        let first = &parsed(&rows)[0];
        Ok(json!([outcome.0, first["change"], first["target"], first["calls"]]))
    }),
    ("redact", |calls| Ok(parsed(&redact_audit(calls.below("log"), "2")?))),
];

const COMMANDS: &[Call] = &[
    ("receipt", |calls| Ok(json!(parsed(&calls.open(NOTHING)?.receipt()?).get("rung").is_some()))),
    ("output", |calls| {
        let outcome = calls.run(NOTHING, &shell("echo out; echo err >&2"))?;
        Ok(json!([words(outcome.stdout), words(outcome.stderr), ended(&outcome.exit)]))
    }),
    ("exit-code", |calls| Ok(ended(&calls.run(NOTHING, &shell("exit 3"))?.exit))),
    ("ended-by-a-signal", |calls| Ok(ended(&calls.run(NOTHING, &shell("kill -9 $$"))?.exit))),
    ("environment-and-directory", |calls| {
        Ok(json!(words(calls.run(NOTHING, &shell("echo $NAME; pwd").env("NAME", "value").cwd(&calls.workspace))?.stdout)))
    }),
    ("output-limit", |calls| {
        let mut builder = PolicyBuilder::new(Some("workspace-write"))?;
        builder.variable("workspace", &calls.workspace)?.variable("home", "/home/somebody")?.limit(Limit::OUTPUT, 4)?;
        Ok(json!(words(Context::new()?.run(&builder.build()?, &Command::new(["echo", "0123456789"]))?.stdout)))
    }),
    ("pipes", |calls| {
        let from = calls.open(NOTHING)?;
        let process = from.spawn(&Command::new(["tr", "a-z", "A-Z"]).streams(Stream::Pipe, Stream::Pipe, Stream::Null))?;
        process.take_stdio(0).expect("a pipe").write_all(b"hello").expect("written");
        let mut read = String::new();
        process.take_stdio(1).expect("a pipe").read_to_string(&mut read).expect("read");
        Ok(json!([read, ended(&process.wait()?)]))
    }),
    ("not-found", |calls| Ok(refused(calls.run(NOTHING, &Command::new(["no-such-program"]).env("PATH", "/usr/bin:/bin"))))),
    ("time-out", |calls| Ok(ended(&calls.run(NOTHING, &Command::new(["sleep", "1000"]).timeout(Duration::from_millis(50)))?.exit))),
    ("poll-signal-and-wait", |calls| {
        let from = calls.open(NOTHING)?;
        let process = from.spawn(&Command::new(["sleep", "1000"]))?;
        let running = process.try_wait()?.is_none();
        process.signal(TERM)?;
        Ok(json!([running, ended(&process.wait()?), status_of(process.signal(TERM))]))
    }),
    ("kill", |calls| {
        let from = calls.open(NOTHING)?;
        let process = from.spawn(&Command::new(["sleep", "1000"]))?;
        from.kill()?;
        Ok(ended(&process.wait()?))
    }),
];

const DENIALS: &[Call] = &[
    ("denial-fields", |calls| {
        let found = calls.denial()?;
        Ok(json!({ "type": found.event_type().0, "layer": found.layer().0, "class": found.class().0, "request": found.request().0, "access": found.access().0,
            "target": found.target(), "verb": found.verb(), "rule": found.rule(), "source": found.source(), "reason": found.reason(),
            "retry": found.retry().0, "repeats": found.repeats(), "label": found.label() }))
    }),
    ("denial-as-json", |calls| {
        let all = parsed(&calls.denial()?.to_json()?);
        let keys = ["type", "layer", "class", "request", "access", "target", "verb", "rule", "retry", "backend"];
        Ok(Value::Object(keys.iter().map(|key| (key.to_string(), all[key].clone())).collect()))
    }),
    ("order-of-events", |calls| Ok(calls.events()?.iter().map(|event| event.event_type().0).collect())),
    ("explanation", |calls| {
        let denied = calls.run(NOTHING, &shell(MOTD))?.explanation;
        Ok(json!([denied.lines().next(), calls.run(NOTHING, &Command::new(["true"]))?.explanation]))
    }),
    ("alternative", |calls| {
        let outcome = calls.run(ASK, &shell(&format!("echo x >{}", calls.below("never"))))?;
        let denial = &parsed(&outcome.explanation_json)["events"][0];
        Ok(json!([denial["rule"], denial["alternative"], outcome.explanation.contains("write elsewhere")]))
    }),
];

const QUESTIONS: &[Call] = &[
    ("question-fields", |calls| {
        let (mut questions, outcome) = calls.asked("mkdir release", Answer::allow(Scope::ONCE).by("somebody"))?;
        questions.push(ended(&outcome.exit));
        Ok(json!(questions))
    }),
    ("once-and-for-the-command", |calls| {
        std::fs::create_dir_all(calls.below("release")).expect("made");
        let once = calls.asked("mkdir release/a; rmdir release/a; mkdir release/a", Answer::allow(Scope::ONCE))?;
        let command = calls.asked("mkdir release/b; rmdir release/b; mkdir release/b", Answer::allow(Scope::COMMAND))?;
        Ok(json!([once.0.len(), ended(&once.1.exit), command.0.len(), ended(&command.1.exit)]))
    }),
    ("refusal-has-its-message", |calls| {
        let (questions, outcome) = calls.asked("mkdir release/no", Answer::deny("not on a Friday"))?;
        Ok(json!([questions.len(), outcome.exit.denials, outcome.explanation.contains("not on a Friday")]))
    }),
    ("stats", |calls| {
        let asking = calls.open(ASK)?;
        asking.run_with(&shell(&format!("{MOTD}; {MOTD}; mkdir release/no")).cwd(&calls.workspace), |event| {
            (event.event_type() == EventType::APPROVAL).then(|| Answer::deny(""))
        })?;
        let found = asking.context().stats()?;
        Ok(json!([found.boxes, found.commands, found.denials, found.repeats, found.asked, found.granted, found.refused, found.timed_out,
            found.abandoned, found.held_ns > 0]))
    }),
    ("answer-to-nothing", |_| Ok(refused(Context::new()?.answer(12345, &Answer::allow(Scope::ONCE))))),
    ("grant-and-revoke", |calls| {
        let from = calls.open(ASK)?;
        let grant = from.grant(&Request::write(calls.below("release/**")), 0, 0, Some("somebody"))?;
        let outcome = from.run(&Command::new(["mkdir", &calls.below("release/granted")]))?;
        from.revoke(grant)?;
        Ok(json!([ended(&outcome.exit), status_of(from.revoke(grant))]))
    }),
    ("grant-of-what-a-rule-denies", |calls| Ok(status_of(calls.open(ASK)?.grant(&Request::write(calls.below("never")), 0, 0, None)))),
    ("grants-of-requests-and-actions", |calls| {
        let from = calls.open(REQUESTS)?;
        let update = Request::action("update", Some(r#"{ "id": "7" }"#));
        from.grant(&Request::http("PUT", "https://API.test/v1/**"), 0, 0, None)?;
        from.grant(&update, 0, 1, None)?;
        let listed: Vec<Value> = parsed(&from.grants()?).as_array().into_iter().flatten()
            .map(|grant| json!([grant["request"], grant["target"], grant["verb"]])).collect();
        let verdicts = [parsed(&from.request(&update)?), parsed(&from.request(&update)?)];
        let other = from.grant(&Request::http("GET", "https://other.test/"), 0, 0, None);
        Ok(json!([listed, verdicts[0]["verdict"], verdicts[1]["verdict"], status_of(other)]))
    }),
];

fn main() -> Result<()> {
    let calls = Calls { workspace: std::env::args().nth(1).expect("a workspace") };
    let mut all = Map::new();
    for (name, call) in [POLICIES, COMMANDS, DENIALS, QUESTIONS].concat() {
        all.insert(name.into(), call(&calls)?);
    }
    println!("{:#}", Value::Object(all));
    Ok(())
}
