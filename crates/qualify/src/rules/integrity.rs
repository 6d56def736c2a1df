//! Whether every page, log and record is as written, and every I/O completed.

use brunt_report::result::Rule;
use brunt_report::{decimals, grouped};
use brunt_run::Hung;

use super::{Evidence, FilesVerified, RecordsVerified, RuleId};
use crate::hanging::HUNG;
use crate::truth::oracle::Findings;

/// The five rules.
pub(super) fn rules(evidence: &Evidence) -> [Rule; 5] {
    let Evidence { pages, logs, .. } = evidence;
    let unjudged = evidence.unjudged.word();
    let errors = Rule::at_most(RuleId::IoErrors, "", 0.0, Some(evidence.io_errors as f64));
    [
        files(RuleId::PagesVerified, "pages", *pages, unjudged),
        files(RuleId::LogsVerified, "segments", *logs, unjudged),
        records(evidence.records, evidence.findings, unjudged),
        errors.with_remark(evidence.first_error.clone()),
        hangs(&evidence.hung),
    ]
}

fn files(name: RuleId, things: &str, verified: Option<FilesVerified>, unjudged: &str) -> Rule {
    let rule = Rule::at_most(name, "bad", 0.0, verified.map(|found| found.bad as f64));
    let Some(found) = verified else {
        return rule.with_remark(unjudged);
    };
    rule.with_remark(format!(
        "of {} {things} in {} {}, {} correctable",
        grouped(found.seen),
        grouped(found.files),
        plural(found.files, "file", "files"),
        grouped(found.correctable),
    ))
}

fn records(verified: Option<RecordsVerified>, met: Findings, unjudged: &str) -> Rule {
    let all = integrity(verified, met).map(|(_, findings)| findings);
    let measured = all.map(|findings| findings.total() as f64);
    let rule = Rule::at_most(RuleId::RecordsVerified, "wrong", 0.0, measured);
    let Some(findings) = all else {
        return rule.with_remark(unjudged);
    };
    let mut remark = match verified {
        None => "met by operations of the test".to_owned(),
        Some(found) => format!("of {}", grouped(found.checked)),
    };
    let share = |part: u64, of: u64| decimals(100.0 * part as f64 / of.max(1) as f64);
    if let Some(found) = verified.filter(|found| found.checked < found.expected) {
        remark += &format!(
            ", a sample of {} ({} %)",
            grouped(found.expected),
            share(found.checked, found.expected)
        );
    }
    if let Some(found) = verified.filter(|found| found.known < found.checked) {
        remark +=
            &format!("; exact version known for {} % of them", share(found.known, found.checked));
    }
    if findings.total() > 0 {
        remark += &format!(
            ": {} lost, {} stale, {} that must not be there, {} torn",
            grouped(findings.lost),
            grouped(findings.stale),
            grouped(findings.phantom),
            grouped(findings.torn)
        );
    }
    rule.with_remark(remark)
}

/// What verification checked, if it ran, and what it or the test found. Findings of the test are
/// usually found again afterwards, so the larger number counts.
pub(crate) fn integrity(
    verified: Option<RecordsVerified>,
    met: Findings,
) -> Option<(RecordsVerified, Findings)> {
    match verified {
        Some(found) => Some((found, found.findings.at_least(met))),
        None => (met.total() > 0).then(|| (RecordsVerified::default(), met)),
    }
}

fn plural<'a>(count: u64, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

fn hangs(hung: &Hung) -> Rule {
    let rule = Rule::at_most(RuleId::HungIo, "", 0.0, Some(hung.count as f64));
    if hung.count == 0 {
        return rule.with_remark(format!("none took {:.0} s", HUNG.as_seconds()));
    }
    rule.with_remark(hung.remark())
}

#[cfg(test)]
mod tests {
    use brunt_report::result::Outcome;

    use super::*;

    #[test]
    fn a_sample_of_the_records_says_its_share() {
        let found = RecordsVerified {
            expected: 2_000_000,
            checked: 100_000,
            known: 75_000,
            findings: Findings { lost: 2, ..Findings::default() },
        };
        let met = Findings { stale: 1, ..Findings::default() };
        let rule = records(Some(found), met, "");
        assert_eq!(rule.outcome, Outcome::Failed);
        let wanted = "of 100,000, a sample of 2,000,000 (5.00 %); exact version known for 75.0 % of them: \
                      2 lost, 1 stale, 0 that must not be there, 0 torn";
        assert_eq!(rule.remark, wanted);
        let met = records(None, met, "");
        assert!(met.remark.starts_with("met by operations of the test: 0 lost, 1 stale"));
    }
}
