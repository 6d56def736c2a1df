//! Runs on real storage, by the program itself: what their folders hold, also when they were
//! killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use brunt_scenario::{Document, TEMPLATE};
use serde_json::Value;
use tempfile::TempDir;

use super::program::{self, SMALL, Victim, brunt, keeps_to_the_schema, run_folder, said};

fn init(folder: &Path) {
    let init = brunt(folder).args(["init", "my.toml"]).output().unwrap();
    assert!(init.status.success(), "{}", said(&init));
}

fn run(folder: &Path, more: &[&str]) -> Command {
    let mut command = brunt(folder);
    command.args(["run", "my.toml", "--seed=7"]).args(SMALL).args(more);
    command
}

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

#[test]
fn every_kind_in_turn_ends_with_a_page_to_sign() {
    let home = TempDir::new().unwrap();
    init(home.path());
    let all = ["--all-kinds", "--duration=2s", "--set=test.logs=1", "--set=test.min_warmup=100ms"];
    let checked = run(home.path(), &[&all[..], &["--check"]].concat()).output().unwrap();
    assert!(said(&checked).contains("3 tests, in all: at most "), "{}", said(&checked));
    let output = run(home.path(), &all).output().unwrap();
    let words = said(&output);
    // A busy machine may miss a limit; that is signed, too.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{words}");
    assert!(words.contains("test 3 of 3: soft-recovery"), "{words}");
    let runs = fs::read_dir(home.path().join("runs")).unwrap();
    let page = runs.map(|run| run.unwrap().path().join("signoff.pdf")).find(|page| page.exists());
    let page = page.expect("the last folder has the page");
    let all = fs::read_dir(home.path().join("runs")).unwrap();
    let all = all.map(|run| run.unwrap().path().display().to_string());
    let all: Vec<String> = ["report".to_owned()].into_iter().chain(all).collect();
    let listed = brunt(home.path()).args(all).output().unwrap();
    assert!(said(&listed).contains("is the folder of a page to sign, not of a run"));
    assert_eq!(listed.status.code(), Some(0), "{}", said(&listed));
    let checked = brunt(home.path()).arg("verify").arg(page).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", said(&checked));
}

#[test]
fn a_test_that_cannot_qualify_does_not_start_where_it_must() {
    let home = TempDir::new().unwrap();
    init(home.path());
    let refused = run(home.path(), &["--duration=60s", "--require-qualified"]).output();
    let refused = refused.unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("error: the result will not qualify: measured for 60 s"));
    assert_eq!(run_folder(home.path()), None);
    let databases = home.path().join("brunt-scratch/db1");
    assert_eq!(fs::read_dir(databases).unwrap().count(), 0);
}

