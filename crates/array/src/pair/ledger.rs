//! The ledger of tests: what both systems hold, by identity of writes, and whether the invariant holds at every move.
//!
//! It shares no code with the pair. It numbers accepted writes itself, keeps the content of the source as the source did its writes
//! and that of the destination as that did, and knows nothing of phases, logs or blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use brunt_units::Time;

use super::group::AtRisk;
use super::observer::{Move, Observer};
use super::order::Place;

/// Sectors that are written together, always.
pub(super) const UNIT: u64 = 4;

/// The write that a unit has, by its index in the order of acceptance.
type Content = BTreeMap<(u16, u64), usize>;

fn units(place: Place) -> RangeInclusive<(u16, u64)> {
    let (start, end) = (place.extent.start, place.extent.end());
    (place.lun, start.div_euclid(UNIT))..=(place.lun, (end - 1).div_euclid(UNIT))
}

fn write(content: &mut Content, place: Place, what: usize) {
    let all = units(place);
    for unit in all.start().1..=all.end().1 {
        content.insert((place.lun, unit), what);
    }
}

struct Accepted {
    tag: u64,
    place: Place,
    /// Its number in the pair's order, for as long as it is there.
    number: Option<u64>,
    acknowledged_at: Option<Time>,
    /// Whether its host was told that both systems have it.
    both: bool,
}

#[derive(Default)]
struct Group {
    /// All writes, in the order of acceptance; the first is what was there before.
    accepted: Vec<Accepted>,
    by_write: BTreeMap<u64, usize>,
    by_number: BTreeMap<u64, usize>,
    source: Content,
    destination: Content,
    /// The destination is the order up to here, exclusive.
    prefix: usize,
    /// Blocks read for a full copy, and what they held.
    copies: BTreeMap<u64, (Place, Content)>,
    /// What the destination has begun.
    begun: BTreeMap<u64, Place>,
    /// The destination has these numbers.
    done: BTreeSet<u64>,
    is_copying: bool,
    /// The first write since the full copy began.
    copy_from: usize,
    /// Writes at the source.
    under_way: BTreeMap<u64, Place>,
}

/// Follows every write, and collects what is wrong.
#[derive(Default)]
pub(super) struct Ledger {
    groups: BTreeMap<usize, Group>,
    /// What is wrong, in order.
    pub(super) wrong: Vec<String>,
    pub(super) copies_ended: u32,
}

impl Observer for Ledger {
    fn see(&mut self, at: Time, group: usize, moved: Move) {
        let own = self.groups.entry(group).or_insert_with(Group::begin);
        let result = own.see(at, moved);
        self.copies_ended += u32::from(matches!(moved, Move::InStep) && own.take_copied());
        if let Err(why) = result {
            self.wrong.push(format!("{at:?}, group {group}: {why}"));
        }
    }
}

impl Ledger {
    /// Acknowledged writes that the destination does not have; `None` during a full copy.
    pub(super) fn at_risk(&self, group: usize) -> Option<AtRisk> {
        let Some(own) = self.groups.get(&group) else {
            return Some(AtRisk::default());
        };
        (!own.is_copying).then(|| own.lost())
    }

    /// Whether the destination has every sector as the source has it.
    pub(super) fn is_same(&self, group: usize) -> bool {
        self.groups
            .get(&group)
            .is_none_or(|own| own.source == own.destination && own.prefix == own.accepted.len())
    }

    /// The request that each unit of the destination is from.
    pub(super) fn destination(&self, group: usize) -> BTreeMap<(u16, u64), u64> {
        let own = self.groups.get(&group).into_iter();
        let all = own.flat_map(|own| {
            own.destination
                .iter()
                .map(|(unit, which)| (*unit, own.accepted[*which].tag))
        });
        all.collect()
    }

    pub(super) fn accepted(&self, group: usize) -> usize {
        self.groups
            .get(&group)
            .map_or(0, |own| own.accepted.len() - 1)
    }
}

impl Group {
    fn begin() -> Self {
        let nothing = Accepted {
            tag: u64::MAX,
            place: Place {
                lun: 0,
                extent: crate::Extent::new(0, 0),
            },
            number: None,
            acknowledged_at: None,
            both: false,
        };
        Self {
            accepted: vec![nothing],
            prefix: 1,
            ..Self::default()
        }
    }

    fn take_copied(&mut self) -> bool {
        std::mem::take(&mut self.is_copying)
    }

    fn lost(&self) -> AtRisk {
        let mut lost = AtRisk::default();
        for one in &self.accepted[self.prefix..] {
            if let Some(at) = one.acknowledged_at {
                lost.writes += 1;
                lost.bytes += one.place.extent.bytes();
                lost.since = Some(lost.since.map_or(at, |since| since.min(at)));
            }
        }
        lost
    }

