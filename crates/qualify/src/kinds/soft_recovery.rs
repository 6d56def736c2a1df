//! A number of logs written and replayed.

use brunt_report::result::Recovery;
use brunt_report::{decimals, grouped};
use brunt_units::Span;

use super::{Kind, Opening, Work};
use crate::phases::test_run::TestRun;
use crate::plan::Plan;
use crate::rules::{Done, RuleId};

const WORD: &str = "soft-recovery";

pub(super) const KIND: Kind = Kind {
    word: WORD,
    opening,
    work: Work::Replay,
    limits: |profile| profile.strict.value,
    must_be_stationary: false,
    length_min: Span::ZERO,
    done,
};

fn opening(opening: &Opening) -> String {
    format!(
        "{}, {WORD} from {} logs of each instance",
        opening.sessions,
        grouped(opening.logs.into())
    )
}

fn done(plan: &Plan, run: &TestRun) -> Vec<Done> {
    let logs = run.recoveries.iter().map(|done| u64::from(done.logs));
    let per_log = run.recoveries.iter().map(|done| {
        let logs = f64::from(done.logs.max(1));
        done.took.as_seconds() / logs
    });
    vec![Done {
        what: RuleId::LogsReplayed,
        wanted: plan.logs.into(),
        done: logs.min().or(run.attempted.then_some(0)),
        remark: per_log.max_by(f64::total_cmp).map_or_else(String::new, |slowest| {
            format!("{} ms for each log file at most", decimals(slowest * 1e3))
        }),
    }]
}

/// How fast each instance was recovered.
pub(crate) fn recoveries(plan: &Plan, run: &TestRun) -> Vec<Recovery> {
    let recoveries = run.recoveries.iter();
    recoveries
        .map(|done| Recovery {
            instance: plan.instances[done.instance].name.clone(),
            logs: done.logs.into(),
            seconds: done.took.as_seconds(),
        })
        .collect()
}
