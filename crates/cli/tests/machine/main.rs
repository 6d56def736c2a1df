//! Real runs on a machine that is made to behave badly: rules and reasons that the virtual world
//! cannot break.
//!
//! | test | what is done to the machine | needs |
//! | --- | --- | --- |
//! | `busy` | others want the only processor | `taskset` |
//! | `stopped` | the program is stopped for three seconds | |
//! | `memory` | storage that never waits, so the program does | a file system in memory at `/dev/shm` |
//! | `group` | a control group limits processor time | to be root, and the controller `cpu` |
//! | `sparse` | a database of which the file system knows that much of it is blank | a build on a block device |
//! | `loops` | a loop device whose file is cached; another reader of its device | to be root, `losetup`, `mkfs.ext4` |
//!
//! What a machine does not allow, or others on it spoil each time, is reported to `./test` as
//! skipped ([`skip`]), and is not counted as passed. Time that a hypervisor steals cannot be had on
//! purpose; `qualify/tests/qualify/machine.rs` tells a test of it.

mod busy;
mod group;
mod loops;
mod memory;
mod sparse;
mod stopped;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

use brunt_qualify::rules::RuleId;
use serde_json::Value;

/// How often something is tried that others on the machine may spoil.
const TRIES: usize = 3;

/// One test at a time does something to the machine.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process that is ended with its owner.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The test called `name` cannot run here, and why.
fn skip(name: &str, why: &str) {
    eprintln!("skipped: {why}");
    if let Some(list) = std::env::var_os("BRUNT_SKIPPED") {
        let list = OpenOptions::new().create(true).append(true).open(list);
        writeln!(list.unwrap(), "{name}: {why}").unwrap();
    }
}

/// A test of a few seconds on 128 MiB below `scratch`; `load` is what `[test]` says of sessions and
/// their pace.
fn scenario(scratch: &Path, load: &str) -> String {
    format!(
        r#"
name = "machine"
scratch = "{}"
[test]
duration = "4s"
min_warmup = "1s"
{load}
[profile]
cache_min = "4 MiB"
cache_max = "16 MiB"
checkpoint_depth = "1 MiB"
[[instance]]
log = "log"
databases = ["one.edb"]
database_size = "128 MiB"
"#,
        scratch.display()
    )
}

/// The result of running `scenario` in `home`; `start` begins with whatever leads to the program,
/// and lacks its arguments.
fn result_of(mut start: Command, home: &Path, scenario: &str) -> Value {
    fs::write(home.join("machine.toml"), scenario).unwrap();
    let output = start.args(["run", "machine.toml", "--json"]).current_dir(home).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"))
}

fn brunt() -> Command {
    Command::new(env!("CARGO_BIN_EXE_brunt"))
}

fn rule(result: &Value, id: RuleId) -> &Value {
    let mut rules = result["rules"].as_array().unwrap().iter();
    rules.find(|rule| rule["id"] == id.name().id).unwrap()
}

/// Checks that a rule did not hold. `qualify/tests/qualify/rules.rs` looks for the calls.
fn fails<'r>(result: &'r Value, id: RuleId, wanted: &str) -> &'r Value {
    assert!(["failed", "advisory"].contains(&wanted));
    let rule = rule(result, id);
    assert_eq!(rule["outcome"], wanted, "{rule}");
    rule
}

/// What the rule says that names why the program was held back: it fails where everything else that
/// failed may be due to that.
fn blamed(result: &Value) -> &'static str {
    match result["verdict"] == "invalid" {
        true => "failed",
        false => "advisory",
    }
}

fn reasons(result: &Value) -> String {
    result["reasons"].to_string()
}
