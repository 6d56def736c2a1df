//! Which drives, in which groups? Many designs of one organisation, the cheapest first.
//!
//! ```text
//!   drives x levels x drives of a group x places of logs x numbers of databases -> sizes that hold -> price, or drives
//! ```
//!
//! Everything that does not depend on drives is calculated once for each number of databases. What
//! is left are some twenty figures for each design, so ten thousand take a fraction of a second.
//! Whether the best one performs is for a simulation to say.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::rc::Rc;

use brunt_array::drive::{DriveModel, library};
use brunt_array::{Level, POOL_DRIVES_MIN};
use brunt_scenario::{BlockPlan, GroupPlan, LogPlace, Organisation, Place, Placed, Prices};

use crate::Demand;
use crate::sheet::Sheet;
use crate::users::number;

/// Drives of the widest group that is tried, unless `group_max` says otherwise.
const GROUP_MAX: u64 = 24;
/// Numbers of databases that are tried: the least, and these multiples of it.
const DATABASES: [u64; 4] = [1, 2, 3, 4];
/// Logs on a pair of their own.
const LOG_PAIR: GroupPlan = GroupPlan { level: Level::Raid1, drives: 2 };
const LEVELS: [Level; 4] = [Level::Raid10, Level::Raid5, Level::Raid6, Level::POOL];

/// A design that keeps to every limit.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its drives.
    pub block: BlockPlan,
    pub databases: u64,
    pub drives: u64,
    /// What it costs, if there are prices.
    pub price: Option<f64>,
    /// The share of its I/O that drives are busy with, in percent.
    pub io_percent: f64,
}

/// What a search found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Designs that were sized.
    pub tried: u64,
    /// Those that hold, the best first.
    pub candidates: Vec<Candidate>,
}

/// Searches the designs of `org`.
pub fn search(org: &Organisation) -> Found {
    let mut found = Found::default();
    for org in variants(org) {
        let demand = Demand::new(&org);
        for (block, model) in blocks(&org) {
            found.tried += 1;
            let (sheet, holds) = demand.sheet_on(&block, &model);
            if !holds {
                continue;
            }
            let get = |name: &str| sheet.get(name);
            let drives = sheet.count("drives");
            found.candidates.push(Candidate {
                price: org.search.prices.as_ref().map(|prices| price(prices, &block, &sheet)),
                io_percent: get("drives_for_io") / (get("groups") * get("group_drives")) * 100.0,
                databases: sheet.count("databases"),
                block,
                drives,
            });
        }
    }
    found.candidates.sort_by(better);
    // Of designs on the same drives, the one with the fewest databases stays.
    let mut seen = BTreeSet::new();
    found.candidates.retain(|one| seen.insert(one.hardware()));
    found
}

/// The cheaper one, then the one with fewer drives, then the less busy one.
fn better(one: &Candidate, other: &Candidate) -> Ordering {
    let price = one.price.partial_cmp(&other.price).unwrap_or(Ordering::Equal);
    price
        .then(one.drives.cmp(&other.drives))
        .then(one.io_percent.total_cmp(&other.io_percent))
        .then(one.databases.cmp(&other.databases))
}

/// The organisation with each number of databases.
fn variants(org: &Organisation) -> Vec<Organisation> {
    if org.databases.is_some() {
        return vec![org.clone()];
    }
    let least = Demand::new(org).sheet.count("databases");
    let with = |times: u64| {
        let mut org = org.clone();
        org.databases = Some(Placed { value: least * times, place: Place::flag("--search") });
        org
    };
    DATABASES.map(with).into()
}

