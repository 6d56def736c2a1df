//! The results of a simulation.

use brunt_stats::Latencies;
use brunt_units::{Span, Time};

use crate::drive::DriveStats;
use crate::incident::Note;
use crate::system::{System, SystemDesign};
use crate::{
    CacheStats, Finished, LunRoom, PageStats, PagedArray, ReplicaState, Replicas, Replication,
    ReplicationState, SnapshotState, Standing, Standings, TierStats, Unfinished, Verb, WriteMeter,
    WriteRates,
};

/// Host reads or host writes.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Latencies of successful requests, from submission to answer.
    pub latencies: Latencies,
    /// Failed requests.
    pub errors: u64,
    /// Sums of the latency parts of successful requests in nanoseconds, in the order of
    /// [`crate::Breakdown::NAMES`].
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

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.latencies.merge(&other.latencies);
        self.errors += other.errors;
        for (sum, more) in self.parts_ns.iter_mut().zip(other.parts_ns) {
            *sum += more;
        }
    }

    /// Mean of each part in milliseconds, in the order of [`crate::Breakdown::NAMES`]; their sum is
    /// the mean latency.
    pub fn parts_ms(&self) -> [f64; 8] {
        let count = self.latencies.count().max(1) as f64;
        self.parts_ns.map(|sum| sum as f64 / count / 1e6)
    }
}

/// An interval of the measured time.
#[derive(Clone, Debug)]
pub struct Interval {
    /// When it ended.
    pub until: Time,
    pub length: Span,
    pub reads: Side,
    pub writes: Side,
    /// Utilisation of the busiest drive, 0 to 1, and its number.
    pub busiest: (f64, usize),
    /// Share of the write cache not yet on the drives at the end, 0 to 1; `None` without a cache.
    pub dirty: Option<f64>,
    /// Share of the reads missing the cache that the solid-state tier served, 0 to 1; `None`
    /// without a tier or without such reads.
    pub tier_hits: Option<f64>,
    /// Share of all members' space in use at the end, 0 to 1; `None` for a single array.
    pub room: Option<f64>,
    /// Age of the newest complete replica at the end, of the oldest set; `None` without replicas,
    /// or before the first.
    pub replica_age: Option<Span>,
}

/// A part of the measured time during which the standing of the groups did not change.
#[derive(Clone, Debug)]
pub struct Phase {
    pub standing: Standing,
    /// When it began.
    pub since: Time,
    /// When it ended.
    pub until: Time,
    /// Reads answered in it.
    pub reads: Side,
    /// Writes answered in it.
    pub writes: Side,
}

impl Phase {
    fn new(standing: Standing, since: Time) -> Self {
        Self { standing, since, until: since, reads: Side::default(), writes: Side::default() }
    }
}

/// The results of a simulation.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// When measurement began.
    pub since: Time,
    /// When it ended.
    pub until: Time,
    /// Host reads.
    pub reads: Side,
    /// Host writes.
    pub writes: Side,
    /// The measured time by interval.
    pub intervals: Vec<Interval>,
    /// The measured time by standing, in order; empty when no incidents are scheduled.
    pub phases: Vec<Phase>,
    /// Repairs that had not ended.
    pub unfinished: Vec<Unfinished>,
    /// Measurements of each drive.
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
    /// Share of each member's space in use when measurement began, 0 to 1; empty for a single
    /// array.
    pub used_before: Vec<f64>,
    /// The same at the end.
    pub used: Vec<f64>,
    /// Page counters, and the LUNs at the end; `None` for a single array.
    pub pages: Option<(PageStats, Vec<LunRoom>)>,
    /// The replication at the end; `None` for an array that is not replicated.
    pub replication: Option<ReplicationState>,
    /// How fast hosts wrote to its groups.
    pub write_rates: Option<WriteRates>,
    /// The snapshots at the end; empty for a single array.
    pub snapshots: Vec<SnapshotState>,
    /// The replicas of volumes at the end; empty without.
    pub replicas: Vec<ReplicaState>,
    /// The event log, from the beginning.
    pub notes: Vec<Note>,
    /// Requests to drives since the beginning.
    pub device_ios: u64,
}

