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

/// What passes every rule that no other test is named for.
const PASSES: &str =
    "qualify/tests/qualify/virtual_run.rs::a_fast_disk_passes_and_everything_is_verified";

/// The first test of this program that `id` does not hold in.
fn failing(id: RuleId) -> String {
    let folder = root().join("crates/qualify/tests/qualify");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
        let text = fs::read_to_string(file).unwrap();
        for function in text.split("#[test]\nfn ").skip(1) {
            let (name, body) = function.split_once("() {\n").unwrap_or_default();
            if checks(body.split("\n}\n").next().unwrap(), id) {
                let file = file.file_name().unwrap().to_string_lossy();
                return format!("qualify/tests/qualify/{file}::{name}");
            }
        }
    }
    String::new()
}

/// Writes the table of rules anew: tests that are named stay, and a new rule gets the first that
/// fails it.
fn bless(rows: &[Vec<String>]) {
    let page = root().join("docs/rules.md");
    let text = fs::read_to_string(&page).unwrap();
    let (head, rest) = text.split_once("| --- | --- | --- | --- |\n").unwrap();
    let (_, rest) = rest.split_once("\n\n").unwrap();
    let table = RuleId::ALL.map(|id| {
        let name = id.name();
        let row = rows.iter().find(|row| row[0] == name.id);
        let [passes, fails] = row.map_or_else(
            || [PASSES.to_owned(), failing(id)],
            |row| [row[2].clone(), row[3].clone()],
        );
        format!("| `{}` | {} | `{passes}` | `{fails}` |\n", name.id, name.title)
    });
    let table = table.concat();
    fs::write(page, format!("{head}| --- | --- | --- | --- |\n{table}\n{rest}")).unwrap();
}

#[test]
fn every_rule_has_a_test_that_passes_and_one_that_does_not() {
    if std::env::var_os("BRUNT_BLESS").is_some() {
        bless(&rows("Rules"));
    }
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
