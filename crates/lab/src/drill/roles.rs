//! Which side serves, and what keeps the two apart.

use brunt_array::{Failover, PairIncident, Phase, Replication, Site};
use brunt_world_virtual::Store;

use super::mirror::Mirror;
use super::sites::{Sites, is_at, path_at};
use super::unable::Unable;

/// The loss of the source and the failover to the destination.
pub(super) fn loss_and_failover() -> [PairIncident; 2] {
    let failover =
        PairIncident::FailOver { group: None, to: Site::Destination, how: Failover::Unplanned };
    [PairIncident::SourceLost, failover]
}

impl Sites {
    pub(super) fn of_pair<R>(&self, ask: impl FnOnce(&Replication) -> R) -> R {
        let device = self.array.device();
        ask(device.array().replication().expect("it is a pair"))
    }

    /// Whether a group replays its log or is copied.
    pub(super) fn is_merging(&self) -> bool {
        self.of_pair(|pair| {
            let mut phases = (0..pair.group_count()).map(|group| pair.phase(group));
            phases.any(|phase| matches!(phase, Phase::Merging | Phase::Copying))
        })
    }

    /// Whether an injected fault has struck.
    pub(super) fn struck(&self) -> bool {
        self.of_pair(|pair| !pair.struck().is_empty())
    }

    /// Asks for everything to be served by `to`.
    ///
    /// # Errors
    /// What is in the way, in words.
    pub(super) fn fail_over(&self, to: Site, how: Failover) -> Result<(), Unable> {
        let what = PairIncident::FailOver { group: None, to, how };
        Ok(self.strike(what)?)
    }

    /// Whether `site` serves all groups.
    pub(super) fn serves(&self, site: Site) -> bool {
        self.of_pair(|pair| pair.is_served_by(site))
    }

    /// What keeps the two sides from coming into step; nothing when they can.
    pub(super) fn keeps_apart(&self) -> Option<String> {
        self.of_pair(|pair| {
            if !pair.link().is_up() {
                return Some("the link is lost".to_owned());
            }
            let sites = [Site::Source, Site::Destination].into_iter();
            let mut lost = sites.filter(|site| !pair.is_up(*site));
            lost.next().map(|site| format!("the {} is lost", site.word()))
        })
    }

    /// Whether the storage of `site` works.
    pub(super) fn is_up(&self, site: Site) -> bool {
        self.of_pair(|pair| pair.is_up(site))
    }

    /// The files that the pair has brought from `from` become those of `to`.
    ///
    /// # Errors
    /// When there are none that belong together.
    pub(super) fn present(&self, from: Site, to: Site, is_in_step: bool) -> Result<(), Unable> {
        let mut mirror = self.mirror.borrow_mut();
        for volume in self.volumes.iter() {
            let Some(files) = mirror.files(volume.group) else {
                return Err(Unable::Copying(to));
            };
            let (here, there) = (path_at(from, &volume.path), path_at(to, &volume.path));
            self.machine.replace_files(&there, files, &here);
        }
        let now = self.machine.store();
        mirror.turn(&now, |path| is_at(to, path), is_in_step);
        Ok(())
    }

    /// The files of the side that does not serve while `here` does, with the names that `here` has;
    /// nothing while it is inconsistent.
    pub(super) fn other_files(&self, mirror: &Mirror, here: Site) -> Option<Store> {
        let mut all = Store::new();
        for volume in self.volumes.iter() {
            let files = mirror.files(volume.group)?;
            let root = path_at(here, &volume.path);
            for (path, inode) in files.names().filter(|(path, _)| path.starts_with(&root)) {
                let file = all.adopt(files, inode);
                all.link(path, file);
            }
        }
        Some(all)
    }
}
