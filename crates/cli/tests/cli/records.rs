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

/// Where each record of a journal ends.
fn ends(journal: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = brunt_run::FORMAT.len();
    while at < journal.len() {
        let length = u32::from_le_bytes(journal[at..at + 4].try_into().unwrap());
        at += 8 + usize::try_from(length).unwrap();
        ends.push(at);
    }
    ends
}

/// A sweep of three values on the smallest of the models.
const SWEEP: [&str; 4] =
    ["simulate", "--duration=30s", "--set=test.min_warmup=1s", "--sweep=test.sessions=1..3"];

/// The points that the lines tell, by their values.
fn points(lines: &[Value]) -> Vec<Value> {
    let news = lines.iter().filter(|line| line["news"]["news"] == "computed");
    let mut points: Vec<Value> = news.map(|line| line["news"]["point"].clone()).collect();
    points.sort_by_key(|point| point["value"].to_string());
    points
}

#[test]
fn a_sweep_tells_every_point() {
    let home = TempDir::new().unwrap();
    let (lines, folder) = lines(home.path(), &SWEEP, "mail-on-array.toml");
    are_the_journal(home.path(), &lines, &folder, "points.json");
    let follow = brunt(home.path()).args(["report", "--follow"]).arg(&folder).output().unwrap();
    for value in ["1", "2", "3"] {
        assert!(said(&follow).contains(&format!("{value:14}hold")), "{}", said(&follow));
    }
    let result = &lines[lines.len() - 1]["result"];
    assert_eq!(points(&lines), *result["points"].as_array().unwrap());
    assert_eq!(lines[0]["outline"]["key"], result["key"]);
}

#[test]
fn a_sweep_that_is_killed_is_reported_with_what_it_had_computed() {
    let home = TempDir::new().unwrap();
    let (lines, folder) = lines(home.path(), &SWEEP, "mail-on-array.toml");
    let told: Vec<&Value> = lines.iter().map(|line| &line["news"]["point"]["value"]).collect();
    let first = told.iter().find(|value| value.is_string()).unwrap().as_str().unwrap();
    // Killed when it had computed two of three: nothing was written but the journal.
    for file in ["points.json", "points.csv", "report.html"] {
        fs::remove_file(folder.join(file)).unwrap();
    }
    let journal = fs::read(folder.join("journal")).unwrap();
    let ends = ends(&journal);
    let is_point = |line: &&Value| line["news"]["point"].is_object();
    let third = lines.iter().filter(is_point).nth(2).unwrap()["seq"].as_u64().unwrap();
    let mut kept = journal[..ends[usize::try_from(third).unwrap() - 1]].to_vec();
    // What followed was torn.
    kept.extend_from_slice(&journal[kept.len()..kept.len() + 7]);
    fs::write(folder.join("journal"), kept).unwrap();
    let report = brunt(home.path()).arg("report").arg(&folder).output().unwrap();
    let text = said(&report);
    assert_eq!(report.status.code(), Some(0), "{text}");
    assert!(text.starts_with("INTERRUPTED   It did not end: 2 of 3 were computed; "), "{text}");
    assert!(text.contains("test.sessions") && text.contains("hold"), "{text}");
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("2 of 3 were computed"));
    let json = brunt(home.path()).args(["report", "--json"]).arg(&folder).output().unwrap();
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        (&json["schema"], &json["verdict"]),
        (&"brunt.points/1".into(), &"interrupted".into())
    );
    assert_eq!(json["points"].as_array().unwrap().len(), 2);
    assert_eq!(json["points"][0]["value"], first);
}

#[test]
fn seeds_and_proofs_have_no_folder_and_tell_all_the_same() {
    let home = TempDir::new().unwrap();
    let told = |arguments: &[&str]| {
        let output = brunt(home.path()).args(arguments).arg("--json=records").output().unwrap();
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let lines: Vec<Value> = lines.collect();
        let kinds = lines.iter().map(|line| line["record"].as_str().unwrap().to_owned());
        let kinds: Vec<String> = kinds.collect();
        assert_eq!((kinds[0].as_str(), kinds[kinds.len() - 1].as_str()), ("head", "ended"));
        for (seq, line) in lines.iter().enumerate() {
            assert_eq!(line["seq"], seq, "{}", said(&output));
        }
        lines
    };
    let scenario = example("mail-on-array.toml");
    let few = ["--duration=30s", "--set=test.min_warmup=1s", "--seeds=2"];
    let seeds = told(&[&["simulate", scenario.to_str().unwrap()], &few[..]].concat());
    assert_eq!(points(&seeds).len(), 2);
    assert_eq!(seeds[seeds.len() - 1]["result"]["schema"], "brunt.seeds/1");
    let proof = told(&["prove", "--steps=20"]);
    let last = &proof[proof.len() - 1];
    assert_eq!((&last["verdict"], &last["result"]["complete"]), (&"pass".into(), &true.into()));
    assert_eq!(proof[1]["news"]["all"], 20);
    assert!(!home.path().join("runs").exists());
}

/// The thread that prints must not lose what was told before a command failed.
#[test]
fn a_command_that_fails_prints_what_it_had_told() {
    let home = TempDir::new().unwrap();
    let scenario = example("mail-on-array.toml");
    let mut command = brunt(home.path());
    command.args(SWEEP).arg(&scenario).args(["--json=records", "--out=runs"]);
    // The folder is there, and its last file cannot be: a folder has that name already.
    let mut run = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let folder = loop {
        let folder = fs::read_dir(home.path().join("runs")).into_iter().flatten().next();
        if let Some(folder) = folder {
            break folder.unwrap().path();
        }
        assert!(run.try_wait().unwrap().is_none());
    };
    fs::create_dir_all(folder.join("points.json/in-the-way")).unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(points(&lines).len(), 3, "{text}");
    let last = &lines[lines.len() - 1];
    assert_eq!((&last["record"], &last["result"]), (&"ended".into(), &Value::Null));
}
