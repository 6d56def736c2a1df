//! Runs to look at, and programs that stand in for those of a recipe.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use brunt_console::alarms::{Alarms, Notice, Observed};
use brunt_console::{Look, State};
use brunt_qualify::rules::RuleId;
use brunt_report::result::Rule;
use brunt_report::{Run, RunResult, Timestamp};

const RESULT: &str = include_str!("../../../report/tests/report/result_v2.json");
const NOW: Timestamp = Timestamp { unix_seconds: 1_800_000_000 };

/// A run with a failed I/O and slow reads of `DB 1`.
pub(crate) fn look(samples: u64, state: State) -> Look {
    let mut result = RunResult::from_json(RESULT).unwrap();
    result.rules = vec![
        Rule::at_most(RuleId::DatabaseReadAverage, "ms", 20.0, Some(34.0)).about("DB 1"),
        Rule::at_most(RuleId::IoErrors, "", 0.0, Some(1.0)),
    ];
    let look = Look::of("2026-demo", Run::of_result(result), state);
    Look { run_id: "0f3c".to_owned(), samples, ..look }
}

/// What `alarms` tell of a run that is seen going on, and then in `state`.
pub(crate) fn observe(alarms: &mut Alarms, state: State) -> Vec<Notice> {
    let mut told = Vec::new();
    for look in [look(1, State::GoesOn), look(2, state)] {
        let seen = Observed { look: &look, changes: &[], full_in: None, now: NOW };
        told.extend(alarms.observe(seen));
    }
    told
}

/// A program of the name `path`.
pub(crate) fn program(path: &Path, script: &str) {
    fs::write(path, script).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// The alarms of `text`, in a file of `folder` that only its owner can write.
pub(crate) fn alarms(folder: &Path, text: &str) -> Alarms {
    let path = folder.join("alarms.toml");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    Alarms::read(&path).unwrap()
}
