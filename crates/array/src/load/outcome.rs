//! What came of a simulation.

use brunt_stats::Latencies;
use brunt_units::{Span, Time};

use crate::drive::DriveStats;
use crate::incident::Note;
use crate::system::{System, SystemDesign};
use crate::{
    CacheStats, Finished, LunRoom, PageStats, PagedArray, Standing, TierStats, Unfinished, Verb,
};

/// Reads or writes of hosts.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Those that ended well: from submission to answer.
    pub latencies: Latencies,
    /// Those that did not.
    pub errors: u64,
    /// Sums of where the time of those that ended well went, in nanoseconds, in the order of [`crate::Breakdown::NAMES`].
    pub parts_ns: [u128; 8],
}

impl Side {
    pub(crate) fn count(&mut self, one: &Finished) {
        if one.result.is_err() {
            self.errors += 1;
            return;
        }
        self.latencies.record(one.at - one.submitted_at);
        for (sum, part) in self.parts_ns.iter_mut().zip(one.breakdown.parts()) {
            *sum += u128::from(part.0);
        }
    }

    /// Adds what `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.latencies.merge(&other.latencies);
        self.errors += other.errors;
        for (sum, more) in self.parts_ns.iter_mut().zip(other.parts_ns) {
            *sum += more;
        }
    }

    /// Mean of each part in milliseconds, in the order of [`crate::Breakdown::NAMES`]; together they are the mean latency.
    pub fn parts_ms(&self) -> [f64; 8] {
        let count = self.latencies.count().max(1) as f64;
        self.parts_ns.map(|sum| sum as f64 / count / 1e6)
    }
}

/// A part of the measured time.
#[derive(Clone, Debug)]
pub struct Interval {
    /// When it ended.
    pub until: Time,
    /// How long it was.
    pub length: Span,
    /// Reads in it.
    pub reads: Side,
    /// Writes in it.
    pub writes: Side,
    /// The busiest drive's utilisation in it, 0 to 1, and its number.
    pub busiest: (f64, usize),
    /// Share of the write cache that drives lacked at its end, 0 to 1; without a cache none.
    pub dirty: Option<f64>,
    /// Share of the reads that missed the cache in it which the solid-state tier answered, 0 to 1; without a tier, or such
    /// reads, none.
    pub tier_hits: Option<f64>,
    /// Share of all members' room in use at its end, 0 to 1; nothing for one array.
    pub room: Option<f64>,
}

/// A part of the measured time in which the groups were in one state.
#[derive(Clone, Debug)]
pub struct Phase {
    /// How they were.
    pub standing: Standing,
    /// When it began.
    pub since: Time,
    /// When it ended.
    pub until: Time,
    /// Reads that were answered in it.
    pub reads: Side,
    /// Writes that were answered in it.
    pub writes: Side,
}

impl Phase {
    fn new(standing: Standing, since: Time) -> Self {
        Self {
            standing,
            since,
            until: since,
            reads: Side::default(),
            writes: Side::default(),
        }
    }
}

/// What came of a simulation.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// When measuring began.
    pub since: Time,
    /// When it ended.
    pub until: Time,
    /// Reads of hosts.
    pub reads: Side,
    /// Writes of hosts.
    pub writes: Side,
    /// The measured time, piece by piece.
    pub intervals: Vec<Interval>,
    /// The measured time by how the groups were, in order; nothing when nothing befalls the array.
    pub phases: Vec<Phase>,
    /// Repairs that had not ended.
    pub unfinished: Vec<Unfinished>,
    /// Each drive.
    pub drives: Vec<DriveStats>,
    /// Mean utilisation of each group's drives, 0 to 1.
    pub groups: Vec<f64>,
    /// The cache, if there is one.
    pub cache: Option<CacheStats>,
    /// The solid-state tier, if there is one.
    pub tier: Option<TierStats>,
    /// Utilisation of each controller's processor, 0 to 1.
    pub controllers: Vec<f64>,
    /// Utilisation of each port's busier direction, 0 to 1.
    pub ports: Vec<f64>,
    /// Utilisation of the link between controllers, 0 to 1.
    pub between: f64,
    /// Share of each member's room in use when measuring began, 0 to 1; nothing for one array.
    pub used_before: Vec<f64>,
    /// The same at the end.
    pub used: Vec<f64>,
    /// What happened to pages, and the LUNs at the end; nothing for one array.
    pub pages: Option<(PageStats, Vec<LunRoom>)>,
    /// Everything that was noted, from the beginning.
    pub notes: Vec<Note>,
    /// Requests to drives, from the beginning.
    pub device_ios: u64,
}

impl Outcome {
    /// Measured time.
    pub fn elapsed(&self) -> Span {
        self.until - self.since
    }

    /// The first loss of data, if any.
    pub fn loss(&self) -> Option<&Note> {
        self.notes.iter().find(|note| note.what.is_loss())
    }

    /// The busiest drive: number and utilisation.
    pub fn busiest(&self) -> Option<(usize, f64)> {
        busiest(self.drives.iter().map(DriveStats::utilisation))
    }
}

/// The first of the largest, and where.
fn busiest(shares: impl Iterator<Item = f64>) -> Option<(usize, f64)> {
    shares
        .enumerate()
        .fold(None, |best, (at, share)| match best {
            Some((_, most)) if most >= share => best,
            _ => Some((at, share)),
        })
}

