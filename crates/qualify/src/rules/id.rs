//! Every rule, by its id.
//!
//! The id is a promise to scripts and never changes; the title is for people.

use brunt_report::result::{Group, Rule, RuleName};

use crate::listed::listed;

listed! {
    /// A rule that storage is judged by.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RuleId {
        /// Mean latency of database reads, for each database; the Jetstress thresholds of the version.
        DatabaseReadAverage,
        /// Mean of the worst sample, with tolerated excursions.
        DatabaseReadWorst,
        /// Mean latency of log writes, for each log stream.
        LogWriteAverage,
        /// Mean of the worst sample, with tolerated excursions.
        LogWriteWorst,
        /// Operations that waited for a free frame of the cache; Jetstress 2013 allows 1 /s.
        PageFaultStalls,
        /// The target minus the profile's margin; only with a target.
        AchievedIo,
        /// The target with its headroom, minus the margin; only with both.
        AchievedHeadroom,
        /// Tuning found a number of sessions; only with tuning.
        SessionsFound,
        /// Every database was read.
        DatabasesBackedUp,
        /// Every backup was restored; only with a folder for backups.
        DatabasesRestored,
        /// As many logs were replayed as the test wrote.
        LogsReplayed,
        /// No bad page.
        PagesVerified,
        /// No bad log segment.
        LogsVerified,
        /// No record lost, stale, torn, or resurrected.
        RecordsVerified,
        /// No I/O failed.
        IoErrors,
        /// No I/O was in flight for 30 s ([`crate::hanging`]).
        HungIo,
        /// The I/O rate stays steady (`stationary`).
        StationaryIoRate,
        /// Likewise the latency of database reads.
        StationaryDatabaseRead,
        /// Likewise the latency of log writes.
        StationaryLogWrite,
        /// The slowest thousandth of database reads (`tail`).
        TailDatabaseRead,
        /// The slowest thousandth of log writes.
        TailLogWrite,
        /// The slowest hundredth of operations.
        TailOperation,
        /// The reads reached the device ([`super::device`]).
        DeviceAgrees,
        /// The program ran on time ([`super::tester`]).
        TesterDelay,
        /// The program had processor time to spare.
        TesterProcessor,
        /// Other machines on the host did not take the processor.
        HostStolenTime,
        /// No limit on processor time held the program back.
        HostThrottledTime,
    }
}

impl RuleId {
    /// Its id, group and title.
    pub const fn name(self) -> RuleName {
        use Group::{FairTest, Integrity, Limits, Steadiness, Tail};
        let (id, group, title) = match self {
            Self::DatabaseReadAverage => {
                ("database-read-average", Limits, "database read, average")
            }
            Self::DatabaseReadWorst => {
                ("database-read-worst", Limits, "database read, worst sample")
            }
            Self::LogWriteAverage => ("log-write-average", Limits, "log write, average"),
            Self::LogWriteWorst => ("log-write-worst", Limits, "log write, worst sample"),
            Self::PageFaultStalls => ("page-fault-stalls", Limits, "page-fault stalls, average"),
            Self::AchievedIo => ("achieved-io", Limits, "achieved database I/O"),
            Self::AchievedHeadroom => ("achieved-headroom", Limits, "achieved with headroom"),
            Self::SessionsFound => ("sessions-found", Limits, "sessions found"),
            Self::DatabasesBackedUp => ("databases-backed-up", Limits, "databases backed up"),
            Self::DatabasesRestored => ("databases-restored", Limits, "databases restored"),
            Self::LogsReplayed => ("logs-replayed", Limits, "logs replayed, each instance"),
            Self::PagesVerified => ("pages-verified", Integrity, "pages verified"),
            Self::LogsVerified => ("logs-verified", Integrity, "logs verified"),
            Self::RecordsVerified => ("records-verified", Integrity, "records verified"),
            Self::IoErrors => ("io-errors", Integrity, "I/O errors"),
            Self::HungIo => ("hung-io", Integrity, "hung I/O"),
            Self::StationaryIoRate => ("stationary-io-rate", Steadiness, "stationary, I/O rate"),
            Self::StationaryDatabaseRead => (
                "stationary-database-read",
                Steadiness,
                "stationary, database read",
            ),
            Self::StationaryLogWrite => {
                ("stationary-log-write", Steadiness, "stationary, log write")
            }
            Self::TailDatabaseRead => ("tail-database-read", Tail, "tail, database read p99.9"),
            Self::TailLogWrite => ("tail-log-write", Tail, "tail, log write p99.9"),
            Self::TailOperation => ("tail-operation", Tail, "tail, operation p99"),
            Self::DeviceAgrees => ("device-agrees", FairTest, "device agrees"),
            Self::TesterDelay => ("tester-delay", FairTest, "tester, delay p99"),
            Self::TesterProcessor => ("tester-processor", FairTest, "tester, processor"),
            Self::HostStolenTime => ("host-stolen-time", FairTest, "host, stolen time"),
            Self::HostThrottledTime => ("host-throttled-time", FairTest, "host, throttled time"),
        };
        RuleName { id, group, title }
    }

    /// Whether `rule` is this one.
    pub fn is(self, rule: &Rule) -> bool {
        rule.id == self.name().id
    }
}

impl From<RuleId> for RuleName {
    fn from(rule: RuleId) -> Self {
        rule.name()
    }
}
