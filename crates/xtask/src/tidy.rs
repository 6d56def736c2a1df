//! `cargo xtask tidy`: what bends in the house, found by reading its files.
//!
//! | looked at | limit |
//! | --- | --- |
//! | functions | [`FUNCTION_MAX`] lines, but for those of [`LONG`], which may only shrink |
//! | files of a crate | each is the module of another |
//! | files that use each other in a circle | [`RING_MAX`] |
//! | lines of pages, without tables and examples | [`PAGE_COLUMNS`] columns |
//! | third-party crates | each has a row in `docs/dependencies.md`, and each row a crate |
//!
//! A test of this file runs it, so `./test` does. Code is formatted, so a function ends at the
//! first closing brace that stands under its beginning.

mod rings;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{TaskError, root, say};

/// Lines of a function, its first and last one included.
const FUNCTION_MAX: usize = 80;
/// Longer functions: file, name, lines. Shorten one, and its line here goes.
const LONG: &[(&str, &str, usize)] = &[
    ("crates/array/src/incident.rs", "fmt", 90),
    ("crates/check/src/tests/mod.rs", "cases", 187),
    ("crates/cli/src/commands/run/mod.rs", "test", 112),
    ("crates/cli/src/commands/run/watch.rs", "tell", 132),
    ("crates/cli/tests/cli/papers.rs", "each_forged_result_contradicts_its_evidence", 129),
    ("crates/copies/tests/copies/search.rs", "resume", 111),
    ("crates/jetstress/src/config.rs", "element", 146),
    ("crates/mirror/src/receiver.rs", "change", 85),
    ("crates/qualify/src/phases/collection.rs", "collect", 94),
    ("crates/qualify/src/result/qualifies.rs", "obstacles", 87),
    ("crates/report/tests/report/drill.rs", "passed", 85),
    ("crates/testkit/src/crash/proof.rs", "round", 81),
];
/// Files of a crate that use each other in a circle.
const RING_MAX: usize = 10;
/// Columns of a page.
const PAGE_COLUMNS: usize = 130;
/// Pages that are generated.
const GENERATED: [&str; 1] = ["docs/papers.md"];

/// Reports everything that is out of order.
pub(crate) fn run() -> Result<(), TaskError> {
    let found = look(root());
    for line in &found {
        say(line);
    }
    match found.len() {
        0 => Ok(()),
        more => Err(TaskError::Tidy(more)),
    }
}

