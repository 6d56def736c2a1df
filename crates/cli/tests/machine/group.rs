//! A control group that lets the program run for a tenth of the time: the result says so, and does
//! not qualify.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use brunt_qualify::rules::RuleId;
use serde_json::Value;
use tempfile::TempDir;

use super::{blamed, fails, reasons, result_of, rule, scenario, skip, turn};

const ROOT: &str = "/sys/fs/cgroup";

/// A control group of our own, empty again before it is dropped.
struct Group(PathBuf);

impl Group {
    /// A group below the root of whichever version has the controller `cpu`; nothing where none can
    /// be made.
    fn new() -> Option<Self> {
        let second = fs::read_to_string(Path::new(ROOT).join("cgroup.subtree_control"));
        let has_cpu = |list: String| list.split_whitespace().any(|name| name == "cpu");
        let parent = match second.is_ok_and(has_cpu) {
            true => PathBuf::from(ROOT),
            false => Path::new(ROOT).join("cpu"),
        };
        let group = parent.join(format!("brunt-test-{}", std::process::id()));
        fs::create_dir(&group).ok()?;
        let group = Self(group);
        (group.0.join("cpu.max").exists() || group.0.join("cpu.cfs_quota_us").exists())
            .then_some(group)
    }

    /// Allows this number of milliseconds of processor time in each tenth of a second.
    fn allow(&self, millis: u32) {
        let quota = millis * 1_000;
        let (file, text) = match self.0.join("cpu.max") {
            second if second.exists() => (second, format!("{quota} 100000")),
            _ => (self.0.join("cpu.cfs_quota_us"), quota.to_string()),
        };
        fs::write(file, text).unwrap();
    }

    /// The program, to be run in this group.
    fn brunt(&self) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", r#"echo $$ >"$0" && exec "$@""#]);
        command.arg(self.0.join("cgroup.procs"));
        command.arg(env!("CARGO_BIN_EXE_brunt"));
        command
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

fn run_in(group: &Group) -> Value {
    let home = TempDir::new().unwrap();
    // As fast as it goes: a pace would leave the program idle, and a limit unnoticed.
    let text = scenario(&home.path().join("scratch"), "sessions = 4");
    result_of(group.brunt(), home.path(), &text)
}

#[test]
fn a_limit_on_processor_time_is_named_and_does_not_qualify() {
    let _turn = turn();
    let Some(group) = Group::new() else {
        let why = "no control group with the controller `cpu` can be made";
        return skip("a_limit_on_processor_time_is_named_and_does_not_qualify", why);
    };
    let free = run_in(&group);
    let throttled = rule(&free, RuleId::HostThrottledTime);
    assert_eq!(throttled["outcome"], "ok", "{throttled}");
    assert_eq!(throttled["measured"], 0.0);
    const REASON: &str = "a limit on processor time held the program back";
    assert!(!reasons(&free).contains(REASON), "{}", reasons(&free));

    group.allow(10);
    let held = run_in(&group);
    fails(&held, RuleId::HostThrottledTime, blamed(&held));
    assert!(reasons(&held).contains(REASON), "{}", reasons(&held));
    let host = held["storage"]["servers"][0]["host"].as_array().unwrap();
    let mut limits = host.iter().filter(|counter| {
        let name = counter["counter"].as_str().unwrap();
        name.contains("limit")
            && counter["avg"].as_f64().is_some_and(|limit| (limit - 0.1).abs() < 1e-9)
    });
    assert!(limits.next().is_some(), "{host:?}");
}
