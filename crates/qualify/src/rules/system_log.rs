//! Did the kernel report errors of the tested devices?
//!
//! The first question about reliability in an ESRP paper is whether the event log has errors. The
//! kernel writes down what no program sees: retried commands, resets, a file system that found
//! damage. An error fails the test; a warning is for people to look at.

use brunt_report::grouped;
use brunt_report::result::{Outcome, Rule};

use super::RuleId;

/// What the kernel said about the tested devices from the beginning of the run to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemLog {
    /// Messages of the level *error* or graver; `None` when the log could not be read.
    pub errors: Option<u64>,
    /// Messages of the level *warning*.
    pub warnings: u64,
    /// The first error, else the first warning, else why the log could not be read.
    pub remark: String,
}

/// Between the number of warnings and the first of them, in a remark.
const WARNINGS: &str = " warnings of the kernel: ";

impl SystemLog {
    /// What `rule` of an interrupted run says that the kernel reported.
    fn reported(rule: Option<&Rule>) -> Self {
        let unknown =
            || Self { remark: "not known for the interrupted run".to_owned(), ..Self::default() };
        let Some((rule, errors)) = rule.and_then(|rule| Some((rule, rule.measured?))) else {
            return unknown();
        };
        let (warnings, first) = rule.remark.split_once(WARNINGS).unwrap_or(("0", ""));
        let warnings = warnings.replace(',', "").parse().unwrap_or(0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it was a count"
        )]
        let errors = errors as u64;
        Self {
            errors: Some(errors),
            warnings,
            remark: match errors {
                0 => first.to_owned(),
                _ => rule.remark.clone(),
            },
        }
    }

    /// This log and that of an interrupted run which this one carries on, as its `rule` has it.
    /// Errors of one of them count even where the other is not known.
    pub(crate) fn after(self, rule: Option<&Rule>) -> Self {
        let logs = [Self::reported(rule), self];
        let errors: u64 = logs.iter().filter_map(|log| log.errors).sum();
        let is_known = errors > 0 || logs.iter().all(|log| log.errors.is_some());
        let warnings = logs.iter().map(|log| log.warnings).sum();
        let tells = |log: &&Self| match is_known {
            true if errors > 0 => log.errors > Some(0),
            true => log.warnings > 0,
            false => log.errors.is_none(),
        };
        Self {
            errors: is_known.then_some(errors),
            warnings,
            remark: logs.iter().find(tells).map_or_else(String::new, |log| log.remark.clone()),
        }
    }
}

pub(super) fn rule(log: &SystemLog) -> Rule {
    let errors = log.errors.map(|errors| errors as f64);
    let rule = Rule::at_most(RuleId::SystemLog, "errors", 0.0, errors);
    match (log.errors, log.warnings) {
        (Some(0), 0) => rule,
        (Some(0), warnings) => Rule {
            outcome: Outcome::Advisory,
            ..rule.with_remark(format!("{}{WARNINGS}{}", grouped(warnings), log.remark))
        },
        _ => rule.with_remark(log.remark.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_fails_and_a_warning_advises() {
        let outcome = |errors, warnings| {
            let remark = "sda: I/O error".to_owned();
            rule(&SystemLog { errors, warnings, remark }).outcome
        };
        assert_eq!(outcome(Some(0), 0), Outcome::Ok);
        assert_eq!(outcome(Some(1), 0), Outcome::Failed);
        assert_eq!(outcome(Some(0), 3), Outcome::Advisory);
        assert_eq!(outcome(None, 0), Outcome::NotMeasured);
    }

    #[test]
    fn errors_that_an_interrupted_run_heard_stay() {
        let log = |errors, warnings, remark: &str| SystemLog {
            errors,
            warnings,
            remark: remark.to_owned(),
        };
        let quiet = || log(Some(0), 0, "");
        let both = |earlier: SystemLog, now: SystemLog| now.after(Some(&rule(&earlier)));
        let bad = log(Some(2), 0, "sda: I/O error");
        assert_eq!(both(bad.clone(), quiet()), bad);
        assert_eq!(
            both(bad.clone(), log(Some(1), 3, "sda: reset")),
            log(Some(3), 3, "sda: I/O error")
        );
        let warned = log(Some(0), 1_234, "sda: slow");
        assert_eq!(both(warned.clone(), quiet()), warned);
        let unheard = log(None, 0, "closed");
        let unknown = both(unheard.clone(), quiet());
        assert_eq!(rule(&unknown).outcome, Outcome::NotMeasured);
        assert_eq!(unknown.remark, "not known for the interrupted run");
        assert_eq!(quiet().after(None), unknown);
        assert_eq!(both(quiet(), unheard.clone()), unheard);
        assert_eq!(both(unheard.clone(), bad.clone()), bad);
        assert_eq!(both(bad.clone(), unheard), bad);
    }
}
