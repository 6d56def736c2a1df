//! A listener of tests that keeps the content of both sites from nothing but what it hears, as a
//! world with bytes does.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_units::Time;

use super::ledger::UNIT;
use super::listener::{PairListener, PairMove};
use super::roles::Site;
use crate::Extent;

/// The request that each unit is from, by the LUN of the source.
pub(super) type Content = BTreeMap<(u32, u64), u64>;

#[derive(Clone, Copy)]
struct Write {
    tag: u64,
    lun: u32,
    extent: Extent,
    number: Option<u64>,
}

impl Write {
    fn put(&self, content: &mut Content) {
        let units = self.extent.start.div_euclid(UNIT)..self.extent.end().div_euclid(UNIT);
        content.extend(units.map(|unit| ((self.lun, unit), self.tag)));
    }
}

#[derive(Default)]
struct Group {
    serving: Site,
    sites: [Content; 2],
    /// The order up to some write, and all writes after.
    base: Content,
    since: Vec<Write>,
    last_done: Option<u64>,
    is_copying: bool,
    /// Whether a site was forced to serve in the middle of a full copy: nobody can say what it has.
    is_mixed: bool,
}

/// The contents of all groups; clones are the same.
#[derive(Clone)]
pub(super) struct Follower {
    groups: Rc<RefCell<BTreeMap<usize, Group>>>,
    luns: u32,
}

impl Follower {
    /// Of a source with this number of LUNs, each replicated to that of the same number.
    pub(super) fn new(luns: u32) -> Self {
        Self { groups: Rc::default(), luns }
    }

    /// What a site has; `None` while it is inconsistent.
    pub(super) fn content(&self, group: usize, site: Site) -> Option<Content> {
        let mut groups = self.groups.borrow_mut();
        let own = groups.entry(group).or_default();
        let is_consistent = site == own.serving || !own.is_copying;
        let is_consistent = is_consistent && !own.is_mixed;
        is_consistent.then(|| own.sites[site.index()].clone())
    }
}

impl Group {
    /// The order is that of `site` from now on.
    fn begin(&mut self, site: Site) {
        self.serving = site;
        self.base = self.sites[site.index()].clone();
        self.since.clear();
        self.is_mixed |= std::mem::take(&mut self.is_copying);
    }
}

impl PairListener for Follower {
    fn observe(&mut self, _: Time, group: usize, moved: PairMove) {
        let mut groups = self.groups.borrow_mut();
        let own = groups.entry(group).or_default();
        let other = own.serving.other().index();
        match moved {
            PairMove::Accepted { tag, lun, place, number, .. } => {
                let (site, lun) = match lun.checked_sub(self.luns) {
                    None => (Site::Source, lun),
                    Some(lun) => (Site::Destination, lun),
                };
                let write = Write { tag, lun, extent: place.extent, number };
                write.put(&mut own.sites[site.index()]);
                own.since.push(write);
            }
            PairMove::Done { content: number, .. } => {
                assert!(own.last_done < Some(number), "done in order, and once");
                own.last_done = Some(number);
                let write = own.since.iter().find(|one| one.number == Some(number));
                if let Some(write) = write {
                    write.put(&mut own.sites[other]);
                }
            }
            PairMove::CopyBegins => own.is_copying = true,
            PairMove::InStep => {
                own.is_copying = false;
                for write in std::mem::take(&mut own.since) {
                    if write.number > own.last_done {
                        own.since.push(write);
                    } else {
                        write.put(&mut own.base);
                    }
                }
                own.sites[other] = own.base.clone();
            }
            PairMove::FailedOver { to, .. } | PairMove::Parted { to } => own.begin(to),
            PairMove::Kept { site, .. } => own.begin(site),
            _ => {}
        }
    }
}
