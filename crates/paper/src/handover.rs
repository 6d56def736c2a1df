//! Which runs are handed over: the newest of each kind of test, of one system.
//!
//! The newest run that came to an answer decides which system it is. Every other run is taken, or
//! left out with its reason: older than another of its kind, without an answer, or of another
//! system. Where several servers ran the same tests, nothing is chosen: a page is for one of them,
//! and which one is for people to say.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

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
    /// Where several servers ran the tests of one scenario: each with the labels of the runs that
    /// its page would have. Then nothing is chosen.
    pub servers: Vec<(String, Vec<String>)>,
}

/// A run that came to an answer.
type Answer = (TestKind, RunFiles, Run);

impl Handover {
    /// Chooses among `runs`.
    pub fn among(runs: Vec<RunFiles>) -> Self {
        let mut left_out = Vec::new();
        let mut answers: Vec<Answer> = Vec::new();
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
        let alike = of_one_scenario(&answers);
        let servers: BTreeSet<String> = alike.iter().map(|(_, _, run)| host(run)).collect();
        if servers.len() > 1 {
            let of = |server: String| {
                let own = alike.iter().copied().filter(|(_, _, run)| host(run) == server);
                let own = Self::newest(own.cloned().collect(), Vec::new()).chosen;
                (server, own.into_iter().map(|files| files.label).collect())
            };
            let servers = servers.into_iter().map(of).collect();
            return Self { servers, left_out, ..Self::default() };
        }
        Self::newest(answers, left_out)
    }

    /// The newest of each kind among `answers`, the newest first.
    fn newest(answers: Vec<Answer>, mut left_out: Vec<(String, String)>) -> Self {
        let mut chosen: Vec<Answer> = Vec::new();
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
        Self {
            chosen: chosen.into_iter().map(|(_, files, _)| files).collect(),
            left_out,
            servers: Vec::new(),
        }
    }
}

/// The answers to the newest one's scenario.
fn of_one_scenario(answers: &[Answer]) -> Vec<&Answer> {
    let Some((_, _, newest)) = answers.first() else {
        return Vec::new();
    };
    let alike = answers.iter().filter(|(_, _, run)| {
        run.result.scenario == newest.result.scenario && apart(newest, run).is_none()
    });
    alike.collect()
}

/// The servers that ran a test.
fn host(run: &Run) -> String {
    let servers = run.result.storage.servers.iter();
    servers.map(|server| server.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The kind of a run that came to an answer, or why it is not handed over.
fn answer(files: &RunFiles) -> Result<(TestKind, Run), String> {
    let run = files.run().map_err(|error| match error {
        ReadError::NoRun(_) | ReadError::NotOneRun { .. } => "not a test".to_owned(),
        other => other.to_string(),
    })?;
    let result = &run.result;
    let Tested::Kind(kind) = result.storage.test else {
        let what = if result.mail.is_some() { "a test of mail servers" } else { "a drill" };
        return Err(format!("{what}: its own report is what is signed"));
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
