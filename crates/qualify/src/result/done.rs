//! The work of a test besides its load: what was backed up, restored and replayed, and how fast.

use brunt_report::decimals;
use brunt_report::result::{Backup, Mib, Recovery, Restore};

use crate::kinds::Work;
use crate::phases::test_run::TestRun;
use crate::plan::{DatabasePlan, Plan};
use crate::rules::{Done, RuleId};

/// Work besides carrying load, and whether it was done.
pub(super) fn done(plan: &Plan, run: &TestRun) -> Vec<Done> {
    match plan.kind.work() {
        Work::Load => Vec::new(),
        Work::BackUp => backed_up(plan, run),
        Work::Replay => replayed(plan, run),
    }
}

fn backed_up(plan: &Plan, run: &TestRun) -> Vec<Done> {
    let backups = backups(plan, run);
    let databases = plan.databases().count() as u64;
    let rate: f64 = backups.iter().map(|backup| backup.rate.0).sum();
    let read = Done {
        what: RuleId::DatabasesBackedUp,
        wanted: databases,
        done: Some(backups.len() as u64),
        remark: format!("{} MiB/s in total", decimals(rate)),
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
                decimals(restored.rate.0)
            )
        }),
    });
    std::iter::once(read).chain(restored).collect()
}

fn replayed(plan: &Plan, run: &TestRun) -> Vec<Done> {
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
            format!("at most {} ms for each log file", decimals(slowest * 1e3))
        }),
    }]
}

/// How fast each database was read.
pub(super) fn backups(plan: &Plan, run: &TestRun) -> Vec<Backup> {
    let databases: Vec<&DatabasePlan> = plan.databases().collect();
    let backups = run.backups.iter();
    backups
        .map(|done| {
            let size = Mib::of(done.bytes.get());
            let seconds = done.took.as_seconds();
            Backup {
                instance: databases[done.database].name.clone(),
                size,
                seconds,
                rate: size.over(seconds.max(f64::MIN_POSITIVE)),
                copied_to: folder(plan),
            }
        })
        .collect()
}

/// What it took to restore the backup.
pub(super) fn restored(plan: &Plan, run: &TestRun) -> Option<Restore> {
    let restored = run.restored?;
    let size = Mib::of(restored.bytes);
    let seconds = restored.took.as_seconds();
    Some(Restore {
        from: folder(plan)?,
        size,
        copy_seconds: restored.copied.as_seconds(),
        seconds,
        rate: size.over(seconds.max(f64::MIN_POSITIVE)),
    })
}

/// The folder of the backup's files.
fn folder(plan: &Plan) -> Option<String> {
    let folder = plan.copy_to.as_ref()?;
    Some(folder.display().to_string())
}

/// How fast each instance was recovered.
pub(super) fn recoveries(plan: &Plan, run: &TestRun) -> Vec<Recovery> {
    let recoveries = run.recoveries.iter();
    recoveries
        .map(|done| Recovery {
            instance: plan.instances[done.instance].name.clone(),
            logs: done.logs.into(),
            seconds: done.took.as_seconds(),
        })
        .collect()
}
