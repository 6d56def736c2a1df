//! Can a server go on from the newest complete replica of its volumes?
//!
//! A flag that says "replicating" is no answer. The replica is recovered as an operator would do
//! with a clone of it at the other site: log replay, then every page is verified, and every record
//! is compared with what had been acknowledged at its instant. Passive copies are judged in the
//! same way.

use brunt_report::result::Rule;

use super::RuleId;

/// What became of the newest complete replica of a set of volumes with databases of this server, or
/// of a passive copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicaOutcome {
    /// Whether nobody could go on from it; `None` when that was not measured.
    pub is_wrong: Option<bool>,
    /// The set and what was found.
    pub remark: String,
}

/// The rule `id` about `replicas`; none without any.
pub(super) fn rule(id: RuleId, replicas: &[ReplicaOutcome]) -> Option<Rule> {
    // The first that is wrong, else the first that was not measured, else the first.
    let told = replicas.iter().rev().max_by_key(|one| match one.is_wrong {
        Some(true) => 2,
        None => 1,
        Some(false) => 0,
    })?;
    let wrong = replicas.iter().filter(|one| one.is_wrong == Some(true));
    let measured = told.is_wrong.map(|_| wrong.count() as f64);
    let rule = Rule::at_most(id, "wrong", 0.0, measured);
    let of = match replicas.len() {
        1 => String::new(),
        many => format!("of {many}; "),
    };
    Some(rule.with_remark(format!("{of}{}", told.remark)))
}

#[cfg(test)]
mod tests {
    use brunt_report::result::Outcome;

    use super::*;

    #[test]
    fn the_worst_replica_decides() {
        let judged = |all: &[Option<bool>]| {
            let replicas = all.iter().map(|is_wrong| ReplicaOutcome {
                is_wrong: *is_wrong,
                remark: format!("{is_wrong:?}"),
            });
            let rule = rule(RuleId::ReplicasRecovered, &replicas.collect::<Vec<_>>()).unwrap();
            (rule.outcome, rule.remark)
        };
        let (fine, bad, unknown) = (Some(false), Some(true), None);
        assert_eq!(judged(&[fine]), (Outcome::Ok, "Some(false)".to_owned()));
        assert_eq!(judged(&[fine, unknown]).0, Outcome::NotMeasured);
        assert_eq!(judged(&[fine, bad, unknown]), (Outcome::Failed, "of 3; Some(true)".to_owned()));
        assert_eq!(rule(RuleId::CopiesVerified, &[]), None);
    }
}