impl Outcome {
    /// Measured time.
    pub fn elapsed(&self) -> Span {
        self.until - self.since
    }

    /// The first data loss, if any.
    pub fn loss(&self) -> Option<&Note> {
        self.notes.iter().find(|note| note.what.is_loss())
    }

    /// The first set of volumes of which no replica was ever complete, if any.
    pub fn unreplicated(&self) -> Option<&ReplicaState> {
        self.replicas.iter().find(|set| set.complete == 0)
    }

    /// The busiest drive: its number and utilisation.
    pub fn busiest(&self) -> Option<(usize, f64)> {
        busiest(self.drives.iter().map(DriveStats::utilisation))
    }
}

/// The index and value of the largest share; the first among equals.
fn busiest(shares: impl Iterator<Item = f64>) -> Option<(usize, f64)> {
    shares.enumerate().fold(None, |best, (at, share)| match best {
        Some((_, most)) if most >= share => best,
        _ => Some((at, share)),
    })
}

/// Share of each member's space in use, 0 to 1; empty without a pool.
fn used_shares(array: &dyn System) -> Vec<f64> {
    array.pool().map(PagedArray::used_shares).unwrap_or_default()
}

/// The running measurement.
pub(super) struct Measuring {
    since: Time,
    interval_since: Time,
    total: (Side, Side),
    interval: (Side, Side),
    intervals: Vec<Interval>,
    busy_before: Vec<Span>,
    tier_before: TierStats,
    used_before: Vec<f64>,
    writes: Option<WriteMeter>,
    /// Whether phases are distinguished, which costs time with every answer.
    has_phases: bool,
    phases: Vec<Phase>,
    standings: Standings,
}

impl Measuring {
    pub(super) fn new(has_phases: bool) -> Self {
        Self {
            has_phases,
            phases: Vec::new(),
            standings: Standings::default(),
            since: Time::ZERO,
            interval_since: Time::ZERO,
            total: (Side::default(), Side::default()),
            interval: (Side::default(), Side::default()),
            intervals: Vec::new(),
            busy_before: Vec::new(),
            tier_before: TierStats::default(),
            used_before: Vec::new(),
            writes: None,
        }
    }

    /// Starts measurement.
    pub(super) fn begin(&mut self, array: &mut dyn System) {
        array.forget_stats();
        (self.since, self.interval_since) = (array.now(), array.now());
        self.used_before = used_shares(array);
        self.writes = array.replication().map(WriteMeter::begin);
        self.busy_before = vec![Span::ZERO; array.drive_stats().len()];
        if self.has_phases {
            self.standings = Standings::begin(array);
            self.phases = vec![Phase::new(array.standing(), array.now())];
        }
    }

    /// Starts a new phase if the standing has changed.
    pub(super) fn look(&mut self, array: &dyn System) {
        let Some(phase) = self.phases.last_mut() else {
            return;
        };
        if let Some(standing) = self.standings.look(array) {
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

    pub(super) fn close_interval(&mut self, array: &dyn System) -> &Interval {
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
            replica_age: array.replicas().and_then(Replicas::age),
        });
        if let Some((writes, pair)) = self.writes.as_mut().zip(array.replication()) {
            writes.sample(pair);
        }
        self.busy_before = busy;
        self.interval_since = now;
        self.intervals.last().expect("it was pushed")
    }

    /// Share of the reads since the last call that the tier served.
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
            let sum: f64 =
                members.map(|drive| drives[first + usize::from(*drive)].utilisation()).sum();
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
            snapshots: array.pool().map(PagedArray::snapshots).unwrap_or_default(),
            replicas: array.replicas().map(Replicas::states).unwrap_or_default(),
            replication: array.replication().map(Replication::state),
            write_rates: {
                let measured = self.writes.as_ref().zip(array.replication());
                measured.map(|(writes, pair)| writes.rates(pair))
            },
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
        assert_eq!(crate::Breakdown::NAMES.len(), Side::default().parts_ms().len());
    }
}
