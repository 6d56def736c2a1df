//! `[site.source]` and `[site.destination]`: where the two sites of a drill on real storage are.
//!
//! ```toml
//! [site.destination]
//! folder = "/srv/b"                   on its host
//! host = "backup"                     another host than the drill's, as for ssh: a name, user@name, or a Host of ~/.ssh/config
//! program = "/usr/local/bin/brunt"    there; default "brunt", as the path of that user finds it
//! device = "/dev/sdb"                 of either site, only where replication is external: named to commands
//! ```

use std::path::{Path, PathBuf};

use super::keys::{At, Maybe, PATH, TEXT, Table, keys, own};
use super::place::{Placed, Refusal};
use super::section::{self, Section};
use super::tree::{Node, Value};

/// Sides, as tables of `[site]`.
pub(super) const SIDES: [&str; 2] = ["source", "destination"];
keys! {
    /// What is said of a site.
    pub(crate) struct Side; DESTINATION = "[site.destination]";
    /// Its folder, on its host.
    folder: Placed<PathBuf> = Placed::unwritten(PathBuf::new()), At(PATH), needs "folder = \"/srv/destination\"";
    /// The device below it, where replication is external: named to commands.
    device: Option<Placed<PathBuf>> = None, Maybe(At(PATH)), "not named";
    /// Another host than the drill's, as for ssh.
    host: Option<String> = None, Maybe(own(destination, "host, or user@host")), "this host";
    /// brunt on that host.
    program: Option<String> = None, Maybe(TEXT), "`\"brunt\"`";
}

keys! {
    SOURCE of Side = "[site.source]";
    /// Its folder.
    folder: Placed<PathBuf> = [folder], At(PATH), needs "folder = \"/srv/source\"";
    /// The device below it, where replication is external: named to commands.
    device: Option<Placed<PathBuf>> = [device], Maybe(At(PATH)), "not named";
}

/// What `[site]` says about the two sites.
pub(super) struct Sites {
    pub(super) source: Placed<PathBuf>,
    pub(super) destination: Placed<PathBuf>,
    pub(super) devices: [Option<Placed<PathBuf>>; 2],
    pub(super) remote: Option<RemoteHost>,
}

/// Whether `node`, the value of `site`, names folders.
pub(super) fn names_folders(node: &Node) -> bool {
    node.entries().iter().any(|(key, _)| is_side(key))
}

fn is_side(key: &str) -> bool {
    SIDES.contains(&key)
}

impl Sites {
    /// Reads both sides. What else `[site]` says stays in `top`.
    pub(super) fn read(top: &mut Section, folder: &Path) -> Self {
        let site = top.table("site");
        let part = |sides: bool| {
            let entries = site.entries().iter().filter(|(key, _)| is_side(key) == sides);
            Node { value: Value::Table(entries.cloned().collect()), ..site.clone() }
        };
        let (sides, rest) = (part(true), part(false));
        if !rest.entries().is_empty() {
            top.put("site", rest);
        }
        let mut sides = Section::new(sides, "[site]", &SIDES);
        let mut one = |side: &str, table: &Table<Side>| {
            let example = format!("[site.{side}] with folder = \"/srv/{side}\"");
            let mut own = Side::default();
            let section = table.read(sides.needed(side, &example), &mut own);
            for path in std::iter::once(&mut own.folder).chain(&mut own.device) {
                path.value = section::joined(folder, &path.value);
            }
            (own, section)
        };
        let (Side { folder: source, device: of_source, .. }, _) = one("source", &SOURCE);
        let (Side { folder: destination, device: of_destination, host, program }, section) =
            one("destination", &DESTINATION);
        let remote = RemoteHost::of(host, program, &section);
        let (first, second) = (&source.value, &destination.value);
        if remote.is_none() && (first.starts_with(second) || second.starts_with(first)) {
            let refusal = destination.place.refuse("lies in the folder of the other site");
            top.refuse(refusal.hint("two folders beside each other, better on two volumes"));
        }
        Self { source, destination, devices: [of_source, of_destination], remote }
    }
}

/// A host, and brunt on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteHost {
    /// The host as ssh is given it.
    pub host: String,
    pub program: String,
}

impl RemoteHost {
    fn of(host: Option<String>, program: Option<String>, section: &Section) -> Option<Self> {
        if host.is_none() && program.is_some() {
            let refusal = section.place_of("program").refuse("is for another host");
            section.refuse(refusal.hint("name it: host = \"backup\""));
        }
        Some(Self { host: host?, program: program.unwrap_or_else(|| "brunt".to_owned()) })
    }
}

/// A destination of ssh, which must not read like one of its options.
pub(super) fn destination(node: &Node) -> Result<String, Refusal> {
    let host = section::text(node)?;
    // No character that a shell of somebody's ssh configuration could read.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@:%[]".contains(c);
    if host.is_empty() || host.starts_with('-') || !host.chars().all(is_plain) {
        let refusal = node.place.refuse("is not a valid ssh host");
        return Err(refusal.hint(
            "for example \"backup\", \"mail@backup.example.org\", or a Host of ~/.ssh/config",
        ));
    }
    Ok(host)
}
