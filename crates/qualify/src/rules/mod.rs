//! The rules that storage is judged by: pure functions from what was measured to rules with limit, value and outcome.
//!
//! [`RuleId`] lists them. `docs/rules.md` names a whole test that each of them passes and one that it fails; [`verdict`] says what all of them come to.
//!
//! A latency rule shows the worst of all databases (log streams), and names it. What was not measured is neither kept nor
//! broken: it stands in the list as *not measured*.
//!
//! **Excursions.** Some samples may be over the limit: as many as Jetstress tolerates (`MaximumLatencyErrors`, 6), but not
//! more than 1.25 % of the samples, so that a short test has none to give away (6 of the 480 samples of two hours).

pub mod device;
mod evidence;
mod id;
mod stationary;
mod tail;
pub mod tester;
mod verdict;

pub use evidence::{Done, Evidence, FilesVerified, RecordsVerified, Samples, StreamLatency};
pub use id::RuleId;
pub use verdict::{Ending, sentence, verdict};

use brunt_report::result::{Outcome, Rule, Tuning};
use brunt_report::{decimals, grouped};
use brunt_units::Span;

use crate::goal::{Target, TestKind};
use crate::hanging::{HUNG, Hung};
use crate::oracle::Findings;
use crate::plan::Limits;

/// Samples over the limit that are tolerated among `samples`, `most` being the version's own number.
pub fn tolerated(samples: u64, most: u32) -> u64 {
    u64::from(most).min((samples * 125).div_euclid(10_000))
}

/// Judges `evidence` of a test of `kind` by `limits`.
pub fn judge(kind: TestKind, evidence: &Evidence, limits: &Limits) -> Vec<Rule> {
    let mut rules = match kind.has_limits() {
        true => performance(evidence, limits),
        false => evidence.done.iter().map(Done::rule).collect(),
    };
    rules.extend(evidence.tuning.as_ref().map(tuned));
    let unjudged = match evidence.without_content {
        true => "a prediction's databases have no content",
        false => "the test ended before",
    };
    rules.push(files(
        RuleId::PagesVerified,
        "bad",
        "pages",
        evidence.pages,
        unjudged,
    ));
    rules.push(files(
        RuleId::LogsVerified,
        "bad",
        "segments",
        evidence.logs,
        unjudged,
    ));
    rules.push(records(evidence.records, evidence.findings, unjudged));
    let errors = Rule::at_most(RuleId::IoErrors, "", 0.0, Some(evidence.io_errors as f64));
    rules.push(errors.with_remark(evidence.first_error.clone()));
    rules.push(hangs(&evidence.hung));
    if kind.has_limits() {
        rules.extend(stationary::rules(&evidence.samples, kind));
        rules.extend(tail::rules(evidence, limits));
    }
    rules.push(device::rule(&evidence.volumes));
    rules.extend(tester::rules(&evidence.tester));
    rules
}

/// Latencies, stalls and the rate.
fn performance(evidence: &Evidence, limits: &Limits) -> Vec<Rule> {
    let latency = &limits.latency;
    let (reads, logs) = (&evidence.reads, &evidence.log_writes);
    let mut rules = vec![
        average(RuleId::DatabaseReadAverage, reads, latency.read_mean),
        worst(
            RuleId::DatabaseReadWorst,
            reads,
            latency.read_sample,
            limits,
        ),
        average(RuleId::LogWriteAverage, logs, latency.log_mean),
        worst(RuleId::LogWriteWorst, logs, latency.log_sample, limits),
        stalls(evidence, limits),
    ];
    if let Some(target) = evidence.target {
        rules.push(achieved(target, evidence.achieved_io_per_s, limits));
        rules.extend(headroom(target, evidence.achieved_io_per_s, limits));
    }
    rules
}

/// Whether sessions were found. Without any the test was not begun; that is the storage's doing, unless trials contradict one
/// another.
fn tuned(tuning: &Tuning) -> Rule {
    Rule {
        measured: tuning.io_per_s,
        unit: "/s".to_owned(),
        outcome: match tuning.sessions {
            Some(_) => Outcome::Ok,
            None if tuning.is_contradictory || tuning.outcome.is_empty() => Outcome::NotMeasured,
            None => Outcome::Failed,
        },
        remark: match tuning.outcome.as_str() {
            "" => "the test ended before".to_owned(),
            outcome => outcome.to_owned(),
        },
        ..Rule::not_measured(RuleId::SessionsFound)
    }
}

