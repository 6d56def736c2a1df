//! Which failures no time can mend.
//!
//! A mean that is over its limit may come down again; a lost record stays lost. Whoever waits for
//! the end of a test that has failed for good, waits for nothing: the alarm *rule failed* tells it.
//!
//! | rule | cannot be mended once |
//! | --- | --- |
//! | I/O errors, hung I/O, records, pages, logs | one was counted: these counts only grow |
//! | longest stop, with a strict tail | it was too long: a maximum does not come down |
//! | database read and log write, worst sample | one stream has more excursions than the longest test tolerates |
//!
//! The worst sample needs counts ([`beyond_mending`]), since more samples tolerate more excursions.
//! Means, percentiles and rates may recover.

use brunt_report::result::{Outcome, Rule};

use super::{Evidence, RuleId, StreamLatency, tolerated};
use crate::plan::Limits;

/// Rules whose measured value never comes back to its limit.
const FOR_GOOD: [RuleId; 6] = [
    RuleId::IoErrors,
    RuleId::HungIo,
    RuleId::RecordsVerified,
    RuleId::PagesVerified,
    RuleId::LogsVerified,
    RuleId::LongestStop,
];

/// Whether `rule` has failed, and by what it says itself it has for good.
pub fn is_for_good(rule: &Rule) -> bool {
    rule.outcome == Outcome::Failed && FOR_GOOD.iter().any(|id| id.is(rule))
}

/// The first of `rules`, judged from `evidence` by `limits`, that has failed whatever follows in a
/// test of up to `samples` samples.
pub fn beyond_mending<'r>(
    rules: &'r [Rule],
    evidence: &Evidence,
    limits: &Limits,
    samples: u64,
) -> Option<&'r Rule> {
    let has_too_many = |stream: &StreamLatency| {
        let all = samples.max(stream.samples.count);
        stream.samples.over > tolerated(all, limits.excursions)
    };
    let is_hopeless = |rule: &&Rule| {
        let streams = match () {
            () if RuleId::DatabaseReadWorst.is(rule) => &evidence.reads,
            () if RuleId::LogWriteWorst.is(rule) => &evidence.log_writes,
            () => return is_for_good(rule),
        };
        rule.outcome == Outcome::Failed && streams.iter().any(has_too_many)
    };
    rules.iter().find(is_hopeless)
}

#[cfg(test)]
mod tests {
    use brunt_units::Span;
    use proptest::prelude::*;

    use super::*;
    use crate::kinds::TestKind;
    use crate::rules::tests::{evidence, limits};
    use crate::rules::{Samples, judge};
    use crate::truth::oracle::Finding;

    /// What happens in one sample: the mean of the reads of a database and of the writes of a log,
    /// in milliseconds, and a fault.
    type Step = ([u64; 2], u8);

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let mean = prop_oneof![6 => 1_u64..100, 1 => 101_u64..500];
        let fault = prop_oneof![40 => Just(0_u8), 1 => 1_u8..4];
        prop::collection::vec(([mean.clone(), mean], fault), 1..200)
    }

    fn apply(evidence: &mut Evidence, (means, fault): Step, limits: &Limits) {
        let latency = &limits.latency;
        let streams = [&mut evidence.reads[0], &mut evidence.log_writes[0]];
        let limits = [latency.read_sample, latency.log_sample];
        for ((stream, mean), limit) in streams.into_iter().zip(means).zip(limits) {
            let at = Span::seconds(15 * stream.samples.count);
            stream.samples.note(at, Some(Span::millis(mean)), limit);
        }
        match fault {
            1 => evidence.io_errors += 1,
            2 => evidence.hung.count += 1,
            3 => evidence.findings.add(Finding::Lost),
            _ => {}
        }
    }

    proptest! {
        /// What is said to be beyond mending at a sample has failed at every sample after it.
        #[test]
        fn what_cannot_be_mended_stays_failed(steps in steps()) {
            let (limits, planned) = (limits(), steps.len() as u64);
            let mut evidence = evidence();
            evidence.reads[0].samples = Samples::default();
            evidence.log_writes[0].samples = Samples::default();
            evidence.records = None;
            let mut hopeless: Vec<String> = Vec::new();
            for step in steps {
                apply(&mut evidence, step, &limits);
                let rules = judge(TestKind::Performance, &evidence, &limits);
                for id in &hopeless {
                    let rule = rules.iter().find(|rule| rule.id == *id).unwrap();
                    prop_assert_eq!(rule.outcome, Outcome::Failed, "{}", id);
                }
                let found = beyond_mending(&rules, &evidence, &limits, planned);
                hopeless.extend(found.map(|rule| rule.id.clone()));
            }
        }
    }

    #[test]
    fn excursions_are_hopeless_once_the_whole_test_would_not_tolerate_them() {
        let limits = limits();
        let mut evidence = evidence();
        let hopeless = |evidence: &Evidence, planned| {
            let rules = judge(TestKind::Performance, evidence, &limits);
            let found = beyond_mending(&rules, evidence, &limits, planned);
            found.map(|rule| rule.id.clone())
        };
        evidence.reads[0].samples.count = 40;
        evidence.reads[0].samples.over = 1;
        evidence.reads[0].samples.worst = Some((Span::millis(300), Span::ZERO));
        assert_eq!(hopeless(&evidence, 480), None, "six are tolerated at the end");
        assert_eq!(hopeless(&evidence, 79).as_deref(), Some("database-read-worst"));
        evidence.reads[0].samples.over = 7;
        assert_eq!(hopeless(&evidence, u64::MAX).as_deref(), Some("database-read-worst"));
        evidence.reads[0].samples.over = 0;
        evidence.reads[0].mean = Some(Span::seconds(9));
        assert_eq!(hopeless(&evidence, 480), None, "a mean may recover");
        evidence.io_errors = 1;
        assert_eq!(hopeless(&evidence, 480).as_deref(), Some("io-errors"));
    }
}
