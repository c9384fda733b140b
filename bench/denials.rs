// SPDX-License-Identifier: Apache-2.0
//! The row about the Rust crate: denials WORKSPACE, with denials.py as standard input
use agentbox::{Command, Context, EventType, Policy};
use std::time::{SystemTime, UNIX_EPOCH};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (workspace, script) = (std::env::args().nth(1).ok_or("denials WORKSPACE")?, std::io::read_to_string(std::io::stdin())?);
    let policy = Policy::from_profile("workspace-write", &[("workspace", &workspace), ("home", "/home/somebody")], &[])?;
    let mut late = Vec::new();
    Context::new()?.open_box(&policy, None)?.run_with(&Command::new(["/usr/bin/python3", "-c", &script]), |event| {
        if event.event_type() == EventType::DENIAL {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as i64);
            late.push((now - event.time_ns()) as f64 / 1e6);
        }
        None
    })?;
    late.sort_by(f64::total_cmp);
    println!("a denial reaches Rust\t{:.4}\t{:.4}\tms\t< 2\t19 of 20", late[late.len() / 2], late[late.len() * 19 / 20]);
    Ok(())
}
