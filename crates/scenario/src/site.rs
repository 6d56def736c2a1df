//! `[site]`: what no program can see, for `brunt check`. Nothing is tested or simulated otherwise
//! because of it.

use std::fmt::{self, Write};

use super::format::quoted;
use super::place::Refusal;
use super::section::{self, Section};

/// What is known of a site, where somebody says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Fabrics or storage networks that are apart.
    pub fabrics: Option<u64>,
    /// Whether iSCSI has a network of its own.
    pub has_own_network: Option<bool>,
    /// Whether switches of that network forward at the full rate of all ports.
    pub is_non_blocking: Option<bool>,
    /// Whether hosts delay acknowledgements on that network.
    pub has_delayed_ack: Option<bool>,
    /// Whether other systems use the same drives.
    pub has_neighbours: Option<bool>,
    /// Whether write caches keep their content when power fails.
    pub has_protected_caches: Option<bool>,
}

const KEYS: [&str; 6] = [
    "fabrics",
    "iscsi_network",
    "iscsi_non_blocking",
    "iscsi_delayed_ack",
    "neighbours",
    "protected_caches",
];

/// Words for the network of iSCSI, and whether it is its own.
const NETWORKS: [(&str, bool); 2] = [("own", true), ("shared", false)];

impl Site {
    /// Reads `[site]`.
    pub(super) fn read(top: &mut Section) -> Result<Self, Refusal> {
        let section = &mut top.section("site", &KEYS)?;
        let fabrics = section.read("fabrics", |node| section::integer(node, 1..=16))?;
        let network = section.read("iscsi_network", |node| section::choice(node, &NETWORKS))?;
        let mut switch = |key| -> Result<Option<bool>, Refusal> {
            Ok(section.read(key, section::switch)?.map(|switch| switch.value))
        };
        Ok(Self {
            is_non_blocking: switch("iscsi_non_blocking")?,
            has_delayed_ack: switch("iscsi_delayed_ack")?,
            has_neighbours: switch("neighbours")?,
            has_protected_caches: switch("protected_caches")?,
            fabrics: fabrics.map(|fabrics| fabrics.value),
            has_own_network: network.map(|network| network.value),
        })
    }

    /// Writes `[site]`, if there is something to write.
    pub(super) fn write(self, out: &mut String) -> fmt::Result {
        if self == Self::default() {
            return Ok(());
        }
        writeln!(out, "\n[site]")?;
        if let Some(fabrics) = self.fabrics {
            writeln!(out, "fabrics = {fabrics}")?;
        }
        if let Some(own) = self.has_own_network {
            let word = NETWORKS.iter().find(|(_, is_own)| *is_own == own);
            writeln!(out, "iscsi_network = {}", quoted(word.expect("both are there").0))?;
        }
        for (key, value) in [
            ("iscsi_non_blocking", self.is_non_blocking),
            ("iscsi_delayed_ack", self.has_delayed_ack),
            ("neighbours", self.has_neighbours),
            ("protected_caches", self.has_protected_caches),
        ] {
            if let Some(value) = value {
                writeln!(out, "{key} = {value}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::Document;

    #[test]
    fn what_is_said_of_a_site_is_written_again() {
        let text = "[test]\nduration = \"2h\"\nsessions = 8\n[[instance]]\nlog = \"/log\"\ndatabases = [\"/db/1.edb\"]\n\
                    database_size = \"1 GiB\"\n[site]\nfabrics = 2\niscsi_network = \"own\"\niscsi_delayed_ack = false\nneighbours = true\n";
        let read =
            |text: &str| Document::new("t.toml", text, Path::new("/")).unwrap().test(&[]).unwrap();
        let scenario = read(text);
        assert_eq!(scenario.site.has_own_network, Some(true));
        assert_eq!(scenario.site.has_protected_caches, None);
        assert_eq!(read(&scenario.to_toml()), scenario);
    }
}
