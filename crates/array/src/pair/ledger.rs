//! The ledger of tests: what both sites hold, by identity of writes, and whether the invariants
//! hold at every move.
//!
//! It shares no code with the pair. It numbers accepted writes itself and keeps, for each site, the
//! content as that site did its writes, and the list of writes that it consists of. It knows
//! nothing of phases, logs, blocks or generations.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use brunt_units::Time;

use super::group::AtRisk;
use super::listener::PairMove;
use super::observer::Observer;
use super::order::GroupExtent;
use super::roles::{Failover, Site};

/// Sectors that are written together, always.
pub(super) const UNIT: u64 = 4;

/// The write that a unit has, by its index in the order of acceptance.
type Content = BTreeMap<(u16, u64), usize>;

fn units(place: GroupExtent) -> RangeInclusive<(u16, u64)> {
    let (start, end) = (place.extent.start, place.extent.end());
    (place.lun, start.div_euclid(UNIT))..=(place.lun, (end - 1).div_euclid(UNIT))
}

fn write(content: &mut Content, place: GroupExtent, what: usize) {
    let all = units(place);
    for unit in all.start().1..=all.end().1 {
        content.insert((place.lun, unit), what);
    }
}

struct Accepted {
    tag: u64,
    place: GroupExtent,
    site: Site,
    /// Its number in the pair's order, for as long as it is there.
    number: Option<u64>,
    acknowledged_at: Option<Time>,
    /// Whether its host has the acknowledgement that both systems have it.
    both: bool,
}

/// What a site holds: `list` on top of `base`, in the end as `content`.
#[derive(Default)]
struct Held {
    base: Content,
    /// Writes by their index; the first one stands for the base.
    list: Vec<usize>,
    content: Content,
    /// Writes of hosts under way here.
    under_way: BTreeMap<u64, GroupExtent>,
}

#[derive(Default)]
struct Group {
    /// All writes, in the order of acceptance; the first is what was there before.
    accepted: Vec<Accepted>,
    by_write: BTreeMap<u64, usize>,
    by_number: BTreeMap<u64, usize>,
    serving: Site,
    held: [Held; 2],
    /// Blocks read for a full copy, and what they held.
    copies: BTreeMap<u64, (GroupExtent, Content)>,
    /// What the other site has begun.
    begun: BTreeMap<u64, GroupExtent>,
    /// The other site has these numbers.
    done: BTreeSet<u64>,
    is_copying: bool,
    /// Writes of the serving site before the full copy began.
    copy_from: usize,
    is_split: bool,
    /// Whether the other site has writes that are not of this order.
    is_apart: bool,
    /// Whether what a site has beyond the other one cannot be said: it was overwritten half-way.
    is_unknown: [bool; 2],
}

/// Follows every write, and collects what is wrong.
#[derive(Default)]
pub(super) struct Ledger {
    groups: BTreeMap<usize, Group>,
    /// What is wrong, in order.
    pub(super) wrong: Vec<String>,
    pub(super) copies_ended: u32,
    /// Changes of roles: planned, unplanned and forced failovers, splits, choices.
    pub(super) changes: [u32; 5],
    /// Acknowledged writes that were lost by them.
    pub(super) lost: u64,
}

impl Observer for Ledger {
    fn see(&mut self, at: Time, group: usize, moved: PairMove) {
        let own = self.groups.entry(group).or_insert_with(Group::begin);
        let change = match moved {
            PairMove::FailedOver { how, .. } => Some(match how {
                Failover::Planned => 0,
                Failover::Unplanned => 1,
                Failover::Forced => 2,
            }),
            PairMove::Parted { .. } => Some(3),
            PairMove::Kept { .. } => Some(4),
            _ => None,
        };
        if let Some(change) = change {
            self.changes[change] += 1;
        }
        if let PairMove::FailedOver { lost: Some(lost), .. }
        | PairMove::Kept { lost: Some(lost), .. } = moved
        {
            self.lost += lost.writes;
        }
        let result = own.see(at, moved);
        self.copies_ended += u32::from(matches!(moved, PairMove::InStep) && own.take_copied());
        if let Err(why) = result {
            self.wrong.push(format!("{at:?}, group {group}: {why}"));
        }
    }
}

