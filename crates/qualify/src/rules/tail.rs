//! The slowest few, which means and samples hide, and the longest stop, which even they hide.
//!
//! A mean says nothing of the slowest thousandth; p99.9 of the device and p99 of operations, from
//! their intended start, do. A stop of one second in two hours is in neither: it holds up one I/O
//! of each session ([`crate::stops`]). These rules advise unless the scenario makes them strict:
//! Jetstress has no such rule, and the limits (see [`crate::plan::Limits`]) are our choice.

use brunt_report::result::Rule;
use brunt_run::LongestStop;
use brunt_units::Span;

use super::{Evidence, RuleId};
use crate::plan::Limits;
use crate::stops::NOTED;

pub(super) fn rules(evidence: &Evidence, limits: &Limits) -> [Rule; 4] {
    let device = |name: RuleId, streams: &[(String, Span)]| {
        let worst = streams.iter().max_by_key(|(_, span)| *span);
        let measured = worst.map(|(_, span)| span.as_millis());
        let rule = Rule::at_most(name, "ms", limits.tail_device.as_millis(), measured);
        match worst {
            Some((stream, _)) if streams.len() > 1 => rule.about(stream).with_remark(stream),
            Some((stream, _)) => rule.about(stream),
            None => rule.with_remark("there was none"),
        }
    };
    let operation = Rule::at_most(
        RuleId::TailOperation,
        "ms",
        limits.tail_operation.as_millis(),
        evidence.operation_p99.map(Span::as_millis),
    );
    let rules = [
        device(RuleId::TailDatabaseRead, &evidence.read_tails),
        device(RuleId::TailLogWrite, &evidence.log_tails),
        operation.with_remark("from the intended start"),
        stop(evidence.stop.as_ref()),
    ];
    match limits.strict_tail {
        true => rules,
        false => rules.map(Rule::advisory),
    }
}

fn stop(longest: Option<&LongestStop>) -> Rule {
    let measured = longest.map(|stop| stop.length.as_millis());
    let rule = Rule::at_most(RuleId::LongestStop, "ms", NOTED.as_millis(), measured);
    match longest {
        Some(stop) => rule.with_remark(stop.remark()),
        None => rule,
    }
}

#[cfg(test)]
mod tests {
    use brunt_report::result::Outcome;
    use brunt_workload::profile::Version;

    use super::*;
    use crate::kinds::TestKind;

    #[test]
    fn a_long_tail_advises_or_fails() {
        let mut limits = Limits::of(Version::Exchange2013.profile(), TestKind::Performance);
        let millis = |count| Span::millis(count);
        let mut evidence = Evidence {
            read_tails: vec![("DB1".into(), millis(100)), ("DB2".into(), millis(7))],
            log_tails: vec![("Instance 1".into(), millis(100))],
            operation_p99: Some(millis(400)),
            stop: Some(LongestStop {
                length: NOTED,
                after: Span::millis(90_200),
                what: "reads of DB1".to_owned(),
            }),
            ..Evidence::default()
        };
        let outcomes =
            |evidence: &Evidence, limits: &Limits| rules(evidence, limits).map(|rule| rule.outcome);
        assert_eq!(outcomes(&evidence, &limits), [Outcome::Ok; 4]);
        evidence.read_tails[1].1 = millis(101);
        evidence.operation_p99 = Some(millis(401));
        evidence.stop.as_mut().unwrap().length = millis(1_001);
        let [ok, advisory] = [Outcome::Ok, Outcome::Advisory];
        let advised = [advisory, ok, advisory, advisory];
        assert_eq!(outcomes(&evidence, &limits), advised);
        assert_eq!(rules(&evidence, &limits)[0].remark, "DB2");
        let remark = &rules(&evidence, &limits)[3].remark;
        assert_eq!(remark, "reads of DB1, 90.2 s after the start");
        limits.strict_tail = true;
        let failed = Outcome::Failed;
        let failed = [failed, ok, failed, failed];
        assert_eq!(outcomes(&evidence, &limits), failed);
        let nothing = rules(&Evidence::default(), &limits).map(|rule| rule.outcome);
        assert_eq!(nothing, [Outcome::NotMeasured; 4]);
    }
}
