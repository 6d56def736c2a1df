//! A machine that does not let the program run: one processor, which others want as much. Latencies
//! are then longer than the storage's, and the result has to say so.

use std::fs;
use std::process::{Command, Stdio};

use brunt_qualify::rules::RuleId;
use tempfile::TempDir;

use super::{Ended, blamed, fails, result_of, scenario, turn};

/// Others on the processor.
const OTHERS: usize = 4;

/// A command on the first processor that this program may use.
fn on_one(program: &str) -> Command {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first: String = list.unwrap().trim().chars().take_while(char::is_ascii_digit).collect();
    let mut command = Command::new("taskset");
    command.args(["-c", &first, program]);
    command.stdin(Stdio::null());
    command
}

#[test]
fn a_program_that_is_run_late_says_so() {
    let _turn = turn();
    let home = TempDir::new().unwrap();
    let others: Vec<_> = (0..OTHERS)
        .map(|_| {
            let mut spin = on_one("sh");
            spin.args(["-c", "while :; do :; done"]);
            Ended(spin.spawn().unwrap())
        })
        .collect();
    let text = scenario(&home.path().join("scratch"), "sessions = 2\noperations_per_s = 200");
    let result = result_of(on_one(env!("CARGO_BIN_EXE_brunt")), home.path(), &text);
    drop(others);
    let delay = fails(&result, RuleId::TesterDelay, blamed(&result));
    assert!(delay["remark"].as_str().unwrap().contains("was scheduled late"), "{delay}");
    assert!(delay["measured"].as_f64() > Some(1.0), "{delay}");
}