fn hangs(hung: &Hung) -> Rule {
    let rule = Rule::at_most(RuleId::HungIo, "", 0.0, Some(hung.count as f64));
    if hung.count == 0 {
        return rule.with_remark(format!("none took {:.0} s", HUNG.as_seconds()));
    }
    let longest = hung.longest.as_seconds();
    rule.with_remark(format!("{}, seen in flight for {longest:.0} s", hung.first))
}

fn average(name: RuleId, streams: &[StreamLatency], limit: Span) -> Rule {
    let slowest = streams
        .iter()
        .filter_map(|stream| Some((stream.mean?, stream)))
        .max_by_key(|(mean, _)| *mean);
    let measured = slowest.map(|(mean, _)| mean.as_millis());
    let rule = Rule::at_most(name, "ms", limit.as_millis(), measured);
    match slowest {
        None => rule.with_remark("there was none"),
        Some((_, stream)) if streams.len() == 1 => rule.about(&stream.name),
        Some((_, stream)) => rule.about(&stream.name).with_remark(&stream.name),
    }
}

fn stalls(evidence: &Evidence, limits: &Limits) -> Rule {
    let (limit, measured) = (limits.stalls_per_s, evidence.stalls_per_s);
    let rule = Rule::at_most(RuleId::PageFaultStalls, "/s", limit, measured);
    match rule.outcome {
        // The remedy is that of Jetstress users: fewer threads (exchangemaster.wordpress.com, July 2017).
        Outcome::Failed => rule.with_remark(
            "operations waited for a free page in the cache: fewer sessions, a target, or a larger cache",
        ),
        _ => rule,
    }
}

fn worst(name: RuleId, streams: &[StreamLatency], limit: Span, limits: &Limits) -> Rule {
    let worst = streams
        .iter()
        .filter_map(|stream| Some((stream.samples.worst?, stream)))
        .max_by_key(|((mean, _), stream)| {
            let samples = stream.samples;
            // A stream with too many excursions decides, even beside a single longer one that is tolerated.
            let over = samples.over > tolerated(samples.count, limits.excursions);
            (over, *mean)
        });
    let measured = worst.map(|((mean, _), _)| mean.as_millis());
    let mut rule = Rule::at_most(name, "ms", limit.as_millis(), measured);
    let Some(((_, at), stream)) = worst else {
        return rule.with_remark("there was none");
    };
    let samples = stream.samples;
    let allowed = tolerated(samples.count, limits.excursions);
    if rule.outcome == Outcome::Failed && samples.over <= allowed {
        rule.outcome = Outcome::Ok;
    }
    let mut remark = format!("{}, {:.0} s after the start", stream.name, at.as_seconds());
    if let Some(first) = samples.first_over {
        remark += &format!(
            "; {} of {} samples over the limit, {allowed} tolerated, the first after {:.0} s",
            samples.over,
            samples.count,
            first.as_seconds()
        );
    }
    rule.about(&stream.name).with_remark(remark)
}

fn achieved(target: Target, achieved: Option<f64>, limits: &Limits) -> Rule {
    let least = less_margin(target.io_per_s, limits);
    let rule = Rule::at_least(RuleId::AchievedIo, "/s", least, achieved);
    rule.with_remark(format!(
        "target {} /s less {} %",
        decimals(target.io_per_s),
        limits.margin_percent
    ))
}

/// What was asked for on top of the target: not reaching it is worth a look, and does not qualify.
fn headroom(target: Target, achieved: Option<f64>, limits: &Limits) -> Option<Rule> {
    let least = less_margin(target.offered(), limits);
    let rule = Rule::at_least(RuleId::AchievedHeadroom, "/s", least, achieved);
    let rule = rule.with_remark(format!(
        "{} /s with {} % headroom, less {} %",
        decimals(target.offered()),
        target.headroom_percent,
        limits.margin_percent
    ));
    (target.headroom_percent > 0).then(|| rule.advisory())
}

/// Whether the storage showed the headroom that was asked for.
pub(crate) fn shows_headroom(target: Target, achieved: Option<f64>, limits: &Limits) -> bool {
    let rule = headroom(target, achieved, limits);
    rule.is_none_or(|rule| rule.outcome == Outcome::Ok)
}

