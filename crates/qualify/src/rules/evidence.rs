//! What was measured, as far as rules need it.

use brunt_report::result::{Rule, Sample, Tuning};
use brunt_units::Span;

use super::RuleId;
use super::device::VolumeReads;
use super::tester::Tester;
use crate::goal::Target;
use crate::hanging::Hung;
use crate::truth::oracle::Findings;

/// Samples of one stream's mean latency, as far as rules need them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// Samples taken.
    pub count: u64,
    /// Those over the limit.
    pub over: u64,
    /// The largest mean and where its sample began, from the begin of the collection.
    pub worst: Option<(Span, Span)>,
    /// Where the first sample over the limit began.
    pub first_over: Option<Span>,
}

/// One stream's latencies over the collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamLatency {
    /// Whose: `DB2`, `Instance 1`.
    pub name: String,
    /// Mean of all I/Os; nothing when there were none.
    pub mean: Option<Span>,
    /// The means of the samples.
    pub samples: Samples,
}

/// What a verification of files found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilesVerified {
    /// Pages or segments judged.
    pub seen: u64,
    /// Bad ones; files that could not be judged at all count as one each.
    pub bad: u64,
    /// Those that would be repaired as they are read.
    pub correctable: u64,
    /// Files judged.
    pub files: u64,
}

/// What a verification of records found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordsVerified {
    /// Records that must exist.
    pub expected: u64,
    /// Those that were looked at.
    pub checked: u64,
    /// Those whose version the oracle knew; of the others, the bytes were judged.
    pub known: u64,
    /// What was wrong with them.
    pub findings: Findings,
}

impl RecordsVerified {
    /// Adds what was found in another database.
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
    /// The test ended before.
    #[default]
    EndedBefore,
    /// The plan does not ask for it.
    NotAsked,
    /// There is nothing in them.
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

/// Everything that is judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Database reads, by database.
    pub reads: Vec<StreamLatency>,
    /// Log writes, by log stream.
    pub log_writes: Vec<StreamLatency>,
    /// Page-fault stalls per second.
    pub stalls_per_s: Option<f64>,
    /// Database reads and writes per second.
    pub achieved_io_per_s: Option<f64>,
    /// What was to be reached.
    pub target: Option<Target>,
    /// The server over time.
    pub samples: Vec<Sample>,
    /// 99.9th percentile of database reads, by database.
    pub read_tails: Vec<(String, Span)>,
    /// 99.9th percentile of log writes, by log stream.
    pub log_tails: Vec<(String, Span)>,
    /// 99th percentile of operations from their intended start.
    pub operation_p99: Option<Span>,
    /// Mailboxes that the target stands for, if it was said so.
    pub mailboxes: Option<u64>,
    /// Why files were not judged, where they were not.
    pub unjudged: Unjudged,
    /// All databases.
    pub pages: Option<FilesVerified>,
    /// All logs.
    pub logs: Option<FilesVerified>,
    /// All databases.
    pub records: Option<RecordsVerified>,
    /// Records that were lost or wrong when the test itself came across them.
    pub findings: Findings,
    /// I/Os that failed, pages that were bad when they were read.
    pub io_errors: u64,
    /// The first of them, in words.
    pub first_error: String,
    /// I/Os that hung.
    pub hung: Hung,
    /// What a test of another kind than load had to do.
    pub done: Vec<Done>,
    /// What was read, by volume.
    pub volumes: Vec<VolumeReads>,
    /// Whether the program kept up.
    pub tester: Tester,
    /// How sessions were looked for, if they were.
    pub tuning: Option<Tuning>,
}

/// Something that had to be done so many times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// What.
    pub what: RuleId,
    /// How many were wanted.
    pub wanted: u64,
    /// How many there were; nothing when it did not come to that.
    pub done: Option<u64>,
    /// What it took, in words.
    pub remark: String,
}

impl Done {
    /// Whether it was done as often as was wanted.
    pub(super) fn rule(&self) -> Rule {
        let done = self.done.map(|done| done as f64);
        let rule = Rule::at_least(self.what, "", self.wanted as f64, done);
        rule.with_remark(self.remark.clone())
    }
}
