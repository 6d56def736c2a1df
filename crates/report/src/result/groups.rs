//! Rules as people read them: group by group, what did not hold first.

use std::cmp::Reverse;

use super::{Group, Outcome, Rule};

/// The rules of one group.
#[derive(Clone, Debug)]
pub struct RuleGroup<'a> {
    /// The group.
    pub group: Group,
    /// Failed ones first, then advisory ones, then those that were not measured.
    pub rules: Vec<&'a Rule>,
}

impl<'a> RuleGroup<'a> {
    /// The groups of `rules` in the order of their first rules, but those with a failed rule first,
    /// and integrity before all others.
    pub fn all(rules: &'a [Rule]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for rule in rules {
            match groups.iter_mut().find(|found| found.group == rule.group) {
                Some(found) => found.rules.push(rule),
                None => groups.push(Self { group: rule.group, rules: vec![rule] }),
            }
        }
        for group in &mut groups {
            group.rules.sort_by_key(|rule| urgency(rule));
        }
        groups.sort_by_key(|group| match urgency(group.rules[0]) {
            0 => weight(group.group),
            _ => LIGHTEST,
        });
        groups
    }

    /// Whether its summary is enough: nothing in it needs a look, and its numbers are not those
    /// that everybody asks for.
    pub fn is_folded(&self) -> bool {
        let needs_look = |rule: &&Rule| matches!(rule.outcome, Outcome::Failed | Outcome::Advisory);
        self.group != Group::Limits && !self.rules.iter().any(needs_look)
    }

    /// The group in a few words: `tail: all 3 ok`, `limits: 1 of 7 failed`.
    pub fn summary(&self) -> String {
        let count = |outcome| {
            let rules = self.rules.iter();
            rules.filter(|rule| rule.outcome == outcome).count()
        };
        let all = self.rules.len();
        let others = [Outcome::Failed, Outcome::Advisory, Outcome::NotJudged, Outcome::NotMeasured];
        let others = others.map(|outcome| (count(outcome), outcome));
        let others = others.iter().filter(|(count, _)| *count > 0);
        let others: Vec<String> = others
            .map(|(count, outcome)| match all {
                1 => outcome.to_string(),
                _ => format!("{count} of {all} {outcome}"),
            })
            .collect();
        match (others.as_slice(), all) {
            ([], 1) => format!("{}: ok", self.group),
            ([], _) => format!("{}: all {all} ok", self.group),
            _ => format!("{}: {}", self.group, others.join(", ")),
        }
    }
}

/// The weight of groups without a failure.
const LIGHTEST: u8 = 2;

/// What is lost weighs more than what is slow.
fn weight(group: Group) -> u8 {
    match group {
        Group::Integrity => 0,
        _ => 1,
    }
}

/// The rules, those about integrity first.
pub fn gravest_first(rules: &[Rule]) -> Vec<&Rule> {
    let mut rules: Vec<&Rule> = rules.iter().collect();
    rules.sort_by_key(|rule| weight(rule.group));
    rules
}

/// The worst server for each rule, which its remark names: the gravest outcome, and of equals the
/// one nearest to its limit.
pub fn worst_of_servers(rules: &[Rule]) -> Vec<Rule> {
    let mut worst: Vec<&Rule> = Vec::new();
    let gravity = |rule: &Rule| (Reverse(urgency(rule)), rule.used_percent().unwrap_or(f64::MIN));
    for rule in rules {
        match worst.iter_mut().find(|own| own.id == rule.id) {
            None => worst.push(rule),
            Some(own) if gravity(rule) > gravity(own) => *own = rule,
            Some(_) => {}
        }
    }
    let named = |rule: &Rule| {
        let words = [rule.server.as_deref(), Some(rule.remark.as_str())];
        let words = words.into_iter().flatten().filter(|word| !word.is_empty());
        let remark = words.collect::<Vec<_>>().join(": ");
        Rule { server: None, remark, ..rule.clone() }
    };
    worst.into_iter().map(named).collect()
}

fn urgency(rule: &Rule) -> u8 {
    match rule.outcome {
        Outcome::Failed => 0,
        Outcome::Advisory => 1,
        Outcome::NotJudged | Outcome::NotMeasured => 2,
        Outcome::Ok => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::RuleName;

    #[test]
    fn of_several_servers_the_worst_is_shown() {
        let name = |id| RuleName { id, title: id, group: Group::Limits };
        let rule = |id, measured: f64, server: &str| Rule {
            server: Some(server.to_owned()),
            ..Rule::at_most(name(id), "ms", 20.0, Some(measured))
        };
        let advice = rule("b", 30.0, "A").advisory();
        let rules = [rule("a", 3.0, "A"), advice.clone(), rule("a", 7.0, "B"), rule("b", 9.0, "B")];
        let said = worst_of_servers(&rules).into_iter().map(|rule| (rule.measured, rule.remark));
        let said: Vec<_> = said.collect();
        assert_eq!(said, [(Some(7.0), "B".to_owned()), (Some(30.0), "A".to_owned())]);
    }

    #[test]
    fn what_failed_comes_first_and_the_rest_keeps_its_order() {
        let rule = |id: &'static str, group, measured| {
            let title = id;
            Rule::at_most(RuleName { id, group, title }, "", 1.0, measured)
        };
        let rules = [
            rule("read", Group::Limits, Some(1.0)),
            rule("log", Group::Limits, None),
            rule("pages", Group::Integrity, Some(0.0)),
            rule("tail", Group::Tail, Some(0.5)),
            rule("tail log", Group::Tail, Some(2.0)),
        ];
        let groups = RuleGroup::all(&rules);
        let summaries: Vec<_> = groups.iter().map(RuleGroup::summary).collect();
        assert_eq!(
            summaries,
            ["tail: 1 of 2 failed", "limits: 1 of 2 not measured", "integrity: ok"]
        );
        let ids = |at: usize| groups[at].rules.iter().map(|rule| rule.id.as_str());
        assert!(ids(0).eq(["tail log", "tail"]));
        assert!(ids(1).eq(["log", "read"]));
        assert_eq!([0, 1, 2].map(|at| groups[at].is_folded()), [false, false, true]);
    }

    #[test]
    fn what_is_lost_stands_above_what_is_slow() {
        let rule = |id: &'static str, group, measured| {
            let title = id;
            Rule::at_most(RuleName { id, group, title }, "", 0.5, Some(measured))
        };
        let rules = [
            rule("stalls", Group::Limits, 50.0),
            rule("read", Group::Limits, 0.0),
            rule("pages", Group::Integrity, 3.0),
            rule("delay", Group::FairTest, 1.0),
        ];
        let groups = RuleGroup::all(&rules);
        let order = [Group::Integrity, Group::Limits, Group::FairTest];
        assert!(groups.iter().map(|group| group.group).eq(order));
        let gravest = gravest_first(&rules);
        let gravest = gravest.iter().map(|rule| rule.id.as_str());
        assert!(gravest.eq(["pages", "stalls", "read", "delay"]));
    }
}
