//! The rules that judge storage: pure functions from measurements to rules with limit, value and
//! outcome.
//!
//! [`RuleId`] lists them; there is a file for each group. `docs/rules.md` names a whole test that
//! passes each of them and one that fails it. [`verdict`] combines them.
//!
//! A latency rule shows the worst of all databases (log streams), and names it. A rule without a
//! measurement neither holds nor fails: it is listed as *not measured*.

mod batch_means;
mod bottleneck;
pub mod device;
mod evidence;
mod explain;
mod id;
mod integrity;
mod limits;
mod mending;
mod replicas;
mod shortened;
mod stationary;
mod system_log;
mod tail;
pub mod tester;
mod verdict;

pub use bottleneck::{SessionsUse, bottleneck};
pub use evidence::{
    Done, Evidence, FilesVerified, RecordsVerified, Samples, StreamLatency, Unjudged, Writes,
};
pub use id::RuleId;
pub(crate) use integrity::integrity;
pub use limits::tolerated;
pub(crate) use limits::{above_pace, less_margin, shows_headroom};
pub use mending::{beyond_mending, is_for_good};
pub use replicas::ReplicaOutcome;
pub use system_log::SystemLog;
pub use verdict::{Ending, sentence, verdict};

use brunt_report::result::Rule;

use crate::kinds::TestKind;
use crate::plan::Limits;

/// Judges the `evidence` of a test of `kind` by `limits`.
pub fn judge(kind: TestKind, evidence: &Evidence, limits: &Limits) -> Vec<Rule> {
    let mut rules = match kind.has_limits() {
        true => limits::performance(evidence, limits),
        false => evidence.done.iter().map(Done::rule).collect(),
    };
    let in_time = limits.restore_within.filter(|_| !kind.has_limits());
    rules.extend(in_time.map(|limit| limits::restore(evidence.restored, limit)));
    rules.extend(evidence.tuning.as_ref().map(limits::tuned));
    rules.extend(integrity::rules(evidence));
    rules.extend(replicas::rule(RuleId::ReplicasRecovered, &evidence.replicas));
    rules.extend(replicas::rule(RuleId::CopiesVerified, &evidence.copies));
    rules.extend(evidence.system_log.as_ref().map(system_log::rule));
    if kind.has_limits() {
        let offered = evidence.target.map(|target| target.offered());
        let pace = offered.map(|rate| less_margin(rate, limits));
        rules.extend(stationary::rules(&evidence.samples, kind, pace));
        rules.extend(tail::rules(evidence, limits));
    }
    rules.push(device::rule(&evidence.volumes));
    if kind.has_limits() {
        rules.extend(limits::pace(evidence, limits));
    }
    rules.extend(tester::rules(&evidence.tester));
    if let Some((seen, planned)) = evidence.shortened {
        shortened::unjudge(&mut rules, seen, planned, limits.strict_tail);
    }
    bottleneck::unjudge(&mut rules, evidence);
    tester::blame(&mut rules, evidence);
    rules
}

#[cfg(test)]
mod tests {
    use brunt_report::result::{Outcome, Verdict};
    use brunt_units::Span;
    use brunt_workload::profile::Version;

    use super::*;
    use crate::goal::Target;
    use crate::truth::oracle::{Finding, Findings};

    const MS: Span = Span::millis(1);

    pub(super) fn limits() -> Limits {
        Limits {
            restore_within: Some(Span::seconds(3_600)),
            ..Limits::of(Version::Exchange2013.profile(), TestKind::Performance)
        }
    }

    pub(super) fn stream(
        name: &str,
        mean: Span,
        worst: Span,
        over: u64,
        count: u64,
    ) -> StreamLatency {
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

    /// Evidence with every value exactly at its limit.
    pub(super) fn evidence() -> Evidence {
        let verified = FilesVerified { seen: 32_768, bad: 0, correctable: 1, files: 2 };
        Evidence {
            reads: vec![stream("DB1", MS * 20, MS * 100, 0, 480)],
            log_writes: vec![stream("Instance 1", MS * 10, MS * 100, 0, 480)],
            stalls_per_s: Some(1.0),
            achieved_io_per_s: Some(95.0),
            target: Some(Target { io_per_s: 100.0, headroom_percent: 0 }),
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
        evidence.reads =
            vec![stream("DB1", MS * 3, MS * 500, 1, 480), stream("DB2", MS * 34, MS * 200, 9, 480)];
        let rules = judge(TestKind::Performance, &evidence, &limits());
        assert_eq!(rules[0].remark, "DB2");
        assert_eq!(rules[1].subject.as_deref(), Some("DB2"));
        assert_eq!(rules[0].measured, Some(34.0));
        // DB1 has the longer sample, but its excursion is tolerated.
        assert_eq!(rules[1].measured, Some(200.0));
        assert!(rules[1].remark.starts_with("DB2, 45 s after the start; 9"));
    }

    #[test]
    fn a_test_without_io_does_not_pass() {
        let evidence = Evidence::default();
        let rules = judge(TestKind::Performance, &evidence, &limits());
        assert_eq!(verdict(&Ending::Complete, &rules), Verdict::Inconclusive);
        let said = verdict::sentence(&Ending::Complete, &rules, &evidence, None);
        assert!(
            said.contains("no I/O to measure for database read, average and log write, average"),
            "{said}"
        );
        let measured = rules.iter().filter(|r| r.outcome != Outcome::NotMeasured);
        let measured: Vec<_> = measured.map(|rule| &rule.title).collect();
        assert_eq!(measured, ["I/O errors", "hung I/O"]);
    }
}
