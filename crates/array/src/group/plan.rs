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
                    reads,
                    writes: Steps::new(),
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

    /// A write of `extents` of the stripe's data, ascending and apart from one another.
    pub(crate) fn write(&self, extents: &[Extent]) -> Result<Plan, Lost> {
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
            Protection::Parity(_) => Ok(self.write_with_parity(extents)),
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

    fn write_with_parity(&self, extents: &[Extent]) -> Plan {
        let touched: Steps = self.data_steps(extents).collect();
        let over = touched
            .iter()
            .fold(None, |all, step| Some(hull(all, step.within)))
            .expect("something is written");
        let parities: SmallVec<[Step; 2]> = (0..self.shape.parities())
            .map(|number| self.shape.parity_member(self.row, number))
            .filter(|member| self.is_readable(*member))
            .map(|member| Step {
                member,
                within: over,
            })
            .collect();
        let (method, reads) = self.cheapest(&touched, &parities, over);
        let writable = touched.iter().filter(|step| self.is_readable(step.member));
        Plan {
            method,
            reads,
            writes: writable.chain(&parities).copied().collect(),
        }
    }

    fn cheapest(&self, touched: &Steps, parities: &[Step], over: Extent) -> (Method, Steps) {
        if parities.is_empty() {
            // No parity to keep; every data strip is there, or too many would be lost.
            return (Method::Direct, Steps::new());
        }
        let stay = self.staying(touched, over);
        if stay.is_empty() {
            return (Method::FullStripe, Steps::new());
        }
        let can_modify = touched.iter().all(|step| self.is_readable(step.member));
        let can_reconstruct = stay.iter().all(|step| self.is_readable(step.member));
        if can_modify && !(can_reconstruct && stay.len() < touched.len() + parities.len()) {
            let reads = touched.iter().chain(parities).copied().collect();
            return (Method::ReadModifyWrite, reads);
        }
        if can_reconstruct {
            return (Method::ReconstructWrite, stay);
        }
        let sources = members(self.sources());
        let reads = sources.map(|member| Step {
            member,
            within: over,
        });
        (Method::RebuildWrite, reads.collect())
    }

    /// The data strips that keep something of `over`.
    fn staying(&self, touched: &Steps, over: Extent) -> Steps {
        let strips =
            (0..self.shape.data_strips()).map(|index| self.shape.data_member(self.row, index));
        let is_new = |member: &u32| {
            let steps = touched.iter().filter(|step| step.member == *member);
            steps.map(|step| step.within.length).sum::<u64>() == over.length
        };
        strips
            .filter(|member| !is_new(member))
            .map(|member| Step {
                member,
                within: over,
            })
            .collect()
    }
}

impl Plan {
    fn direct_read(reads: Steps) -> Self {
        Self {
            method: Method::Direct,
            reads,
            writes: Steps::new(),
        }
    }

    fn direct_write(writes: Steps) -> Self {
        Self {
            method: Method::Direct,
            reads: Steps::new(),
            writes,
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
