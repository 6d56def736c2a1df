//! Every key of a test on real storage is neutral or in the table of
//! `brunt_qualify::result::lighter`, and no test qualifies with a lighter value of that table.

use std::path::Path;

use brunt_qualify::result::lighter::{KEYS, lighter};

use super::document::{Document, SECTIONS, Subject};
use super::keys::Page;
use super::{Override, limits, profile, records, storage, test};

/// A test of the version 2007, whose checkpoints are bursts.
const TEST: &str = "[test]\nduration = \"2h\"\nsessions = 1\n[profile]\nversion = \"exchange-2007\"\n\
                    [[instance]]\nlog = \"log\"\ndatabases = [\"1.edb\"]\ndatabase_size = \"64 MiB\"\n";

fn reasons(sets: &str) -> Vec<String> {
    let sets: Vec<String> = sets.split(" @").map(str::to_owned).collect();
    let version = sets.get(1).map(|year| format!("profile.version={year}"));
    // A value may have a blank; what follows it is a key only with a dot and `=`.
    let mut all: Vec<String> = Vec::new();
    for word in sets[0].split(' ') {
        match word.split_once('=').is_some_and(|(key, _)| key.contains('.')) {
            true => all.push(word.to_owned()),
            false => {
                let last = all.last_mut().expect("a key comes first");
                last.push(' ');
                last.push_str(word);
            }
        }
    }
    let all = all.iter().chain(&version);
    let overrides: Vec<Override> = all.map(|set| Override::of_set(set).unwrap()).collect();
    let document = Document::new("t.toml", TEST, Path::new("/")).unwrap();
    let scenario =
        document.test(&overrides).unwrap_or_else(|refusal| panic!("{sets:?}: {refusal}"));
    lighter(&scenario.plan())
}

/// Keys and tables at the top that make no load lighter. Databases that are smaller than a cache,
/// and faults, are reasons of their own; sizes and targets are judged.
const NEUTRAL: [&str; 13] = [
    "base",
    "name",
    "description",
    "scratch",
    "solution",
    "design",
    "site",
    "event",
    "engine",
    "instance",
    "copy",
    "mailboxes",
    "throughput",
];

#[test]
fn every_key_of_a_test_is_classified() {
    let tables: [&dyn Page; 5] =
        [&test::TEST, &profile::PROFILE, &records::RECORDS, &limits::LIMITS, &storage::STORAGE];
    for (top, _) in SECTIONS.iter().filter(|(_, of)| of.contains(&Subject::Test)) {
        let title = format!("[{top}]");
        let table = tables.iter().find(|table| table.title() == title);
        assert_ne!(table.is_some(), NEUTRAL.contains(top), "{top}");
        for key in table.map_or(Vec::new(), |table| table.all()) {
            let name = format!("{top}.{}", key.name());
            let count = KEYS.iter().filter(|key| key.name == name).count();
            assert_eq!(count, usize::from(!key.is_neutral()), "{name}");
        }
    }
}

#[test]
fn every_key_that_makes_a_load_lighter_is_a_reason() {
    assert_eq!(reasons("test.seed=2"), [""; 0]);
    let lighter = KEYS.iter().map(|key| (key.name, key.lighter()));
    for (key, value) in lighter.chain([("records.duplicate_percent", "60")]) {
        let (_, word) = key.split_once('.').unwrap();
        let reasons = reasons(&format!("{key}={value}"));
        let named = reasons.iter().filter(|reason| reason.contains(word));
        assert_eq!(named.count(), 1, "{key}={value}: {reasons:?}");
    }
}