/// Everything that is out of order below `root`, a line each.
fn look(root: &Path) -> Vec<String> {
    let mut found = functions(root);
    found.extend(orphans(root));
    found.extend(rings::look(root, RING_MAX));
    found.extend(pages(root));
    found.extend(dependencies(root));
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files with `extension` below `folder`, in order.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten();
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            match path.is_dir() {
                true if path.file_name().is_some_and(|name| name == "target") => {}
                true => folders.push(path),
                false if path.extension().is_some_and(|own| own == extension) => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

/// The path of a file below `root` from there.
fn name(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

fn functions(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut long = BTreeSet::new();
    for path in files(&root.join("crates"), "rs") {
        let file = name(&path, root);
        for (name, lines) in lengths(&read(&path)) {
            if lines <= FUNCTION_MAX {
                continue;
            }
            let known = LONG.iter().find(|(path, own, _)| *path == file && *own == name);
            long.extend(known.map(|(path, own, _)| (*path, *own)));
            if known.is_none_or(|(_, _, most)| lines > *most) {
                let most = known.map_or(FUNCTION_MAX, |(_, _, most)| *most);
                found.push(format!("{file}: `{name}` has {lines} lines, more than {most}"));
            }
        }
    }
    let gone = LONG.iter().filter(|(path, name, _)| !long.contains(&(*path, *name)));
    found.extend(gone.map(|(path, name, _)| {
        format!("{path}: `{name}` is no longer long: take it out of LONG in tidy.rs")
    }));
    found
}

/// The functions of a formatted file: name and lines.
fn lengths(text: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let Some(name) = function(line) else {
            continue;
        };
        let end = lines[at..].iter().position(|own| {
            let is_under = own.len() - own.trim_start().len() == indent;
            is_under && ["}", ";"].iter().any(|end| own.trim_end().ends_with(end))
        });
        found.extend(end.map(|end| (name, end + 1)));
    }
    found
}

/// The name of the function that begins in `line`.
fn function(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| {
        word.starts_with("pub") || ["const", "async", "unsafe", "super)", "crate)"].contains(word)
    });
    let name = words.next().filter(|word| *word == "fn").and_then(|_| words.next())?;
    name.split(['(', '<']).next()
}

/// Rust files that no other file declares as its module.
fn orphans(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for krate in folders(&root.join("crates")) {
        for folder in ["src", "tests"] {
            for path in files(&krate.join(folder), "rs") {
                if !is_declared(&path, &krate) {
                    found.push(format!("{}: no file declares this module", name(&path, root)));
                }
            }
        }
    }
    found
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut folders: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// Whether `path` is the root of a program or library of the crate, or a module of its parent.
fn is_declared(path: &Path, krate: &Path) -> bool {
    let (Some(folder), Some(stem)) = (path.parent(), path.file_stem().and_then(|s| s.to_str()))
    else {
        return false;
    };
    let is_root = match folder.strip_prefix(krate).map(|inner| inner.components().count()) {
        // Each file of `tests` is a program, and so is `main.rs` of a folder there.
        Ok(1) => folder.ends_with("tests") || ["lib", "main"].contains(&stem),
        Ok(2) => stem == "main",
        _ => false,
    };
    // What a module is called, and the folder in which its parent would be.
    let (name, above) = match (stem, folder.file_name().and_then(|name| name.to_str())) {
        ("mod", Some(name)) => (name, folder.parent()),
        _ => (stem, Some(folder)),
    };
    let above = above.unwrap_or(folder);
    let own = ["mod.rs", "lib.rs", "main.rs"].map(|name| above.join(name));
    let beside = above.with_extension("rs");
    let declared = format!("mod {name};");
    let elsewhere = format!("{stem}.rs\"]");
    is_root
        || own.iter().chain([&beside]).any(|parent| {
            fs::read_to_string(parent).is_ok_and(|text| {
                text.lines().any(|line| line.trim_start_matches("pub ").trim().ends_with(&declared))
            })
        })
        || files(krate, "rs").iter().any(|other| read(other).contains(&elsewhere))
}

/// Lines of pages that are too long to read in a terminal or a diff.
fn pages(root: &Path) -> Vec<String> {
    let mut pages = files(&root.join("docs"), "md");
    pages.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root.join(name)));
    let mut found = Vec::new();
    for path in pages {
        let name = name(&path, root);
        if GENERATED.contains(&name.as_str()) {
            continue;
        }
        let mut is_example = false;
        for (at, line) in read(&path).lines().enumerate() {
            is_example ^= line.trim_start().starts_with("```");
            let is_table = line.trim_start().starts_with('|');
            // A link cannot be broken.
            let is_link = !line.trim().contains(' ');
            let columns = line.chars().count();
            if columns > PAGE_COLUMNS && !is_example && !is_table && !is_link {
                found.push(format!(
                    "{name}:{}: {columns} columns, more than {PAGE_COLUMNS}",
                    at + 1
                ));
            }
        }
    }
    found
}

/// Third-party crates without a row, and rows without a crate.
fn dependencies(root: &Path) -> Vec<String> {
    let mut used = BTreeSet::new();
    for krate in folders(&root.join("crates")) {
        let manifest: toml::Table =
            read(&krate.join("Cargo.toml")).parse().expect("cargo reads it");
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let names = manifest.get(kind).and_then(toml::Value::as_table).into_iter();
            let names = names.flat_map(|table| table.keys());
            used.extend(names.filter(|name| !name.starts_with("brunt-")).cloned());
        }
    }
    let page = read(&root.join("docs/dependencies.md"));
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let named = rows.flat_map(|row| row.split(", "));
    let named: BTreeSet<String> = named.map(|name| name.trim_matches('`').to_owned()).collect();
    let missing = used.difference(&named);
    let missing = missing.map(|name| format!("docs/dependencies.md has no row for `{name}`"));
    let unused = named.difference(&used);
    let unused = unused.map(|name| format!("docs/dependencies.md: nothing uses `{name}`"));
    missing.chain(unused).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_is_tidy() {
        let found = look(root());
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    #[test]
    fn functions_end_under_their_beginning() {
        let text = "impl A {\n    pub(crate) fn one(\n        x: u32,\n    ) -> u32 {\n        x\n    }\n\n    \
                    fn two(&self);\n}\n\nfn three() {}\n";
        assert_eq!(lengths(text), [("one", 5), ("two", 1), ("three", 1)]);
    }
}
