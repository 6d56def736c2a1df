//! Measurements, as input of the rules.

use brunt_report::result::{BusyPart, Rule, Sample, Tuning};
use brunt_run::{Hung, LongestStop};
use brunt_units::Span;

use super::RuleId;
use super::bottleneck::SessionsUse;
use super::device::VolumeIo;
use super::replicas::ReplicaOutcome;
use super::system_log::SystemLog;
use super::tester::Tester;
use crate::goal::Target;
use crate::truth::oracle::Findings;

/// Samples of one stream's mean latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// Samples taken.
    pub count: u64,
    /// Samples over the limit.
    pub over: u64,
    /// The largest mean and the start of its sample, from the beginning of the collection.
    pub worst: Option<(Span, Span)>,
    /// Start of the first sample over the limit.
    pub first_over: Option<Span>,
}

impl Samples {
    /// Adds a sample that began `at` after the start of the collection.
    pub(crate) fn note(&mut self, at: Span, mean: Option<Span>, limit: Span) {
        self.count += 1;
        let Some(mean) = mean else { return };
        if self.worst.is_none_or(|(worst, _)| mean > worst) {
            self.worst = Some((mean, at));
        }
        if mean > limit {
            self.over += 1;
            self.first_over.get_or_insert(at);
        }
    }

    /// These samples and then `next`, whose collection began `after` this one.
    pub(crate) fn followed_by(self, next: Self, after: Span) -> Self {
        let later = next.worst.map(|(mean, at)| (mean, after + at));
        let worse = |worst: &(Span, Span)| self.worst.is_none_or(|(mean, _)| worst.0 > mean);
        Self {
            count: self.count + next.count,
            over: self.over + next.over,
            worst: later.filter(worse).or(self.worst),
            first_over: self.first_over.or(next.first_over.map(|at| after + at)),
        }
    }
}

/// One stream's latencies over the collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamLatency {
    /// The database or log: `DB2`, `Instance 1`.
    pub name: String,
    /// Mean of all I/Os; `None` without any.
    pub mean: Option<Span>,
    /// The means of the samples.
    pub samples: Samples,
}

/// Results of verifying files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilesVerified {
    /// Pages or segments judged.
    pub seen: u64,
    /// Bad ones; a file that cannot be judged at all counts as one.
    pub bad: u64,
    /// Those that a read would correct.
    pub correctable: u64,
    /// Files judged.
    pub files: u64,
}

impl FilesVerified {
    /// Adds the results of other files.
    pub(crate) fn add(&mut self, other: &Self) {
        self.seen += other.seen;
        self.bad += other.bad;
        self.correctable += other.correctable;
        self.files += other.files;
    }
}

/// Results of verifying records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordsVerified {
    /// Records that must exist.
    pub expected: u64,
    /// Records checked.
    pub checked: u64,
    /// Records whose version the oracle knew; of the others, only the bytes were judged.
    pub known: u64,
    /// What was wrong.
    pub findings: Findings,
}

impl RecordsVerified {
    /// Adds the results of another database.
    pub fn add(&mut self, other: &Self) {
        self.expected += other.expected;
        self.checked += other.checked;
        self.known += other.known;
        self.findings = self.findings.and(other.findings);
    }
}

/// Why files were not judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unjudged {
    /// The test ended too early.
    #[default]
    EndedBefore,
    /// The plan does not ask for it.
    NotAsked,
    /// They have no content.
    WithoutContent,
}

impl Unjudged {
    /// The remark on a rule.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::EndedBefore => "the test ended before",
            Self::NotAsked => "not part of this test",
            Self::WithoutContent => "a prediction's databases have no content",
        }
    }
}

/// Database writes of a test whose mix has some.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Writes {
    /// Per second.
    pub per_s: Option<f64>,
    /// Which log had not gone through the checkpoint depth when the collection began, in words.
    pub short_of: Option<String>,
}

/// The input of all rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Database reads, by database.
    pub reads: Vec<StreamLatency>,
    pub log_writes: Vec<StreamLatency>,
    /// Page-fault stalls per second.
    pub stalls_per_s: Option<f64>,
    /// Database reads and writes per second.
    pub achieved_io_per_s: Option<f64>,
    /// Database writes; `None` when the mix has none.
    pub writes: Option<Writes>,
    /// The rate to reach.
    pub target: Option<Target>,
    /// What sessions did with their time; `None` without a collection.
    pub sessions: Option<SessionsUse>,
    /// The busiest part of the storage, where it is known.
    pub busiest: Option<BusyPart>,
    /// Whether the storage is a model.
    pub is_predicted: bool,
    /// The server over time.
    pub samples: Vec<Sample>,
    /// 99.9th percentile of database reads, by database.
    pub read_tails: Vec<(String, Span)>,
    /// 99.9th percentile of log writes, by log stream.
    pub log_tails: Vec<(String, Span)>,
    /// 99th percentile of operations from their intended start.
    pub operation_p99: Option<Span>,
    /// The longest time in which I/O was in flight and none completed.
    pub stop: Option<LongestStop>,
    /// Mailboxes behind the target, if the scenario names them.
    pub mailboxes: Option<u64>,
    /// Why files were not judged.
    pub unjudged: Unjudged,
    /// Pages of all databases.
    pub pages: Option<FilesVerified>,
    /// Segments of all logs.
    pub logs: Option<FilesVerified>,
    /// Records of all databases.
    pub records: Option<RecordsVerified>,
    /// Files with wrong content, where it is known.
    pub wrong_files: u64,
    /// Lost or wrong records that the test itself came across.
    pub findings: Findings,
    /// I/Os that failed, and pages that were bad when read.
    pub io_errors: u64,
    /// The first of them, in words.
    pub first_error: String,
    /// I/Os that hung.
    pub hung: Hung,
    /// What the kernel said about the tested devices; `None` in a virtual world, which has no
    /// kernel.
    pub system_log: Option<SystemLog>,
    /// The newest replicas of its volumes; empty without.
    pub replicas: Vec<ReplicaOutcome>,
    /// Passive copies that followed it; empty without.
    pub copies: Vec<ReplicaOutcome>,
    /// Work of a test without load, such as a backup.
    pub done: Vec<Done>,
    /// How long a restore took, until the databases could be used.
    pub restored: Option<Span>,
    /// What was read, by volume.
    pub volumes: Vec<VolumeIo>,
    /// Whether the program kept up.
    pub tester: Tester,
    /// The trials of tuning, if there was any.
    pub tuning: Option<Tuning>,
    /// Of a prediction that stopped early: how long it collected, and how long it was to.
    pub shortened: Option<(Span, Span)>,
}

impl Evidence {
    /// What was tested, at the beginning of a sentence.
    pub(super) fn storage(&self) -> &'static str {
        match self.is_predicted {
            true => "The modelled storage",
            false => "This storage",
        }
    }
}

/// Work that had to be done a number of times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    pub what: RuleId,
    /// The number wanted.
    pub wanted: u64,
    /// The number done; `None` when the test ended before.
    pub done: Option<u64>,
    /// The cost, in words.
    pub remark: String,
}

impl Done {
    /// Whether it was done as often as wanted.
    pub(super) fn rule(&self) -> Rule {
        let done = self.done.map(|done| done as f64);
        let rule = Rule::at_least(self.what, "", self.wanted as f64, done);
        rule.with_remark(self.remark.clone())
    }
}
