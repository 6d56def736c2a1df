//! Every key of a test on real storage is in the table of `brunt_qualify::result::lighter`, and
//! each that can make a load lighter does not qualify when it does.

use std::collections::BTreeSet;
use std::path::Path;

use brunt_qualify::result::lighter::{KEYS, lighter};

use super::document::{Document, SECTIONS, Subject};
use super::{Override, limits, profile, records, storage, test};

/// A test of the version 2007, whose checkpoints are bursts.
const TEST: &str = "[test]\nduration = \"2h\"\nsessions = 1\n[profile]\nversion = \"exchange-2007\"\n\
                    [[instance]]\nlog = \"log\"\ndatabases = [\"1.edb\"]\ndatabase_size = \"64 MiB\"\n";

/// A lighter value of every key that can have one; `@2013` names another version than that of the
/// test.
const LIGHTER: [&str; 34] = [
    "test.target_io_per_s=0.5",
    "test.headroom_percent=19 test.target_io_per_s=5",
    "test.scheduling=think 5ms",
    "test.logs=499 test.kind=soft-recovery",
    "profile.page=4 KiB",
    "profile.log_file=2 MiB",
    "profile.log_buffer=5 MiB @2003",
    "profile.cache_max=1 TiB",
    "profile.checkpoint_depth=2 GiB",
    "profile.checkpoint_writes=trickle",
    "profile.background_maintenance=false @2013",
    "profile.maintenance_read=64 KiB @2013",
    "profile.maintenance_sleep=10h @2013",
    "profile.insert_percent=0",
    "profile.delete_percent=0",
    "profile.replace_percent=0",
    "profile.lazy_percent=100",
    "profile.reads_again_percent=100",
    "profile.batch_operations=100000",
    "records.short=1 B",
    "records.long=1 B",
    "records.compressible_percent=60",
    "records.beside_percent=50",
    "limits.read_average=5s",
    "limits.read_sample=5s",
    "limits.log_average=5s",
    "limits.log_sample=5s",
    "limits.tail_device=1h",
    "limits.tail_operation=1h",
    "limits.excursions=100",
    "limits.stalls_per_s=10",
    "limits.margin_percent=50",
    "limits.reserve_percent=0",
    "records.duplicate_percent=60",
];

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

#[test]
fn every_key_of_a_test_is_classified() {
    let tables = [
        ("test", test::TEST.names()),
        ("profile", profile::PROFILE.names()),
        ("records", records::RECORDS.names()),
        ("limits", limits::LIMITS.names()),
        ("storage", storage::STORAGE.names()),
    ];
    let top = SECTIONS.iter().filter(|(_, of)| of.contains(&Subject::Test));
    let mut language = BTreeSet::new();
    for (key, _) in top {
        match tables.iter().find(|(table, _)| table == key) {
            Some((_, keys)) => language.extend(keys.iter().map(|own| format!("{key}.{own}"))),
            None => drop(language.insert((*key).to_owned())),
        }
    }
    let classified: BTreeSet<String> = KEYS.iter().map(|key| key.name.to_owned()).collect();
    assert_eq!(classified, language);
    assert_eq!(KEYS.len(), language.len(), "a key is classified twice");
}

#[test]
fn every_key_that_makes_a_load_lighter_is_a_reason() {
    assert_eq!(reasons("test.seed=2"), [""; 0]);
    let mut tried = BTreeSet::new();
    for sets in LIGHTER {
        let (key, _) = sets.split_once('=').unwrap();
        let (_, word) = key.split_once('.').unwrap();
        let reasons = reasons(sets);
        let named = reasons.iter().filter(|reason| reason.contains(word));
        assert_eq!(named.count(), 1, "{sets}: {reasons:?}");
        tried.insert(key);
    }
    for key in KEYS.iter().filter(|key| key.can_lighten()) {
        assert!(tried.contains(key.name), "{} is not tried", key.name);
    }
}
