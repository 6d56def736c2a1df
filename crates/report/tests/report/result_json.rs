//! The format of a result is a promise: files of this version stay readable, and fields are only
//! added.
//!
//! `result_v2.json` is what this version wrote for the made-up run. `docs/result.schema.json`
//! describes what every result has. When a field is added on purpose, rewrite both with
//! `BRUNT_BLESS=1 cargo test -p brunt-report` and read the diff: a line outside `details` that
//! vanished or changed breaks users' scripts.

use brunt_report::RunResult;
use brunt_report::result::{Backup, Mib, MibPerS, Recovery, ResultError};
use serde_json::{Value, json};

use crate::validator;

const KEPT: &str = include_str!("result_v2.json");
const SCHEMA: &str = include_str!("../../../../docs/result.schema.json");

/// The made-up result with few buckets, which keeps the stored file small.
fn small() -> RunResult {
    let mut result = crate::sample::run(false).result;
    for distribution in &mut result.storage.details.distributions {
        distribution.buckets.truncate(2);
    }
    result
}

fn value(result: &RunResult) -> Value {
    serde_json::from_str(&result.to_json()).unwrap()
}

#[test]
fn the_written_form_is_the_kept_one() {
    let written = small().to_json();
    if std::env::var_os("BRUNT_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/report/result_v2.json");
        std::fs::write(path, &written).unwrap();
        return;
    }
    let differing = written.lines().zip(KEPT.lines()).find(|(new, kept)| new != kept);
    assert_eq!(differing, None);
    assert_eq!(written.lines().count(), KEPT.lines().count());
}

#[test]
fn the_kept_file_is_read_whole() {
    let read = RunResult::from_json(KEPT).unwrap();
    assert_eq!(read, small());
}

#[test]
fn a_result_of_a_program_without_a_commit_is_read() {
    let without = KEPT.replace("    \"commit\": \"1b7112e\",\n", "");
    let read = RunResult::from_json(&without).unwrap();
    assert_eq!(read.origin.commit, None);
    assert_eq!(read.to_json(), without);
}

#[test]
fn a_later_field_does_not_disturb_and_another_form_is_refused() {
    let later = KEPT.replacen('{', "{\n  \"moon_phase\": \"full\",", 1);
    assert_eq!(RunResult::from_json(&later).unwrap(), small());
    let other = KEPT.replace("brunt.result/2", "brunt.result/3");
    let error = RunResult::from_json(&other).unwrap_err();
    assert!(matches!(&error, ResultError::Schema(name) if name == "brunt.result/3"));
    assert!(RunResult::from_json("{}").is_err());
}

#[test]
fn results_keep_to_the_schema_and_it_sees_what_is_wrong() {
    let mut other = small();
    other.storage.servers[0].backup.push(Backup {
        instance: "DB1".to_owned(),
        size: Mib(1024.0),
        seconds: 2.0,
        rate: MibPerS(512.0),
        copied_to: None,
    });
    other.storage.servers[0].recovery.push(Recovery {
        instance: "Instance 1".to_owned(),
        logs: 500,
        seconds: 61.5,
    });
    let runs = [true, false].map(|passes| crate::sample::run(passes).result);
    let sound: Vec<Value> = runs.iter().chain([&other]).map(value).collect();
    let changes: [(&str, Value); 8] = [
        ("/schema", json!("brunt.result/1")),
        ("/verdict", json!("Pass")),
        ("/rules/0/outcome", json!("not_measured")),
        ("/rules/0/group", json!("speed")),
        ("/times/ended", json!(12)),
        ("/storage/achieved_iops", json!("many")),
        ("/storage/servers/0/instances/0/db_read_latency/count", json!(null)),
        ("/storage/servers", json!([])),
    ];
    let changed = changes.map(|(place, wrong)| {
        let mut result = value(&small());
        *result.pointer_mut(place).expect(place) = wrong;
        result
    });
    let mut foreign = value(&small());
    foreign["storage"]["servers"][0]["instances"][0]["cpu"] = json!(1);
    let mut without = value(&small());
    without["storage"].as_object_mut().unwrap().remove("database_files");
    let wrong = changed.into_iter().chain([foreign, without]);
    let all: Vec<Value> = sound.iter().cloned().chain(wrong).collect();
    let Some(faults) = validator::faults(SCHEMA, &all) else {
        return;
    };
    let (right, wrong) = faults.split_at(sound.len());
    assert!(right.iter().all(Vec::is_empty), "{right:?}");
    assert!(wrong.iter().all(|faults| faults.len() == 1), "{wrong:?}");
}
