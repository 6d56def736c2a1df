//! `docs/rules.md` forgets no rule: every rule that a test can be judged by has a row with a test that passes it and one that
//! does not, and both are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use brunt_qualify::goal::{Target, TestKind};
use brunt_qualify::plan::Limits;
use brunt_qualify::rules::{Evidence, judge};
use brunt_report::result::Tuning;
use brunt_workload::profile::Version;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Rows of the table under `heading`, as cells without their back-ticks.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let page = fs::read_to_string(root().join("docs/rules.md")).unwrap();
    let (_, section) = page.split_once(&format!("## {heading}\n")).expect(heading);
    let section = section.split("\n## ").next().unwrap();
    let lines = section.lines().filter(|line| line.starts_with('|')).skip(2);
    let cells = |line: &str| {
        let cells = line.trim_matches('|').split('|');
        cells
            .map(|cell| cell.replace('`', "").trim().to_owned())
            .collect()
    };
    lines.map(cells).collect()
}

/// Every rule that there is.
fn all_rules() -> BTreeSet<String> {
    let mut evidence = Evidence {
        target: Some(Target {
            io_per_s: 1.0,
            headroom_percent: 20,
        }),
        tuning: Some(Tuning::default()),
        ..Evidence::default()
    };
    let mut all = BTreeSet::from(DONE.map(str::to_owned));
    for kind in [
        TestKind::Performance,
        TestKind::Stress,
        TestKind::DatabaseBackup,
        TestKind::SoftRecovery,
    ] {
        let limits = Limits::of(Version::Exchange2013.profile(), kind);
        let rules = judge(kind, &evidence, &limits);
        all.extend(rules.into_iter().map(|rule| rule.name));
        evidence.tuning = None;
    }
    all
}

/// What tests of other kinds have to do; `kinds.rs` meets them in results.
const DONE: [&str; 3] = [
    "databases backed up",
    "databases restored",
    "logs replayed, each instance",
];

/// The body of a test that is named `file::function`, below `crates/`.
fn test(name: &str) -> String {
    let (file, function) = name.split_once("::").unwrap_or_else(|| panic!("{name}"));
    let text = fs::read_to_string(root().join("crates").join(file));
    let text = text.unwrap_or_else(|error| panic!("{name}: {error}"));
    let head = format!("#[test]\nfn {function}() {{\n");
    let (_, body) = text
        .split_once(&head)
        .unwrap_or_else(|| panic!("there is no test {name}"));
    body.split("\n}\n").next().unwrap().to_owned()
}

#[test]
fn every_rule_has_a_test_that_passes_and_one_that_does_not() {
    let rows = rows("Rules");
    let named: BTreeSet<String> = rows.iter().map(|row| row[0].clone()).collect();
    assert_eq!(named, all_rules());
    assert_eq!(named.len(), rows.len(), "one row for each");
    for row in rows {
        let [rule, passes, fails] = &row[..] else {
            panic!("{row:?}");
        };
        test(passes);
        // That one has to say which rule it means.
        assert!(
            test(fails).contains(rule.as_str()),
            "{fails} does not name {rule}"
        );
    }
}

#[test]
fn every_kind_and_every_version_has_both() {
    let kinds: Vec<String> = rows("Kinds of tests")
        .into_iter()
        .map(|row| row[0].clone())
        .collect();
    let words = [
        TestKind::Performance,
        TestKind::Stress,
        TestKind::DatabaseBackup,
        TestKind::SoftRecovery,
    ]
    .map(TestKind::word);
    assert_eq!(kinds, words);
    let versions: Vec<String> = rows("Versions")
        .into_iter()
        .map(|row| row[0].clone())
        .collect();
    assert_eq!(versions, Version::ALL.map(Version::name));
    for row in rows("Kinds of tests").iter().chain(&rows("Versions")) {
        row[1..].iter().for_each(|name| drop(test(name)));
    }
}
