//! Which drives a request to one stripe reads and writes: pure, and the heart of RAID.
//!
//! ```text
//!    read    the strip is there               read it
//!            it is not                        read as many others as there are data strips, and compute it
//!    write   every data strip is new          full stripe: compute the parities, write all, read nothing
//!            otherwise, what reads less of
//!              read-modify-write              old data and old parities; parity changes by the difference
//!              reconstruct-write              the data that stays; parity is computed from all data
//!            neither is possible              read as many members as there are data strips, then reconstruct
//! ```
//!
//! What a cache holds as the drives do need not be read: a plan asks for every part whether it is lacking. With the old data
//! at hand, read-modify-write reads parities only; with the data that stays, reconstruct-write reads nothing.
//!
//! Parities are read and written over the hull of what is written, so a plan has at most one step per member and range.
//! A member that cannot be written is left out: its part is in the parities, or will be when it is rebuilt.
//!
//! Invariant: what a plan writes can be computed from what it reads and the new data. A test does so with bytes.

use smallvec::{SmallVec, smallvec};

use super::stripe::{Members, Protection, StripeShape, members};
use crate::Extent;

/// One strip's part of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) member: u32,
    /// Within the strip.
    pub(crate) within: Extent,
}

pub(crate) type Steps = SmallVec<[Step; 2]>;

/// How a plan gets at what it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Nothing has to be computed.
    Direct,
    /// A read of what is lost.
    Reconstruct,
    /// Parities from new data alone.
    FullStripe,
    /// Parities by the difference of old and new data.
    ReadModifyWrite,
    /// Parities from all data.
    ReconstructWrite,
    /// Parities from all data, some of which is computed first.
    RebuildWrite,
}

/// What is done: all reads, and when they have ended, all writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) method: Method,
    pub(crate) reads: Steps,
    pub(crate) writes: Steps,
    /// Reads more that the cheapest way would have taken without what was at hand.
    pub(crate) spared: usize,
}

/// Too many members are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost;

/// A row of a stripe and who can be read in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) shape: &'a StripeShape,
    pub(crate) row: u64,
    pub(crate) readable: Members,
}