/// The files below `folder`, by their path in it.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(folder).unwrap().display().to_string()),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn clean_removes_what_a_test_left_and_nothing_else() {
    let home = TempDir::new().unwrap();
    init(home.path());
    let output = run(home.path(), &["--duration=1s"]).output().unwrap();
    let scratch = home.path().join("brunt-scratch");
    let left = files(&scratch);
    assert!(left.len() > 4, "{}", said(&output));
    let clean = |more: &[&str]| {
        let clean = brunt(home.path()).args(["clean", "my.toml"]).args(more).output();
        let clean = clean.unwrap();
        (clean.status.code(), said(&clean))
    };
    let (code, text) = clean(&[]);
    assert_eq!((code, files(&scratch)), (Some(2), left.clone()), "{text}");
    assert!(text.contains("nothing was removed") && text.contains("one.edb"), "{text}");

    let letter = scratch.join("log1/edbletter.log");
    fs::write(&letter, "hands off").unwrap();
    let (code, text) = clean(&["--yes"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("is not a file of brunt"), "{text}");
    assert_eq!(files(&scratch).len(), left.len() + 1);

    fs::rename(&letter, scratch.join("log1/letter")).unwrap();
    let (code, text) = clean(&["--yes"]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(files(&scratch), ["log1/letter"]);
    assert!(!scratch.join("db1").exists(), "an empty folder stayed");
    assert!(run_folder(home.path()).is_some(), "results stay");
    fs::remove_file(scratch.join("log1/letter")).unwrap();
    assert!(clean(&[]).1.contains("nothing to remove"));
    assert!(!scratch.exists());
}

#[test]
fn a_finished_run_is_complete_and_its_report_can_be_made_again() {
    let home = TempDir::new().unwrap();
    init(home.path());
    let output = run(home.path(), &["--duration=2s"]).output().unwrap();
    let folder = run_folder(home.path()).unwrap_or_else(|| panic!("{}", said(&output)));
    let mut names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let wanted = [
        "counters.csv",
        "events.log",
        "journal",
        "latency.hlog",
        "news.jsonl",
        "report.html",
        "result.json",
        "scenario.toml",
    ];
    assert_eq!(names, wanted, "{}", said(&output));
    let result = json(&fs::read(folder.join("result.json")).unwrap());
    keeps_to_the_schema(&result);
    let instances = result["storage"]["servers"][0]["instances"].as_array().unwrap();
    assert_eq!(instances.len(), 2);
    for instance in instances {
        assert!(instance["transactions"].as_u64() > Some(0), "{instance}");
        let count = instance["operation_latency"]["count"].as_u64();
        assert_eq!(count, instance["transactions"].as_u64());
    }
    let host = result["storage"]["servers"][0]["host"].as_array().unwrap();
    let counter = |name: &str| {
        let found = host.iter().find(|counter| counter["counter"] == name);
        found.unwrap_or_else(|| panic!("no {name}"))
    };
    assert!(counter("% Processor Time")["avg"].as_f64() > Some(0.0));
    assert!(counter("Available MBytes")["min"].as_f64() > Some(1.0));
    assert!(counter("Pool Paged Bytes")["avg"].is_null());
    let log = fs::read_to_string(folder.join("events.log")).unwrap();
    let texts = [
        "Command line: brunt run my.toml",
        "Dispatching transactions begins",
        "Operation mix: Sessions 4, Inserts 40%",
        "Attaining prerequisites: ",
        "Collection starts",
        "Performance logging ends",
        "Shutting down databases",
        "Database checksum: ",
        "logs passed)",
        "Instance 2 has ",
        "Test ends: ",
    ];
    let places: Vec<_> = texts.iter().map(|text| log.find(text)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{log}");
    let report = fs::read(folder.join("report.html")).unwrap();
    assert_eq!(report.windows(8).filter(|w| w == b"<figure>").count(), 4);
    fs::remove_file(folder.join("report.html")).unwrap();
    let again = brunt(home.path()).arg("report").arg(&folder).output().unwrap();
    assert!(again.status.success(), "{}", said(&again));
    let made_again = fs::read(folder.join("report.html")).unwrap();
    assert!(made_again == report, "the same folder makes the same report");
    let named = brunt(home.path()).args(["report", "--jetstress-name"]).arg(&folder).output();
    assert!(named.unwrap().status.success());
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    let named = names.filter(|name| name.to_str().unwrap().starts_with("Performance_"));
    assert_eq!(named.count(), 1);
    followed(home.path(), &folder);
    list(home.path(), &folder, &result);
}

/// A run that has ended is shown from its beginning.
fn followed(home: &Path, first: &Path) {
    let follow = |run: &Path, json: &[&str]| {
        let follow = brunt(home).arg("report").arg(run).arg("--follow").args(json).output();
        let follow = follow.unwrap();
        (follow.status.code(), said(&follow))
    };
    let (code, told) = follow(first, &[]);
    assert_eq!(code, Some(0), "{told}");
    for words in ["test: 100 %", "verify: 100 %", "database read, average"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let (code, told) = follow(first, &["--json"]);
    assert_eq!(code, Some(0), "{told}");
    let lines: Vec<Value> = told.lines().map(|line| json(line.as_bytes())).collect();
    let (head, last) = (&lines[0], &lines[lines.len() - 1]);
    assert_eq!((&head["record"], &head["schema"]), (&"head".into(), &"brunt.records/1".into()));
    let news = lines.iter().filter(|line| line["record"] == "news");
    let news: Vec<&Value> = news.map(|line| &line["news"]).collect();
    let kept = fs::read_to_string(first.join("news.jsonl")).unwrap();
    let kept: Vec<Value> = kept.lines().skip(1).map(|line| json(line.as_bytes())).collect();
    assert!(news.into_iter().eq(&kept), "{told}");
    let result = json(&fs::read(first.join("result.json")).unwrap());
    assert_eq!((&last["record"], &last["result"]), (&"ended".into(), &result));
    let (code, told) = follow(home, &[]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("nothing to follow"), "{told}");
}

/// Runs the test once more: two runs of one host are listed, not added up.
fn list(home: &Path, first: &Path, result: &Value) {
    let other = home.join("other");
    let out = format!("--out={}", other.display());
    run(home, &[&out, "--duration=1s"]).output().unwrap();
    let second = fs::read_dir(&other).unwrap().next().unwrap().unwrap();
    let both = brunt(home)
        .args(["report", "--json", "--out=both.html"])
        .args([first.join("result.json"), second.path()])
        .output()
        .unwrap();
    assert!(both.status.success(), "{}", said(&both));
    let list = json(&both.stdout);
    assert_eq!(list["schema"], "brunt.runs/1");
    let reason = list["reason"].as_str().unwrap();
    assert!(reason.contains("a server is not added to itself"), "{reason}");
    assert_eq!(list["runs"][0]["storage"]["achieved_iops"], result["storage"]["achieved_iops"]);
    keeps_to_the_schema(&list["runs"][1]);
    let html = fs::read_to_string(home.join("both.html")).unwrap();
    assert!(html.contains("Nothing is added up"));
}

/// Starts a test and waits until some samples were recorded of everything that is looked at.
///
/// A machine under load may starve a sample, in which no page is read, or hold the recorder up at a
/// sync: so rows are waited for, not a time, and the test is far longer than they should take.
fn recorded(home: &Path, duration: &str, samples: usize) -> (Victim, PathBuf) {
    let child = run(home, &["--duration", duration])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut victim = Victim(child);
    // What a sample has of a file follows in the latency log, before the next sample is begun.
    let wanted = |table: &str| table.matches(",DB2.read,").count() >= samples;
    let folder = program::recorded(&mut victim.0, home, wanted);
    (victim, folder)
}

#[test]
fn a_run_that_was_killed_has_a_report_of_what_there_was() {
    let home = TempDir::new().unwrap();
    init(home.path());
    let (victim, folder) = recorded(home.path(), "40s", 2);
    drop(victim);
    let report_of = |run: &Path| {
        let report = brunt(home.path()).args(["report", "--json"]).arg(run).output().unwrap();
        assert!(report.status.success(), "{}", said(&report));
        json(&report.stdout)
    };
    let report = || report_of(&folder);
    let result = report();
    assert_eq!(report_of(&folder.join("result.json")), result, "named by its result");
    keeps_to_the_schema(&result);
    assert_eq!(result["verdict"], "interrupted");
    assert_eq!(result["qualifies"], false);
    assert!(result["storage"]["achieved_iops"].as_f64() > Some(0.0));
    let sentence = result["storage"]["details"]["sentence"].as_str().unwrap();
    assert!(sentence.contains("did not end"), "{sentence}");
    let instance = &result["storage"]["servers"][0]["instances"][1];
    assert!(instance["db_reads_per_s"].as_f64() > Some(0.0));
    assert!(instance["db_read_latency"]["p99_ms"].as_f64() > Some(0.0));
    let host = result["storage"]["servers"][0]["host"].as_array().unwrap();
    assert_eq!(host[0]["counter"], "% Processor Time");
    assert!(host[0]["max"].as_f64() > Some(0.0));
    let rules = result["rules"].as_array().unwrap();
    assert!(!rules.is_empty());
    let outcome = |id: &str| {
        let rule = rules.iter().find(|rule| rule["id"] == id);
        rule.unwrap_or_else(|| panic!("no {id}"))["outcome"].clone()
    };
    for (id, is_measured) in [
        ("database-read-average", true),
        ("log-write-average", true),
        ("io-errors", true),
        ("tester-delay", true),
        ("pages-verified", false),
        ("device-agrees", false),
    ] {
        assert_eq!(outcome(id) != "not measured", is_measured, "{id}: {}", outcome(id));
    }
    let html = fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(html.contains(">INTERRUPTED<") && html.contains("<svg"));
    assert!(html.contains("Collection starts"), "the test log is there");

    // Everything is in the journal, and a torn end costs no more than what is in it.
    fs::write(folder.join("result.json"), "{").unwrap();
    assert_eq!(report(), result);
    let journal = fs::read(folder.join("journal")).unwrap();
    fs::write(folder.join("journal"), &journal[..journal.len() - 7]).unwrap();
    let torn = report();
    assert_eq!(torn["verdict"], "interrupted");
    assert!(torn["storage"]["achieved_iops"].as_f64() > Some(0.0));
}

/// Rows of a stream in `counters.csv`: begin, length and count.
fn rows(folder: &Path, stream: &str) -> Vec<(f64, f64, f64)> {
    let table = fs::read_to_string(folder.join("counters.csv")).unwrap();
    let rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let rows = rows.filter(|row| row.get(2) == Some(&stream));
    let number = |text: &str| text.parse::<f64>().unwrap();
    rows.map(|row| (number(row[0]), number(row[1]), number(row[3]))).collect()
}

#[test]
fn a_run_that_was_killed_can_be_carried_on_to_its_verdict() {
    let home = TempDir::new().unwrap();
    init(home.path());
    let (victim, killed) = recorded(home.path(), "15s", 4);
    drop(victim);
    let resume = |run: &Path, more: &[&str]| {
        let mut command = brunt(home.path());
        command.arg("run").arg("--resume").arg(run).args(more);
        command.output().unwrap()
    };
    let output = resume(&killed, &["--json", "--out", "on"]);
    let result = json(&output.stdout);
    keeps_to_the_schema(&result);
    assert!(
        ["pass", "fail", "invalid"].contains(&result["verdict"].as_str().unwrap()),
        "{}",
        said(&output)
    );
    let reasons = result["reasons"].as_array().unwrap();
    let named = |reason: &Value| reason.as_str().unwrap().contains("carried on");
    assert!(reasons.iter().any(named), "{reasons:?}");
    let rule = |id: &str| {
        let mut rules = result["rules"].as_array().unwrap().iter();
        rules.find(|rule| rule["id"] == id).unwrap().clone()
    };
    for id in ["pages-verified", "records-verified", "database-read-average", "tail-operation"] {
        assert_ne!(rule(id)["outcome"], "not measured", "{id}");
    }

    let folder = fs::read_dir(home.path().join("on")).unwrap().next();
    let folder = folder.unwrap().unwrap().path();
    let whole = rows(&folder, "database-read");
    let before = rows(&killed, "database-read");
    assert_eq!(whole[0], before[0], "it begins with what was recorded");
    let gapless = |pair: &[(f64, f64, f64)]| (pair[0].0 + pair[0].1 - pair[1].0).abs() < 0.01;
    assert!(whole.windows(2).all(gapless), "{whole:?}");
    let collected = result["times"]["collection_s"].as_f64().unwrap();
    let in_table: f64 = whole.iter().map(|row| row.1).sum();
    assert!((collected - in_table).abs() < 0.1, "{collected} {in_table}");
    assert!(collected > 14.9, "{collected}");
    let instance = &result["storage"]["servers"][0]["instances"][0];
    let reads = &instance["details"]["databases"][0]["reads"]["count"];
    let counted: f64 = rows(&folder, "DB1.read").iter().map(|row| row.2).sum();
    assert_eq!(reads.as_f64(), Some(counted));
    let operations: f64 = rows(&folder, "Instance-1.operation").iter().map(|row| row.2).sum();
    assert_eq!(instance["transactions"].as_f64(), Some(operations));

    let again = resume(&folder, &[]);
    assert_eq!(again.status.code(), Some(2));
    assert!(said(&again).contains("was not interrupted"), "{}", said(&again));
    let clean = brunt(home.path()).args(["clean", "my.toml", "--yes"]).output();
    assert!(clean.unwrap().status.success());
    let gone = resume(&killed, &[]);
    assert_eq!(gone.status.code(), Some(2));
    assert!(said(&gone).contains("is not there any more"), "{}", said(&gone));
}

#[test]
fn the_template_names_every_key() {
    let scenario =
        Document::new("my.toml", TEMPLATE, Path::new("/home/me")).unwrap().test(&[]).unwrap();
    for line in scenario.to_toml().lines() {
        if let Some((key, _)) = line.split_once(" = ") {
            let named = TEMPLATE.lines().any(|line| {
                let line = line.trim_start_matches("# ");
                line.split_once(" = ").is_some_and(|(name, _)| name == key)
            });
            assert!(named, "`{key}` is not explained by brunt init");
        }
    }
}

#[test]
fn init_leaves_a_file_alone() {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("my.toml"), "mine").unwrap();
    let init = brunt(home.path()).args(["init", "my.toml"]).output().unwrap();
    assert_eq!(init.status.code(), Some(2));
    assert!(said(&init).contains("is left alone"), "{}", said(&init));
    let text = fs::read_to_string(home.path().join("my.toml")).unwrap();
    assert_eq!(text, "mine");
}

#[test]
fn a_lost_terminal_stops_nothing_and_two_signals_at_once_are_one_wish() {
    let home = TempDir::new().unwrap();
    init(home.path());
    let (mut victim, folder) = recorded(home.path(), "40s", 2);
    let pid = victim.0.id().to_string();
    let signal = |what: &[&str]| {
        let sent = Command::new("kill").args(what).status().unwrap();
        assert!(sent.success());
    };
    signal(&["-HUP", &pid]);
    thread::sleep(Duration::from_millis(300));
    // As `timeout` does it: to the program and to its group, one right after the other.
    signal(&["-TERM", &pid, &pid]);
    let status = victim.0.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    let result = json(&fs::read(folder.join("result.json")).unwrap());
    keeps_to_the_schema(&result);
    assert_eq!(result["verdict"], "interrupted");
    assert!(result["times"]["ended"].is_string(), "it ended in order");
    assert!(folder.join("report.html").exists());
}
