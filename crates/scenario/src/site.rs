//! `[site]`: what no program can see, for `brunt check`. Nothing is tested or simulated otherwise
//! because of it.

use super::keys::{Maybe, SWITCH, Whole, Word, keys};
use super::section::Section;

/// What a scenario says of a site: a field for each key of [`SITE`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    pub fabrics: Option<u64>,
    pub has_own_network: Option<bool>,
    pub is_non_blocking: Option<bool>,
    pub has_delayed_ack: Option<bool>,
    pub has_neighbours: Option<bool>,
    pub has_protected_caches: Option<bool>,
}

keys! {
    SITE of Site = "[site]";
    /// Fabrics or storage networks that are apart.
    fabrics: Option<u64> = [fabrics], Maybe(Whole(1..=16)), "not known";
    /// Whether iSCSI has a network of its own.
    iscsi_network: Option<bool> = [has_own_network], Maybe(Word(&NETWORKS)), "not known";
    /// Whether switches of that network forward at the full rate of all ports.
    iscsi_non_blocking: Option<bool> = [is_non_blocking], Maybe(SWITCH), "not known";
    /// Whether hosts delay acknowledgements on that network.
    iscsi_delayed_ack: Option<bool> = [has_delayed_ack], Maybe(SWITCH), "not known";
    /// Whether other systems use the same drives.
    neighbours: Option<bool> = [has_neighbours], Maybe(SWITCH), "not known";
    /// Whether write caches keep their content when power fails.
    protected_caches: Option<bool> = [has_protected_caches], Maybe(SWITCH), "not known";
}

/// Words for the network of iSCSI, and whether it is its own.
static NETWORKS: [(&str, bool); 2] = [("own", true), ("shared", false)];

impl Site {
    /// Reads `[site]`.
    pub(super) fn read(top: &mut Section) -> Self {
        let mut site = Self::default();
        SITE.read(top.table("site"), &mut site);
        site
    }

    /// Writes `[site]`, if there is something to write.
    pub(super) fn write(&self, out: &mut String) {
        if *self != Self::default() {
            SITE.write(self, out);
        }
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
