//! Which runs are handed over: the newest of each kind of test, of one system.
//!
//! The newest run that came to an answer decides which system it is. Every other run is taken, or
//! left out with its reason: older than another of its kind, without an answer, or of another
//! system.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use brunt_report::result::{TestKind, Tested, World};
use brunt_report::{ReadError, Run};

use crate::evidence::RunFiles;
use crate::paper::apart;

/// The runs that are handed over, and those that are not.
#[derive(Debug, Default)]
pub struct Handover {
    /// In the order of a paper.
    pub chosen: Vec<RunFiles>,
    /// The labels of the others, and why they stay behind.
    pub left_out: Vec<(String, String)>,
}

impl Handover {
    /// Chooses among `runs`.
    pub fn among(runs: Vec<RunFiles>) -> Self {
        let mut left_out = Vec::new();
        let mut answers: Vec<(TestKind, RunFiles, Run)> = Vec::new();
        for files in runs {
            match answer(&files) {
                Ok((kind, run)) => answers.push((kind, files, run)),
                Err(why) => left_out.push((files.label, why)),
            }
        }
        // Folders begin with their time, which tells virtual runs apart.
        answers.sort_by_key(|(_, files, run)| {
            Reverse((run.result.times.started.unix_seconds, files.label.clone()))
        });
        let mut chosen: Vec<(TestKind, RunFiles, Run)> = Vec::new();
        for (kind, files, run) in answers {
            let newest = chosen.first().map(|(_, _, newest)| newest);
            let known = chosen.iter().find(|(own, ..)| *own == kind);
            if let Some(why) = newest.and_then(|newest| other_system(newest, &run)) {
                left_out.push((files.label, format!("of another system: {why}")));
            } else if let Some((_, newer, _)) = known {
                left_out.push((files.label, format!("older than {}", newer.label)));
            } else {
                chosen.push((kind, files, run));
            }
        }
        chosen.sort_by_key(|(kind, ..)| TestKind::ALL.iter().position(|own| own == kind));
        Self { chosen: chosen.into_iter().map(|(_, files, _)| files).collect(), left_out }
    }
}

/// The kind of a run that came to an answer, or why it is not handed over.
fn answer(files: &RunFiles) -> Result<(TestKind, Run), String> {
    let run = files.run().map_err(|error| match error {
        ReadError::NoRun(_) | ReadError::NotOneRun { .. } => "not a test".to_owned(),
        other => other.to_string(),
    })?;
    let result = &run.result;
    let Tested::Kind(kind) = result.storage.test else {
        return Err("a drill: its own report is what is signed".to_owned());
    };
    if !result.is_finished() {
        return Err("did not end".to_owned());
    }
    match result.verdict.is_answer() {
        true => Ok((kind, run)),
        false => Err(format!("came to no answer: {}", result.headline())),
    }
}

/// Why `other` is not of the system of `newest`.
fn other_system(newest: &Run, other: &Run) -> Option<String> {
    let (one, own) = (&newest.result, &other.result);
    if one.scenario != own.scenario {
        return Some(format!("its scenario is {}", own.scenario));
    }
    if let Some(why) = apart(newest, other) {
        return Some(why);
    }
    let names = |run: &Run| -> Vec<String> {
        run.result.storage.servers.iter().map(|server| server.name.clone()).collect()
    };
    if names(newest) != names(other) {
        return Some(format!("it ran on {}", names(other).join(", ")));
    }
    if one.world == World::Virtual {
        return None;
    }
    let volumes = |run: &Run| -> BTreeMap<String, String> {
        let servers = run.result.storage.servers.iter();
        let volumes = servers.flat_map(|server| &server.details.backend.volumes);
        volumes.map(|volume| (volume.mount.clone(), volume.device.clone())).collect()
    };
    // A backup may go to a volume of its own.
    let (known, used) = (volumes(newest), volumes(other));
    let mut shared =
        used.iter().filter_map(|(mount, device)| Some((mount, device, known.get(mount)?)));
    let is_same = shared.clone().next().is_some() && shared.all(|(_, device, own)| device == own);
    let used = used.iter().map(|(mount, device)| format!("{mount} on {device}"));
    (!is_same).then(|| format!("it used {}", used.collect::<Vec<_>>().join(", ")))
}