impl Ledger {
    /// Acknowledged writes that the other site does not have; `None` during a full copy, and while
    /// both serve.
    pub(super) fn at_risk(&self, group: usize) -> Option<AtRisk> {
        let Some(own) = self.groups.get(&group) else {
            return Some(AtRisk::default());
        };
        let is_known = !own.is_copying && !own.is_split;
        own.lost(own.serving).filter(|_| is_known)
    }

    /// What each site has acknowledged that the other one does not have, while both serve.
    pub(super) fn split(&self, group: usize) -> Option<[Option<AtRisk>; 2]> {
        let own = self.groups.get(&group).filter(|own| own.is_split)?;
        Some(Site::ALL.map(|site| own.lost(site)))
    }

    /// Whether both sites have every sector alike, and the same writes.
    pub(super) fn is_same(&self, group: usize) -> bool {
        self.groups.get(&group).is_none_or(|own| {
            let [one, other] = &own.held;
            one.content == other.content && one.list == other.list
        })
    }

    /// The request that each unit of a site is from.
    pub(super) fn content(&self, group: usize, site: Site) -> BTreeMap<(u16, u64), u64> {
        let own = self.groups.get(&group).into_iter();
        let all = own.flat_map(|own| {
            let content = own.held[site.index()].content.iter();
            content.map(|(unit, which)| (*unit, own.accepted[*which].tag))
        });
        all.collect()
    }

    pub(super) fn accepted(&self, group: usize) -> usize {
        self.groups.get(&group).map_or(0, |own| own.accepted.len() - 1)
    }
}

impl Group {
    fn begin() -> Self {
        let mut new = Self::default();
        let nothing = new.nothing();
        new.held.iter_mut().for_each(|held| held.list.push(nothing));
        new
    }

    /// A write that stands for what was there before.
    fn nothing(&mut self) -> usize {
        self.accepted.push(Accepted {
            tag: u64::MAX,
            place: GroupExtent { lun: 0, extent: crate::Extent::new(0, 0) },
            site: Site::Source,
            number: None,
            acknowledged_at: None,
            both: false,
        });
        self.accepted.len() - 1
    }

    fn serving(&mut self) -> &mut Held {
        &mut self.held[self.serving.index()]
    }

    fn other(&mut self) -> &mut Held {
        &mut self.held[self.serving.other().index()]
    }

    fn take_copied(&mut self) -> bool {
        std::mem::take(&mut self.is_copying)
    }

    /// How many writes both sites have in common, from the first.
    fn common(&self) -> usize {
        let [one, other] = &self.held;
        if !self.is_apart {
            return self.held[self.serving.other().index()].list.len();
        }
        if one.list.first() != other.list.first() {
            return 0;
        }
        let both = one.list.iter().zip(&other.list);
        both.take_while(|(one, other)| one == other).count()
    }

    /// What would be lost with `from`.
    fn lost(&self, from: Site) -> Option<AtRisk> {
        let to = from.other();
        let mut lost = AtRisk::default();
        let list = &self.held[from.index()].list;
        let common = self.common();
        let theirs = self.held[to.index()].list.iter().skip(common);
        let theirs: BTreeSet<usize> = theirs.copied().collect();
        for which in &list[common..] {
            let one = &self.accepted[*which];
            if let Some(at) = one.acknowledged_at.filter(|_| !theirs.contains(which)) {
                lost.writes += 1;
                lost.bytes += one.place.extent.bytes();
                lost.since = Some(lost.since.map_or(at, |since| since.min(at)));
            }
        }
        (!self.is_unknown[from.index()]).then_some(lost)
    }

