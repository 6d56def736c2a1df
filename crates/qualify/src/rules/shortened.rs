//! Rules about extremes, in a prediction that stopped early.
//!
//! Means are known after a while; the worst sample of two hours is not. It grows with the length of
//! a test. What was seen until the prediction stopped stands in the rule, which is not judged.
//! Within half of its limit, it leaves the answer open.

use brunt_report::result::{Outcome, Rule};
use brunt_units::Span;

use super::RuleId;

/// The rules whose measured value grows with the length of a test.
const EXTREMES: [RuleId; 3] =
    [RuleId::DatabaseReadWorst, RuleId::LogWriteWorst, RuleId::LongestStop];
/// Up to this share of its limit, in percent, an extreme may be expected to hold for the whole
/// length. Our choice.
const USED_PERCENT: f64 = 50.0;

/// Takes the outcome of those `rules` that a test of `seen` instead of `planned` cannot judge. A
/// rule that only advises, as the longest stop does unless the tail is `strict`, decides nothing in
/// a whole test either, and leaves nothing open.
pub(super) fn unjudge(rules: &mut [Rule], seen: Span, planned: Span, strict: bool) {
    let is_extreme = |rule: &&mut Rule| EXTREMES.iter().any(|id| id.is(rule));
    for rule in rules.iter_mut().filter(is_extreme) {
        if rule.outcome != Outcome::NotMeasured {
            if strict || !RuleId::LongestStop.is(rule) {
                rule.outcome = Outcome::NotJudged;
            }
            rule.remark = format!("seen in {seen} of {planned}; {}", rule.remark);
        }
    }
}

/// The extreme that came too near to its limit for an answer.
pub(super) fn open(rules: &[Rule]) -> Option<&Rule> {
    let unjudged = rules.iter().filter(|rule| rule.outcome == Outcome::NotJudged);
    let used = unjudged.filter_map(|rule| Some((rule.used_percent()?, rule)));
    let near = used.filter(|(percent, _)| *percent > USED_PERCENT);
    let nearest = near.max_by(|one, other| one.0.total_cmp(&other.0));
    nearest.map(|(_, rule)| rule)
}

/// Why there is no answer.
pub(super) fn sentence(rules: &[Rule], rate: &str) -> String {
    let open = open(rules)
        .map_or_else(String::new, |rule| format!("{}, {}", rule.title, rule.measured_and_limit()));
    format!(
        "Every mean held its limit at {rate}, but the prediction stopped before it could tell whether the worst sample does: {open}. \
         --complete simulates the whole test."
    )
}

#[cfg(test)]
mod tests {
    use brunt_report::result::Verdict;

    use super::*;
    use crate::rules::{Ending, verdict};

    fn rules(worst: f64) -> Vec<Rule> {
        let rule = |id, measured| Rule::at_most(id, "ms", 100.0, Some(measured));
        let mut rules = vec![
            rule(RuleId::DatabaseReadAverage, 10.0),
            rule(RuleId::DatabaseReadWorst, worst).with_remark("DB1"),
            rule(RuleId::LogWriteAverage, 1.0),
            Rule::not_measured(RuleId::LogWriteWorst),
        ];
        unjudge(&mut rules, Span::seconds(1_860), Span::seconds(7_200), false);
        rules
    }

    #[test]
    fn a_stop_that_only_advises_leaves_nothing_open() {
        let stop = |strict| {
            let rule = Rule::at_most(RuleId::LongestStop, "ms", 1_000.0, Some(900.0));
            let mut rules = [rule.with_remark("reads of DB1")];
            unjudge(&mut rules, Span::seconds(1_860), Span::seconds(7_200), strict);
            let [rule] = rules;
            let begin = "seen in 31 min 00 s of 2 h 00 min; reads of DB1";
            assert_eq!(rule.remark, begin);
            (rule.outcome, open(&[rule]).is_some())
        };
        assert_eq!(stop(false), (Outcome::Ok, false));
        assert_eq!(stop(true), (Outcome::NotJudged, true));
    }

    #[test]
    fn an_extreme_is_judged_by_the_whole_test_only() {
        for (worst, wanted) in
            [(50.0, Verdict::Pass), (51.0, Verdict::Inconclusive), (300.0, Verdict::Inconclusive)]
        {
            let rules = rules(worst);
            assert_eq!(verdict(&Ending::Complete, &rules), wanted, "{worst} ms");
            assert_eq!(rules[1].outcome, Outcome::NotJudged);
        }
        let rules = rules(80.0);
        assert!(rules[1].remark.starts_with("seen in 31 min 00 s of 2 h"), "{}", rules[1].remark);
        assert_eq!(rules[3].outcome, Outcome::NotMeasured);
        let said = sentence(&rules, "480 /s");
        assert!(said.contains("database read, worst sample, 80 ms (limit 100 ms)"), "{said}");
    }
}
