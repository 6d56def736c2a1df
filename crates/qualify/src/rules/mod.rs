//! The rules that storage is judged by: pure functions from what was measured to rules with limit, value and outcome.
//!
//! [`RuleId`] lists them; there is a file for each group. `docs/rules.md` names a whole test that passes each of them and one that fails
//! it. [`verdict`] says what all of them come to.
//!
//! A latency rule shows the worst of all databases (log streams), and names it. What was not measured is neither kept nor
//! broken: it stands in the list as *not measured*.

mod batch_means;
pub mod device;
mod evidence;
mod explain;
mod id;
mod integrity;
mod limits;
mod stationary;
mod tail;
pub mod tester;
mod verdict;

pub use evidence::{
    Done, Evidence, FilesVerified, RecordsVerified, Samples, StreamLatency, Unjudged,
};
pub use id::RuleId;
pub(crate) use integrity::integrity;
pub(crate) use limits::shows_headroom;
pub use limits::tolerated;
pub use verdict::{Ending, sentence, verdict};

use brunt_report::result::Rule;

use crate::kinds::TestKind;
use crate::plan::Limits;

/// Judges `evidence` of a test of `kind` by `limits`.
pub fn judge(kind: TestKind, evidence: &Evidence, limits: &Limits) -> Vec<Rule> {
    let mut rules = match kind.has_limits() {
        true => limits::performance(evidence, limits),
        false => evidence.done.iter().map(Done::rule).collect(),
    };
    rules.extend(evidence.tuning.as_ref().map(limits::tuned));
    rules.extend(integrity::rules(evidence));
    if kind.has_limits() {
        rules.extend(stationary::rules(&evidence.samples, kind));
        rules.extend(tail::rules(evidence, limits));
    }
    rules.push(device::rule(&evidence.volumes));
    rules.extend(tester::rules(&evidence.tester));
    rules
}

#[cfg(test)]
mod tests {
    use brunt_report::result::{Flow, Outcome, Sample, Tuning, Verdict};
    use brunt_units::Span;
    use brunt_workload::profile::Version;

    use super::*;
    use crate::goal::Target;
    use crate::truth::oracle::{Finding, Findings};

    const MS: Span = Span::millis(1);

    fn limits() -> Limits {
        Limits::of(Version::Exchange2013.profile(), TestKind::Performance)
    }

    fn stream(name: &str, mean: Span, worst: Span, over: u64, count: u64) -> StreamLatency {
        StreamLatency {
            name: name.to_owned(),
            mean: Some(mean),
            samples: Samples {
                count,
                over,
                worst: Some((worst, Span::seconds(45))),
                first_over: (over > 0).then(|| Span::seconds(30)),
            },
        }
    }

    /// Everything exactly at its limit.
    fn evidence() -> Evidence {
        let verified = FilesVerified {
            seen: 32_768,
            bad: 0,
            correctable: 1,
            files: 2,
        };
        Evidence {
            reads: vec![stream("DB1", MS * 20, MS * 100, 0, 480)],
            log_writes: vec![stream("Instance 1", MS * 10, MS * 100, 0, 480)],
            stalls_per_s: Some(1.0),
            achieved_io_per_s: Some(95.0),
            target: Some(Target {
                io_per_s: 100.0,
                headroom_percent: 0,
            }),
            pages: Some(verified),
            logs: Some(verified),
            records: Some(RecordsVerified {
                expected: 1_000,
                checked: 1_000,
                known: 1_000,
                ..RecordsVerified::default()
            }),
            findings: Findings::default(),
            io_errors: 0,
            first_error: String::new(),
            ..Evidence::default()
        }
    }

    fn failed(evidence: &Evidence) -> Vec<String> {
        let rules = judge(TestKind::Performance, evidence, &limits());
        let failed = rules.into_iter().filter(|r| r.outcome == Outcome::Failed);
        failed.map(|rule| rule.id).collect()
    }

    #[test]
    fn the_limits_themselves_are_allowed() {
        assert_eq!(failed(&evidence()), Vec::<String>::new());
    }

