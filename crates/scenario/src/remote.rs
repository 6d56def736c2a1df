//! `host` of `[site.destination]`: another host that takes over, reached by ssh.
//!
//! ```toml
//! [site.destination]
//! folder = "/srv/b"                   there
//! host = "backup"                     as for ssh: a name, user@name, or a Host of ~/.ssh/config
//! program = "/usr/local/bin/brunt"    there; default "brunt", as the path of that user finds it
//! ```

use std::fmt::Write;

use super::format::quoted;
use super::place::Refusal;
use super::section::{self, Section};
use super::tree::Node;

/// Keys beside `folder`.
pub(super) const KEYS: [&str; 3] = ["folder", "host", "program"];

/// A host, and brunt on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteHost {
    /// The host as ssh is given it.
    pub host: String,
    /// The program there.
    pub program: String,
}

impl RemoteHost {
    pub(super) fn read(section: &mut Section) -> Result<Option<Self>, Refusal> {
        let host = section.read("host", destination)?;
        let program = section.read("program", section::text)?;
        match (host, program) {
            (Some(host), program) => Ok(Some(Self {
                host: host.value,
                program: program.map_or_else(|| "brunt".to_owned(), |program| program.value),
            })),
            (None, Some(program)) => {
                let refusal = program.place.refuse("is for another host");
                Err(refusal.hint("name it: host = \"backup\""))
            }
            (None, None) => Ok(None),
        }
    }

    pub(super) fn write(&self, out: &mut String) -> std::fmt::Result {
        let (host, program) = (quoted(&self.host), quoted(&self.program));
        writeln!(out, "host = {host}\nprogram = {program}")
    }
}

/// A destination of ssh, which must not read like one of its options.
fn destination(node: &Node) -> Result<String, Refusal> {
    let host = section::text(node)?;
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    if host.is_empty() || host.starts_with('-') || !host.chars().all(is_plain) {
        let refusal = node.place.refuse("is no host of ssh");
        return Err(refusal.hint(
            "for example \"backup\", \"mail@backup.example.org\", or a Host of ~/.ssh/config",
        ));
    }
    Ok(host)
}
