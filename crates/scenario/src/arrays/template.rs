//! What `brunt init --array` writes: every key that the reader knows, and no other; defaults are
//! the reader's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use brunt_array::SystemDesign;

use super::super::keys::Page;
use super::super::modelled::TWIN;
use super::{ARRAY, PARTS, SIMULATE, drives, front, groups, load, pages, tier};
use crate::{ARRAY_TEMPLATE, Document};

/// A line without what makes it a comment.
fn uncommented(line: &str) -> &str {
    line.strip_prefix("# ").unwrap_or(line)
}

/// The key of a line, if it gives one a value.
fn key(line: &str) -> Option<&str> {
    let (key, _) = uncommented(line).split_once(" = ")?;
    let is_key = key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    is_key.then_some(key)
}

/// The head of a table, if the line is one.
fn head(line: &str) -> Option<&str> {
    let line = uncommented(line);
    let is_head = line.starts_with('[') && line.ends_with(']');
    is_head.then(|| line.trim_matches(['[', ']']))
}

/// The keys of each table, live or in comments.
fn keys() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut keys = BTreeMap::<_, BTreeSet<_>>::new();
    let mut table = "";
    for line in ARRAY_TEMPLATE.lines() {
        table = head(line).unwrap_or(table);
        keys.entry(table).or_default().extend(key(line));
    }
    keys
}

#[test]
fn every_key_of_an_array_is_there_and_no_other() {
    let all = keys();
    let luns = groups::LUN.names().into_iter().chain(pages::LUN.names());
    // Tables of an array have a line of their own.
    let tables: BTreeSet<&str> =
        all.keys().filter_map(|table| table.strip_prefix("array.")).collect();
    let own = ARRAY.names().into_iter().chain(PARTS).filter(|key| !tables.contains(key));
    let names = |table: &dyn Page| table.all().iter().map(|key| key.name()).collect();
    let known: [(&str, BTreeSet<&str>); 13] = [
        ("array", own.collect()),
        ("array.drives", names(&drives::DRIVES)),
        ("array.group", names(&groups::GROUP)),
        ("array.lun", luns.collect()),
        ("array.front", names(&front::FRONT)),
        ("array.controller", names(&front::CONTROLLER)),
        ("array.cache", names(&front::CACHE)),
        ("array.scan", names(&front::SCAN)),
        ("array.tier", names(&tier::TIER)),
        ("array.pages", names(&pages::PAGES)),
        ("twin", names(&TWIN)),
        ("simulate", names(&SIMULATE)),
        ("load", names(&load::LOAD)),
    ];
    for (table, known) in known {
        assert_eq!(all[table], known, "[{table}]");
    }
}

/// Everything that keys of an array decide but for its drives.
fn read(text: &str) -> String {
    let document = Document::new("array.toml", text, Path::new("/")).unwrap();
    let scenario = document.modelled_test(&[]).unwrap();
    let SystemDesign::One(array) = &scenario.arrays[0].design else {
        panic!("one array");
    };
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        array.policy,
        array.groups,
        array.spares,
        array.luns,
        array.front,
        array.controller,
        array.cache,
        array.scan,
        array.tier,
        scenario.twin,
        scenario.volumes,
    )
}

#[test]
fn a_key_in_a_comment_has_its_default() {
    let base = read(ARRAY_TEMPLATE);
    let lines: Vec<&str> = ARRAY_TEMPLATE.lines().collect();
    let mut table = ("", true);
    let mut tried = 0;
    for (at, line) in lines.iter().enumerate() {
        if let Some(head) = head(line) {
            table = (head, !line.starts_with('#'));
        }
        let is_other = ["# not by default", "# for ", "# instead", "# several"];
        let is_default = !is_other.iter().any(|other| line.contains(other));
        let is_live = table.1 && !table.0.is_empty();
        if !(is_live && is_default && line.starts_with("# ") && key(line).is_some()) {
            continue;
        }
        let mut text = lines.clone();
        text[at] = uncommented(line);
        assert_eq!(read(&text.join("\n")), base, "{line}");
        tried += 1;
    }
    assert!(tried > 20, "{tried}");
}

#[test]
fn a_table_in_comments_can_be_used() {
    let with = |tables: &[&str]| {
        let mut lines = Vec::new();
        let mut is_wanted = false;
        for line in ARRAY_TEMPLATE.lines() {
            if let Some(head) = head(line) {
                is_wanted = line.starts_with('#') && tables.contains(&head);
            }
            lines.push(match is_wanted && (key(line).is_some() || head(line).is_some()) {
                true => uncommented(line),
                false => line,
            });
        }
        read(&lines.join("\n"))
    };
    assert_ne!(with(&["array.scan"]), with(&[]));
    assert_ne!(with(&["array.drives", "array.tier"]), with(&[]));
    assert_eq!(with(&["event"]), with(&[]));
}