    fn see(&mut self, at: Time, moved: Move) -> Result<(), String> {
        match moved {
            Move::Accepted {
                write,
                number,
                place,
                tag,
                ..
            } => self.accept(write, number, place, tag),
            Move::AtSource {
                write: number,
                is_ok,
            } => {
                let place = self.under_way.remove(&number).expect("it was accepted");
                let which = self.by_write[&number];
                if is_ok {
                    write(&mut self.source, place, which);
                }
                Ok(())
            }
            Move::Acknowledged { write, both } => {
                let which = self.by_write[&write];
                let one = &mut self.accepted[which];
                (one.acknowledged_at, one.both) = (Some(at), both);
                if both && !self.is_copying && which >= self.prefix {
                    return Err(format!(
                        "write {which} is acknowledged and not on both sides"
                    ));
                }
                Ok(())
            }
            Move::CopyRead(place) => match self.overlaps(place) {
                true => Err("a block is read during a write to it".to_owned()),
                false => Ok(()),
            },
            Move::CopyReady { number, place } => {
                let held = self.source.range(units(place));
                let held = held.map(|(unit, what)| (*unit, *what)).collect();
                self.copies.insert(number, (place, held));
                match self.overlaps(place) {
                    true => Err("a block was read during a write to it".to_owned()),
                    false => Ok(()),
                }
            }
            Move::Began { number, place } => {
                self.begun.insert(number, place);
                Ok(())
            }
            Move::Done { number, .. } => self.done(number),
            Move::Stopped => {
                self.begun.clear();
                Ok(())
            }
            Move::GivenUp => Ok(()),
            Move::CopyBegins => {
                self.is_copying = true;
                self.copy_from = self.accepted.len();
                Ok(())
            }
            Move::InStep => self.in_step(),
        }
    }

    fn overlaps(&self, place: Place) -> bool {
        let mut all = self.under_way.values();
        all.any(|one| one.lun == place.lun && one.extent.overlap(place.extent).is_some())
    }

    fn accept(
        &mut self,
        write: u64,
        number: Option<u64>,
        place: Place,
        tag: u64,
    ) -> Result<(), String> {
        let which = self.accepted.len();
        self.accepted.push(Accepted {
            tag,
            place,
            number,
            acknowledged_at: None,
            both: false,
        });
        self.by_write.insert(write, which);
        let overlaps = self.overlaps(place);
        self.under_way.insert(write, place);
        if overlaps {
            return Err(format!("write {which} overlaps one under way"));
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
        self.done.insert(number);
        if let Some((copied, held)) = self.copies.remove(&number) {
            if copied != place {
                return Err(format!("number {number} is not the block that was read"));
            }
            let had = self.destination.range(units(place)).map(|(unit, _)| *unit);
            for unit in had.collect::<Vec<_>>() {
                self.destination.remove(&unit);
            }
            self.destination.extend(held);
            return Ok(());
        }
        let Some(which) = self.by_number.get(&number).copied() else {
            return Err(format!("number {number} is no write"));
        };
        write(&mut self.destination, place, which);
        if self.accepted[which].place != place {
            return Err(format!("write {which} went to {place:?}"));
        }
        if self.is_copying {
            return Ok(());
        }
        // A write may come twice when its status was lost.
        if which > self.prefix {
            return Err(format!(
                "write {which} is done before write {}",
                self.prefix
            ));
        }
        self.prefix = self.prefix.max(which + 1);
        Ok(())
    }

    /// After a full copy, the destination must be the order up to the first write that is still on its way.
    fn in_step(&mut self) -> Result<(), String> {
        if !self.is_copying {
            return Ok(());
        }
        let since = self.accepted.iter().enumerate().skip(self.copy_from);
        let mut on_its_way = since.filter(|(_, one)| {
            let number = one.number.expect("the order takes all during a copy");
            !self.done.contains(&number)
        });
        let first = on_its_way
            .next()
            .map_or(self.accepted.len(), |(which, _)| which);
        self.prefix = first;
        if self.accepted[first..]
            .iter()
            .any(|one| one.both && one.acknowledged_at.is_some())
        {
            return Err("a full copy ends without writes that are acknowledged".to_owned());
        }
        let mut expected = Content::new();
        for (which, one) in self.accepted.iter().enumerate().take(first).skip(1) {
            write(&mut expected, one.place, which);
        }
        for (unit, what) in &self.destination {
            if expected.get(unit) != Some(what) {
                return Err(format!(
                    "after a full copy {unit:?} is of write {what}, not {:?}",
                    expected.get(unit)
                ));
            }
        }
        match expected.len() == self.destination.len() {
            true => Ok(()),
            false => Err("a full copy left something out".to_owned()),
        }
    }
}
