//! `base = "other.toml"`: a scenario that says only what differs from another.
//!
//! ```text
//!   twelve.toml -> systems/array.toml -> ... -> no `base`       the last is written first,
//!                                                               and each before it is laid over it
//! ```
//!
//! | in both | becomes |
//! | --- | --- |
//! | tables | one table, key by key |
//! | lists of tables that all have a `name` | one list: equal names are one table, new ones follow |
//! | anything else | that of the scenario that has the `base` |
//!
//! A `name` of the whole scenario is not handed on: each is called as it says, or after its file.
//! Every value keeps the place where it was written, so refusals name the file of the key.
//!
//! Bases lie in the folder of the scenario or below it, wherever links lead: a scenario from
//! elsewhere reads nothing of this machine but its own neighbours.

use std::io;
use std::path::{Path, PathBuf};

use super::files::Files;
use super::overrides;
use super::place::{Cause, Place, Refusal};
use super::section;
use super::tree::{self, Node, Value};

/// The text of a file.
pub(super) type Read<'r> = &'r dyn Fn(&Path) -> io::Result<String>;

/// `root` of `file`, laid over its bases, and what the files are called, its own first. Without
/// `read`, bases are among `files` already.
///
/// # Errors
/// [`Refusal`] of a `base` that is no file there, or leads back to itself; or of a text that is not
/// TOML.
pub(super) fn merged(
    file: &str,
    root: Node,
    files: &Files,
    read: Option<Read<'_>>,
) -> Result<(Node, Vec<String>), Refusal> {
    let folder = files.folder.as_path();
    let (mut layers, mut names) = (vec![root], vec![file.to_owned()]);
    let (mut beside, mut seen) = (folder.to_owned(), Vec::<PathBuf>::new());
    // As written, without following links: what it is called among `files`.
    let mut beside_as_written = folder.to_owned();
    while let Some(node) = take(layers.last_mut(), "base") {
        let path = section::path(&node).map_err(|refusal| refusal.because(Cause::Value))?;
        let written = beside_as_written.join(&path);
        let whole = match read {
            Some(_) => find(&node.place, &beside.join(&path), folder)?,
            None => written.clone(),
        };
        if seen.contains(&whole) {
            return Err(refuse(&node.place, "leads back to itself"));
        }
        let text = match read {
            Some(read) => read(&whole),
            None => files.read(&whole),
        };
        let text = text.map_err(|error| unread(&node.place, &error))?;
        files.keep(&written, &text);
        let name = Path::new(names.last().expect("its own")).with_file_name(&path);
        let name = name.display().to_string();
        let mut layer = tree::parse(&name, &text)?;
        take(Some(&mut layer), "name");
        layers.push(layer);
        names.push(name);
        beside = whole.parent().unwrap_or(folder).to_owned();
        beside_as_written = written.parent().unwrap_or(folder).to_owned();
        seen.push(whole);
    }
    let over = |mut base: Node, layer: Node| {
        overrides::forget_rivals(&mut base, &layer);
        lay(&mut base, layer);
        base
    };
    let whole = layers.into_iter().rev().reduce(over).expect("its own");
    Ok((whole, names))
}

/// The file at `path`, without links in it; it lies in `folder` or below.
fn find(place: &Place, path: &Path, folder: &Path) -> Result<PathBuf, Refusal> {
    let whole = path.canonicalize().map_err(|error| unread(place, &error))?;
    let folder = folder.canonicalize().map_err(|error| unread(place, &error))?;
    match whole.starts_with(folder) {
        true => Ok(whole),
        false => Err(refuse(place, "leaves the folder of the scenario")),
    }
}

fn refuse(place: &Place, what: impl Into<String>) -> Refusal {
    let refusal = place.refuse(what).because(Cause::Value);
    refusal.hint("a base is another file in that folder, or below it: base = \"other.toml\"")
}

fn unread(place: &Place, error: &io::Error) -> Refusal {
    refuse(place, format!("cannot be read: {error}"))
}

fn take(node: Option<&mut Node>, key: &str) -> Option<Node> {
    let Some(Value::Table(entries)) = node.map(|node| &mut node.value) else {
        return None;
    };
    let at = entries.iter().position(|(own, _)| own == key)?;
    Some(entries.remove(at).1)
}

/// Lays `over` on `base`.
fn lay(base: &mut Node, over: Node) {
    match (&mut base.value, over.value) {
        (Value::Table(entries), Value::Table(more)) => {
            for (key, node) in more {
                match entries.iter_mut().find(|(own, _)| *own == key) {
                    Some((_, own)) => lay(own, node),
                    None => entries.push((key, node)),
                }
            }
        }
        (Value::List(nodes), Value::List(more)) if are_named(nodes) && are_named(&more) => {
            for node in more {
                match nodes.iter_mut().find(|own| own.name() == node.name()) {
                    Some(own) => lay(own, node),
                    None => nodes.push(node),
                }
            }
        }
        (own, value) => *own = value,
    }
    base.place = over.place;
}

