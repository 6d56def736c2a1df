//! Reads a PDF that may come from anywhere: within limits, without following anything that leads
//! out of it.
//!
//! | limit | |
//! | --- | --- |
//! | the file | 64 MiB |
//! | everything that is unpacked, together | 256 MiB; one stream 64 MiB |
//! | objects that are looked at, together | 2,000,000 |
//! | pages | 5,000 |
//! | the content of a page that is read for its words | four times that of the page that follows, and 64 KiB |
//! | attachments | as many as 100 runs have |
//!
//! What the reader of PDFs needs itself, for objects that it only lists, is bounded by the process
//! (`verify/limits.rs` of the program).
//!
//! Files whose objects are packed into streams are refused: they become many times larger in
//! memory, and no paper of brunt is one.
//!
//! An attachment is taken by its name in the manifest, and only names that brunt gives are known:
//! they are no paths.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use lopdf::{DecompressError, Dictionary, Document, Error, LoadOptions, Object, ObjectId, Stream};

use super::words::{self, Word};
use crate::evidence::{
    Evidence, FILES, File, MANIFEST, Manifest, RUNS_MAX, RunFiles, SCHEMA, SOLUTION, attached_name,
    sha256,
};
use crate::paper::ATTACHED_MAX;

const FILE_MAX: usize = 64 << 20;
pub(super) const STREAM_MAX: usize = ATTACHED_MAX;
/// Of everything that is unpacked.
const UNPACKED_MAX: usize = 256 << 20;
/// Of every object that is looked at.
const VISITS_MAX: usize = 2_000_000;
/// Content of a page beyond four times that of the page that follows.
const CONTENT_MORE: usize = 64 << 10;
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
    /// Its objects are packed.
    #[error("packs its objects, which papers of brunt do not: another program wrote it anew")]
    Packed,
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

