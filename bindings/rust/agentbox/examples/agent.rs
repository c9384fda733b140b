// SPDX-License-Identifier: Apache-2.0
//! The smallest agent: a model with two tools, commands that run in a box, a person who is asked on the terminal.
//!
//!     cargo run --example agent [-- --yes | --no]
//!
//! `Model` is a script in a model's place; a real one gets the same three things: the tools' descriptions, the conversation, and of
//! each call what the command printed followed by what stopped it.
use agentbox::{AgentBox, Answer, Command, Context, ErrorKind, Event, EventType, Policy, Request, Result, Scope};
use std::io::Write;
use std::time::Duration;

const POLICY: &str = include_str!("agent-policy.json");
const DENIED: &str = "It is policy, not a fault of the command";

/// A person may think as long as the policy's time-out.
fn ask_person(question: &str) -> bool {
    println!();
    for line in question.trim_end().lines() {
        println!("  {line}");
    }
    print!("  allow it? ");
    if let Some(said) = std::env::args().nth(1) {
        println!("{}", said.trim_start_matches('-'));
        return said == "--yes";
    }
    let mut said = String::new();
    print!("[yes/no] ");
    let _ = std::io::stdout().flush();
    let _ = std::io::stdin().read_line(&mut said);
    said.starts_with('y')
}

/// The policy asks: the call is held, and goes on with the answer. Nothing is run again.
fn on_event(event: &Event) -> Option<Answer> {
    if event.event_type() != EventType::APPROVAL {
        return None;
    }
    let question = event.to_text().ok()?; // no name in it that a command chose can look like another
    Some(if ask_person(&question) { Answer::allow(Scope::ONCE) } else { Answer::deny("the person at the terminal said no") }.by("terminal"))
}

enum Tool {
    RunCommand(String),
    RequestAccess { path: String, why: &'static str },
}

/// What the command printed (it may imitate anything), and last what stopped it, which is made from events alone.
fn run_command(from: &AgentBox, call: &str, command: &str) -> Result<String> {
    let command = Command::new(["sh", "-c", command]).label(call).timeout(Duration::from_secs(60));
    let outcome = from.run_with(&command, on_event)?;
    let printed = [outcome.stdout, outcome.stderr].into_iter().flatten().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect::<String>();
    let gap = if outcome.explanation.is_empty() || printed.is_empty() || printed.ends_with('\n') { "" } else { "\n" }; // a line of its own
    Ok(format!("exit {}\n{printed}{gap}{}", outcome.exit.code, outcome.explanation))
}

fn request_access(from: &AgentBox, path: &str, why: &str) -> Result<String> {
    if !ask_person(&format!("the agent asks to write '{}' from now on, and says: '{}'", path.escape_default(), why.escape_default())) {
        return Ok("The user said no.\n".into());
    }
    match from.grant(&Request::write(path), 0, 0, Some("terminal")) {
        Err(error) if error.kind == ErrorKind::Denied => Ok(format!("{error}\n")), // a rule denies it, which no grant lifts
        other => other.map(|_| "Granted.\n".into()),
    }
}

/// It looks at the result of each call, and reacts to what stopped it as a model should.
struct Model {
    workspace: String,
    log: String,
    calls: usize,
}

impl Model {
    /// The next call, given the result of the one before; None: done.
    fn next(&mut self, result: &str) -> Option<(&'static str, Tool)> {
        self.calls += 1;
        let log = &self.log;
        let (thought, command) = match self.calls {
            1 => ("I look at what there is to do.", "cat notes.txt".to_owned()),
            2 => ("I add to the log that all agents share.", format!("echo started >>{log}")),
            3 if result.contains(DENIED) => {
                let tool = Tool::RequestAccess { path: log.clone(), why: "agents tell each other what they do" };
                return Some(("It is denied: I ask for it.", tool));
            }
            4 if result.starts_with("Granted") => ("I may now.", format!("echo started >>{log} && cat {log}")),
            4 => ("I may not: the denial said that the workspace can be written.", "echo started >>agents.log && cat agents.log".to_owned()),
            5 => ("I look at the customers.", "cat customers/list.csv".to_owned()),
            6 if result.contains("Instead: use customers-sample") => (
                "They are denied, with an alternative: I use that.",
                "mkdir customers-sample && echo 'Ada,1' | tee customers-sample/list.csv".to_owned(),
            ),
            7 => ("I publish the release; a person will be asked.", "mkdir release && echo published".to_owned()),
            _ => return None,
        };
        Some((thought, Tool::RunCommand(format!("cd {} && {command}", self.workspace))))
    }
}

fn converse(mut model: Model, from: &AgentBox) -> Result<()> {
    let mut result = String::new();
    while let Some((thought, tool)) = model.next(&result) {
        let call = format!("call-{}", model.calls);
        println!("\n[{call}] {thought}");
        result = match &tool {
            Tool::RunCommand(command) => {
                println!("  run_command {command}");
                run_command(from, &call, command)?
            }
            Tool::RequestAccess { path, why } => {
                println!("  request_access {path} {why}");
                request_access(from, path, why)?
            }
        };
        print!("{result}");
    }
    let refused = result.contains("said no");
    println!("\n{}", if refused { "The release waits: I was told no, and do not try another way." } else { "Released." });
    Ok(())
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let work = format!("/var/tmp/agent-{}", std::process::id());
    let workspace = format!("{work}/checkout");
    std::fs::create_dir_all(format!("{workspace}/customers"))?;
    std::fs::write(format!("{workspace}/notes.txt"), "write the release notes\n")?;
    let home = std::env::var("HOME").unwrap_or_else(|_| "/nonexistent".into());
    let policy = Policy::from_profile("workspace-write", &[("workspace", &workspace), ("home", &home)], &[POLICY])?;
    let from = Context::new()?.open_box(&policy, None)?;
    let outcome = converse(Model { log: format!("{work}/agents.log"), workspace, calls: 0 }, &from);
    drop(from);
    std::fs::remove_dir_all(work)?;
    Ok(outcome?)
}