/// Whether these are tables, at least one, and each says its name.
fn are_named(nodes: &[Node]) -> bool {
    !nodes.is_empty() && nodes.iter().all(|node| node.name().is_some())
}

impl Node {
    fn name(&self) -> Option<&str> {
        let (_, name) = self.entries().iter().find(|(key, _)| key == "name")?;
        match &name.value {
            Value::Text(name) => Some(name),
            _ => None,
        }
    }
}

/// Where a scenario comes from, for the head of the one that is kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin(Vec<String>);

impl Origin {
    pub(super) fn of(files: &[String]) -> Self {
        Self(files.iter().map(|file| brunt_report::one_line(file).into_owned()).collect())
    }

    /// A line of remark where there was more than one file.
    pub(super) fn head(&self) -> String {
        match self.0.split_first() {
            Some((own, bases)) if !bases.is_empty() => {
                format!("# Merged: {own} over {}\n", bases.join(" over "))
            }
            _ => String::new(),
        }
    }
}

/// What a scenario means is the same wherever it comes from.
impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::{Document, Override, Scenario};

    const COMMON: &str = r#"
name = "common"
description = "two databases"
[test]
duration = "2h"
sessions = 8
[profile]
cache_max = "64 MiB"
[[instance]]
name = "one"
log = "/a/log"
databases = ["/a/one.edb"]
database_size = "1 GiB"
[[instance]]
name = "two"
log = "/b/log"
databases = ["/b/two.edb"]
database_size = "1 GiB"
"#;

    /// Reads `text` as `t.toml` beside `files`.
    fn read(text: &str, files: &[(&str, &str)], set: &[&str]) -> Result<Scenario, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        read_in(folder.path(), text, set)
    }

    fn read_in(folder: &Path, text: &str, set: &[&str]) -> Result<Scenario, String> {
        let set: Vec<Override> = set.iter().map(|set| Override::of_set(set).unwrap()).collect();
        let document = Document::open("x/t.toml", text, folder, &|path| fs::read_to_string(path));
        let test = document.and_then(|document| document.test(&set));
        test.map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn tables_are_merged_and_named_lists_amended() {
        let text = "base = \"of/common.toml\"\n[test]\nsessions = 4\n[[instance]]\nname = \"two\"\n\
                    log = \"/c/log\"\n[[instance]]\nname = \"three\"\nlog = \"/d/log\"\n\
                    databases = [\"/d/three.edb\"]\ndatabase_size = \"2 GiB\"\n";
        let files = [
            ("of/common.toml", "base = \"deep/est.toml\"\ntest.seed = 7\n"),
            ("of/deep/est.toml", COMMON),
        ];
        let test = read(text, &files, &["profile.cache_min=32MiB"]).unwrap();
        let whole = COMMON
            .replace("name = \"common\"", "name = \"t\"")
            .replace("sessions = 8", "sessions = 4\nseed = 7")
            .replace("[profile]", "[profile]\ncache_min = \"32 MiB\"")
            .replace("/b/log", "/c/log")
            + "[[instance]]\nname = \"three\"\nlog = \"/d/log\"\ndatabases = [\"/d/three.edb\"]\n\
               database_size = \"2 GiB\"\n";
        assert_eq!(test, read(&whole, &[], &[]).unwrap());
        let kept = test.to_toml();
        let head =
            "# Merged: x/t.toml over x/of/common.toml over x/of/deep/est.toml\nname = \"t\"\n";
        assert!(kept.starts_with(head), "{kept}");
        let again = read(&kept, &[], &[]).unwrap();
        assert_eq!(again, test);
        assert!(again.to_toml().starts_with("name = \"t\"\n"), "it stands alone");
    }

    #[test]
    fn a_list_without_names_is_replaced() {
        let event = |what| format!("[[event]]\nwhat = \"{what}\"\nfile = \"one.edb\"\n");
        let common = format!("{COMMON}{}{}", event("zeroed"), event("lost-write"));
        let files = [("common.toml", common.as_str())];
        let faults = |text: &str| {
            read(&format!("base = \"common.toml\"\n{text}"), &files, &[]).unwrap().faults
        };
        assert_eq!(faults("").len(), 2);
        assert_eq!(faults(&event("slow").replace("slow", "stuck")).len(), 1);
        assert_eq!(faults("event = []").len(), 0);
    }

    #[test]
    fn a_mistake_is_reported_in_the_file_where_it_stands() {
        let files = [("common.toml", COMMON)];
        let lacks = COMMON.replace("sessions = 8\n", "");
        let wrong = |text: &str, files: &[(&str, &str)]| read(text, files, &[]).unwrap_err();
        let own = wrong("base = \"common.toml\"\n[test]\nsessions = 0", &files);
        assert!(own.starts_with("x/t.toml:3: `sessions = 0`: not between"), "{own}");
        let typo = COMMON.replace("sessions", "sesions");
        let of_base = wrong("base = \"common.toml\"", &[("common.toml", &typo)]);
        assert!(of_base.starts_with("x/common.toml:6: `sesions = 8`: unknown key"), "{of_base}");
        let toml = wrong("base = \"common.toml\"", &[("common.toml", "[test")]);
        assert!(toml.starts_with("x/common.toml:1: `[test`: "), "{toml}");
        let set = read("base = \"common.toml\"", &[("common.toml", &lacks)], &["base=common.toml"]);
        let set = set.unwrap_err();
        assert!(set.contains("is only followed in the file of a scenario"), "{set}");
        let unread = Document::new("t.toml", "base = \"common.toml\"", Path::new("/")).unwrap();
        let unread = unread.test(&[]).unwrap_err().to_string();
        assert!(unread.contains("is only followed in the file of a scenario"), "{unread}");
    }

    #[test]
    fn mistakes_of_all_files_are_reported_file_by_file() {
        let folder = tempfile::tempdir().unwrap();
        let common = COMMON.replace("\"2h\"", "2").replace("64 MiB", "64");
        fs::write(folder.path().join("common.toml"), common).unwrap();
        let text =
            "base = \"common.toml\"\n\n\n\n\n\n\n\n\n\n[test]\nsessions = \"x\"\nseed = true";
        let document =
            Document::open("t.toml", text, folder.path(), &|path| fs::read_to_string(path));
        let mistakes = document.unwrap().check_test(&[]).mistakes;
        let places: Vec<String> = mistakes
            .iter()
            .map(|one| one.place().to_string().split(": ").next().unwrap().to_owned())
            .collect();
        assert_eq!(places, ["common.toml:5", "common.toml:8", "t.toml:12", "t.toml:13"]);
    }

    #[test]
    fn a_base_lies_in_the_folder_and_ends() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("in");
        fs::create_dir_all(folder.join("below")).unwrap();
        fs::write(outer.path().join("outside.toml"), COMMON).unwrap();
        fs::write(folder.join("common.toml"), COMMON).unwrap();
        fs::write(folder.join("one.toml"), "base = \"two.toml\"").unwrap();
        fs::write(folder.join("two.toml"), "base = \"one.toml\"").unwrap();
        fs::write(folder.join("below/up.toml"), "base = \"../common.toml\"").unwrap();
        fs::write(folder.join("below/out.toml"), "base = \"../../outside.toml\"").unwrap();
        symlink("../outside.toml", folder.join("link.toml")).unwrap();
        symlink("common.toml", folder.join("inner.toml")).unwrap();
        let outside = outer.path().join("outside.toml").display().to_string();
        let said = |base: &str| read_in(&folder, &format!("base = \"{base}\""), &[]).map(|_| ());
        for base in ["common.toml", "below/../common.toml", "below/up.toml", "inner.toml"] {
            assert_eq!(said(base), Ok(()), "{base}");
        }
        let leaves = "leaves the folder of the scenario";
        for (base, what) in [
            ("../outside.toml", leaves),
            (outside.as_str(), leaves),
            ("/etc/passwd", leaves),
            ("link.toml", leaves),
            ("below/out.toml", leaves),
            ("one.toml", "leads back to itself"),
            ("none.toml", "cannot be read: No such file"),
            ("below", "cannot be read: Is a directory"),
            ("", "the path is empty"),
        ] {
            let said = said(base).unwrap_err();
            assert!(said.contains(what) && said.contains("\n  "), "{base}: {said}");
        }
        let twice = said("one.toml").unwrap_err();
        assert!(twice.starts_with("x/two.toml:1: `base = \"one.toml\"`: "), "{twice}");
    }

    #[test]
    fn a_distance_replaces_the_round_trip_of_its_base() {
        let link = |text: &str| {
            let mut base = tree::parse("b", "[link]\nrtt = \"5ms\"\npaths = 2").unwrap();
            let over = tree::parse("o", text).unwrap();
            overrides::forget_rivals(&mut base, &over);
            lay(&mut base, over);
            base.entries()[0].1.entries().iter().map(|(key, _)| key.clone()).collect::<Vec<_>>()
        };
        assert_eq!(link("link.km = 30"), ["paths", "km"]);
        assert_eq!(link("link.paths = 1"), ["rtt", "paths"]);
    }
}
