//! A machine that does not let the program run: one processor, which others want as much. Latencies are then longer than the
//! storage's, and the result has to say so.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Others on the processor.
const OTHERS: usize = 4;

/// A process that is ended with its owner.
struct Spinning(Child);

impl Drop for Spinning {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const SCENARIO: &str = r#"
name = "busy"
scratch = "scratch"
[test]
duration = "4s"
min_warmup = "1s"
sessions = 2
operations_per_s = 200
[profile]
cache_min = "4 MiB"
cache_max = "16 MiB"
[[instance]]
log = "log"
databases = ["one.edb"]
database_size = "32 MiB"
"#;

/// A command on the first processor that this program may use.
fn on_one(program: &str) -> Command {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first: String = list
        .unwrap()
        .trim()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let mut command = Command::new("taskset");
    command.args(["-c", &first, program]);
    command.stdin(Stdio::null());
    command
}

#[test]
fn a_program_that_is_run_late_says_so() {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("busy.toml"), SCENARIO).unwrap();
    let others: Vec<_> = (0..OTHERS)
        .map(|_| {
            let mut spin = on_one("sh");
            spin.args(["-c", "while :; do :; done"]);
            Spinning(spin.spawn().unwrap())
        })
        .collect();
    let output = on_one(env!("CARGO_BIN_EXE_brunt"))
        .args(["run", "busy.toml", "--json"])
        .current_dir(home.path())
        .output()
        .unwrap();
    drop(others);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    let rules = result["rules"].as_array().unwrap();
    let rule = |name: &str| rules.iter().find(|rule| rule["rule"] == name).unwrap();
    let delay = rule("tester, delay p99");
    assert_eq!(delay["outcome"], "advisory", "{delay}");
    assert!(
        delay["remark"].as_str().unwrap().contains("was run late"),
        "{delay}"
    );
    assert!(delay["value"].as_f64() > Some(1.0), "{delay}");
}
