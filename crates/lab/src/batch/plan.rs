//! What is to be computed in parts, as a file: the work, every text that it reads, and the program
//! that reads them.
//!
//! The texts are in the plan, so a part needs nothing else, and what changes beside it afterwards
//! changes nothing. Records name the digest of their plan.

use std::path::{Path, PathBuf};

use brunt_scenario::{Document, Override, Refusal};
use serde::{Deserialize, Serialize};

use super::{Digest, sha256};
use crate::{Engine, Program};

/// Slurm's usual limit of an array: indices up to 1000.
pub const PARTS_MAX: u64 = 1000;

const SCHEMA: &str = "brunt.plan/1";

/// A sweep or a search that is computed in parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    schema: String,
    /// The program that wrote it: only the same one computes its points.
    version: String,
    commit: Option<String>,
    pub work: Work,
    pub engine: Engine,
    /// What is replaced in the scenario, as `--set` takes it.
    set: Vec<String>,
    /// Parts that it is computed in.
    pub parts: u64,
    /// The scenario as it was read.
    pub scenario: Text,
    /// The folder that its relative paths are relative to.
    folder: PathBuf,
    /// Other files that it reads.
    files: Vec<Text>,
}

/// What is computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Work {
    /// One key with several values, as `--sweep` takes them.
    Sweep(String),
    /// This many seeds, from that of the scenario on.
    Seeds(u64),
    /// The largest number of mailboxes that passes.
    UntilFail,
}

impl Work {
    /// Whether its next points follow from the results of others.
    pub fn is_in_rounds(&self) -> bool {
        matches!(self, Self::UntilFail)
    }
}

/// A text with its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    pub name: String,
    pub text: String,
}

/// Why a file is no plan for this program.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    #[error("is not a plan: {0}")]
    Unreadable(String),
    #[error("is a plan of another format, {0}")]
    Schema(String),
    #[error(
        "was made by brunt {there}, and this is {here}: results may differ between versions\n  run the same brunt everywhere, or make the plan again"
    )]
    Program { there: String, here: String },
    #[error("names {0} parts, which is not a number from 1 to {PARTS_MAX}")]
    Parts(u64),
}

impl Plan {
    /// A plan of `program` for `work` on `scenario` with `overrides`, in one part.
    pub fn new(
        program: &Program,
        work: Work,
        engine: Engine,
        overrides: &[Override],
        scenario: Text,
        folder: &Path,
    ) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            version: program.version.clone(),
            commit: program.commit.clone(),
            work,
            engine,
            set: overrides.iter().map(Override::as_set).collect(),
            parts: 1,
            scenario,
            folder: folder.to_owned(),
            files: Vec::new(),
        }
    }

    /// The same with the files that `document`, which is its scenario, was found to read.
    #[must_use]
    pub fn with_files_of(self, document: &Document) -> Self {
        let files = document.texts().into_iter();
        let files = files.map(|(path, text)| Text { name: path.display().to_string(), text });
        Self { files: files.collect(), ..self }
    }

    /// Reads a plan for `program`.
    ///
    /// # Errors
    /// [`PlanError`] when it is none, or was made by another program.
    pub fn read(text: &str, program: &Program) -> Result<Self, PlanError> {
        let unreadable = |error: serde_json::Error| PlanError::Unreadable(error.to_string());
        let plan: Self = serde_json::from_str(text).map_err(unreadable)?;
        if plan.schema != SCHEMA {
            return Err(PlanError::Schema(plan.schema));
        }
        let words = |version: &str, commit: &Option<String>| match commit {
            Some(commit) => format!("{version} ({commit})"),
            None => version.to_owned(),
        };
        if (&plan.version, &plan.commit) != (&program.version, &program.commit) {
            return Err(PlanError::Program {
                there: words(&plan.version, &plan.commit),
                here: words(&program.version, &program.commit),
            });
        }
        match plan.parts {
            1..=PARTS_MAX => Ok(plan),
            other => Err(PlanError::Parts(other)),
        }
    }

    /// The plan as a text that [`Self::read`] reads.
    pub fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers can be written") + "\n"
    }

    /// The digest that records of its points name.
    pub fn digest(&self) -> Digest {
        sha256(self.to_text().as_bytes())
    }

    /// What it replaces in the scenario.
    ///
    /// # Errors
    /// [`Refusal`] of a text that is no `KEY=VALUE`.
    pub fn overrides(&self) -> Result<Vec<Override>, Refusal> {
        self.set.iter().map(|set| Override::of_set(set)).collect()
    }

    /// The scenario. No file is read.
    ///
    /// # Errors
    /// [`Refusal`] when it is none.
    pub fn document(&self) -> Result<Document, Refusal> {
        let files = self.files.iter().map(|file| (PathBuf::from(&file.name), file.text.clone()));
        let Text { name, text } = &self.scenario;
        Document::of_texts(name, text, &self.folder, files.collect())
    }
}
