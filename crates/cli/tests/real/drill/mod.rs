//! `brunt drill` on real storage: `own` between two folders and two hosts, `pair` on storage that
//! replicates by itself.
//!
//! The long form, which kills at random moments: `BRUNT_DRILLS=100 cargo test --release -p
//! brunt-cli --test real -- --nocapture random`.

mod own;
mod pair;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A server for a drill of a second or two, and its sites.
const SERVER: &str = r#"
[test]
duration = "20s"
sessions = 4
target_io_per_s = 200
min_warmup = "200ms"
[profile]
version = "exchange-2003"
cache_max = "4 MiB"
cache_min = "4 MiB"
# What a busy machine does to latencies is not judged here.
[limits]
read_average = "1h"
read_sample = "1h"
log_average = "1h"
log_sample = "1h"
[[instance]]
log = "log1"
databases = ["db1/1.edb"]
database_size = "8 MiB"
[site.source]
folder = "a"
[site.destination]
folder = "b"
"#;

/// A drill of `scenario` in `home`.
fn command(home: &Path, scenario: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command
        .args(["drill", scenario, "--json"])
        .args(arguments)
        .current_dir(home)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

/// Runs `command`; its result is null where there is none.
fn outcome(command: &mut Command) -> (Output, Value) {
    let output = command.output().unwrap();
    let result = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output, result)
}

pub(crate) fn said(output: &Output) -> String {
    let [errors, result] =
        [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text));
    format!("{errors}{result}")
}

/// The outcome of rule `id`.
fn rule(result: &Value, id: &str) -> String {
    let rules = result["rules"].as_array().unwrap().iter();
    let mut found = rules.filter(|rule| rule["id"] == id);
    let found = found.next().map(|rule| rule["outcome"].as_str().unwrap());
    found.unwrap_or("missing").to_owned()
}

fn all_hold(result: &Value, ids: &[&str]) {
    for id in ids {
        assert_eq!(rule(result, id), "ok", "{id}: {result}");
    }
}

fn names_of_steps(result: &Value) -> Vec<&str> {
    let steps = result["drill"]["steps"].as_array().unwrap().iter();
    steps.map(|step| step["name"].as_str().unwrap()).collect()
}

/// Every control was found.
fn controls_are_red(result: &Value) {
    let controls = result["drill"]["controls"].as_array().unwrap();
    assert_eq!(controls.len(), 4);
    assert!(controls.iter().all(|control| control["red"] == true), "{result}");
}

/// Ctrl-C: the drill ends as one that was stopped.
pub(crate) fn interrupt(child: Child) -> Output {
    let number = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(number, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    output
}

fn is_gone(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = status.rsplit(") ").next().unwrap_or_default();
    status.is_empty() || state.starts_with('Z')
}

/// The test called `name` cannot run here, and why.
pub(crate) fn skip(name: &str, why: &str) {
    eprintln!("skipped: {why}");
    if let Some(list) = std::env::var_os("BRUNT_SKIPPED") {
        let list = OpenOptions::new().create(true).append(true).open(list);
        writeln!(list.unwrap(), "{name}: {why}").unwrap();
    }
}
