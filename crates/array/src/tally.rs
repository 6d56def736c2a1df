//! Host requests to an array by LUN and class: counts, latencies, and where the time went.
//!
//! A request that lies in several pieces of a LUN counts once for each piece.

use std::collections::BTreeMap;

use brunt_units::Time;
use brunt_world::Class;

use crate::load::Side;
use crate::{Finished, Verb};

/// Reads and writes of one class on one LUN.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub reads: Side,
    pub writes: Side,
}

/// All host requests since measurement began.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    since: Time,
    luns: BTreeMap<(u32, Class), Asked>,
}

impl Tally {
    /// Restarts measurement at `now` and discards earlier counts.
    /// Begins anew at `now`.
    pub fn begin(&mut self, now: Time) {
        *self = Self { since: now, luns: BTreeMap::new() };
    }

    /// Counts a finished request.
    pub fn count(&mut self, lun: u32, class: Class, one: &Finished) {
        let asked = self.luns.entry((lun, class)).or_default();
        match one.verb {
            Verb::Read => asked.reads.count(one),
            Verb::Write => asked.writes.count(one),
        }
    }

    /// Adds the requests of another array of this design.
    pub fn merge(&mut self, other: &Self) {
        for (key, asked) in &other.luns {
            let own = self.luns.entry(*key).or_default();
            own.reads.merge(&asked.reads);
            own.writes.merge(&asked.writes);
        }
    }

    /// When measurement began.
    pub fn since(&self) -> Time {
        self.since
    }

    /// Requests by LUN and class.
    pub fn luns(&self) -> impl Iterator<Item = (u32, Class, &Asked)> {
        self.luns.iter().map(|((lun, class), asked)| (*lun, *class, asked))
    }

    /// Requests by class, all LUNs together.
    pub fn classes(&self) -> BTreeMap<Class, Asked> {
        let mut all = BTreeMap::<Class, Asked>::new();
        for ((_, class), asked) in &self.luns {
            let sum = all.entry(*class).or_default();
            sum.reads.merge(&asked.reads);
            sum.writes.merge(&asked.writes);
        }
        all
    }
}