/// Share of each member's room in use, 0 to 1; none without a pool.
fn used_shares(array: &dyn System) -> Vec<f64> {
    array
        .pool()
        .map(PagedArray::used_shares)
        .unwrap_or_default()
}

/// What is being measured.
pub(super) struct Measuring {
    since: Time,
    interval_since: Time,
    total: (Side, Side),
    interval: (Side, Side),
    intervals: Vec<Interval>,
    busy_before: Vec<Span>,
    tier_before: TierStats,
    used_before: Vec<f64>,
    /// Whether phases are told from each other, which takes time with every answer.
    has_phases: bool,
    phases: Vec<Phase>,
    notes_seen: usize,
}

impl Measuring {
    pub(super) fn new(has_phases: bool) -> Self {
        Self {
            has_phases,
            phases: Vec::new(),
            notes_seen: 0,
            since: Time::ZERO,
            interval_since: Time::ZERO,
            total: (Side::default(), Side::default()),
            interval: (Side::default(), Side::default()),
            intervals: Vec::new(),
            busy_before: Vec::new(),
            tier_before: TierStats::default(),
            used_before: Vec::new(),
        }
    }

    /// Measuring begins now.
    pub(super) fn begin(&mut self, array: &mut dyn System) {
        array.forget_stats();
        (self.since, self.interval_since) = (array.now(), array.now());
        self.used_before = used_shares(array);
        self.busy_before = vec![Span::ZERO; array.drive_stats().len()];
        if self.has_phases {
            self.notes_seen = array.notes_count();
            self.phases = vec![Phase::new(array.standing(), array.now())];
        }
    }

    /// Looks whether the groups are in another state since the last call. That is worth a look when something was noted.
    pub(super) fn look(&mut self, array: &dyn System) {
        let notes = array.notes_count();
        let Some(phase) = self.phases.last_mut().filter(|_| notes != self.notes_seen) else {
            return;
        };
        self.notes_seen = notes;
        let standing = array.standing();
        if standing != phase.standing {
            phase.until = array.now();
            self.phases.push(Phase::new(standing, array.now()));
        }
    }

    pub(super) fn count(&mut self, one: &Finished) {
        let side = match one.verb {
            Verb::Read => &mut self.interval.0,
            Verb::Write => &mut self.interval.1,
        };
        side.count(one);
        if let Some(phase) = self.phases.last_mut() {
            match one.verb {
                Verb::Read => phase.reads.count(one),
                Verb::Write => phase.writes.count(one),
            }
        }
    }

    pub(super) fn close_interval(&mut self, array: &dyn System) {
        let now = array.now();
        let length = now - self.interval_since;
        let busy: Vec<Span> = array.drive_stats().iter().map(|drive| drive.busy).collect();
        let shares = busy
            .iter()
            .zip(&self.busy_before)
            .map(|(now, before)| (*now - *before).as_seconds() / length.as_seconds());
        let (drive, share) = busiest(shares).unwrap_or((0, 0.0));
        let cache = array.cache_stats().filter(|cache| cache.write_pages > 0);
        let tier_hits = self.tier_hits(array);
        let (reads, writes) = std::mem::take(&mut self.interval);
        for (total, part) in [(&mut self.total.0, &reads), (&mut self.total.1, &writes)] {
            total.merge(part);
        }
        self.intervals.push(Interval {
            until: now,
            length,
            reads,
            writes,
            busiest: (share, drive),
            dirty: cache.map(|cache| cache.unwritten as f64 / cache.write_pages as f64),
            tier_hits,
            room: array.pool().map(PagedArray::used_share),
        });
        self.busy_before = busy;
        self.interval_since = now;
    }

    /// Share of the reads since the last call that the tier answered.
    fn tier_hits(&mut self, array: &dyn System) -> Option<f64> {
        let now = array.tier_stats()?;
        let before = std::mem::replace(&mut self.tier_before, now);
        let (hits, misses) = (now.hits - before.hits, now.misses - before.misses);
        (hits + misses > 0).then(|| hits as f64 / (hits + misses) as f64)
    }

    pub(super) fn finish(mut self, array: &dyn System, design: &SystemDesign) -> Outcome {
        if let Some(phase) = self.phases.last_mut() {
            phase.until = array.now();
        }
        self.phases.retain(|phase| phase.until > phase.since);
        let drives = array.drive_stats();
        let (controllers, ports, between) = array.front_utilisations();
        let groups = design.groups().into_iter().map(|(first, group)| {
            let members = group.drives.iter();
            let sum: f64 = members
                .map(|drive| drives[first + usize::from(*drive)].utilisation())
                .sum();
            sum / group.drives.len() as f64
        });
        Outcome {
            since: self.since,
            until: array.now(),
            reads: self.total.0,
            writes: self.total.1,
            intervals: self.intervals,
            phases: self.phases,
            unfinished: array.unfinished(),
            groups: groups.collect(),
            cache: array.cache_stats(),
            tier: array.tier_stats(),
            controllers,
            ports,
            between,
            notes: array.notes(),
            used_before: self.used_before,
            used: used_shares(array),
            pages: array.pool().map(|pool| (pool.stats(), pool.lun_rooms())),
            device_ios: array.device_ios(),
            drives,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_busiest_is_named() {
        assert_eq!(busiest([0.2, 0.7, 0.7].into_iter()), Some((1, 0.7)));
        assert_eq!(busiest([].into_iter()), None);
        assert_eq!(
            crate::Breakdown::NAMES.len(),
            Side::default().parts_ms().len()
        );
    }
}
