//! Storage that lies, by the program itself on a real folder: the run fails, names what is wrong,
//! and does not pretend.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::program::{answer, keeps_to_the_schema};

const SCENARIO: &str = include_str!("../../../../examples/lying-disk.toml");

/// Runs the example in `home`: exit code, what was said, the result.
fn run(home: &Path) -> (Option<i32>, String, Value) {
    fs::write(home.join("lying-disk.toml"), SCENARIO).unwrap();
    let output = answer(home, &["run", "lying-disk.toml", "--json", "--duration=4s"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let result = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{said}"));
    (output.status.code(), said, result)
}

#[test]
fn every_lie_is_named_and_nothing_qualifies() {
    let home = TempDir::new().unwrap();
    let (code, said, result) = run(home.path());
    assert_eq!((code, &result["verdict"]), (Some(1), &Value::from("fail")));
    let found: Vec<&str> = result["storage"]["details"]["found"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line.as_str().unwrap())
        .collect();
    for (file, error) in [
        ("rot.edb", "-1018"),
        ("blank.edb", "-1019"),
        ("astray.edb", "-1118"),
        ("forgetful.edb", "-1119"),
        ("scratched.edb", "-1021"),
        ("deaf.edb", "-1022"),
    ] {
        let names = |line: &str| {
            let place = line.contains(": page ") && line.contains("(offset ");
            line.contains(file) && place && line.contains(&format!("(ESE {error})"))
        };
        assert!(found.iter().any(|line| names(line)), "{file}: {found:#?}");
    }
    let places: Vec<_> = found.iter().filter_map(|line| line.split_once("): ")).collect();
    let places: BTreeSet<_> = places.iter().map(|(place, _)| place).collect();
    assert_eq!(places.len(), found.len(), "a line for each page: {found:#?}");
    assert!(said.contains("put in the way on purpose: this run says nothing"));
    assert!(said.contains("fault 4 on purpose: lost write: a write of "));
    assert_eq!(result["qualifies"], false);
    let reason = result["reasons"][0].as_str().unwrap();
    assert_eq!(reason, "6 faults injected: a run without them");
    let struck = |fault: &Value| fault["struck"].as_u64().unwrap() > 0;
    assert!(result["storage"]["faults"].as_array().unwrap().iter().all(struck));
    keeps_to_the_schema(&result);
    let runs = fs::read_dir(home.path().join("runs")).unwrap();
    let folder = runs.last().unwrap().unwrap().path();
    let report = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(report.contains("Faults were put in the way on purpose"));
    assert!(report.contains("(ESE -1119)"));
}
