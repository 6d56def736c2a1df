//! The written form of a result is a promise: files of this version stay readable, and fields are only added.
//!
//! `result_v1.json` is what this version wrote for the made-up run. When a field is added on purpose, write it anew with
//! `BRUNT_BLESS=1 cargo test -p brunt-report`, and look at the difference: a line that vanished or changed breaks
//! somebody's script.

mod sample;

use brunt_report::RunResult;

const KEPT: &str = include_str!("result_v1.json");

/// The made-up result with few samples, so that the kept file stays small.
fn small() -> RunResult {
    let mut result = sample::run(false).result;
    result.samples.truncate(1);
    for distribution in &mut result.distributions {
        distribution.buckets.truncate(2);
    }
    result
}

#[test]
fn the_written_form_is_the_kept_one() {
    let written = small().to_json();
    if std::env::var_os("BRUNT_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/result_v1.json");
        std::fs::write(path, &written).unwrap();
        return;
    }
    let differing = written
        .lines()
        .zip(KEPT.lines())
        .find(|(new, kept)| new != kept);
    assert_eq!(differing, None);
    assert_eq!(written.lines().count(), KEPT.lines().count());
}

#[test]
fn the_kept_file_is_read_whole() {
    let read = RunResult::from_json(KEPT).unwrap();
    assert_eq!(read, small());
}

#[test]
fn a_later_field_does_not_disturb() {
    let later = KEPT.replacen('{', "{\n  \"moon_phase\": \"full\",", 1);
    assert_eq!(RunResult::from_json(&later).unwrap(), small());
}

#[test]
fn names_of_numbers_say_their_unit() {
    const UNITS: [&str; 11] = [
        "_ms", "ms_", "_s", "bytes", "_percent", "count", "_version", "seconds", "pages_",
        "_reads", "share",
    ];
    const PLAIN: [&str; 9] = [
        "seed",
        "sessions",
        "copies",
        "processors",
        "value",
        "mean",
        "min",
        "max",
        "log_latency_ms_mean",
    ];
    let json: serde_json::Value = serde_json::from_str(KEPT).unwrap();
    let mut names = Vec::new();
    collect_numbers(&json, &mut names);
    for name in names {
        let says = UNITS.iter().any(|unit| name.contains(unit)) || PLAIN.contains(&name.as_str());
        assert!(says, "`{name}` does not say its unit");
    }
}

fn collect_numbers(value: &serde_json::Value, names: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                if value.is_number() {
                    names.push(name.clone());
                }
                collect_numbers(value, names);
            }
        }
        serde_json::Value::Array(values) => {
            values
                .iter()
                .for_each(|value| collect_numbers(value, names));
        }
        _ => {}
    }
}
