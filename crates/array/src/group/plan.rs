//! Which drives a request to one stripe reads and writes: pure functions, and the core of RAID.
//!
//! ```text
//!    read    the strip is readable            read it
//!            it is not                        read as many others as there are data strips, and compute it
//!    write   every data strip is new          full stripe: compute the parities, write all, read nothing
//!            otherwise, the cheaper of
//!              read-modify-write              old data and old parities; parity changes by the difference
//!              reconstruct-write              the data that stays; parity is computed from all data
//!            neither is possible              read as many members as there are data strips, then reconstruct
//! ```
//!
//! On-disk content that the cache holds need not be read: a plan asks for every part whether it is
//! lacking. With the old data in the cache, read-modify-write reads only parities; with the data
//! that stays in the cache, reconstruct-write reads nothing.
//!
//! Parities are read and written over one extent covering everything written, so a plan has at most
//! one step per member and range. A member that cannot be written is skipped: its content follows
//! from the parities, or is written when it is rebuilt.
//!
//! Invariant: what a plan writes can be computed from what it reads and the new data. A test checks
//! this with bytes.

use smallvec::{SmallVec, smallvec};

use super::stripe::{Members, Protection, StripeShape, members};
use crate::Extent;

/// A part of one strip in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) member: u32,
    /// Within the strip.
    pub(crate) within: Extent,
}

pub(crate) type Steps = SmallVec<[Step; 2]>;

/// How a plan obtains the data it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Nothing is computed.
    Direct,
    /// Reads other members and computes the lost data.
    Reconstruct,
    /// Parities computed from new data alone.
    FullStripe,
    /// Parities updated by the difference of old and new data.
    ReadModifyWrite,
    /// Parities computed from all data.
    ReconstructWrite,
    /// Parities computed from all data, some of which is computed first.
    RebuildWrite,
}

/// The steps of a plan: all reads, then all writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) method: Method,
    pub(crate) reads: Steps,
    pub(crate) writes: Steps,
    /// Reads saved compared with the cheapest plan without cached data.
    pub(crate) spared: usize,
}

impl Plan {
    /// Sectors from which lost data or parities are computed: each input counts once for each
    /// result.
    pub(crate) fn computed(&self, row: &Row<'_>, extents: &[Extent]) -> u64 {
        let sum = |steps: &Steps| steps.iter().map(|step| step.within.length).sum::<u64>();
        let is_parity = |step: &&Step| {
            (0..row.shape.parities())
                .any(|one| row.shape.parity_member(row.row, one) == step.member)
        };
        let parities = self.writes.iter().filter(is_parity);
        let parities = parities.map(|step| step.within.length);
        match self.method {
            Method::Direct => 0,
            Method::Reconstruct => sum(&self.reads),
            Method::ReadModifyWrite => {
                // Old and new data, and the old parity.
                let data: u64 = extents.iter().map(|extent| extent.length).sum();
                parities.map(|parity| 2 * data + parity).sum()
            }
            Method::FullStripe | Method::ReconstructWrite | Method::RebuildWrite => {
                parities.map(|parity| parity * u64::from(row.shape.data_strips())).sum()
            }
        }
    }
}

/// Too many members are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost;

/// A row of a stripe, and its readable members.
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

    /// Plans a read of `extent` of the stripe's data. `choose` picks the copy of a mirror.
    pub(crate) fn read(
        &self,
        extent: Extent,
        choose: impl FnOnce(Members) -> u32,
    ) -> Result<Plan, Lost> {
        if !self.shape.survives(self.readable) {
            return Err(Lost);
        }
        if self.shape.protection == Protection::Mirror {
            let step = Step { member: choose(self.readable), within: extent };
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
                Ok(Plan { method: Method::Reconstruct, ..Plan::direct_read(reads) })
            }
        }
    }

    /// As many readable members as there are data strips: data first, then parities; for a mirror,
    /// one copy.
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

    /// Plans a write of `extents` of the stripe's data, ascending and disjoint. For a part of that
    /// data, `lacks` returns what is lacking of its on-disk content; pass [`all_of_it`] when there
    /// is no cache.
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

    /// The steps for the data strips of `extents`.
    fn data_steps<'b>(&'b self, extents: &'b [Extent]) -> impl Iterator<Item = Step> + 'b {
        let parts = extents.iter().flat_map(|extent| self.shape.strips(*extent));
        parts
            .map(|(index, within)| Step { member: self.shape.data_member(self.row, index), within })
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
            .map(|member| Step { member, within: over })
            .collect();
        let writable = touched.iter().filter(|step| self.is_readable(step.member));
        let writes = writable.chain(&parities).copied().collect();
        let stays = self.staying(extents, over);
        if parities.is_empty() || stays.is_empty() {
            // Either there is no parity to maintain, so every data strip is readable; or no old
            // data stays.
            let is_full = stays.is_empty() && !parities.is_empty();
            let method = if is_full { Method::FullStripe } else { Method::Direct };
            return Plan { method, ..Plan::direct_write(writes) };
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
        let reads = sources.map(|member| Step { member, within: over });
        (Method::RebuildWrite, reads.collect())
    }

    /// The reads needed for `parts` of the data: per strip, one extent covering what is lacking.
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

    /// The old data that stays: of every strip the part in `over`, unless all of that is new.
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

/// For use without a cache, or when its content is not what the drives hold.
pub(crate) fn all_of_it(part: Extent) -> Option<Extent> {
    Some(part)
}

impl Plan {
    fn direct_read(reads: Steps) -> Self {
        Self { method: Method::Direct, reads, writes: Steps::new(), spared: 0 }
    }

    fn direct_write(writes: Steps) -> Self {
        Self { method: Method::Direct, reads: Steps::new(), writes, spared: 0 }
    }
}

/// The smallest extent that covers both.
fn hull(one: Option<Extent>, other: Extent) -> Extent {
    let Some(one) = one else { return other };
    let start = one.start.min(other.start);
    Extent::new(start, one.end().max(other.end()) - start)
}

/// Adds a read of `within`, merging it with an existing read of the member.
fn widen(reads: &mut Steps, member: u32, within: Extent) {
    match reads.iter_mut().find(|step| step.member == member) {
        Some(step) => step.within = hull(Some(step.within), within),
        None => reads.push(Step { member, within }),
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
