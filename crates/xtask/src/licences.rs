//! The licences of all crates that are linked into the program, in one text. Most licences ask for
//! their text wherever the program goes.
//!
//! What is linked follows from `cargo metadata`: the program, and from there every dependency of
//! the ordinary kind. Procedural macros run when the program is built, and are not in it.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::dist::{read, said};
use crate::{TaskError, root};

/// The package that becomes the program.
const PROGRAM: &str = "brunt-cli";
/// How the names of files with licences begin, in capitals.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
    /// Where it is from; `None` for the crates of this repository.
    source: Option<String>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// `None` for the ordinary kind.
    kind: Option<String>,
}

/// The licences of the crates in the program for this machine.
///
/// # Errors
/// When cargo does not know the dependencies, or a licence cannot be read.
pub(crate) fn of_crates() -> Result<String, TaskError> {
    let manifest = root().join("Cargo.toml").display().to_string();
    let cargo = env::var("CARGO").unwrap_or("cargo".to_owned());
    let platform = format!("{}-unknown-linux-gnu", env::consts::ARCH);
    let arguments = [
        "metadata",
        "--format-version=1",
        "--locked",
        "--manifest-path",
        &manifest,
        "--filter-platform",
        &platform,
    ];
    let said = said(&cargo, &arguments)?;
    let metadata: Metadata = serde_json::from_str(&said)
        .map_err(|error| TaskError::Dist(format!("cargo metadata: {error}")))?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut list = String::new();
    for package in linked(&metadata)? {
        let Package { name, version, .. } = package;
        let licence = package.license.as_deref().unwrap_or("see its text");
        let found = texts_of(package)?;
        let without = if found.is_empty() { "; its package has no text" } else { "" };
        let _ = writeln!(list, "{name} {version}: {licence}{without}");
        for text in found {
            texts.entry(text).or_default().push(format!("{name} {version}"));
        }
    }
    let mut all = format!("Crates in this program, and their licences\n\n{list}");
    for (text, crates) in texts {
        let _ = write!(all, "\n{}\n{}\n\n{text}\n", "-".repeat(80), crates.join(", "));
    }
    Ok(all)
}

/// Foreign packages that are linked into the program, by name.
fn linked(metadata: &Metadata) -> Result<Vec<&Package>, TaskError> {
    let packages = metadata.packages.iter();
    let packages: BTreeMap<&str, &Package> = packages.map(|one| (one.id.as_str(), one)).collect();
    let nodes = metadata.resolve.nodes.iter();
    let nodes: BTreeMap<&str, &Node> = nodes.map(|one| (one.id.as_str(), one)).collect();
    let mut all = packages.values();
    let program = all.find(|one| one.name == PROGRAM);
    let program =
        program.ok_or_else(|| TaskError::Dist(format!("there is no package {PROGRAM}")))?;
    let mut reached = BTreeSet::from([program.id.as_str()]);
    let mut ahead = vec![program.id.as_str()];
    while let Some(id) = ahead.pop() {
        for dependency in nodes.get(id).iter().flat_map(|node| &node.deps) {
            let id = dependency.pkg.as_str();
            let is_ordinary = dependency.dep_kinds.iter().any(|one| one.kind.is_none());
            let is_macro = packages.get(id).is_some_and(|one| one.is_macro());
            if is_ordinary && !is_macro && reached.insert(id) {
                ahead.push(id);
            }
        }
    }
    let linked = reached.into_iter().filter_map(|id| packages.get(id));
    let mut linked: Vec<&Package> =
        linked.copied().filter(|package| package.source.is_some()).collect();
    linked.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(linked)
}

impl Package {
    fn is_macro(&self) -> bool {
        let mut kinds = self.targets.iter().flat_map(|target| &target.kind);
        kinds.any(|kind| kind == "proc-macro")
    }
}

/// The texts in the package's own folder, in order of their names.
fn texts_of(package: &Package) -> Result<Vec<String>, TaskError> {
    let folder = package.manifest_path.parent().unwrap_or(Path::new("/"));
    let refused = |error| TaskError::File { path: folder.to_owned(), error };
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(refused)? {
        let path = entry.map_err(refused)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_ascii_uppercase();
        if path.is_file() && NAMES.iter().any(|begin| name.starts_with(begin)) {
            files.insert(path);
        }
    }
    let texts = files.into_iter().map(|path| {
        let bytes = read(&path)?;
        Ok(String::from_utf8_lossy(&bytes).trim().replace('\r', ""))
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_that_are_linked_are_named_with_their_texts() {
        let text = of_crates().unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().any(|line| line.starts_with("rustix ")));
        assert!(text.contains("Permission is hereby granted"));
        // A macro, a tool of tests, and a crate of this repository.
        for other in ["serde_derive ", "snapbox ", "brunt-ese "] {
            let named = lines.iter().find(|line| line.starts_with(other));
            assert_eq!(named, None);
        }
    }
}
