//! Did the kernel report errors of the tested devices?
//!
//! The first question about reliability in an ESRP paper is whether the event log has errors. The kernel writes down what no program is
//! told: retried commands, resets, a file system that found damage. An error fails the test; a warning is for somebody to look at.

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

pub(super) fn rule(log: &SystemLog) -> Rule {
    let errors = log.errors.map(|errors| errors as f64);
    let rule = Rule::at_most(RuleId::SystemLog, "errors", 0.0, errors);
    match (log.errors, log.warnings) {
        (Some(0), 0) => rule,
        (Some(0), warnings) => Rule {
            outcome: Outcome::Advisory,
            ..rule.with_remark(format!(
                "{} warnings of the kernel: {}",
                grouped(warnings),
                log.remark
            ))
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
            rule(&SystemLog {
                errors,
                warnings,
                remark,
            })
            .outcome
        };
        assert_eq!(outcome(Some(0), 0), Outcome::Ok);
        assert_eq!(outcome(Some(1), 0), Outcome::Failed);
        assert_eq!(outcome(Some(0), 3), Outcome::Advisory);
        assert_eq!(outcome(None, 0), Outcome::NotMeasured);
    }
}
