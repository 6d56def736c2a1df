//! Circles of files: each uses the next, and the last the first.
//!
//! Such files can only be read together. Paths that begin with `crate`, `super` or `self` are
//! followed to the file of the longest module they name; tests do not count, and neither does the
//! root of a crate, which names everything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{files, folders, read};

/// A module: the names from the root of its crate.
type Module = Vec<String>;
type Uses = BTreeMap<Module, BTreeSet<Module>>;

/// The circles of more than `most` files.
pub(super) fn look(root: &Path, most: usize) -> Vec<String> {
    let mut found = Vec::new();
    for krate in folders(&root.join("crates")) {
        for ring in rings(&uses(&krate.join("src"))) {
            if ring.len() > most {
                let names: Vec<String> = ring.iter().map(|module| module.join("/")).collect();
                let name = krate.file_name().unwrap_or_default().display();
                let (files, names) = (ring.len(), names.join(", "));
                found
                    .push(format!("{name}: {files} files use each other, at most {most}: {names}"));
            }
        }
    }
    found
}

/// What each module of a crate uses of it.
fn uses(source: &Path) -> Uses {
    let mut texts = BTreeMap::new();
    for path in files(source, "rs") {
        let inner = path.strip_prefix(source).expect("it is below").with_extension("");
        let mut module: Module =
            inner.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        if module.last().is_some_and(|name| ["lib", "main", "mod"].contains(&name.as_str())) {
            module.pop();
        }
        if !module.is_empty() && !module.iter().any(|name| name.contains("test")) {
            texts.insert(module, code(&read(&path)));
        }
    }
    let modules: BTreeSet<Module> = texts.keys().cloned().collect();
    let used = |(module, text): (&Module, &String)| {
        let paths = paths(text).into_iter();
        let named = paths.filter_map(|path| named(&path, module, &modules));
        (module.clone(), named.filter(|other| other != module).collect())
    };
    texts.iter().map(used).collect()
}

/// `text` without comments and without its tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Every path in `text` that begins in this crate, groups in braces taken apart.
fn paths(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in text.match_indices(start) {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            found.extend(expanded(&text[at..]).0);
        }
    }
    found
}

/// The paths of a tree as in `use`, and how many bytes of `text` it is long.
fn expanded(text: &str) -> (Vec<String>, usize) {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let end = text.find(|c| !is_path(c)).unwrap_or(text.len());
    let own = &text[..end];
    if !(own.ends_with("::") && text[end..].starts_with('{')) {
        return (vec![own.to_owned()], end);
    }
    let (mut found, mut at) = (Vec::new(), end + 1);
    while let Some(next) = text[at..].chars().next() {
        if next == '}' {
            return (found, at + 1);
        }
        if !is_path(next) {
            at += next.len_utf8();
            continue;
        }
        let (paths, length) = expanded(&text[at..]);
        found.extend(paths.into_iter().map(|path| format!("{own}{path}")));
        at += length.max(1);
    }
    (found, at)
}

/// The module that `path` names in `module`.
fn named(path: &str, module: &Module, modules: &BTreeSet<Module>) -> Option<Module> {
    let mut names = path.split("::").filter(|name| !name.is_empty()).peekable();
    let mut whole = match names.peek() {
        Some(&"crate") => {
            names.next();
            Vec::new()
        }
        _ => module.clone(),
    };
    while let Some(name) = names.next_if(|name| ["super", "self"].contains(name)) {
        if name == "super" {
            whole.pop();
        }
    }
    whole.extend(names.map(str::to_owned));
    while !whole.is_empty() && !modules.contains(&whole) {
        whole.pop();
    }
    (!whole.is_empty()).then_some(whole)
}

/// The sets of modules of which each reaches each other one.
fn rings(uses: &Uses) -> Vec<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        uses.keys().map(|module| (module, reach(module, uses))).collect();
    let mut found: Vec<BTreeSet<Module>> = Vec::new();
    for module in uses.keys().filter(|module| reached[*module].contains(*module)) {
        if found.iter().any(|ring| ring.contains(module)) {
            continue;
        }
        let others = reached[module].iter().filter(|other| reached[**other].contains(module));
        found.push(others.map(|other| (*other).clone()).collect());
    }
    found
}

/// What `module` uses, directly or through others.
fn reach<'u>(module: &Module, uses: &'u Uses) -> BTreeSet<&'u Module> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&Module> = uses[module].iter().collect();
    while let Some(module) = next.pop() {
        if reached.insert(module) {
            next.extend(uses.get(module).into_iter().flatten());
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str) -> Module {
        path.split('/').map(str::to_owned).collect()
    }

    #[test]
    fn paths_are_taken_apart() {
        let text = "use crate::a::{self, b::{C, D as E}};\nlet x = super::y::z(crate::q);";
        let wanted = ["crate::a::self", "crate::a::b::C", "crate::a::b::D", "crate::a::b::as"];
        let found = paths(text);
        assert!(wanted[..3].iter().all(|path| found.iter().any(|own| own == path)), "{found:?}");
        assert!(
            found.contains(&"super::y::z".to_owned()) && found.contains(&"crate::q".to_owned())
        );
    }

    #[test]
    fn a_ring_is_of_files_that_reach_each_other() {
        let uses: Uses = [
            (module("a"), [module("b")].into()),
            (module("b"), [module("c/d"), module("e")].into()),
            (module("c/d"), [module("a")].into()),
            (module("e"), BTreeSet::new()),
        ]
        .into();
        assert_eq!(rings(&uses), [[module("a"), module("b"), module("c/d")].into()]);
    }
}
