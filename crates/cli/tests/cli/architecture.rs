//! The crate table of `docs/architecture.md` is true: every crate that holds something has a row,
//! and a row uses only the rows above it.

use std::fs;

use super::program::root;

/// The folders that the table names, from its first row to its last.
fn rows() -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let (_, table) = page.split_once("| crate | holds |").expect("the page has the crate table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let names = rows.map(|row| row.split('`').nth(1).expect("a row begins with the crate's name"));
    names.map(str::to_owned).collect()
}

#[test]
fn every_crate_that_holds_something_has_a_row() {
    let rows = rows();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let files = fs::read_dir(path.join("src")).unwrap().count();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(rows.contains(&name), files > 1, "{name}");
    }
}

#[test]
fn a_row_uses_only_rows_above_it() {
    let rows = rows();
    assert!(rows.len() > 5, "{rows:?}");
    for (at, name) in rows.iter().enumerate() {
        let manifest = root().join("crates").join(name).join("Cargo.toml");
        let manifest: toml::Table = fs::read_to_string(manifest).unwrap().parse().unwrap();
        let uses = manifest["dependencies"].as_table().unwrap().keys();
        for used in uses.filter_map(|name| name.strip_prefix("brunt-")) {
            // A crate that holds nothing yet has no row.
            let above = rows[..at].iter().any(|row| row == used);
            assert!(above || !rows.iter().any(|row| row == used), "{name} uses {used}");
        }
    }
}
