//! What was seen of a passive copy during a test, and what became of it.

use std::collections::BTreeSet;

use brunt_copies::choice::{self, Candidate};
use brunt_ese::maintenance::Findings;
use brunt_ese::meter::{DatabaseMeters, MeterBoard};
use brunt_report::result::PassiveCopy as InResult;
use brunt_stats::Meter;
use brunt_units::{Span, Time};

use super::{CopyPlan, Scan};
use crate::plan::Plan;
use crate::rules::ReplicaOutcome;

/// Reads and writes of a copy's databases so far.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Time,
    ios: [u64; 2],
    read_bytes: u64,
}

/// What a copy was seen to do at the end of each sample.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    /// Copy queue and replay queue, in logs.
    queues: Vec<[u32; 2]>,
    /// The first and the last sample.
    marks: Option<(Mark, Mark)>,
}

impl Samples {
    pub(super) fn add(&mut self, at: Time, queues: [u32; 2], board: &MeterBoard) {
        let (ios, read_bytes) = board.with(|meters| {
            let count = |pick: fn(&DatabaseMeters) -> &Meter| {
                let databases = meters.databases.iter();
                databases.map(|database| pick(database).count()).sum()
            };
            let ios = [count(|database| &database.reads), count(|database| &database.writes)];
            let databases = meters.databases.iter();
            let databases = databases.flat_map(|one| [&one.reads, &one.maintenance]);
            let logs = meters.logs.iter().map(|log| &log.reads);
            (ios, databases.chain(logs).map(Meter::bytes).sum())
        });
        let mark = Mark { at, ios, read_bytes };
        self.queues.push(queues);
        self.marks = Some((self.marks.map_or(mark, |(first, _)| first), mark));
    }

    /// Bytes read from the first sample to the last one.
    fn read_bytes(&self) -> u64 {
        self.marks.map_or(0, |(first, last)| last.read_bytes - first.read_bytes)
    }

    /// Reads and writes per second from the first sample to the last one.
    fn rates(&self) -> Option<[f64; 2]> {
        let (first, last) = self.marks.filter(|(first, last)| last.at > first.at)?;
        let rate = |which: usize| {
            let done = last.ios[which] - first.ios[which];
            done as f64 / (last.at - first.at).as_seconds()
        };
        Some([rate(0), rate(1)])
    }
}

/// What became of a passive copy.
#[derive(Clone, Debug, Default)]
pub struct Followed {
    pub name: String,
    /// The name of its instance.
    pub instance: String,
    /// How old a log was before it was replayed.
    pub lag: Span,
    /// Copy queue and replay queue, in logs, at the end of each sample.
    pub samples: Vec<[u32; 2]>,
    /// Reads and writes of its databases per second between the first sample and the last one.
    pub rates: Option<[f64; 2]>,
    /// Bytes that it read between these.
    pub read_bytes: u64,
    /// Whether its pages have no content, so that none can be judged.
    pub is_twin: bool,
    /// Logs that it has stored.
    pub logs: u32,
    /// How long its seed took.
    pub seeding_took: Span,
    /// What its background maintenance found, if it had any.
    pub scan: Option<Scan>,
    /// Bad pages that were replaced by the active's.
    pub repaired: u64,
    /// Bad pages of its active that were replaced by its own.
    pub given: u64,
    /// How long it took after the test until it had replayed every log.
    pub catch_up_took: Option<Span>,
    /// Records compared, and pages verified.
    pub checked: Option<(u64, u64)>,
    /// Whether it was not what its active is; `None` when that was not looked at.
    pub is_wrong: Option<bool>,
    /// What was found.
    pub remark: String,
}

impl Followed {
    /// What was seen of `copy`, and what its background maintenance has found.
    pub(super) fn of(copy: &CopyPlan, plan: &Plan, samples: &Samples, found: &[Findings]) -> Self {
        Self {
            name: copy.files.name.clone(),
            instance: plan.instances[copy.of].name.clone(),
            lag: copy.lag,
            samples: samples.queues.clone(),
            rates: samples.rates(),
            read_bytes: samples.read_bytes(),
            scan: Scan::of(found),
            ..Self::default()
        }
    }

    /// Adds what the second half of a test has seen of it, as if its collection had followed. Rates
    /// are the mean of both; of the times to catch up, the longer one counts.
    pub(crate) fn absorb(&mut self, second: Self) {
        self.samples.extend(second.samples);
        self.rates = match (self.rates, second.rates) {
            (Some(one), Some(two)) => Some([0, 1].map(|which| one[which].midpoint(two[which]))),
            (one, two) => one.or(two),
        };
        self.read_bytes += second.read_bytes;
        self.logs += second.logs;
        self.catch_up_took = self.catch_up_took.max(second.catch_up_took);
        if second.is_wrong == Some(true) {
            (self.is_wrong, self.remark) = (second.is_wrong, second.remark);
        }
    }

    /// What the rules judge.
    pub(crate) fn outcome(&self) -> ReplicaOutcome {
        ReplicaOutcome {
            is_wrong: self.is_wrong,
            remark: format!("{}: {}", self.name, self.remark),
        }
    }

    /// The same in the result.
    fn in_result(&self) -> InResult {
        let has_content = !self.is_twin;
        let queue = |which: usize| self.samples.iter().map(|queues| queues[which]).collect();
        InResult {
            name: self.name.clone(),
            instance: self.instance.clone(),
            lag_s: self.lag.as_seconds(),
            copy_queue_logs: queue(0),
            replay_queue_logs: queue(1),
            database_reads_per_s: self.rates.map(|[reads, _]| reads),
            database_writes_per_s: self.rates.map(|[_, writes]| writes),
            logs: self.logs.into(),
            seed_s: self.seeding_took.as_seconds(),
            scan: self.scan.as_ref().map(|scan| scan.in_result(has_content)),
            pages_repaired: has_content.then_some(self.repaired),
            pages_given: has_content.then_some(self.given),
            catch_up_s: self.catch_up_took.map(Span::as_seconds),
            records_checked: self.checked.map(|(records, _)| records),
            pages_seen: self.checked.map(|(_, pages)| pages),
            is_wrong: self.is_wrong,
            remark: self.remark.clone(),
            best: None,
        }
    }
}

/// The copies of a server in the result, and which of them is the best one.
pub(crate) fn in_result(all: &[Followed]) -> Vec<InResult> {
    let mut results: Vec<InResult> = all.iter().map(Followed::in_result).collect();
    let instances: BTreeSet<&str> = all.iter().map(|one| one.instance.as_str()).collect();
    for instance in instances {
        let own = all.iter().enumerate().filter(|(_, one)| one.instance == instance);
        let (places, candidates): (Vec<_>, Vec<_>) = own
            .zip(1..)
            .filter_map(|((place, one), preference)| {
                let [copy_queue, replay_queue] = *one.samples.last()?;
                let candidate = Candidate {
                    is_healthy: one.is_wrong != Some(true),
                    copy_queue,
                    replay_queue,
                    preference,
                };
                Some((place, candidate))
            })
            .unzip();
        if let Some((best, reason)) = choice::best(&candidates) {
            results[places[best]].best = Some(reason.to_string());
        }
    }
    results
}
