//! Scripts that compute a plan where users have their machines. They are texts to be read, changed
//! and piped on: nothing here talks to a scheduler.

mod github;
mod kubernetes;
mod shell;
mod slurm;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use brunt_lab::batch::{Digest, ranges};
use brunt_report::counted;

pub(super) use github::script as github;
pub(super) use kubernetes::script as kubernetes;
pub(super) use shell::script as shell;
pub(super) use slurm::script as slurm;

/// What is to be computed.
pub(super) struct Job {
    /// Of the scenario.
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) program: PathBuf,
    pub(super) parts: u64,
    /// Whether what it computes next follows from what came before.
    pub(super) is_in_rounds: bool,
    /// Parts with missing points.
    pub(super) lacking: Vec<u64>,
    /// Points that are known to be needed, and those of them that are missing.
    pub(super) asked: u64,
    pub(super) points: u64,
    /// The text of `plan.json`, and its digest.
    pub(super) plan: String,
    pub(super) digest: Digest,
    pub(super) image: String,
}

impl Job {
    /// The first line of a script, as a comment.
    fn about(&self) -> String {
        let (points, asked) = (self.points, counted(self.asked, "point"));
        let parts = match self.lacking.as_slice() {
            [] => "none".to_owned(),
            lacking => ranges(lacking),
        };
        format!("# {}: {points} of {asked} to compute, parts {parts} of {}", self.name, self.parts)
    }

    /// A name of small letters, digits and dashes for schedulers, which no other plan has.
    fn label(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let name: String = self.name.chars().take(30).map(plain).collect();
        let digest: String = self.digest[..4].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("brunt-{}-{digest}", name.trim_matches('-'))
    }
}
