//! Reads a PDF that may come from anywhere: within limits, without following anything that leads out of it.
//!
//! | limit | |
//! | --- | --- |
//! | the file | 64 MiB |
//! | a stream, unpacked | 64 MiB |
//! | all attachments, unpacked | 256 MiB |
//! | pages | 5,000 |
//! | attachments | as many as 100 runs have |
//!
//! An attachment is taken by its name in the manifest, and only names that brunt gives are known: they are no paths.

use std::collections::BTreeMap;

use lopdf::{Dictionary, Document, LoadOptions, Object, ObjectId, Stream};

use super::words::{self, Word};
use crate::evidence::{
    Evidence, FILES, File, MANIFEST, Manifest, RUNS_MAX, RunFiles, SCHEMA, SOLUTION, attached_name,
    sha256,
};

const FILE_MAX: usize = 64 << 20;
pub(super) const STREAM_MAX: usize = 64 << 20;
const ATTACHED_MAX: usize = 256 << 20;
const PAGES_MAX: usize = 5_000;
/// Depth of the tree of names.
const DEPTH_MAX: usize = 32;

/// Why a file is no paper that can be checked.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is no PDF.
    #[error("is not a PDF")]
    NotPdf,
    /// It is larger than any paper.
    #[error("is larger than {} MiB, which no paper is", FILE_MAX >> 20)]
    TooLarge,
    /// It cannot be read.
    #[error("cannot be read as a PDF: {0}")]
    Broken(String),
    /// It is locked.
    #[error("is encrypted; papers of brunt are not")]
    Encrypted,
    /// It has no manifest.
    #[error("is not a paper of brunt: no {MANIFEST} is attached to it")]
    NotOurs,
    /// Its manifest is of another version.
    #[error("its {MANIFEST} is `{0}`, and this program reads `{SCHEMA}`")]
    Schema(String),
    /// Its manifest cannot be read.
    #[error("its {MANIFEST} cannot be read: {0}")]
    Manifest(String),
    /// Something in it is more than a paper has.
    #[error("{0}")]
    TooMuch(String),
    /// A file is not the one that the manifest lists.
    #[error("{name}: {what}")]
    Changed {
        /// The attachment.
        name: String,
        /// What is wrong with it.
        what: String,
    },
}

impl ReadError {
    /// Whether it means that a paper was changed.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self, Self::Changed { .. })
    }
}

/// A PDF.
pub(super) struct Pdf {
    pub(super) document: Document,
    pages: Vec<ObjectId>,
    numbers: BTreeMap<ObjectId, usize>,
}

fn broken(error: impl std::fmt::Display) -> ReadError {
    ReadError::Broken(error.to_string())
}

impl Pdf {
    pub(super) fn open(bytes: &[u8]) -> Result<Self, ReadError> {
        if !crate::is_pdf(bytes) {
            return Err(ReadError::NotPdf);
        }
        if bytes.len() > FILE_MAX {
            return Err(ReadError::TooLarge);
        }
        let options = LoadOptions::with_max_decompressed_size(STREAM_MAX);
        let document = Document::load_mem_with_options(bytes, options).map_err(broken)?;
        if document.is_encrypted() || document.was_encrypted() {
            return Err(ReadError::Encrypted);
        }
        let pages: Vec<ObjectId> = document.page_iter().take(PAGES_MAX + 1).collect();
        if pages.len() > PAGES_MAX {
            let what = format!("has more than {PAGES_MAX} pages, which no paper has");
            return Err(ReadError::TooMuch(what));
        }
        let numbers = pages.iter().copied().zip(1..).collect();
        Ok(Self {
            document,
            pages,
            numbers,
        })
    }

    pub(super) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// The page that this object is, from 1.
    pub(super) fn page_of(&self, id: ObjectId) -> Option<usize> {
        self.numbers.get(&id).copied()
    }

    /// Every word of every page, in the order in which they are drawn.
    pub(super) fn words(&self) -> Result<Vec<Word>, ReadError> {
        let mut all = Vec::new();
        for (number, id) in (1..).zip(&self.pages) {
            words::of_page(&self.document, number, *id, &mut all).map_err(broken)?;
        }
        Ok(all)
    }

    /// What an object is, when it is a reference.
    pub(super) fn resolved<'a>(&'a self, object: &'a Object) -> Option<&'a Object> {
        Some(self.document.dereference(object).ok()?.1)
    }

    /// The content of a stream, unpacked.
    pub(super) fn content(stream: &Stream) -> Result<Vec<u8>, ReadError> {
        let plain = stream.get_plain_content_with_limit(STREAM_MAX);
        plain.map_err(broken)
    }

