//! The evidence of a paper: the files of its runs, and a manifest with their digests.
//!
//! ```text
//!   paper.json                    program, and for each file its size and SHA-256
//!   run1-result.json              \
//!   run1-scenario.toml             |  the run folder `run1`; large tables are shortened
//!   run1-events.log                |
//!   run1-counters.csv              |
//!   run1-latency.hlog             /
//!   run2-points.json              what a search found, with its scenario
//!   solution.toml                 only when the solution was described in a file of its own
//! ```
//!
//! The digest of a paper is the SHA-256 of its manifest, so it covers every file. `report.html` and
//! `news.jsonl` stay behind: they say nothing that the others do not.

mod redact;

use std::io::{self, Read};
use std::path::Path;

use brunt_report::{Opened, ReadError, Run, condensed_counters, condensed_latencies};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Name and version of the manifest.
pub const SCHEMA: &str = "brunt.paper/1";
/// The manifest's name.
pub const MANIFEST: &str = "paper.json";
/// The name of a separate description of the solution.
pub const SOLUTION: &str = "solution.toml";
/// The files of a run folder that are evidence.
pub const FILES: [&str; 6] =
    ["result.json", "scenario.toml", "events.log", "counters.csv", "latency.hlog", POINTS];
/// What a search for the most mailboxes leaves instead of a result.
pub const POINTS: &str = "points.json";
/// More runs than this are no paper.
pub const RUNS_MAX: usize = 100;

const COUNTERS: &str = FILES[3];
const LATENCIES: &str = FILES[4];
/// Larger tables are shortened.
const COUNTERS_MAX: usize = 4 << 20;
/// The same for histograms.
const LATENCIES_MAX: usize = 2 << 20;
/// What becomes one row in a shortened table.
const CONDENSED_S: f64 = 3_600.0;

/// What a paper is made from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The program that makes it: `0.1.0 (1b7112e)`.
    pub program: String,
    /// Whether names, addresses and serial numbers were replaced.
    pub redacted: bool,
    /// The runs, at least one.
    pub runs: Vec<RunFiles>,
    /// A description of the solution that replaces those of the scenarios.
    pub solution: Option<String>,
    /// Whether the paper begins with a page to sign.
    pub sign_off: bool,
}

/// What was replaced in evidence, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redacted {
    /// Each name with what stands there now.
    pub replaced: Vec<(String, String)>,
    /// What looks like a name and stays.
    pub stays: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunFiles {
    /// What messages call it.
    pub label: String,
    /// Its files, in the order of [`FILES`].
    pub files: Vec<File>,
}

/// A file of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// Its name in the run folder.
    pub name: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Size and digest of the whole file, if this is a shortened one.
    pub whole: Option<Whole>,
}

/// A file that was shortened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Whole {
    /// Its size.
    pub bytes: u64,
    pub sha256: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: String,
    /// See [`Evidence::program`].
    pub program: String,
    /// See [`Evidence::redacted`].
    pub redacted: bool,
    /// See [`Evidence::sign_off`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sign_off: bool,
    /// Every attached file but this one.
    pub files: Vec<Listed>,
}

/// A file in the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listed {
    /// Its name as an attachment.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    pub sha256: String,
    /// The whole file, if this is a shortened one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortened_from: Option<Whole>,
}

