//! The slowest few, which means and samples hide.
//!
//! A sample of fifteen seconds at a thousand I/Os per second averages over a freeze of two seconds. The p99.9 of the device and the
//! p99 of operations, from their intended start, do not. These rules advise unless the scenario makes them strict: Jetstress has no
//! such rule, and the limits (see [`crate::plan::Limits`]) are our choice.

use brunt_report::result::Rule;
use brunt_units::Span;

use super::{Evidence, RuleId};
use crate::plan::Limits;

pub(super) fn rules(evidence: &Evidence, limits: &Limits) -> [Rule; 3] {
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
    ];
    match limits.strict_tail {
        true => rules,
        false => rules.map(Rule::advisory),
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
            ..Evidence::default()
        };
        let outcomes =
            |evidence: &Evidence, limits: &Limits| rules(evidence, limits).map(|rule| rule.outcome);
        assert_eq!(outcomes(&evidence, &limits), [Outcome::Ok; 3]);
        evidence.read_tails[1].1 = millis(101);
        evidence.operation_p99 = Some(millis(401));
        let advised = [Outcome::Advisory, Outcome::Ok, Outcome::Advisory];
        assert_eq!(outcomes(&evidence, &limits), advised);
        assert_eq!(rules(&evidence, &limits)[0].remark, "DB2");
        limits.strict_tail = true;
        let failed = [Outcome::Failed, Outcome::Ok, Outcome::Failed];
        assert_eq!(outcomes(&evidence, &limits), failed);
        let nothing = rules(&Evidence::default(), &limits).map(|rule| rule.outcome);
        assert_eq!(nothing, [Outcome::NotMeasured; 3]);
    }
}