impl Row<'_> {
    fn is_readable(&self, member: u32) -> bool {
        self.readable >> member & 1 == 1
    }

    /// A read of `extent` of the stripe's data. `choose` picks the copy of a mirror.
    pub(crate) fn read(
        &self,
        extent: Extent,
        choose: impl FnOnce(Members) -> u32,
    ) -> Result<Plan, Lost> {
        if !self.shape.survives(self.readable) {
            return Err(Lost);
        }
        if self.shape.protection == Protection::Mirror {
            let step = Step {
                member: choose(self.readable),
                within: extent,
            };
            return Ok(Plan::direct_read(smallvec![step]));
        }
        let mut reads = Steps::new();
        let mut missing: Option<Extent> = None;
        for (index, within) in self.shape.strips(extent) {
            let member = self.shape.data_member(self.row, index);
            if self.is_readable(member) {
                reads.push(Step { member, within });
            } else {
                missing = Some(hull(missing, within));
            }
        }
        match missing {
            None => Ok(Plan::direct_read(reads)),
            Some(within) => {
                for member in members(self.sources()) {
                    widen(&mut reads, member, within);
                }
                Ok(Plan {
                    method: Method::Reconstruct,
                    ..Plan::direct_read(reads)
                })
            }
        }
    }

    /// As many readable members as there are data strips: data first, then parities; of a mirror, one copy.
    pub(crate) fn sources(&self) -> Members {
        if self.shape.protection == Protection::Mirror {
            return self.readable & self.readable.wrapping_neg();
        }
        let data =
            (0..self.shape.data_strips()).map(|index| self.shape.data_member(self.row, index));
        let parity =
            (0..self.shape.parities()).map(|number| self.shape.parity_member(self.row, number));
        data.chain(parity)
            .filter(|member| self.is_readable(*member))
            .take(self.shape.data_strips() as usize)
            .fold(0, |set, member| set | 1 << member)
    }

    /// A write of `extents` of the stripe's data, ascending and apart from one another. Of any part of that data, `lacks`
    /// says what nobody has at hand as the drives hold it; [`all_of_it`] when there is no cache.
    pub(crate) fn write(
        &self,
        extents: &[Extent],
        lacks: impl Fn(Extent) -> Option<Extent>,
    ) -> Result<Plan, Lost> {
        if !self.shape.survives(self.readable) {
            return Err(Lost);
        }
        match self.shape.protection {
            Protection::None => Ok(Plan::direct_write(self.data_steps(extents).collect())),
            Protection::Mirror => {
                let mut copies = Steps::new();
                for within in extents {
                    for member in members(self.readable) {
                        let within = *within;
                        copies.push(Step { member, within });
                    }
                }
                Ok(Plan::direct_write(copies))
            }
            Protection::Parity(_) => Ok(self.write_with_parity(extents, lacks)),
        }
    }

    /// The steps over the data strips of `extents`.
    fn data_steps<'b>(&'b self, extents: &'b [Extent]) -> impl Iterator<Item = Step> + 'b {
        let parts = extents.iter().flat_map(|extent| self.shape.strips(*extent));
        parts.map(|(index, within)| Step {
            member: self.shape.data_member(self.row, index),
            within,
        })
    }

    fn write_with_parity(
        &self,
        extents: &[Extent],
        lacks: impl Fn(Extent) -> Option<Extent>,
    ) -> Plan {
        let touched: Steps = self.data_steps(extents).collect();
        let over = touched
            .iter()
            .fold(None, |all, step| Some(hull(all, step.within)))
            .expect("something is written");
        let parities: Steps = (0..self.shape.parities())
            .map(|number| self.shape.parity_member(self.row, number))
            .filter(|member| self.is_readable(*member))
            .map(|member| Step {
                member,
                within: over,
            })
            .collect();
        let writable = touched.iter().filter(|step| self.is_readable(step.member));
        let writes = writable.chain(&parities).copied().collect();
        let stays = self.staying(extents, over);
        if parities.is_empty() || stays.is_empty() {
            // No parity to keep, and then every data strip is there; or nothing of the old data to keep.
            let is_full = stays.is_empty() && !parities.is_empty();
            let method = if is_full {
                Method::FullStripe
            } else {
                Method::Direct
            };
            return Plan {
                method,
                ..Plan::direct_write(writes)
            };
        }
        let (method, reads) = self.cheapest(extents, &stays, &parities, over, lacks);
        let modifying = self.lacking(extents, all_of_it).len() + parities.len();
        Plan {
            method,
            spared: modifying.min(stays.len()).saturating_sub(reads.len()),
            reads,
            writes,
        }
    }

    fn cheapest(
        &self,
        extents: &[Extent],
        stays: &[Extent],
        parities: &[Step],
        over: Extent,
        lacks: impl Fn(Extent) -> Option<Extent>,
    ) -> (Method, Steps) {
        let modify = self.lacking(extents, &lacks);
        let reconstruct = self.lacking(stays, &lacks);
        let is_there = |steps: &Steps| steps.iter().all(|step| self.is_readable(step.member));
        let can_reconstruct = is_there(&reconstruct);
        let is_dearer = reconstruct.len() >= modify.len() + parities.len();
        if is_there(&modify) && (is_dearer || !can_reconstruct) {
            let reads = modify.iter().chain(parities).copied().collect();
            return (Method::ReadModifyWrite, reads);
        }
        if can_reconstruct {
            return (Method::ReconstructWrite, reconstruct);
        }
        let sources = members(self.sources());
        let reads = sources.map(|member| Step {
            member,
            within: over,
        });
        (Method::RebuildWrite, reads.collect())
    }

    /// What is read of `parts` of the data: of each strip the hull of what is lacking.
    fn lacking(&self, parts: &[Extent], lacks: impl Fn(Extent) -> Option<Extent>) -> Steps {
        let strip = self.shape.strip_sectors;
        let mut steps = Steps::new();
        for (index, within) in parts.iter().flat_map(|part| self.shape.strips(*part)) {
            let first = u64::from(index) * strip;
            let Some(lacking) = lacks(Extent::new(first + within.start, within.length)) else {
                continue;
            };
            let within = Extent::new(lacking.start - first, lacking.length);
            widen(&mut steps, self.shape.data_member(self.row, index), within);
        }
        steps
    }

    /// What stays of the data: of every strip the part in `over`, if some of that is not new.
    fn staying(&self, extents: &[Extent], over: Extent) -> SmallVec<[Extent; 8]> {
        let strip = self.shape.strip_sectors;
        let whole = |index: u32| Extent::new(u64::from(index) * strip + over.start, over.length);
        let keeps = |part: &Extent| {
            let new = extents.iter().filter_map(|extent| extent.overlap(*part));
            new.map(|new| new.length).sum::<u64>() < part.length
        };
        let strips = (0..self.shape.data_strips()).map(whole);
        strips.filter(keeps).collect()
    }
}

/// There is no cache, or what it has is not what the drives hold.
pub(crate) fn all_of_it(part: Extent) -> Option<Extent> {
    Some(part)
}

impl Plan {
    fn direct_read(reads: Steps) -> Self {
        Self {
            method: Method::Direct,
            reads,
            writes: Steps::new(),
            spared: 0,
        }
    }

    fn direct_write(writes: Steps) -> Self {
        Self {
            method: Method::Direct,
            reads: Steps::new(),
            writes,
            spared: 0,
        }
    }
}

/// The smallest extent that holds both.
fn hull(one: Option<Extent>, other: Extent) -> Extent {
    let Some(one) = one else { return other };
    let start = one.start.min(other.start);
    Extent::new(start, one.end().max(other.end()) - start)
}

/// Adds a read of `within`, together with what is read of the member already.
fn widen(reads: &mut Steps, member: u32, within: Extent) {
    match reads.iter_mut().find(|step| step.member == member) {
        Some(step) => step.within = hull(Some(step.within), within),
        None => reads.push(Step { member, within }),
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
