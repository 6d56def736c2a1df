//! Every rule, by its id.
//!
//! The id is a promise to scripts and never changes; the title is for people.

use brunt_report::result::{Group, Rule, RuleName};

use crate::listed::listed;

listed! {
    /// A rule that storage is judged by.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RuleId {
        /// Mean latency of database reads, for each database; the Jetstress thresholds of the
        /// version.
        DatabaseReadAverage,
        /// Mean of the worst sample, with tolerated excursions.
        DatabaseReadWorst,
        /// Mean latency of log writes, for each log stream.
        LogWriteAverage,
        /// Mean of the worst sample, with tolerated excursions.
        LogWriteWorst,
        /// Operations that waited for a free frame of the cache; Jetstress 2013 allows 1 /s.
        PageFaultStalls,
        /// There were database writes to judge; only with a mix that writes.
        DatabaseWrites,
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
        /// The databases could be used in time after a restore; only with such a limit.
        RestoreTime,
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
        /// The newest complete replica of volumes can be recovered; only in predictions with
        /// `[[replicate]]` ([`super::replicas`]).
        ReplicasRecovered,
        /// Every passive copy caught up and equals the active; only with `[[copy]]`
        /// ([`super::replicas`]).
        CopiesVerified,
        /// The kernel reported no error of the tested devices; only on real storage
        /// ([`super::system_log`]).
        SystemLog,
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
        /// The longest time in which I/O was in flight and none completed ([`crate::stops`]).
        LongestStop,
        /// The reads reached the device ([`super::device`]).
        DeviceAgrees,
        /// The load was not above its pace ([`super::limits`]); only with a target.
        LoadPace,
        /// The program ran on time ([`super::tester`]).
        TesterDelay,
        /// The program did not stand still ([`crate::pulse`]).
        TesterStandstill,
        /// The program had processor time to spare.
        TesterProcessor,
        /// Other machines on the host did not take the processor.
        HostStolenTime,
        /// No limit on processor time held the program back.
        HostThrottledTime,
        /// No control group limits the I/O to the tested devices.
        HostIoLimits,
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
            Self::DatabaseWrites => ("database-writes", Limits, "database writes"),
            Self::AchievedIo => ("achieved-io", Limits, "achieved database I/O"),
            Self::AchievedHeadroom => ("achieved-headroom", Limits, "achieved with headroom"),
            Self::SessionsFound => ("sessions-found", Limits, "sessions found"),
            Self::DatabasesBackedUp => ("databases-backed-up", Limits, "databases backed up"),
            Self::DatabasesRestored => ("databases-restored", Limits, "databases restored"),
            Self::RestoreTime => ("restore-time", Limits, "restore time, with recovery"),
            Self::LogsReplayed => ("logs-replayed", Limits, "logs replayed, each instance"),
            Self::PagesVerified => ("pages-verified", Integrity, "pages verified"),
            Self::LogsVerified => ("logs-verified", Integrity, "logs verified"),
            Self::RecordsVerified => ("records-verified", Integrity, "records verified"),
            Self::IoErrors => ("io-errors", Integrity, "I/O errors"),
            Self::HungIo => ("hung-io", Integrity, "hung I/O"),
            Self::ReplicasRecovered => ("replicas-recovered", Integrity, "replicas recovered"),
            Self::CopiesVerified => ("copies-verified", Integrity, "copies verified"),
            Self::SystemLog => ("system-log", Integrity, "system event log"),
            Self::StationaryIoRate => ("stationary-io-rate", Steadiness, "stationary, I/O rate"),
            Self::StationaryDatabaseRead => {
                ("stationary-database-read", Steadiness, "stationary, database read")
            }
            Self::StationaryLogWrite => {
                ("stationary-log-write", Steadiness, "stationary, log write")
            }
            Self::TailDatabaseRead => ("tail-database-read", Tail, "tail, database read p99.9"),
            Self::TailLogWrite => ("tail-log-write", Tail, "tail, log write p99.9"),
            Self::TailOperation => ("tail-operation", Tail, "tail, operation p99"),
            Self::LongestStop => ("longest-stop", Tail, "longest stop of I/O"),
            Self::DeviceAgrees => ("device-agrees", FairTest, "device agrees"),
            Self::LoadPace => ("load-pace", FairTest, "load above its pace"),
            Self::TesterDelay => ("tester-delay", FairTest, "tester, delay p99"),
            Self::TesterStandstill => ("tester-standstill", FairTest, "tester, standstill"),
            Self::TesterProcessor => ("tester-processor", FairTest, "tester, processor"),
            Self::HostStolenTime => ("host-stolen-time", FairTest, "host, stolen time"),
            Self::HostThrottledTime => ("host-throttled-time", FairTest, "host, throttled time"),
            Self::HostIoLimits => ("host-io-limits", FairTest, "host, I/O limits"),
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

#[cfg(test)]
mod tests {
    use brunt_report::result::{Flow, Outcome, Sample, Tuning};
    use brunt_run::{LongestStop, Standstill};
    use brunt_units::Span;

    use super::*;
    use crate::kinds::TestKind;
    use crate::pulse::GAP;
    use crate::rules::tests::{evidence, limits, stream};
    use crate::rules::{
        Done, Evidence, FilesVerified, ReplicaOutcome, SystemLog, Writes, device, judge,
    };
    use crate::stops::NOTED;
    use crate::truth::oracle::Finding;

    const MS: Span = Span::millis(1);

    /// Ten samples; the last four have this share of the rate and these latencies.
    fn samples(rate: f64, reads_ms: f64, logs_ms: f64) -> Vec<Sample> {
        let flow = |per_s, millis| Flow { per_s, latency_ms_mean: Some(millis), ..Flow::default() };
        let sample = |at: u32| {
            let late = at >= 6;
            let pick = |worse| if late { worse } else { 1.0 };
            Sample {
                length_s: 15.0,
                database_reads: flow(pick(rate) * 100.0, pick(reads_ms)),
                log_writes: flow(100.0, pick(logs_ms)),
                ..Sample::default()
            }
        };
        (0..10).map(sample).collect()
    }

    /// Makes evidence that is exactly at its limits break one rule; returns the kind of test that
    /// has it.
    fn break_rule(id: RuleId, e: &mut Evidence) -> TestKind {
        let tick = Span::nanos(1);
        let undone = Done { what: id, wanted: 2, done: Some(1), remark: String::new() };
        let bad = FilesVerified { bad: 1, ..e.pages.unwrap() };
        match id {
            RuleId::DatabaseReadAverage => e.reads[0].mean = Some(MS * 20 + tick),
            RuleId::DatabaseReadWorst => e.reads[0] = stream("DB1", MS, MS * 100 + tick, 7, 480),
            RuleId::LogWriteAverage => e.log_writes[0].mean = Some(MS * 10 + tick),
            RuleId::LogWriteWorst => e.log_writes[0] = stream("", MS, MS * 100 + tick, 7, 480),
            RuleId::PageFaultStalls => e.stalls_per_s = Some(1.001),
            RuleId::DatabaseWrites => {
                e.writes = Some(Writes {
                    per_s: Some(5.0),
                    short_of: Some("Instance 1 has logged 3 MiB of 20 MiB".to_owned()),
                });
            }
            RuleId::AchievedIo => e.achieved_io_per_s = Some(94.999),
            RuleId::AchievedHeadroom => e.target.as_mut().unwrap().headroom_percent = 1,
            RuleId::SessionsFound => {
                e.tuning = Some(Tuning { outcome: "none".to_owned(), ..Tuning::default() });
            }
            RuleId::DatabasesBackedUp | RuleId::DatabasesRestored => {
                e.done = vec![undone];
                return TestKind::DatabaseBackup;
            }
            RuleId::RestoreTime => {
                e.restored = Some(limits().restore_within.unwrap() + tick);
                return TestKind::DatabaseBackup;
            }
            RuleId::LogsReplayed => {
                e.done = vec![undone];
                return TestKind::SoftRecovery;
            }
            RuleId::PagesVerified => e.pages = Some(bad),
            RuleId::LogsVerified => e.logs = Some(bad),
            RuleId::RecordsVerified => e.findings.add(Finding::Stale),
            RuleId::ReplicasRecovered => {
                e.replicas =
                    vec![ReplicaOutcome { is_wrong: Some(true), ..ReplicaOutcome::default() }];
            }
            RuleId::CopiesVerified => {
                e.copies =
                    vec![ReplicaOutcome { is_wrong: Some(true), ..ReplicaOutcome::default() }];
            }
            RuleId::IoErrors => e.io_errors = 1,
            RuleId::HungIo => e.hung.count = 1,
            RuleId::SystemLog => {
                e.system_log = Some(SystemLog { errors: Some(1), ..SystemLog::default() });
            }
            RuleId::StationaryIoRate => e.samples = samples(0.85, 1.0, 1.0),
            RuleId::StationaryDatabaseRead => e.samples = samples(1.0, 1.3, 1.0),
            RuleId::StationaryLogWrite => e.samples = samples(1.0, 1.0, 1.3),
            RuleId::TailDatabaseRead => e.read_tails = vec![("DB1".to_owned(), MS * 100 + tick)],
            RuleId::TailLogWrite => e.log_tails = vec![("Instance 1".to_owned(), MS * 100 + tick)],
            RuleId::TailOperation => e.operation_p99 = Some(MS * 400 + tick),
            RuleId::LongestStop => {
                e.stop = Some(LongestStop { length: NOTED + tick, ..LongestStop::default() });
            }
            RuleId::DeviceAgrees => {
                e.volumes = vec![device::VolumeIo {
                    engine: 100 << 20,
                    device: Some(89 << 20),
                    ..device::VolumeIo::default()
                }];
            }
            RuleId::LoadPace => e.achieved_io_per_s = Some(105.001),
            RuleId::TesterDelay => e.tester.delay_p99 = Some(MS + tick),
            RuleId::TesterStandstill => {
                e.tester.standstill =
                    Some(Standstill { longest: GAP + tick, ..Standstill::default() });
            }
            RuleId::TesterProcessor => e.tester.busy_percent = Some(90.1),
            RuleId::HostStolenTime => e.tester.steal_percent = Some(5.1),
            RuleId::HostThrottledTime => e.tester.throttled_percent = Some(1.1),
            RuleId::HostIoLimits => e.tester.io_limits = Some(vec!["rbps=1".to_owned()]),
        }
        TestKind::Performance
    }

    #[test]
    fn each_rule_breaks_alone_just_past_its_limit() {
        for id in RuleId::ALL {
            let mut evidence = evidence();
            let kind = break_rule(id, &mut evidence);
            let rules = judge(kind, &evidence, &limits());
            let is_broken =
                |rule: &&Rule| matches!(rule.outcome, Outcome::Failed | Outcome::Advisory);
            let broken = rules.iter().filter(is_broken);
            let broken: Vec<_> = broken.map(|rule| rule.id.as_str()).collect();
            assert_eq!(broken, [id.name().id]);
        }
    }
}