fn less_margin(rate: f64, limits: &Limits) -> f64 {
    rate * f64::from(100 - limits.margin_percent.min(100)) / 100.0
}

fn files(
    name: RuleId,
    unit: &str,
    things: &str,
    verified: Option<FilesVerified>,
    unjudged: &str,
) -> Rule {
    let rule = Rule::at_most(name, unit, 0.0, verified.map(|found| found.bad as f64));
    let Some(found) = verified else {
        return rule.with_remark(unjudged);
    };
    rule.with_remark(format!(
        "of {} {things} in {} {}, {} correctable",
        grouped(found.seen),
        grouped(found.files),
        plural(found.files, "file", "files"),
        grouped(found.correctable),
    ))
}

fn records(verified: Option<RecordsVerified>, met: Findings, unjudged: &str) -> Rule {
    let all = integrity(verified, met).map(|(_, findings)| findings);
    let measured = all.map(|findings| findings.total() as f64);
    let rule = Rule::at_most(RuleId::RecordsVerified, "wrong", 0.0, measured);
    let Some(findings) = all else {
        return rule.with_remark(unjudged);
    };
    let mut remark = match verified {
        None => "met by operations of the test".to_owned(),
        Some(found) => format!("of {}", grouped(found.checked)),
    };
    let share = |part: u64, of: u64| decimals(100.0 * part as f64 / of.max(1) as f64);
    if let Some(found) = verified.filter(|found| found.checked < found.expected) {
        remark += &format!(
            ", a sample of {} ({} %)",
            grouped(found.expected),
            share(found.checked, found.expected)
        );
    }
    if let Some(found) = verified.filter(|found| found.known < found.checked) {
        remark += &format!(
            "; of {} % it is known which version it must be",
            share(found.known, found.checked)
        );
    }
    if findings.total() > 0 {
        remark += &format!(
            ": {} lost, {} stale, {} that must not be there, {} torn",
            grouped(findings.lost),
            grouped(findings.stale),
            grouped(findings.phantom),
            grouped(findings.torn)
        );
    }
    rule.with_remark(remark)
}

/// What verification looked at, if it came to that, and what it or the test found: what the test came across is usually
/// found again afterwards, so the larger number counts.
pub(crate) fn integrity(
    verified: Option<RecordsVerified>,
    met: Findings,
) -> Option<(RecordsVerified, Findings)> {
    match verified {
        Some(found) => Some((found, found.findings.at_least(met))),
        None => (met.total() > 0).then(|| (RecordsVerified::default(), met)),
    }
}

fn plural<'a>(count: u64, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

#[cfg(test)]
mod tests {
    use brunt_report::result::{Flow, Sample, Verdict};
    use brunt_workload::profile::Version;

    use super::*;
    use crate::oracle::Finding;

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
        assert_eq!(verdict(&Ending::Complete, &rules), Verdict::Error);
        let said = verdict::sentence(&Ending::Complete, &rules, &evidence);
        assert!(
            said.contains("no I/O to measure for database read, average and log write, average"),
            "{said}"
        );
        let measured = rules.iter().filter(|r| r.outcome != Outcome::NotMeasured);
        let measured: Vec<_> = measured.map(|rule| &rule.title).collect();
        assert_eq!(measured, ["I/O errors", "hung I/O"]);
    }

    #[test]
    fn a_sample_of_the_records_says_its_share() {
        let found = RecordsVerified {
            expected: 2_000_000,
            checked: 100_000,
            known: 75_000,
            findings: Findings {
                lost: 2,
                ..Findings::default()
            },
        };
        let met = Findings {
            stale: 1,
            ..Findings::default()
        };
        let rule = records(Some(found), met, "");
        assert_eq!(rule.outcome, Outcome::Failed);
        let wanted = "of 100,000, a sample of 2,000,000 (5.00 %); of 75.0 % it is known which version it must be: \
                      2 lost, 1 stale, 0 that must not be there, 0 torn";
        assert_eq!(rule.remark, wanted);
        let met = records(None, met, "");
        assert!(
            met.remark
                .starts_with("met by operations of the test: 0 lost, 1 stale")
        );
    }
}