    fn see(&mut self, at: Time, moved: PairMove) -> Result<(), String> {
        match moved {
            PairMove::Accepted { write, number, place, tag, site, .. } => {
                self.accept(write, number, place, tag, site)
            }
            PairMove::AtSource { write: number } => {
                let which = self.by_write[&number];
                let site = self.accepted[which].site;
                let held = &mut self.held[site.index()];
                let place = held.under_way.remove(&number).expect("it was accepted");
                write(&mut held.content, place, which);
                Ok(())
            }
            PairMove::Acknowledged { write, both } => {
                let which = self.by_write[&write];
                let one = &mut self.accepted[which];
                (one.acknowledged_at, one.both) = (Some(at), both);
                let there = &self.held[one.site.other().index()].list;
                if both && !self.is_copying && there.iter().rev().all(|one| *one != which) {
                    return Err(format!("write {which} is acknowledged and not on both sides"));
                }
                Ok(())
            }
            PairMove::CopyRead(place) => match self.overlaps(self.serving, place) {
                true => Err("a block is read during a write to it".to_owned()),
                false => Ok(()),
            },
            PairMove::CopyReady { number, place } => {
                let held = self.serving().content.range(units(place));
                let held = held.map(|(unit, what)| (*unit, *what)).collect();
                self.copies.insert(number, (place, held));
                match self.overlaps(self.serving, place) {
                    true => Err("a block was read during a write to it".to_owned()),
                    false => Ok(()),
                }
            }
            PairMove::Began { number, place } => {
                self.begun.insert(number, place);
                Ok(())
            }
            PairMove::Done { number, .. } => self.done(number),
            PairMove::Stopped => {
                self.begun.clear();
                Ok(())
            }
            PairMove::GivenUp => Ok(()),
            PairMove::CopyBegins => {
                self.is_copying = true;
                self.copy_from = self.serving().list.len();
                match self.is_split {
                    true => Err("a site is overwritten while both serve".to_owned()),
                    false => Ok(()),
                }
            }
            PairMove::InStep => self.in_step(),
            PairMove::FailedOver { to, how, lost } => self.fail_over(to, how, lost),
            PairMove::Parted { to } => {
                let result = self.change(to, Failover::Forced);
                (self.is_split, self.is_apart) = (true, true);
                result
            }
            PairMove::Kept { site, lost } => {
                let found = self.lost(site.other());
                (self.serving, self.is_apart) = (site, true);
                self.is_split = false;
                match lost == found {
                    true => Ok(()),
                    false => {
                        Err(format!("{lost:?} are said to be lost by a choice, {found:?} are"))
                    }
                }
            }
        }
    }

    fn fail_over(&mut self, to: Site, how: Failover, lost: Option<AtRisk>) -> Result<(), String> {
        let found = self.lost(to.other()).filter(|_| !self.is_copying);
        let is_same = self.held[0].list == self.held[1].list;
        if !self.held[to.other().index()].under_way.is_empty() {
            return Err("a site is left with writes under way".to_owned());
        }
        self.change(to, how)?;
        if lost != found {
            return Err(format!("{lost:?} are said to be lost, {found:?} are"));
        }
        match how == Failover::Planned && !is_same {
            true => Err("a planned failover without all writes".to_owned()),
            false => Ok(()),
        }
    }

    /// The order is that of `to` from now on.
    fn change(&mut self, to: Site, how: Failover) -> Result<(), String> {
        let is_prefix = self.common() == self.held[to.index()].list.len();
        // What had everything is the other one now, and a prefix as well.
        self.is_apart |= self.held[0].list.len() != self.held[1].list.len();
        if self.serving == to {
            return Err("a site fails over to itself".to_owned());
        }
        self.serving = to;
        if std::mem::take(&mut self.is_copying) {
            // It is not a state of the group: something new begins.
            self.is_apart = true;
            let mixture = self.nothing();
            self.is_unknown[to.other().index()] = true;
            self.is_unknown[to.index()] = false;
            let held = &mut self.held[to.index()];
            held.base = held.content.clone();
            held.list = vec![mixture];
        }
        match is_prefix || how == Failover::Forced {
            true => Ok(()),
            false => Err("a site serves that is no prefix of the order".to_owned()),
        }
    }

