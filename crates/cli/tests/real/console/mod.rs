//! `brunt console` beside a running test, seen with a browser and by Prometheus: scripts do
//! what a user would, and say what they saw.

use std::ffi::OsStr;
use std::fs::{File, read_to_string};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::LENIENT;

/// Ends within a minute, after several samples.
const SCENARIO: &str = r#"
name = "watched"
scratch = "data"

[test]
duration = "24s"
sessions = 2
min_warmup = "1s"

[profile]
version = "exchange-2013"
page = "4 KiB"
log_file = "256 KiB"
log_buffer = "64 KiB"
cache_min = "1 MiB"
cache_max = "2 MiB"
checkpoint_depth = "1 MiB"

[[instance]]
log = "log1"
databases = ["one.edb"]
database_size = "6 MiB"

[[instance]]
log = "log2"
databases = ["two.edb"]
database_size = "6 MiB"
"#;

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
    std::fs::write(home.path().join("watched.toml"), SCENARIO).unwrap();
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