    /// Ten samples, of which the last have so many I/Os per second and take so long.
    fn samples(rate: f64, reads_ms: f64, logs_ms: f64) -> Vec<Sample> {
        let flow = |per_s, millis| Flow {
            per_s,
            latency_ms_mean: Some(millis),
            ..Flow::default()
        };
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

    /// Makes evidence that is exactly at its limits break one rule; returns the kind of test that has it.
    fn break_rule(id: RuleId, e: &mut Evidence) -> TestKind {
        let tick = Span::nanos(1);
        let undone = Done {
            what: id,
            wanted: 2,
            done: Some(1),
            remark: String::new(),
        };
        let bad = FilesVerified {
            bad: 1,
            ..e.pages.unwrap()
        };
        match id {
            RuleId::DatabaseReadAverage => e.reads[0].mean = Some(MS * 20 + tick),
            RuleId::DatabaseReadWorst => e.reads[0] = stream("DB1", MS, MS * 100 + tick, 7, 480),
            RuleId::LogWriteAverage => e.log_writes[0].mean = Some(MS * 10 + tick),
            RuleId::LogWriteWorst => e.log_writes[0] = stream("", MS, MS * 100 + tick, 7, 480),
            RuleId::PageFaultStalls => e.stalls_per_s = Some(1.001),
            RuleId::AchievedIo => e.achieved_io_per_s = Some(94.999),
            RuleId::AchievedHeadroom => e.target.as_mut().unwrap().headroom_percent = 1,
            RuleId::SessionsFound => {
                e.tuning = Some(Tuning {
                    outcome: "none".to_owned(),
                    ..Tuning::default()
                });
            }
            RuleId::DatabasesBackedUp | RuleId::DatabasesRestored => {
                e.done = vec![undone];
                return TestKind::DatabaseBackup;
            }
            RuleId::LogsReplayed => {
                e.done = vec![undone];
                return TestKind::SoftRecovery;
            }
            RuleId::PagesVerified => e.pages = Some(bad),
            RuleId::LogsVerified => e.logs = Some(bad),
            RuleId::RecordsVerified => e.findings.add(Finding::Stale),
            RuleId::IoErrors => e.io_errors = 1,
            RuleId::HungIo => e.hung.count = 1,
            RuleId::StationaryIoRate => e.samples = samples(0.85, 1.0, 1.0),
            RuleId::StationaryDatabaseRead => e.samples = samples(1.0, 1.3, 1.0),
            RuleId::StationaryLogWrite => e.samples = samples(1.0, 1.0, 1.3),
            RuleId::TailDatabaseRead => e.read_tails = vec![("DB1".to_owned(), MS * 100 + tick)],
            RuleId::TailLogWrite => e.log_tails = vec![("Instance 1".to_owned(), MS * 100 + tick)],
            RuleId::TailOperation => e.operation_p99 = Some(MS * 400 + tick),
            RuleId::DeviceAgrees => {
                e.volumes = vec![device::VolumeReads {
                    engine: 100 << 20,
                    device: Some(89 << 20),
                    ..device::VolumeReads::default()
                }];
            }
            RuleId::TesterDelay => e.tester.delay_p99 = Some(MS + tick),
            RuleId::TesterProcessor => e.tester.busy_percent = Some(90.1),
            RuleId::HostStolenTime => e.tester.steal_percent = Some(5.1),
            RuleId::HostThrottledTime => e.tester.throttled_percent = Some(1.1),
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

    #[test]
    fn a_record_that_must_not_be_there_fails() {
        let mut evidence = evidence();
        let found = evidence.records.as_mut().unwrap();
        found.findings.add(Finding::Phantom);
        assert_eq!(failed(&evidence), ["records-verified"]);
    }

    #[test]
    fn six_excursions_are_tolerated_and_fewer_in_short_tests() {
        assert_eq!(tolerated(480, 6), 6);
        assert_eq!(tolerated(5_760, 6), 6);
        assert_eq!(tolerated(479, 6), 5);
        assert_eq!(tolerated(80, 6), 1);
        assert_eq!(tolerated(79, 6), 0);
        let mut evidence = evidence();
        evidence.reads[0] = stream("DB1", MS, MS * 300, 6, 480);
        assert_eq!(failed(&evidence), Vec::<String>::new());
        evidence.reads[0] = stream("DB1", MS, MS * 300, 6, 479);
        assert_eq!(failed(&evidence), ["database-read-worst"]);
    }

    #[test]
    fn the_worst_stream_is_named() {
        let mut evidence = evidence();
        evidence.reads = vec![
            stream("DB1", MS * 3, MS * 500, 1, 480),
            stream("DB2", MS * 34, MS * 200, 9, 480),
        ];
        let rules = judge(TestKind::Performance, &evidence, &limits());
        assert_eq!(rules[0].remark, "DB2");
        assert_eq!(rules[1].subject.as_deref(), Some("DB2"));
        assert_eq!(rules[0].measured, Some(34.0));
        // DB1 has the longer sample, but that one is tolerated.
        assert_eq!(rules[1].measured, Some(200.0));
        assert!(rules[1].remark.starts_with("DB2, 45 s after the start; 9"));
    }

    #[test]
    fn a_test_without_io_does_not_pass() {
        let evidence = Evidence::default();
        let rules = judge(TestKind::Performance, &evidence, &limits());
        assert_eq!(verdict(&Ending::Complete, &rules), Verdict::Inconclusive);
        let said = verdict::sentence(&Ending::Complete, &rules, &evidence);
        assert!(
            said.contains("no I/O to measure for database read, average and log write, average"),
            "{said}"
        );
        let measured = rules.iter().filter(|r| r.outcome != Outcome::NotMeasured);
        let measured: Vec<_> = measured.map(|rule| &rule.title).collect();
        assert_eq!(measured, ["I/O errors", "hung I/O"]);
    }
}
