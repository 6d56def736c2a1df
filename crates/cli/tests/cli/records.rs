//! `--json=records`: the records of the journal, whatever the work is, and the result at the end.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use brunt_run::{Journal, Record};
use serde_json::Value;
use tempfile::TempDir;

use super::program::{brunt, said};

/// An example of the repository.
fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Works in `home` as `arguments` say; its lines, and its folder.
fn lines(home: &Path, arguments: &[&str], scenario: &str) -> (Vec<Value>, PathBuf) {
    let mut command = brunt(home);
    let output = command.args(arguments).arg(example(scenario)).arg("--json=records").output();
    let output = output.unwrap();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    assert!(!lines.is_empty(), "{}", said(&output));
    let mut runs = fs::read_dir(home.join("runs")).unwrap();
    (lines, runs.next().unwrap().unwrap().path())
}

/// The kinds and numbers of all records in a journal.
fn kept(folder: &Path) -> Vec<(u64, &'static str)> {
    let mut journal = Journal::open(File::open(folder.join("journal")).unwrap()).unwrap();
    let mut all = Vec::new();
    while let Some(entry) = journal.next_entry().unwrap() {
        let kind = match entry.record {
            Record::Head(_) => "head",
            Record::Sample(_) => "sample",
            Record::Standing(_) => "standing",
            Record::Event(_) => "event",
            Record::News(_) => "news",
            Record::Ended(_) => "ended",
        };
        all.push((entry.seq, kind));
    }
    assert_eq!(journal.cut(), None);
    all
}

/// The lines are the journal, end with the result, and are those that are followed.
fn are_the_journal(home: &Path, lines: &[Value], folder: &Path, result: &str) {
    let told = lines
        .iter()
        .map(|line| (line["seq"].as_u64().unwrap(), line["record"].as_str().unwrap().to_owned()));
    let kept = kept(folder).into_iter().map(|(seq, kind)| (seq, kind.to_owned()));
    assert!(told.eq(kept), "{lines:?}");
    let last = &lines[lines.len() - 1];
    let result: Value = serde_json::from_slice(&fs::read(folder.join(result)).unwrap()).unwrap();
    assert_eq!((&last["record"], &last["result"]), (&"ended".into(), &result));
    let follow = brunt(home).arg("report").arg(folder).args(["--follow", "--json"]).output();
    let follow = String::from_utf8(follow.unwrap().stdout).unwrap();
    let followed = follow.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert!(followed.eq(lines.iter().cloned()), "{follow}");
}

#[test]
fn raw_load_tells_every_interval() {
    let home = TempDir::new().unwrap();
    let (lines, folder) =
        lines(home.path(), &["simulate", "--duration=60s"], "arrays/raid5-healthy.toml");
    are_the_journal(home.path(), &lines, &folder, "simulation.json");
    let samples = lines.iter().filter(|line| line["record"] == "sample");
    let reads: u64 = samples.filter_map(|line| line["rows"][0]["count"].as_u64()).sum();
    let result = &lines[lines.len() - 1]["result"];
    assert_eq!(result["reads"]["count"].as_u64().unwrap_or(reads), reads);
    assert!(reads > 0);
}

#[test]
fn a_modelled_drill_tells_what_happens() {
    let home = TempDir::new().unwrap();
    let small = [
        "test.min_warmup=1s",
        "test.duration=60s",
        "instance.0.database_size=4MiB",
        "instance.1.database_size=4MiB",
        "drill.storage_failover=2s",
        "drill.host_rescan=1s",
        "drill.sample=1s",
        "drill.after=3s",
    ];
    let small = small.map(|set| format!("--set={set}"));
    let mut arguments = vec!["drill", "--no-controls"];
    arguments.extend(small.iter().map(String::as_str));
    let (lines, folder) = lines(home.path(), &arguments, "two-sites.toml");
    are_the_journal(home.path(), &lines, &folder, "result.json");
    let drill = &lines[lines.len() - 1]["result"]["drill"];
    let count = |kind: &str| lines.iter().filter(|line| line["record"] == kind).count();
    assert_eq!(count("sample"), drill["samples"].as_array().unwrap().len());
    assert_eq!(count("event"), drill["events"].as_array().unwrap().len());
    // Without its result, a drill is what its journal has.
    fs::remove_file(folder.join("result.json")).unwrap();
    let report = brunt(home.path()).args(["report", "--json"]).arg(&folder).output().unwrap();
    assert!(report.status.success(), "{}", said(&report));
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["verdict"], "interrupted");
    assert_eq!(report["drill"]["events"], drill["events"]);
    let without = |samples: &Value| samples.as_array().unwrap().len();
    assert_eq!(without(&report["drill"]["samples"]), without(&drill["samples"]));
}
