//! Somebody cuts a database off while a test works on it: the test fails and says with which ESE
//! error, there are a result and a report, and the next run refuses the database by name instead of
//! working on what is left.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Command, Stdio};

use brunt_qualify::rules::RuleId;
use serde_json::Value;

use super::program::{self, SMALL, answer, recorded, said};

fn run(home: &Path) -> Command {
    let mut command = program::brunt(home);
    // Ten times a sample: long after one was seen, sessions still meet what is missing.
    command.args(["run", "my.toml", "--duration=30s"]).args(SMALL);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_database_that_is_cut_off_fails_the_test_and_is_refused_afterwards() {
    let home = tempfile::tempdir().unwrap();
    assert!(answer(home.path(), &["init", "my.toml"]).status.success());
    let mut first = run(home.path()).spawn().unwrap();
    let folder = recorded(&mut first, home.path(), |table| table.contains(",database-read,"));
    let database = home.path().join("brunt-scratch/db1/one.edb");
    let file = OpenOptions::new().write(true).open(&database).unwrap();
    file.set_len(1 << 20).unwrap();
    let output = first.wait_with_output().unwrap();
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

    let again = run(home.path()).output().unwrap();
    let text = said(&again);
    assert_eq!(again.status.code(), Some(2), "{text}");
    assert!(text.contains("one.edb"), "{text}");
}
