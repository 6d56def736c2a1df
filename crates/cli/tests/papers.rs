//! From a simulated test to a paper, and back: what `brunt paper`, `brunt verify PAPER.pdf` and `brunt import` do to files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const EXAMPLE: &str = include_str!("../../../examples/mail-on-array.toml");
const CONFIG: &str = include_str!("../../jetstress/tests/JetstressConfig.xml");

/// The example, made small enough for a test.
const SMALL: [&str; 5] = [
    "--duration=60s",
    "--set=test.min_warmup=2s",
    "--set=instance.0.database_size=256MiB",
    "--set=instance.1.database_size=256MiB",
    "--complete",
];

fn brunt(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.current_dir(folder).env("NO_COLOR", "1").args(words);
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// A folder with a run in it: `run`.
fn home() -> TempDir {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("mail.toml"), EXAMPLE).unwrap();
    let words = [&["simulate", "mail.toml", "--out", "runs"][..], &SMALL].concat();
    let made = brunt(home.path(), &words);
    assert_ne!(made.status.code(), Some(2), "{}", said(&made));
    let mut runs = fs::read_dir(home.path().join("runs")).unwrap();
    let run = runs.next().unwrap().unwrap().path();
    fs::rename(run, home.path().join("run")).unwrap();
    home
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_paper_is_made_checked_and_taken_apart() {
    let home = home();
    let home = home.path();
    let made = brunt(home, &["paper", "run", "--out", "a.pdf"]);
    assert_eq!(made.status.code(), Some(0), "{}", said(&made));
    assert!(
        said(&made).contains("brunt verify a.pdf"),
        "{}",
        said(&made)
    );
    assert!(!said(&made).contains("doubtful"), "{}", said(&made));
    // A paper replaces a paper, and equal runs give equal bytes.
    let first = fs::read(home.join("a.pdf")).unwrap();
    brunt(home, &["paper", "run", "--out", "a.pdf"]);
    assert!(first == fs::read(home.join("a.pdf")).unwrap());

    let checked = brunt(home, &["verify", "a.pdf", "--extract", "kept"]);
    assert_eq!(checked.status.code(), Some(0), "{}", said(&checked));
    assert!(said(&checked).contains("follow from the evidence"));
    assert_eq!(names(&home.join("kept")), ["paper.json", "run1"]);
    let result = |folder: &str| fs::read(home.join(folder).join("result.json")).unwrap();
    assert!(result("run") == result("kept/run1"));
    let report = brunt(home, &["report", "kept/run1"]);
    assert_eq!(report.status.code(), Some(0), "{}", said(&report));
    // What is there is not written over.
    let again = brunt(home, &["verify", "a.pdf", "--extract", "kept"]);
    assert_eq!(again.status.code(), Some(2), "{}", said(&again));

    let line = brunt(home, &["verify", "--json", "a.pdf"]);
    let line: serde_json::Value = serde_json::from_slice(&line.stdout).unwrap();
    assert_eq!((&line["kind"], &line["runs"]), (&"paper".into(), &1.into()));
    assert_eq!(line["differences"], serde_json::json!([]));

    let page = brunt(home, &["paper", "run", "--out", "a.html"]);
    assert!(
        said(&page).contains("only a PDF carries the evidence"),
        "{}",
        said(&page)
    );
}

/// Somebody changes a result and makes the paper again: it contradicts its tables.
#[test]
fn a_result_that_was_changed_before_is_found_by_its_tables() {
    let home = home();
    let home = home.path();
    let path = home.join("run/result.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut result: serde_json::Value = serde_json::from_str(&text).unwrap();
    let rate = result["storage"]["achieved_iops"].as_f64().unwrap();
    result["storage"]["achieved_iops"] = (rate * 1.5).into();
    fs::write(&path, result.to_string()).unwrap();
    let made = brunt(home, &["paper", "run", "--out", "a.pdf"]);
    assert!(
        said(&made).contains("doubtful      run1: achieved I/Os per second is "),
        "{}",
        said(&made)
    );
    let checked = brunt(home, &["verify", "a.pdf"]);
    assert_eq!(checked.status.code(), Some(1), "{}", said(&checked));
    assert!(said(&checked).contains("achieved I/Os per second, by counters.csv is "));
}

#[test]
fn what_keeps_a_paper_from_being_made_leaves_nothing_behind() {
    let home = home();
    let home = home.path();
    let told = |words: &[&str], code| {
        let before = names(home);
        let output = brunt(home, words);
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert_eq!(names(home), before);
        said(&output)
    };
    fs::write(home.join("mine.pdf"), "%PDF-1.4 mine").unwrap();
    let mine = told(&["paper", "run", "--out", "mine.pdf"], 2);
    assert!(
        mine.contains("mine.pdf: is not a paper of brunt, and is left alone"),
        "{mine}"
    );
    assert_eq!(fs::read(home.join("mine.pdf")).unwrap(), b"%PDF-1.4 mine");
    let word = told(&["paper", "run", "--out", "a.docx"], 2);
    assert!(
        word.contains("a.docx: a paper is a .pdf or an .html"),
        "{word}"
    );
    let none = told(&["paper", "mail.toml"], 2);
    assert!(
        none.contains("mail.toml: is not the folder of a run"),
        "{none}"
    );
    let twice = told(&["paper", "run", "run"], 2);
    assert!(
        twice.contains("the performance runs are not one test: run "),
        "{twice}"
    );
    let nothing = told(&["paper", "run", "--solution", "mail.toml"], 2);
    assert!(
        nothing.contains("mail.toml: has no [solution]"),
        "{nothing}"
    );
    let broken = told(&["verify", "mine.pdf"], 2);
    assert!(
        broken.contains("mine.pdf: cannot be read as a PDF: "),
        "{broken}"
    );
    // A run whose host died.
    let path = home.join("run/result.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut result: serde_json::Value = serde_json::from_str(&text).unwrap();
    result["times"]["ended"] = serde_json::Value::Null;
    fs::write(&path, result.to_string()).unwrap();
    let died = told(&["paper", "run"], 2);
    assert!(died.contains("run: did not end"), "{died}");
}

#[test]
fn a_configuration_of_jetstress_becomes_a_scenario() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    let utf_16: Vec<u8> = CONFIG.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf_16 = [&[0xff, 0xfe], utf_16.as_slice()].concat();
    fs::write(home.join("JetstressConfig.xml"), utf_16).unwrap();
    let map = format!("C:\\Volumes={}", home.join("volumes").display());
    let words = ["import", "JetstressConfig.xml", "--map", &map];
    let made = brunt(home, &words);
    assert_eq!(made.status.code(), Some(0), "{}", said(&made));
    let told = said(&made);
    assert!(told.contains("not supported line "), "{told}");
    assert!(told.contains("MaxVerPages = 8192: "), "{told}");
    let text = fs::read_to_string(home.join("JetstressConfig.toml")).unwrap();
    assert!(
        text.contains("volumes/Vol1/DB1/Jetstress001001.edb"),
        "{text}"
    );
    let again = brunt(home, &words);
    assert_eq!(again.status.code(), Some(2));
    assert!(said(&again).contains("JetstressConfig.toml: exists, and is left alone"));
}

/// The same options as JetstressCmd, down to the name of the report.
#[test]
fn options_of_jetstresscmd_run_a_test() {
    let home = TempDir::new().unwrap();
    let home = home.path();
    for folder in ["Vol1/DB1", "Vol2/DB1.log", "Vol2/DB2", "Vol1/DB2.log"] {
        fs::create_dir_all(home.join("volumes").join(folder)).unwrap();
    }
    let small = CONFIG
        .replace("<MailboxQuota>2048", "<MailboxQuota>0.0625")
        .replace("<DatabaseCopyCount>2", "<DatabaseCopyCount>1");
    fs::write(home.join("c.xml"), small).unwrap();
    let map = format!("C:\\Volumes={}", home.join("volumes").display());
    let words = [
        "jetstress",
        "/c",
        "c.xml",
        "/timeout",
        "0H0M1S",
        "/output",
        "out",
        "--map",
        &map,
    ];
    let ran = brunt(home, &words);
    let told = said(&ran);
    let out: Vec<PathBuf> = names(&home.join("out"))
        .iter()
        .map(|name| home.join("out").join(name))
        .collect();
    assert_eq!(out.len(), 2, "a run and its scenario: {told}");
    let run = out.iter().find(|path| path.is_dir()).unwrap();
    let report = names(run)
        .into_iter()
        .find(|name| name.starts_with("Performance_"));
    assert!(
        report.is_some_and(|name| name.ends_with(".html")),
        "{:?} {told}",
        names(run)
    );
}
