//! Runs that do not come to their end: what was sent is looked for all the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use brunt_servers::Installed;
use serde_json::Value;

use super::{folder, has_dovecot, load, nothing_runs, of, run_folder};
use crate::drill::{interrupt, said, skip};

/// A run that would take an hour, once its ledger has some deliveries; its folder.
fn long_run(home: &Path, server: &str) -> (Child, PathBuf) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(["load", "--json", "--server", server]);
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
    let (child, _) = long_run(home.path(), "dovecot");
    let output = interrupt(child);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["verdict"], "interrupted", "{}", said(&output));
    assert!(of(&result, "found") > 100 && of(&result, "unchecked") == 0, "{result}");
    nothing_runs(home.path());
}

/// The folder of a run that was killed while it sent.
fn killed_run(home: &Path, server: &str) -> PathBuf {
    let (mut child, run) = long_run(home, server);
    child.kill().unwrap();
    child.wait().unwrap();
    // The servers have a moment to die with it.
    let mut looks = (0..4_000).map(|_| std::thread::sleep(Duration::from_millis(5)));
    assert!(!is_named(home) || looks.any(|()| !is_named(home)));
    run
}

#[test]
fn servers_that_died_with_brunt_are_not_blamed_for_doubles() {
    let name = "load::ended::servers_that_died_with_brunt_are_not_blamed_for_doubles";
    if !has_dovecot(name) {
        return;
    }
    let is_root = rustix::process::geteuid().is_root();
    if let Some(why) = Installed::postfix().err().map(|error| error.to_string()) {
        return skip(name, &why);
    }
    if !is_root {
        return skip(name, "Postfix needs root");
    }
    let home = folder();
    let run = killed_run(home.path(), "postfix");
    let (output, result) = load(home.path(), &["--audit", run.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(of(&result, "found") > 100 && of(&result, "doubled") == 0, "{result}");
    assert!(result["reasons"].to_string().contains("servers were killed"), "{result}");
}

#[test]
fn servers_whose_run_is_gone_are_found_and_removed() {
    if !has_dovecot("load::ended::servers_whose_run_is_gone_are_found_and_removed") {
        return;
    }
    let home = folder();
    // Sockets have no room below it.
    let deep = home.path().join("x".repeat(70));
    fs::create_dir(&deep).unwrap();
    let small = ["--server", "dovecot", "--users", "3", "--deliveries", "30"];
    let (output, _) = load(&deep, &small);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let run = run_folder(&deep);
    let kept: Value = serde_json::from_slice(&fs::read(run.join("load.json")).unwrap()).unwrap();
    let servers = PathBuf::from(kept["servers"].as_str().unwrap());
    assert!(servers.starts_with("/var/tmp") && servers.is_dir(), "{}", servers.display());
    let clean = |argument: &str, yes: &[&str]| {
        let mut clean = Command::new(env!("CARGO_BIN_EXE_brunt"));
        clean.args(["clean", argument]).args(yes).stdin(Stdio::null());
        let output = clean.output().unwrap();
        (output.status.code(), said(&output))
    };
    let name = servers.to_str().unwrap();
    assert!(!clean("--orphans", &[]).1.contains(name));
    fs::remove_dir_all(&run).unwrap();
    let (code, listed) = clean("--orphans", &[]);
    assert!(code == Some(2) && listed.contains(name) && listed.contains("is gone"), "{listed}");
    // Another program may have orphans of its own here: only this one goes.
    assert_eq!(clean(name, &["--yes"]).0, Some(0));
    assert!(!servers.exists() && !clean("--orphans", &[]).1.contains(name));
}

#[test]
fn a_run_that_was_killed_is_audited_from_its_ledger() {
    if !has_dovecot("load::ended::a_run_that_was_killed_is_audited_from_its_ledger") {
        return;
    }
    let home = folder();
    let run = killed_run(home.path(), "dovecot");
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
