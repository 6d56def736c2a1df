//! `docs/rules.md` covers every rule: each has a row with a test that passes it and one that does
//! not. Both tests exist, and the second checks, by the rule's id, that the rule did not hold.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use brunt_qualify::goal::Target;
use brunt_qualify::kinds::TestKind;
use brunt_qualify::plan::Limits;
use brunt_qualify::rules::{Done, Evidence, ReplicaOutcome, RuleId, SystemLog, Writes, judge};
use brunt_report::result::Tuning;
use brunt_units::Span;
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
        cells.map(|cell| cell.replace('`', "").trim().to_owned()).collect()
    };
    lines.map(cells).collect()
}

/// Ids of the rules that judge tests.
fn judged() -> BTreeSet<String> {
    let mut evidence = Evidence {
        target: Some(Target { io_per_s: 1.0, headroom_percent: 20 }),
        writes: Some(Writes::default()),
        tuning: Some(Tuning::default()),
        system_log: Some(SystemLog::default()),
        replicas: vec![ReplicaOutcome::default()],
        copies: vec![ReplicaOutcome::default()],
        ..Evidence::default()
    };
    let done = [RuleId::DatabasesBackedUp, RuleId::DatabasesRestored, RuleId::LogsReplayed];
    evidence.done.extend(done.map(|what| Done {
        what,
        wanted: 1,
        done: None,
        remark: String::new(),
    }));
    let of = |kind| {
        let limits = Limits {
            restore_within: Some(Span::seconds(1)),
            ..Limits::of(Version::Exchange2013.profile(), kind)
        };
        judge(kind, &evidence, &limits)
    };
    let all = TestKind::ALL.into_iter().flat_map(of);
    all.map(|rule| rule.id).collect()
}

/// The body of the test `file::function`, below `crates/`.
fn test(name: &str) -> String {
    let (file, function) = name.split_once("::").unwrap_or_else(|| panic!("{name}"));
    let text = fs::read_to_string(root().join("crates").join(file));
    let text = text.unwrap_or_else(|error| panic!("{name}: {error}"));
    let head = format!("#[test]\nfn {function}() {{\n");
    let (_, body) = text.split_once(&head).unwrap_or_else(|| panic!("there is no test {name}"));
    body.split("\n}\n").next().unwrap().to_owned()
}

#[test]
fn every_rule_has_a_test_that_passes_and_one_that_does_not() {
    let rows = rows("Rules");
    let named: BTreeSet<String> = rows.iter().map(|row| row[0].clone()).collect();
    assert_eq!(named, judged());
    assert_eq!(rows.len(), RuleId::ALL.len());
    for (row, id) in rows.iter().zip(RuleId::ALL) {
        let [of, title, passes, fails] = &row[..] else {
            panic!("{row:?}");
        };
        assert_eq!((of.as_str(), title.as_str()), (id.name().id, id.name().title));
        test(passes);
        assert!(checks(&test(fails), id), "{fails} does not fail {of}");
    }
}

/// Whether a test calls `fails` or `fails_alone` for a rule; comments do not count.
fn checks(test: &str, id: RuleId) -> bool {
    let code = test.lines().filter(|line| !line.trim().starts_with("//"));
    let code: String = code.flat_map(str::split_whitespace).collect();
    let calls = code.split("fails").skip(1).filter_map(|rest| {
        let rest = rest.strip_prefix("_alone").unwrap_or(rest);
        let (_, second) = rest.strip_prefix('(')?.split_once(',')?;
        second.split([',', ')']).next()
    });
    let wanted = format!("RuleId::{id:?}");
    calls.into_iter().any(|second| second == wanted)
}

#[test]
fn a_test_that_only_names_a_rule_does_not_count() {
    let id = RuleId::HungIo;
    assert!(checks(
        "    fails(\n        &result,\n        RuleId::HungIo,\n        wanted,\n    );",
        id
    ));
    assert!(checks("fails_alone(&result, RuleId::HungIo);", id));
    for other in [
        "assert_eq!(outcome(&result, RuleId::HungIo), Outcome::Ok);",
        "// fails(&result, RuleId::HungIo, wanted);",
        "fails(&result, RuleId::IoErrors, wanted); let id = RuleId::HungIo;",
        "say(\"hung I/O\");",
    ] {
        assert!(!checks(other, id), "{other}");
    }
}

#[test]
fn every_kind_and_every_version_has_both() {
    let kinds: Vec<String> = rows("Kinds of tests").into_iter().map(|row| row[0].clone()).collect();
    let words = TestKind::ALL.map(TestKind::word);
    assert_eq!(kinds, words);
    let versions: Vec<String> = rows("Versions").into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(versions, Version::ALL.map(Version::name));
    for row in rows("Kinds of tests").iter().chain(&rows("Versions")) {
        row[1..].iter().for_each(|name| drop(test(name)));
    }
}
