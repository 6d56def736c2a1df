//! Tests in two shards, by the program itself on real files: judged as one test, and nothing is
//! lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::program::{self, Victim, keeps_to_the_schema, run_folder};

const SCENARIO: &str = r#"
name = "shards"
scratch = "scratch"

[test]
duration = "3s"
min_warmup = "0s"
sessions = 5

[profile]
cache_min = "4 MiB"
cache_max = "8 MiB"
checkpoint_depth = "1 MiB"

[engine]
shards = 2

[[instance]]
log = "log1"
databases = ["one.edb", "two.edb"]
database_size = "16 MiB"

[[instance]]
log = "log2"
databases = ["three.edb", "four.edb"]
database_size = "16 MiB"
"#;

fn brunt(home: &Path, arguments: &[&str]) -> Command {
    let mut command = program::brunt(home);
    command.args(["run", "shards.toml", "--json"]).args(arguments);
    command
}

fn home(scenario: &str) -> TempDir {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("shards.toml"), scenario).unwrap();
    home
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn result(output: &Output) -> Value {
    let result = serde_json::from_slice(&output.stdout);
    let result: Value = result.unwrap_or_else(|_| panic!("{}", said(output)));
    keeps_to_the_schema(&result);
    result
}

/// The sum of the counts of these streams in `counters.csv`, for each sample.
fn counts(folder: &Path, streams: &[&str]) -> Vec<(f64, u64)> {
    let table = fs::read_to_string(folder.join("counters.csv")).unwrap();
    let rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let mut counts: Vec<(f64, u64)> = Vec::new();
    for row in rows.filter(|row| row.get(2).is_some_and(|stream| streams.contains(stream))) {
        let (begin, count) = (row[0].parse().unwrap(), row[3].parse::<u64>().unwrap());
        match counts.iter_mut().find(|(at, _)| *at == begin) {
            Some((_, sum)) => *sum += count,
            None => counts.push((begin, count)),
        }
    }
    counts
}

/// Nothing is lost, and everything was looked at.
fn is_sound(result: &Value) {
    let integrity = &result["storage"]["integrity"];
    assert!(integrity["records_checked"].as_u64() > Some(1_000), "{integrity}");
    for what in ["lost", "stale", "phantom", "torn"] {
        assert_eq!(integrity[what], 0, "{what}");
    }
    let files = result["storage"]["servers"][0]["checksum"].as_array().unwrap();
    let file = |name: &str| files.iter().any(|f| f["file"].as_str().unwrap().ends_with(name));
    assert!(["one.edb", "two.edb", "three.edb", "four.edb"].iter().all(|name| file(name)));
    assert!(files.iter().all(|file| file["pages_bad"] == 0), "{files:#?}");
    // What was read of the content of every database.
    let content = result["storage"]["content"].as_array().unwrap();
    let blocks: Vec<_> = content.iter().map(|content| content["blocks"].as_u64()).collect();
    assert_eq!(blocks[0], blocks[2].map(|blocks| 8 * blocks), "{content:?}");
    assert!(blocks[2] >= Some(4 * 8), "{content:?}");
}

#[test]
fn two_shards_are_judged_as_one_test_and_lose_nothing() {
    let home = home(SCENARIO);
    let output = brunt(home.path(), &[]).output().unwrap();
    let first = result(&output);
    assert!(said(&output).contains("shards        2, each with 1 instance"), "{}", said(&output));
    is_sound(&first);
    let setup = &first["storage"]["details"]["setup"];
    assert_eq!((&setup["shards"], &setup["sessions"]), (&Value::from(2), &Value::from(5)));
    assert_eq!(setup["cache_bytes_max"], 8 << 20);
    let instances = first["storage"]["servers"][0]["instances"].as_array().unwrap();
    assert_eq!(instances.len(), 2);
    let folder = run_folder(home.path()).unwrap();
    for (instance, log) in instances.iter().zip(["Instance 1", "Instance 2"]) {
        assert_eq!(instance["name"], log);
        assert!(instance["transactions"].as_u64() > Some(0), "{instance}");
    }
    for (whole, parts) in [
        ("database-read", ["DB1.read", "DB2.read", "DB3.read", "DB4.read"].as_slice()),
        ("database-write", &["DB1.write", "DB2.write", "DB3.write", "DB4.write"]),
        ("log-write", &["Instance-1.log-write", "Instance-2.log-write"]),
        ("operation-intended", &["Instance-1.operation", "Instance-2.operation"]),
    ] {
        let whole = counts(&folder, &[whole]);
        assert!(whole.len() >= 10, "one row for each sample: {whole:?}");
        let whole: Vec<_> = whole.into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(whole, counts(&folder, parts));
    }
    // Databases know nothing of shards.
    let again = brunt(home.path(), &["--set=engine.shards=1", "--seed=2"]).output();
    let again = result(&again.unwrap());
    is_sound(&again);
    assert_eq!(again["storage"]["details"]["setup"]["shards"], 1);
}

