//! What the rules say while a test goes on.

use brunt_report::result::{Group, Outcome, Rule};
use brunt_run::SoFar;

use crate::rules::RuleId;

/// What `rules` say. They decide nothing before a database was read.
pub(super) fn so_far(rules: &[Rule]) -> SoFar {
    let mut groups: Vec<(Group, Outcome)> = Vec::new();
    for rule in rules {
        match groups.iter_mut().find(|(group, _)| *group == rule.group) {
            Some((_, worst)) if gravity(rule.outcome) > gravity(*worst) => {
                *worst = rule.outcome;
            }
            Some(_) => {}
            None => groups.push((rule.group, rule.outcome)),
        }
    }
    let failed = rules.iter().find(|rule| rule.outcome == Outcome::Failed);
    let is_read = |rule: &Rule| RuleId::DatabaseReadAverage.is(rule) && rule.measured.is_some();
    SoFar {
        passes: match failed {
            Some(_) => Some(false),
            None => rules.iter().any(is_read).then_some(true),
        },
        failed: failed.map(|rule| rule.title.clone()),
        groups: groups.iter().map(words).collect(),
    }
}

fn words((group, outcome): &(Group, Outcome)) -> (String, String) {
    (group.to_string(), outcome.to_string())
}

fn gravity(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::NotMeasured | Outcome::NotJudged => 0,
        Outcome::Ok => 1,
        Outcome::Advisory => 2,
        Outcome::Failed => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_below_the_target_does_not_pass_so_far() {
        let read = |measured| Rule::at_most(RuleId::DatabaseReadAverage, "ms", 20.0, measured);
        let rate = |measured| Rule::at_least(RuleId::AchievedIo, "/s", 950.0, Some(measured));
        let pages = Rule::not_measured(RuleId::PagesVerified);
        assert_eq!(so_far(&[read(None), pages.clone()]).passes, None);
        let good = so_far(&[rate(960.0), read(Some(1.0)), pages.clone()]);
        assert_eq!((good.passes, good.failed), (Some(true), None));
        let groups = [("limits", "ok"), ("integrity", "not measured")];
        let groups = groups.map(|(group, outcome)| (group.to_owned(), outcome.to_owned()));
        assert_eq!(good.groups, groups);
        let bad = so_far(&[rate(940.0), read(Some(1.0)), pages]);
        assert_eq!(bad.passes, Some(false));
        assert_eq!(bad.failed.as_deref(), Some("achieved database I/O"));
        assert_eq!(bad.groups[0].1, "failed");
    }
}