    /// The evidence that is attached, checked against its manifest.
    pub(super) fn evidence(&self) -> Result<Evidence, ReadError> {
        let mut attached = self.attached()?;
        let manifest = attached.remove(MANIFEST).ok_or(ReadError::NotOurs)?;
        let manifest = manifest_of(&manifest)?;
        let mut evidence = Evidence {
            program: manifest.program.clone(),
            redacted: manifest.redacted,
            runs: Vec::new(),
            solution: None,
        };
        for listed in &manifest.files {
            let changed = |what: &str| ReadError::Changed {
                name: listed.name.clone(),
                what: what.to_owned(),
            };
            let (run, file) = known(&listed.name)
                .ok_or_else(|| changed("is listed as evidence, but no paper has such a file"))?;
            let bytes = attached.remove(&listed.name).ok_or_else(|| {
                changed("is listed as evidence, but not attached, or listed twice")
            })?;
            if sha256(&bytes) != listed.sha256 || bytes.len() as u64 != listed.bytes {
                return Err(changed(
                    "was changed: it does not have the digest that the manifest lists",
                ));
            }
            match file {
                None => evidence.solution = Some(String::from_utf8_lossy(&bytes).into_owned()),
                Some(name) => {
                    if run > evidence.runs.len() + 1 {
                        return Err(changed(
                            "is of a run whose number does not follow the others",
                        ));
                    }
                    if run == evidence.runs.len() + 1 {
                        evidence.runs.push(RunFiles {
                            label: format!("run{run}"),
                            files: Vec::new(),
                        });
                    }
                    evidence.runs[run - 1].files.push(File {
                        name,
                        bytes,
                        whole: listed.shortened_from.clone(),
                    });
                }
            }
        }
        match attached.keys().next() {
            Some(name) => Err(ReadError::Changed {
                name: name.clone(),
                what: "is attached, but the manifest does not list it".to_owned(),
            }),
            None => Ok(evidence),
        }
    }

    /// All attachments by their names.
    fn attached(&self) -> Result<BTreeMap<String, Vec<u8>>, ReadError> {
        let mut files = Vec::new();
        let catalog = self.document.catalog().map_err(broken)?;
        let names = catalog.get_deref(b"Names", &self.document).ok();
        let names = names.and_then(|names| names.as_dict().ok());
        let tree = names.and_then(|names| names.get_deref(b"EmbeddedFiles", &self.document).ok());
        if let Some(tree) = tree.and_then(|tree| tree.as_dict().ok()) {
            self.gather(tree, 0, &mut files)?;
        }
        let mut attached = BTreeMap::new();
        let mut room = ATTACHED_MAX;
        for (name, stream) in files {
            let limit = room.min(STREAM_MAX);
            let bytes = stream.get_plain_content_with_limit(limit);
            let bytes = bytes.map_err(|error| ReadError::Changed {
                name: name.clone(),
                what: format!("cannot be unpacked: {error}"),
            })?;
            room = room.saturating_sub(bytes.len());
            if attached.insert(name.clone(), bytes).is_some() {
                let what = "is attached twice".to_owned();
                return Err(ReadError::Changed { name, what });
            }
        }
        Ok(attached)
    }

    /// The files below a node of the tree of names.
    fn gather<'a>(
        &'a self,
        node: &'a Dictionary,
        depth: usize,
        files: &mut Vec<(String, &'a Stream)>,
    ) -> Result<(), ReadError> {
        const MOST: usize = RUNS_MAX * FILES.len() + 2;
        let too_much = |what: String| Err(ReadError::TooMuch(what));
        if depth > DEPTH_MAX {
            return too_much("its attachments lie deeper than those of a paper".to_owned());
        }
        let list = |key: &[u8]| {
            let list = node.get_deref(key, &self.document).ok();
            list.and_then(|list| list.as_array().ok())
        };
        for kid in list(b"Kids").into_iter().flatten() {
            let kid = self.resolved(kid).and_then(|kid| kid.as_dict().ok());
            if let Some(kid) = kid {
                self.gather(kid, depth + 1, files)?;
            }
        }
        for pair in list(b"Names")
            .into_iter()
            .flat_map(|names| names.chunks_exact(2))
        {
            let Some(found) = self.file(&pair[1]) else {
                continue;
            };
            files.push(found);
            if files.len() > MOST {
                return too_much(format!("has more than {MOST} attachments"));
            }
        }
        Ok(())
    }

    /// Name and content of a file specification.
    fn file<'a>(&'a self, specification: &'a Object) -> Option<(String, &'a Stream)> {
        let specification = self.resolved(specification)?.as_dict().ok()?;
        let name = specification.get_deref(b"F", &self.document).ok()?;
        let name = String::from_utf8_lossy(name.as_str().ok()?).into_owned();
        let files = specification.get_deref(b"EF", &self.document).ok()?;
        let stream = files.as_dict().ok()?.get_deref(b"F", &self.document).ok()?;
        Some((name, stream.as_stream().ok()?))
    }
}

fn manifest_of(bytes: &[u8]) -> Result<Manifest, ReadError> {
    let refused = |error: serde_json::Error| ReadError::Manifest(error.to_string());
    let value: serde_json::Value = serde_json::from_slice(bytes).map_err(refused)?;
    let schema = value.get("schema").and_then(serde_json::Value::as_str);
    match schema {
        Some(SCHEMA) => serde_json::from_value(value).map_err(refused),
        other => Err(ReadError::Schema(other.unwrap_or_default().to_owned())),
    }
}

/// Run and file of an attachment's name; run 0 and no file for the solution.
fn known(name: &str) -> Option<(usize, Option<&'static str>)> {
    if name == SOLUTION {
        return Some((0, None));
    }
    (1..=RUNS_MAX).find_map(|run| {
        let file = FILES.iter().find(|file| attached_name(run, file) == name)?;
        Some((run, Some(*file)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_are_known() {
        assert_eq!(known("run1-result.json"), Some((1, Some("result.json"))));
        assert_eq!(
            known("run100-latency.hlog"),
            Some((100, Some("latency.hlog")))
        );
        assert_eq!(known("solution.toml"), Some((0, None)));
        for name in [
            "run0-result.json",
            "run101-result.json",
            "run01-result.json",
            "run1-../result.json",
            "../run1-result.json",
            "run1-report.html",
            "",
        ] {
            assert_eq!(known(name), None, "{name}");
        }
    }
}