#[test]
fn a_shard_whose_storage_fails_fails_the_test_at_once() {
    let fault = "\n[[event]]\nwhat = \"io-error\"\nfile = \"three.edb\"\nonly = \"writes\"\nafter = 5\ntimes = 100000\n";
    let home = home(&(SCENARIO.to_owned() + fault));
    let output = brunt(home.path(), &["--duration=10min"]).output().unwrap();
    let result = result(&output);
    assert_eq!(result["verdict"], "fail", "{}", said(&output));
    let sentence = result["storage"]["details"]["sentence"].as_str().unwrap();
    assert!(sentence.contains("three.edb"), "{sentence}");
    assert!(result["storage"]["faults"][0]["struck"].as_u64() > Some(0));
    let noted = said(&output).matches("FAULTS ON PURPOSE").count();
    assert_eq!(noted, 1, "{}", said(&output));
}

#[test]
fn what_stands_in_the_way_of_one_shard_is_the_error_of_the_run() {
    let home = home(SCENARIO);
    fs::create_dir_all(home.path().join("scratch")).unwrap();
    fs::write(home.path().join("scratch/four.edb"), "a letter").unwrap();
    let output = brunt(home.path(), &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = said(&output);
    assert!(text.contains("four.edb: this is not a file of brunt"), "{text}");
    let scratch = home.path().join("scratch");
    assert!(!scratch.join("one.edb").exists(), "nothing was created");
}

/// Starts a long test and waits until a sample was recorded.
fn recorded(home: &Path, samples: usize) -> (Victim, PathBuf) {
    let child = brunt(home, &["--duration=20s", "--quiet"]);
    let mut victim = Victim({ child }.stdout(Stdio::null()).spawn().unwrap());
    let wanted = |table: &str| table.matches(",DB4.read,").count() >= samples;
    let folder = program::recorded(&mut victim.0, home, wanted);
    (victim, folder)
}

#[test]
fn a_stop_ends_all_shards_with_a_report() {
    let home = home(SCENARIO);
    let (mut victim, folder) = recorded(home.path(), 1);
    kill_process(Pid::from_child(&victim.0), Signal::INT).unwrap();
    assert_eq!(victim.0.wait().unwrap().code(), Some(130));
    let result = fs::read(folder.join("result.json")).unwrap();
    let result: Value = serde_json::from_slice(&result).unwrap();
    assert_eq!(result["verdict"], "interrupted");
    assert!(result["storage"]["achieved_iops"].as_f64() > Some(0.0));
    assert!(folder.join("report.html").exists());
}

#[test]
fn a_killed_test_in_shards_is_carried_on() {
    let home = home(SCENARIO);
    let (victim, killed) = recorded(home.path(), 2);
    drop(victim);
    let mut resume = program::brunt(home.path());
    let resumed = resume.args(["run", "--json", "--resume"]).arg(&killed).output().unwrap();
    let result = result(&resumed);
    is_sound(&result);
    assert_eq!(result["storage"]["details"]["setup"]["shards"], 2);
    let collected = result["times"]["collection_s"].as_f64().unwrap();
    assert!((19.9..25.0).contains(&collected), "{collected}");
}

#[test]
fn a_prediction_says_that_it_ignores_them() {
    let home = home(include_str!("../../../../examples/mail-on-array.toml"));
    let check = |shards: &str| {
        let words = ["simulate", "shards.toml", "--check", "--set", shards];
        let checked = program::answer(home.path(), &words);
        assert!(checked.status.success(), "{}", said(&checked));
        String::from_utf8(checked.stdout).unwrap()
    };
    let text = check("engine.shards=2");
    let wanted = "shards        not simulated: a modelled server has no cores to divide\n";
    assert!(text.contains(wanted), "{text}");
    assert!(!check("engine.shards=1").contains("shards"));
}
