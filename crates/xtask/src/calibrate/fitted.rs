//! Compares the list of everything that was fitted, in `docs/models/twin.md`, with the sources and
//! scenarios.
//!
//! A figure is fitted when it was chosen so that predictions match published results. Each is
//! marked where it is defined: `/// Fitted` above a constant, `fitted(` in the table of versions, a
//! comment with the word in a scenario, or a row of [`PARAMETERS`].

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::parameters::PARAMETERS;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files_below(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, ending, found);
        } else if path.extension().is_some_and(|has| has == ending) {
            found.push(path);
        }
    }
}

/// Constants marked `/// Fitted`, and fitted figures of the table of versions.
fn in_source(text: &str, found: &mut BTreeSet<String>) {
    let mut is_marked = false;
    for line in text.lines().map(str::trim) {
        is_marked |= line.starts_with("/// Fitted");
        if let Some((name, _)) = line.split_once(": fitted(") {
            found.insert(name.to_owned());
        }
        let item = line.strip_prefix("pub ").unwrap_or(line);
        if let Some(rest) = item.strip_prefix("const ")
            && std::mem::take(&mut is_marked)
        {
            found.insert(rest.split(':').next().unwrap().to_owned());
        }
    }
}

/// Keys below a comment with the word.
fn in_scenario(text: &str, found: &mut BTreeSet<String>) {
    let mut is_marked = false;
    for line in text.lines() {
        if line.starts_with('#') {
            is_marked |= line.to_lowercase().contains("fitted");
            continue;
        }
        if std::mem::take(&mut is_marked) && !line.is_empty() {
            found.insert(line.split(" = ").next().unwrap().to_owned());
        }
    }
}

fn listed() -> BTreeSet<String> {
    let page = fs::read_to_string(root().join("docs/models/twin.md")).unwrap();
    let list = page.split("| fitted figure |").nth(1).unwrap();
    let rows = list.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('`').nth(1).unwrap().to_owned()).collect()
}

/// The figures that a leave-one-out resets, by the names they are listed under.
fn reset() -> BTreeSet<String> {
    let sets = PARAMETERS.iter().flat_map(|one| one.set(one.fitted));
    let names = sets.map(|set| {
        let key = set.split('=').next().unwrap();
        let name = match key {
            "array.cache.write" | "array.cache.read" => "[array.cache]",
            "twin.log_format" => "OLD_CHUNK_BYTES",
            "twin.checksum_reads" => "CHECKSUM_IN_FLIGHT",
            "profile.recovery_reads" => "IN_FLIGHT_RECOVERY",
            key => key.rsplit('.').next().unwrap(),
        };
        name.to_owned()
    });
    names.collect()
}

#[test]
fn everything_fitted_is_listed_and_reset_and_nothing_else() {
    let mut found = reset();
    let mut sources = Vec::new();
    files_below(&root().join("crates"), "rs", &mut sources);
    for path in sources.iter().filter(|path| !path.ends_with(file!())) {
        in_source(&fs::read_to_string(path).unwrap(), &mut found);
    }
    let mut scenarios = Vec::new();
    files_below(&root().join("scenarios/papers"), "toml", &mut scenarios);
    for path in scenarios {
        in_scenario(&fs::read_to_string(path).unwrap(), &mut found);
    }
    // Its times are fitted as the parameters `read` and `write`.
    found.remove("[array.controller]");
    assert_eq!(found, listed());
    // No system of the fit decided it, so leaving one out resets nothing.
    let mut reset = reset();
    reset.insert("device_io".to_owned());
    assert_eq!(reset, listed());
}
