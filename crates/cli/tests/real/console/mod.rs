//! `brunt console` beside a running test, seen with a browser and by Prometheus: scripts do
//! what a user would, and say what they saw.

use std::ffi::OsStr;
use std::fs::{File, Permissions, read_dir, read_to_string};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::LENIENT;
use super::crash::look::SCENARIO;

/// The small databases of the crashes, for a test that ends within a minute, after several samples.
const WATCHED: &str = r#"
base = "crash.toml"
name = "watched"

[test]
duration = "24s"
sessions = 2
min_warmup = "1s"
"#;

fn scenario(folder: &Path) {
    std::fs::write(folder.join("crash.toml"), SCENARIO).unwrap();
    std::fs::write(folder.join("watched.toml"), WATCHED).unwrap();
}

fn skip(why: &str) {
    eprintln!("skipped: {why}");
    if let Some(path) = std::env::var_os("BRUNT_SKIPPED") {
        let mut file = File::options().append(true).create(true).open(path).unwrap();
        writeln!(file, "real console: {why}").unwrap();
    }
}

/// Runs a script of this folder in one with the scenario; it fails when it sees something wrong.
fn look(python: &OsStr, script: &str) {
    let home = tempfile::tempdir().unwrap();
    scenario(home.path());
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/console");
    let said = home.path().join("said");
    let ended = Command::new(python)
        .arg(scripts.join(script))
        .arg(env!("CARGO_BIN_EXE_brunt"))
        .args(LENIENT)
        .current_dir(home.path())
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(File::create(&said).unwrap())
        .stderr(File::options().append(true).open(&said).unwrap())
        .status()
        .unwrap();
    assert!(ended.success(), "{}", read_to_string(&said).unwrap());
}

#[test]
fn a_browser_sees_a_test_from_its_creation_to_its_verdict() {
    match std::env::var_os("BRUNT_BROWSER_PYTHON") {
        Some(python) => look(&python, "browser.py"),
        None => skip("there is no browser to look with"),
    }
}

#[test]
fn prometheus_answers_with_the_figures_of_the_result() {
    match Path::new("/usr/bin/prometheus").exists() {
        true => look(OsStr::new("python3"), "prometheus.py"),
        false => skip("there is no Prometheus"),
    }
}

#[test]
fn a_test_that_ends_while_nobody_looks_tells_it() {
    let home = tempfile::tempdir().unwrap();
    let file = |name: &str| home.path().join(name);
    scenario(home.path());
    let told = file("told");
    std::fs::write(file("tell-me"), format!("#!/bin/sh\ncat >> {}\n", told.display())).unwrap();
    std::fs::set_permissions(file("tell-me"), Permissions::from_mode(0o700)).unwrap();
    let alarm = "[[alarm]]\nwhen = \"run ended\"\nrun = [\"./tell-me\"]\n";
    std::fs::write(file("alarms.toml"), alarm).unwrap();
    std::fs::create_dir(file("runs")).unwrap();
    let program = || {
        let mut brunt = Command::new(env!("CARGO_BIN_EXE_brunt"));
        brunt.current_dir(home.path()).stdin(Stdio::null()).stdout(Stdio::null());
        brunt.stderr(Stdio::null());
        brunt
    };
    let watching = ["console", "--headless", "--alarms", "alarms.toml", "--allow-exec"];
    let mut console = program().args(watching).spawn().unwrap();
    program().args(["run", "watched.toml"]).args(LENIENT).status().unwrap();
    let line = (0..600).find_map(|_| {
        thread::sleep(Duration::from_millis(100));
        read_to_string(&told).ok().filter(|text| text.ends_with('\n'))
    });
    console.kill().unwrap();
    console.wait().unwrap();
    let line: Value = serde_json::from_str(&line.expect("something was told")).unwrap();
    assert_eq!((&line["alarm"], &line["when"]), (&json!("raised"), &json!("run ended")));
    let run = read_dir(file("runs")).unwrap().next().unwrap().unwrap();
    assert_eq!(line["run"], json!(run.file_name().to_str().unwrap()));
}
