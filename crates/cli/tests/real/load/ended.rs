//! Runs that do not come to their end: what was sent is looked for all the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::{folder, has_dovecot, load, nothing_runs, of, run_folder};
use crate::drill::{interrupt, said};

/// A run that would take an hour, once its ledger has some deliveries; its folder.
fn long_run(home: &Path) -> (Child, PathBuf) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(["load", "--json", "--server", "dovecot"]);
    command.args(["--users", "5", "--deliveries", "1000000"]);
    command.current_dir(home).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    while !has_deliveries(home) {
        assert!(child.try_wait().unwrap().is_none(), "it has ended before it was to");
        std::thread::sleep(Duration::from_millis(5));
    }
    (child, run_folder(home))
}

fn has_deliveries(home: &Path) -> bool {
    let runs = fs::read_dir(home.join("runs")).into_iter().flatten().flatten();
    let mut ledgers = runs.filter_map(|run| run.path().join("ledger.bin").metadata().ok());
    ledgers.any(|ledger| ledger.len() > 20_000)
}

/// Whether a process names `home` in its command line.
fn is_named(home: &Path) -> bool {
    let mut entries = fs::read_dir("/proc").unwrap().flatten();
    let home = home.to_str().unwrap();
    entries.any(|entry| {
        let command = fs::read_to_string(entry.path().join("cmdline"));
        command.is_ok_and(|command| command.contains(home))
    })
}

#[test]
fn a_run_that_is_stopped_looks_for_what_it_sent() {
    if !has_dovecot("load::ended::a_run_that_is_stopped_looks_for_what_it_sent") {
        return;
    }
    let home = folder();
    let (child, _) = long_run(home.path());
    let output = interrupt(child);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["verdict"], "interrupted", "{}", said(&output));
    assert!(of(&result, "found") > 100 && of(&result, "unchecked") == 0, "{result}");
    nothing_runs(home.path());
}

#[test]
fn a_run_that_was_killed_is_audited_from_its_ledger() {
    if !has_dovecot("load::ended::a_run_that_was_killed_is_audited_from_its_ledger") {
        return;
    }
    let home = folder();
    let (mut child, run) = long_run(home.path());
    child.kill().unwrap();
    child.wait().unwrap();
    // The servers have a moment to die with it.
    let mut looks = (0..4_000).map(|_| std::thread::sleep(Duration::from_millis(5)));
    assert!(!is_named(home.path()) || looks.any(|()| !is_named(home.path())));
    // What its journal has is known, and what is in the mailboxes is not.
    let mut report = Command::new(env!("CARGO_BIN_EXE_brunt"));
    let report = report.arg("report").arg(&run).arg("--json").output().unwrap();
    let result: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!((report.status.code(), &result["verdict"]), (Some(0), &"interrupted".into()));
    assert_eq!((of(&result, "found"), &result["rules"]), (0, &Value::Array(Vec::new())));
    let run_id = result["origin"]["run_id"].clone();
    let (output, result) = load(home.path(), &["--audit", run.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    // The journal is that of the run whose messages are looked for.
    assert_eq!(result["origin"]["run_id"], run_id);
    assert!(of(&result, "found") > 100, "{result}");
    assert!(result["reasons"].to_string().contains("was killed while it sent"), "{result}");
}
