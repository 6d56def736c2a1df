//! Somebody cuts a database off while a test works on it: the test fails and says with which ESE
//! error, there are a result and a report, and the next run refuses the database by name instead of
//! working on what is left.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use brunt_qualify::rules::RuleId;
use serde_json::Value;

use super::program::said;

fn brunt(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.current_dir(home).env("NO_COLOR", "1");
    command.args([
        "run",
        "my.toml",
        "--set=profile.cache_min=4MiB",
        "--set=profile.cache_max=16MiB",
        "--set=profile.checkpoint_depth=1MiB",
        "--set=instance.0.database_size=32MiB",
        "--set=instance.1.database_size=32MiB",
        "--sessions=4",
        // Ten times a sample: long after one was seen, sessions still meet what is missing.
        "--duration=30s",
    ]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The run's folder, once a sample was recorded.
fn recorded(home: &Path, run: &mut Child) -> PathBuf {
    loop {
        let ended = run.try_wait().unwrap();
        assert!(ended.is_none(), "it ended by itself: {ended:?}");
        thread::sleep(Duration::from_millis(50));
        let Some(Ok(folder)) = fs::read_dir(home.join("runs")).ok().and_then(|mut f| f.next())
        else {
            continue;
        };
        let table = fs::read_to_string(folder.path().join("counters.csv")).unwrap_or_default();
        if table.contains(",database-read,") {
            return folder.path();
        }
    }
}

#[test]
fn a_database_that_is_cut_off_fails_the_test_and_is_refused_afterwards() {
    let home = tempfile::tempdir().unwrap();
    let mut init = Command::new(env!("CARGO_BIN_EXE_brunt"));
    init.current_dir(home.path()).args(["init", "my.toml"]);
    assert!(init.output().unwrap().status.success());
    let mut run = brunt(home.path()).spawn().unwrap();
    let folder = recorded(home.path(), &mut run);
    let database = home.path().join("brunt-scratch/db1/one.edb");
    let file = OpenOptions::new().write(true).open(&database).unwrap();
    file.set_len(1 << 20).unwrap();
    let output = run.wait_with_output().unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("db1/one.edb") && text.contains("(ESE -"), "{text}");
    let result = fs::read(folder.join("result.json")).unwrap();
    let result: Value = serde_json::from_slice(&result).unwrap();
    assert_eq!(result["verdict"], "fail");
    let rules = result["rules"].as_array().unwrap();
    let errors = rules.iter().find(|rule| rule["id"] == RuleId::IoErrors.name().id).unwrap();
    assert_eq!(errors["outcome"], "failed", "{errors}");
    assert!(folder.join("report.html").exists());

    let again = brunt(home.path()).output().unwrap();
    let text = said(&again);
    assert_eq!(again.status.code(), Some(2), "{text}");
    assert!(text.contains("one.edb"), "{text}");
}
