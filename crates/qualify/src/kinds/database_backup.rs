//! Reads every database from beginning to end, and optionally restores the backup.

use brunt_report::decimals;
use brunt_report::result::{Backup, Restore};
use brunt_units::Span;

use super::{Kind, Opening, Work};
use crate::phases::test_run::TestRun;
use crate::plan::{DatabasePlan, Plan};
use crate::rules::{Done, RuleId};

const WORD: &str = "database-backup";

pub(super) const KIND: Kind = Kind {
    word: WORD,
    opening,
    work: Work::BackUp,
    limits: |profile| profile.strict.value,
    must_be_stationary: false,
    length_min: Span::ZERO,
    done,
};

fn opening(opening: &Opening) -> String {
    match opening.restores {
        true => format!("{WORD} with restore"),
        false => WORD.to_owned(),
    }
}

fn done(plan: &Plan, run: &TestRun) -> Vec<Done> {
    let backups = backups(plan, run);
    let databases = plan.databases().count() as u64;
    let rate: f64 = backups.iter().map(|backup| backup.mb_per_s).sum();
    let read = Done {
        what: RuleId::DatabasesBackedUp,
        wanted: databases,
        done: Some(backups.len() as u64),
        remark: format!("{} MiB/s over all of them", decimals(rate)),
    };
    let is_restored = plan.copy_to.is_some() && plan.restores;
    let restored = is_restored.then(|| Done {
        what: RuleId::DatabasesRestored,
        wanted: databases,
        done: match (run.restored, run.attempted) {
            (Some(_), _) => Some(databases),
            (None, true) => Some(0),
            (None, false) => None,
        },
        remark: restored(plan, run).map_or_else(String::new, |restored| {
            format!(
                "in {} s with recovery, {} MiB/s",
                decimals(restored.seconds),
                decimals(restored.mb_per_s)
            )
        }),
    });
    std::iter::once(read).chain(restored).collect()
}

/// How fast each database was read.
pub(crate) fn backups(plan: &Plan, run: &TestRun) -> Vec<Backup> {
    let databases: Vec<&DatabasePlan> = plan.databases().collect();
    let backups = run.backups.iter();
    backups
        .map(|done| {
            let megabytes = done.bytes.get() as f64 / f64::from(1 << 20);
            let seconds = done.took.as_seconds();
            Backup {
                instance: databases[done.database].name.clone(),
                megabytes,
                seconds,
                mb_per_s: megabytes / seconds.max(f64::MIN_POSITIVE),
                copied_to: folder(plan),
            }
        })
        .collect()
}

/// What it took to restore the backup.
pub(crate) fn restored(plan: &Plan, run: &TestRun) -> Option<Restore> {
    let restored = run.restored?;
    let megabytes = restored.bytes as f64 / f64::from(1 << 20);
    let seconds = restored.took.as_seconds();
    Some(Restore {
        from: folder(plan)?,
        megabytes,
        copy_seconds: restored.copied.as_seconds(),
        seconds,
        mb_per_s: megabytes / seconds.max(f64::MIN_POSITIVE),
    })
}

/// The folder of the backup's files.
fn folder(plan: &Plan) -> Option<String> {
    let folder = plan.copy_to.as_ref()?;
    Some(folder.display().to_string())
}