    fn overlaps(&self, site: Site, place: GroupExtent) -> bool {
        let mut under_way = self.held[site.index()].under_way.values();
        under_way.any(|one| one.lun == place.lun && one.extent.overlap(place.extent).is_some())
    }

    fn accept(
        &mut self,
        write: u64,
        number: Option<u64>,
        place: GroupExtent,
        tag: u64,
        site: Site,
    ) -> Result<(), String> {
        let which = self.accepted.len();
        self.accepted.push(Accepted {
            tag,
            place,
            site,
            number,
            acknowledged_at: None,
            both: false,
        });
        self.by_write.insert(write, which);
        let overlaps = self.overlaps(site, place);
        let held = &mut self.held[site.index()];
        held.list.push(which);
        held.under_way.insert(write, place);
        if overlaps {
            return Err(format!("write {which} overlaps one under way"));
        }
        if site != self.serving && !self.is_split {
            return Err(format!("write {which} is accepted at the {site}"));
        }
        match number.map(|number| self.by_number.insert(number, which)) {
            Some(Some(other)) => Err(format!("write {which} has the number of write {other}")),
            _ => Ok(()),
        }
    }

    fn done(&mut self, number: u64) -> Result<(), String> {
        let Some(place) = self.begun.remove(&number) else {
            return Err(format!("number {number} is done and was never begun"));
        };
        if self.is_split {
            return Err("something is replicated while both serve".to_owned());
        }
        self.done.insert(number);
        if let Some((copied, held)) = self.copies.remove(&number) {
            if copied != place {
                return Err(format!("number {number} is not the block that was read"));
            }
            let content = &mut self.other().content;
            let had = content.range(units(place)).map(|(unit, _)| *unit);
            for unit in had.collect::<Vec<_>>() {
                content.remove(&unit);
            }
            content.extend(held);
            return Ok(());
        }
        let Some(which) = self.by_number.get(&number).copied() else {
            return Err(format!("number {number} is no write"));
        };
        write(&mut self.other().content, place, which);
        if self.accepted[which].place != place {
            return Err(format!("write {which} went to {place:?}"));
        }
        if self.is_copying {
            return Ok(());
        }
        let next = self.other().list.len();
        if self.is_apart || self.serving().list.get(next) != Some(&which) {
            return Err(format!("write {which} is done before earlier ones"));
        }
        self.other().list.push(which);
        Ok(())
    }

    /// After a full copy, the other site must be the order up to the first write that is still on
    /// its way.
    fn in_step(&mut self) -> Result<(), String> {
        self.is_unknown = [false; 2];
        if !self.is_copying {
            return match self.is_apart {
                false => Ok(()),
                true => Err("in step, and one has writes of its own".to_owned()),
            };
        }
        self.is_apart = false;
        let list = self.serving().list.clone();
        let is_on_its_way = |which: &usize| {
            let number = self.accepted[*which].number;
            let number = number.expect("the order takes all during a copy");
            !self.done.contains(&number)
        };
        let since = list[self.copy_from..].iter();
        let first = since.take_while(|which| !is_on_its_way(which)).count() + self.copy_from;
        let mut rest = list[first..].iter().map(|which| &self.accepted[*which]);
        if rest.any(|one| one.both && one.acknowledged_at.is_some()) {
            return Err("a full copy ends without writes that are acknowledged".to_owned());
        }
        let base = self.serving().base.clone();
        let mut expected = base.clone();
        for which in &list[1..first] {
            write(&mut expected, self.accepted[*which].place, *which);
        }
        let other = self.other();
        other.base = base;
        other.list = list[..first].to_vec();
        for (unit, what) in &other.content {
            if expected.get(unit) != Some(what) {
                return Err(format!(
                    "after a full copy {unit:?} is of write {what}, not {:?}",
                    expected.get(unit)
                ));
            }
        }
        match expected.len() == other.content.len() {
            true => Ok(()),
            false => Err("a full copy left something out".to_owned()),
        }
    }
}
