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

use super::place::{Placed, Refusal};
use super::section::{self, Section};
use super::tree::{Node, Value};

/// Sides, as tables of `[site]`.
pub(super) const SIDES: [&str; 2] = ["source", "destination"];
/// Keys of the source and of the destination.
const KEYS: [&[&str]; 2] = [&["folder", "device"], &["folder", "device", "host", "program"]];

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
        let mut one = |number: usize| {
            let side = SIDES[number];
            let example = format!("[site.{side}] with folder = \"/srv/{side}\"");
            let node = sides.needed(side, &example);
            let mut section = Section::new(node, &format!("[site.{side}]"), KEYS[number]);
            let example = format!("folder = \"/srv/{side}\"");
            let read = |node: &Node| section::absolute(node, folder);
            let found = section.need("folder", &example, read);
            let device = section.read("device", read);
            (found, device, RemoteHost::read(&mut section))
        };
        let (source, of_source, _) = one(0);
        let (destination, of_destination, remote) = one(1);
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
    pub(super) fn read(section: &mut Section) -> Option<Self> {
        let host = section.read("host", destination);
        let program = section.read("program", section::text);
        match (host, program) {
            (Some(host), program) => Some(Self {
                host: host.value,
                program: program.map_or_else(|| "brunt".to_owned(), |program| program.value),
            }),
            (None, Some(program)) => {
                let refusal = program.place.refuse("is for another host");
                section.refuse(refusal.hint("name it: host = \"backup\""));
                None
            }
            (None, None) => None,
        }
    }
}

/// A destination of ssh, which must not read like one of its options.
fn destination(node: &Node) -> Result<String, Refusal> {
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