/// An attached file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The SHA-256 of `bytes`, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl RunFiles {
    /// The run whose files `open` opens by their names. Large tables are shortened.
    ///
    /// # Errors
    /// [`ReadError`] when it is no run, or a file cannot be read.
    pub fn read<'f>(label: &str, open: impl Fn(&str) -> Opened<'f>) -> Result<Self, ReadError> {
        let refused = |name: &str| {
            let path = Path::new(label).join(name);
            move |source| ReadError::File { path, source }
        };
        let mut files = Vec::new();
        for name in FILES {
            let Some(mut file) = open(name).map_err(refused(name))? else {
                continue;
            };
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(refused(name))?;
            files.push(File { name, bytes, whole: None });
        }
        let mut run = Self { label: label.to_owned(), files };
        run.shorten().map_err(refused(COUNTERS))?;
        Ok(run)
    }

    /// Both tables are shortened or none, so that they tell of the same samples.
    fn shorten(&mut self) -> io::Result<()> {
        let size = |name: &str| self.bytes(name).map_or(0, <[u8]>::len);
        if size(COUNTERS) <= COUNTERS_MAX && size(LATENCIES) <= LATENCIES_MAX {
            return Ok(());
        }
        for file in &mut self.files {
            let bytes = match file.name {
                COUNTERS => condensed_counters(file.bytes.as_slice(), CONDENSED_S)?,
                LATENCIES => condensed_latencies(file.bytes.as_slice(), 0)?,
                _ => continue,
            };
            file.whole =
                Some(Whole { bytes: file.bytes.len() as u64, sha256: sha256(&file.bytes) });
            file.bytes = bytes;
        }
        Ok(())
    }

    /// The content of a file.
    pub fn bytes(&self, name: &str) -> Option<&[u8]> {
        let found = self.files.iter().find(|file| file.name == name)?;
        Some(&found.bytes)
    }

    /// Opens a file of the run, as [`Run::of_files`] wants it.
    pub fn open<'a>(&'a self, name: &str) -> Opened<'a> {
        let bytes = self.bytes(name);
        Ok(bytes.map(|bytes| Box::new(bytes) as Box<dyn Read + 'a>))
    }

    /// The run.
    ///
    /// # Errors
    /// [`ReadError`] when it is none.
    pub fn run(&self) -> Result<Run, ReadError> {
        Run::of_files(Path::new(&self.label), |name| self.open(name))
    }
}

impl Evidence {
    /// Replaces the names of hosts and users, addresses, serial numbers, and these `words` by
    /// numbers: equal names by equal numbers.
    ///
    /// # Errors
    /// [`ReadError`] when a run cannot be read.
    pub fn redact(&mut self, words: &[String]) -> Result<Redacted, ReadError> {
        redact::redact(self, words)
    }

    /// Everything that is attached, the manifest first.
    pub fn attachments(&self) -> Vec<Attachment> {
        let mut all = Vec::new();
        let mut listed = Vec::new();
        let mut add = |name: String, bytes: &[u8], whole: Option<&Whole>| {
            listed.push(Listed {
                name: name.clone(),
                bytes: bytes.len() as u64,
                sha256: sha256(bytes),
                shortened_from: whole.cloned(),
            });
            all.push(Attachment { name, bytes: bytes.to_vec() });
        };
        for (number, run) in (1..).zip(&self.runs) {
            for file in &run.files {
                let name = attached_name(number, file.name);
                add(name, &file.bytes, file.whole.as_ref());
            }
        }
        if let Some(solution) = &self.solution {
            add(SOLUTION.to_owned(), solution.as_bytes(), None);
        }
        let manifest = Manifest {
            schema: SCHEMA.to_owned(),
            program: self.program.clone(),
            redacted: self.redacted,
            sign_off: self.sign_off,
            files: listed,
        };
        let text = serde_json::to_string_pretty(&manifest).expect("texts and numbers");
        let manifest = Attachment { name: MANIFEST.to_owned(), bytes: (text + "\n").into_bytes() };
        all.insert(0, manifest);
        all
    }
}

impl Attachment {
    /// The folder and the name under which it is kept outside of a paper: `run1` and `result.json`.
    /// Both are names of ours, never paths.
    pub fn place(&self) -> (Option<String>, &str) {
        for number in 1..=RUNS_MAX {
            let folder = format!("run{number}");
            let file = self.name.strip_prefix(folder.as_str());
            let file = file.and_then(|rest| rest.strip_prefix('-'));
            if let Some(file) = file.filter(|file| FILES.contains(file)) {
                return (Some(folder), file);
            }
        }
        match self.name == SOLUTION {
            true => (None, SOLUTION),
            false => (None, MANIFEST),
        }
    }
}

/// The name of a file of the run with this number.
pub(crate) fn attached_name(number: usize, file: &str) -> String {
    format!("run{number}-{file}")
}