/// Every block that `org` may have, and the model of its drives.
fn blocks(org: &Organisation) -> Vec<(BlockPlan, Rc<DriveModel>)> {
    let search = &org.search;
    let sold = |name: &&'static str| {
        let prices = search.prices.as_ref();
        prices.is_none_or(|prices| prices.drives.contains_key(*name))
    };
    let all: Vec<&'static str> = match search.drives.as_slice() {
        [] => library::names().collect(),
        named => named.to_vec(),
    };
    let levels = match search.levels.as_slice() {
        [] => &LEVELS[..],
        named => named,
    };
    let widest = search.group_max.as_ref().map_or(GROUP_MAX, |most| most.value);
    let mut blocks = Vec::new();
    for drive in all.into_iter().filter(sold) {
        let model = library::find(drive).expect("it is of the library");
        let model = Rc::new(model);
        let own = org.storage.block.as_ref();
        let own = own.filter(|block| block.drive.value == drive);
        for level in levels {
            for drives in widths(*level, widest) {
                let group = GroupPlan { level: *level, drives };
                for logs in [LogPlace::Beside, LogPlace::Swapped, LogPlace::Own(LOG_PAIR)] {
                    let block = BlockPlan {
                        drive: Placed { value: drive, place: Place::flag("--search") },
                        drive_size: own.and_then(|own| own.drive_size.clone()),
                        drive_io_per_s: own.and_then(|own| own.drive_io_per_s.clone()),
                        group,
                        logs,
                    };
                    blocks.push((block, Rc::clone(&model)));
                }
            }
        }
    }
    blocks.retain(|(block, _)| may_share(org, block));
    blocks
}

/// Logs lie beside their database only where two more copies are.
fn may_share(org: &Organisation, block: &BlockPlan) -> bool {
    block.logs != LogPlace::Beside || org.copies.value >= 3
}

/// Drives that a group of `level` can have.
fn widths(level: Level, widest: u64) -> Vec<u32> {
    let least = match level {
        Level::Pool { .. } => POOL_DRIVES_MIN as u64,
        Level::Raid1 => return vec![2],
        _ => 2,
    };
    // A group that cannot be built says so itself.
    let all = (least..=widest).filter_map(|drives| u32::try_from(drives).ok());
    all.filter(|drives| {
        let plan = GroupPlan { level, drives: *drives };
        plan.check().is_ok()
    })
    .collect()
}

/// Arrays, shelves and drives of all servers.
pub(crate) fn price(prices: &Prices, block: &BlockPlan, sheet: &Sheet) -> f64 {
    let (drives, arrays) = (sheet.get("drives"), sheet.get("arrays"));
    let shelves = (drives / arrays / number(prices.shelf_drives)).ceil() * arrays;
    let each = prices.drives.get(block.drive.value).copied().unwrap_or_default();
    drives * each + shelves * prices.shelf + arrays * prices.array
}

impl Candidate {
    /// `org` on this design.
    pub fn applied(&self, org: &Organisation) -> Organisation {
        let mut org = org.clone();
        org.storage.block = Some(self.block.clone());
        org.databases = Some(Placed { value: self.databases, place: Place::flag("--search") });
        org
    }

    /// What would be bought, and where logs lie.
    fn hardware(&self) -> (&'static str, &'static str, u32, &'static str) {
        let group = self.block.group;
        (self.block.drive.value, group.word(), group.drives, self.logs())
    }

    /// Where its logs lie.
    pub fn logs(&self) -> &'static str {
        match self.block.logs {
            LogPlace::Beside => "beside",
            LogPlace::Swapped => "swapped",
            LogPlace::Own(_) => "pairs",
        }
    }

    /// It in a few words.
    pub fn words(&self) -> String {
        format!(
            "{} of {} {}, logs: {}",
            self.block.group.word(),
            self.block.group.drives,
            self.block.drive.value,
            self.logs()
        )
    }
}

impl<'o> Demand<'o> {
    /// The figures on `block`, and whether every limit holds.
    fn sheet_on(&self, block: &BlockPlan, model: &DriveModel) -> (Sheet, bool) {
        let mut sheet = self.sheet.clone();
        crate::block::block(self.org, block, model, &mut sheet);
        let holds = crate::findings::findings(self.org, &sheet).iter().all(|finding| finding.holds);
        (sheet, holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_that_can_be_built() {
        assert_eq!(widths(Level::Raid10, 8), [2, 4, 6, 8]);
        assert_eq!(widths(Level::Raid5, 6), [3, 4, 5, 6]);
        assert_eq!(widths(Level::POOL, 13), [11, 12, 13]);
        assert_eq!(widths(Level::POOL, 8), [0; 0]);
    }
}