pub(super) struct Pdf {
    pub(super) document: Document,
    pages: Vec<ObjectId>,
    numbers: BTreeMap<ObjectId, usize>,
    /// What is left of [`UNPACKED_MAX`] and [`VISITS_MAX`].
    room: Cell<usize>,
    visits: Cell<usize>,
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
        // Nothing is unpacked while it is loaded.
        let options = LoadOptions::with_max_decompressed_size(0);
        let document = Document::load_mem_with_options(bytes, options);
        let document = document.map_err(|error| match is_over_limit(&error) {
            true => ReadError::Packed,
            false => broken(error),
        })?;
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
            room: Cell::new(UNPACKED_MAX),
            visits: Cell::new(VISITS_MAX),
        })
    }

    /// Counts an object that is looked at.
    pub(super) fn visit(&self) -> Result<(), ReadError> {
        let left = self.visits.get().checked_sub(1);
        self.visits.set(
            left.ok_or_else(|| ReadError::TooMuch("has more objects than a paper has".to_owned()))?,
        );
        Ok(())
    }

    /// What `unpack` makes when it may make as much as it is given: `most`, or what is left. `None`
    /// when that is not enough, or it cannot be unpacked.
    fn unpacked(
        &self,
        most: usize,
        unpack: impl FnOnce(usize) -> lopdf::Result<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let room = self.room.get();
        match unpack(most.min(room)) {
            Ok(bytes) => {
                self.room.set(room - bytes.len().min(room));
                Ok(Some(bytes))
            }
            Err(error) if room < most && is_over_limit(&error) => {
                let megabytes = UNPACKED_MAX >> 20;
                let what = format!("unpacks to more than {megabytes} MiB, which no paper does");
                Err(ReadError::TooMuch(what))
            }
            Err(error) => {
                // What was unpacked until then took its time as well.
                let spent = if is_over_limit(&error) { most } else { 0 };
                self.room.set(room - spent.min(room));
                Ok(None)
            }
        }
    }

    pub(super) fn pages(&self) -> usize {
        self.pages.len()
    }

    /// The page that this object is, from 1.
    pub(super) fn page_of(&self, id: ObjectId) -> Option<usize> {
        self.numbers.get(&id).copied()
    }

    /// Every word of every page of a paper that was just made, in the order in which they are
    /// drawn.
    pub(super) fn words(&self) -> Result<Vec<Word>, ReadError> {
        let mut all = Vec::new();
        for (number, id) in (1..).zip(&self.pages) {
            let content = self.page_content(*id, STREAM_MAX)?.unwrap_or_default();
            words::of_page(&self.document, number, *id, &content, &mut all).map_err(broken)?;
        }
        Ok(all)
    }

    /// The words of a page whose content is not that of the same page of `follows`. `None` when it
    /// is, or cannot be read; then it is found by its drawing.
    pub(super) fn words_unlike(
        &self,
        page: usize,
        follows: &Self,
    ) -> Result<Option<Vec<Word>>, ReadError> {
        let (id, other) = (self.pages[page - 1], follows.pages[page - 1]);
        let wanted = follows.page_content(other, STREAM_MAX)?.unwrap_or_default();
        let content = self.page_content(id, 4 * wanted.len() + CONTENT_MORE)?;
        let Some(content) = content.filter(|content| *content != wanted) else {
            return Ok(None);
        };
        let mut words = Vec::new();
        let read = words::of_page(&self.document, page, id, &content, &mut words);
        Ok(read.is_ok().then_some(words))
    }

    fn page_content(&self, id: ObjectId, most: usize) -> Result<Option<Vec<u8>>, ReadError> {
        self.unpacked(most, |limit| self.document.get_page_content_with_limit(id, limit))
    }

    /// What an object is, when it is a reference.
    pub(super) fn resolved<'a>(&'a self, object: &'a Object) -> Option<&'a Object> {
        Some(self.document.dereference(object).ok()?.1)
    }

    /// The content of a stream, unpacked; `None` when it is longer than `most`, or cannot be
    /// unpacked.
    pub(super) fn content(
        &self,
        stream: &Stream,
        most: usize,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        self.unpacked(most, |limit| stream.get_plain_content_with_limit(limit))
    }

    /// The evidence that is attached, checked against its manifest.
    pub(super) fn evidence(&self) -> Result<Evidence, ReadError> {
        let mut attached = self.attached()?;
        let manifest = attached.remove(MANIFEST).ok_or(ReadError::NotOurs)?;
        let manifest = manifest_of(&manifest)?;
        let mut evidence = Evidence {
            program: manifest.program.clone(),
            redacted: manifest.redacted,
            sign_off: manifest.sign_off,
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
                        return Err(changed("is of a run whose number does not follow the others"));
                    }
                    if run == evidence.runs.len() + 1 {
                        evidence
                            .runs
                            .push(RunFiles { label: format!("run{run}"), files: Vec::new() });
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
            self.gather(tree, 0, &mut BTreeSet::new(), &mut files)?;
        }
        let mut attached = BTreeMap::new();
        for (name, stream) in files {
            let bytes = self.content(stream, STREAM_MAX)?;
            let bytes = bytes.ok_or_else(|| ReadError::Changed {
                name: name.clone(),
                what: format!("cannot be unpacked to at most {} MiB", STREAM_MAX >> 20),
            })?;
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
        known: &mut BTreeSet<ObjectId>,
        files: &mut Vec<(String, &'a Stream)>,
    ) -> Result<(), ReadError> {
        // What a search found stands in place of a result.
        const MOST: usize = RUNS_MAX * (FILES.len() - 1) + 2;
        let too_much = |what: String| Err(ReadError::TooMuch(what));
        if depth > DEPTH_MAX {
            return too_much("its attachments lie deeper than those of a paper".to_owned());
        }
        let list = |key: &[u8]| {
            let list = node.get_deref(key, &self.document).ok();
            list.and_then(|list| list.as_array().ok())
        };
        for kid in list(b"Kids").into_iter().flatten() {
            self.visit()?;
            if kid.as_reference().is_ok_and(|id| !known.insert(id)) {
                return too_much("has attachments that are listed more than once".to_owned());
            }
            let kid = self.resolved(kid).and_then(|kid| kid.as_dict().ok());
            if let Some(kid) = kid {
                self.gather(kid, depth + 1, known, files)?;
            }
        }
        for pair in list(b"Names").into_iter().flat_map(|names| names.chunks_exact(2)) {
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

/// Whether something was not unpacked because it is too long.
fn is_over_limit(error: &Error) -> bool {
    matches!(error, Error::Decompress(DecompressError::MemoryLimitExceeded { .. }))
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
        assert_eq!(known("run100-latency.hlog"), Some((100, Some("latency.hlog"))));
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
