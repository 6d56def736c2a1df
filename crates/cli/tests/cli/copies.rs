//! The example with passive copies, by the program itself on a real folder.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::program::{answer, brunt, keeps_to_the_schema, said};

const EXAMPLE: &str = include_str!("../../../../examples/copies.toml");

/// Runs `text` in `home`: exit code, what was said, the result.
fn run(home: &Path, text: &str, more: &[&str]) -> (Option<i32>, String, Value) {
    fs::write(home.join("copies.toml"), text).unwrap();
    let mut command = brunt(home);
    command.args(["run", "copies.toml", "--json", "--duration=6s"]);
    command.args(["--set", "copy.1.lag=3s", "--set", "test.min_warmup=1s"]).args(more);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let result = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code(), said, result)
}

/// Not below /tmp: a file system in memory refuses direct I/O.
fn home() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn rule<'r>(result: &'r Value, id: &str) -> &'r Value {
    let mut rules = result["rules"].as_array().unwrap().iter();
    rules.find(|rule| rule["id"] == id).unwrap()
}

#[test]
fn both_copies_of_the_example_follow_and_equal_their_active() {
    let home = home();
    let (_, said, result) = run(home.path(), EXAMPLE, &[]);
    assert!(said.contains("MBX1 lagged of MBX1: seeded in"), "{said}");
    keeps_to_the_schema(&result);
    assert_eq!(rule(&result, "copies-verified")["outcome"], "ok", "{said}");
    // With the active, as Jetstress counts.
    assert_eq!(result["storage"]["details"]["setup"]["copies"], 3);
    let copies = &result["storage"]["servers"][0]["copies"];
    for (number, name) in ["MBX1 on HOST2", "MBX1 lagged"].into_iter().enumerate() {
        let copy = &copies[number];
        assert_eq!((&copy["name"], &copy["is_wrong"]), (&name.into(), &false.into()));
        assert!(copy["logs"].as_u64() > Some(0), "{copy}");
        assert!(copy["records_checked"].as_u64() > Some(0), "{copy}");
    }
    assert_eq!(copies[0]["logs"], copies[1]["logs"]);
    let held = copies[1]["replay_queue_logs"].as_array().unwrap();
    let most = held.iter().filter_map(Value::as_u64).max();
    assert!(most >= Some(1), "{held:?}");
    let scratch = home.path().join("brunt-copies");
    assert!(scratch.join("active/mbx1.edb").exists());
    for copy in ["copy", "lagged"] {
        assert!(!scratch.join(copy).join("mbx1.edb").exists());
    }
    // The report has them, and the next run needs no consent.
    let runs = fs::read_dir(home.path().join("runs")).unwrap();
    let folder = runs.map(|run| run.unwrap().path()).next().unwrap();
    let report = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(report.contains("Passive copies") && report.contains("MBX1 on HOST2"));
    let counters = fs::read_to_string(folder.join("counters.csv")).unwrap();
    assert!(counters.contains(",MBX1-lagged.replay-queue,"));
    let resolved = fs::read_to_string(folder.join("scenario.toml")).unwrap();
    let (_, said, result) = run(home.path(), &resolved, &[]);
    assert_eq!(rule(&result, "copies-verified")["outcome"], "ok", "{said}");
}

#[test]
fn a_look_ahead_says_where_copies_go_and_what_is_in_their_way() {
    let home = home();
    fs::write(home.path().join("copies.toml"), EXAMPLE).unwrap();
    let check = || {
        let output = answer(home.path(), &["run", "--check", "copies.toml"]);
        (output.status.code(), said(&output))
    };
    let (code, said) = check();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("seed MBX1 lagged, 128 MiB of DB1   "), "{said}");
    assert!(said.contains("seed copies of 256 MiB: "), "{said}");
    let folder = home.path().join("brunt-copies/lagged");
    fs::create_dir_all(folder.join("log")).unwrap();
    fs::write(folder.join("mbx1.edb-seeding"), "a thesis").unwrap();
    let (code, said) = check();
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("mbx1.edb-seeding: this is not a file of brunt"), "{said}");
}

#[test]
fn a_copy_on_the_active_and_a_foreign_copy_are_refused() {
    let home = home();
    let same = EXAMPLE.replace("\"copy/log\"", "\"active/log\"");
    let (code, said, _) = run(home.path(), &same, &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("\"MBX1\" already keeps its logs there"), "{said}");
    let folder = home.path().join("brunt-copies/copy");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("mbx1.edb"), "a thesis").unwrap();
    let (code, said, _) = run(home.path(), EXAMPLE, &["--new"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("copy/mbx1.edb: this is not a file of brunt"), "{said}");
    assert_eq!(fs::read_to_string(folder.join("mbx1.edb")).unwrap(), "a thesis");
}
