//! The folder of a plan.
//!
//! ```text
//!   DIR/plan.json                    what is computed; never changed
//!   DIR/points/POINT/ATTEMPT         a record, complete before it has this name
//!   DIR/points/POINT/.NAME           one that is being written, or whose attempt ended
//! ```
//!
//! Attempts have names of their own, so none writes over another's record. The folder is the truth:
//! queues forget. It may come from anywhere: links are not followed, and what is no record of the
//! point is left out and named.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use brunt_lab::batch::{BYTES_MAX, Digest, Plan, Record, Shelf, point_name};
use brunt_lab::{Program, Tried};
use brunt_report::{FolderError, RunFolder, regular_file};

use super::BatchError;
use super::attempt::Attempt;
use crate::new_file;

const PLAN: &str = "plan.json";
const POINTS: &str = "points";
/// The texts of a scenario and its models, each written twice at worst.
const PLAN_BYTES_MAX: u64 = 64 << 20;
/// More records of a point are not read.
const RECORDS_MAX: usize = 1000;

/// Makes `folder` with `plan` in it. Making the same plan again changes nothing.
///
/// # Errors
/// [`BatchError`] when it has another plan, or cannot be made.
pub(super) fn make_plan(folder: &Path, plan: &Plan) -> Result<(), BatchError> {
    let refuse = |source| FolderError { path: folder.to_owned(), source };
    fs::create_dir_all(folder.join(POINTS)).map_err(refuse)?;
    let (path, text) = (folder.join(PLAN), plan.to_text());
    match fs::read_to_string(&path) {
        Ok(there) if there == text => Ok(()),
        Ok(_) => Err(BatchError::There(folder.to_owned())),
        Err(_) => Ok(new_file::write(&path, &text, false)?),
    }
}

/// The plan in `folder`.
///
/// # Errors
/// [`BatchError`] when there is none for this program.
pub(super) fn read_plan(folder: &Path, program: &Program) -> Result<Plan, BatchError> {
    let path = folder.join(PLAN);
    let text = match bounded(folder, PLAN, PLAN_BYTES_MAX) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(BatchError::NoPlan(folder.to_owned()));
        }
        Err(source) => return Err(FolderError { path, source }.into()),
    };
    Plan::read(&text, program).map_err(|why| BatchError::Plan { path, why })
}

/// The records of a plan, and who adds to them.
pub(super) struct PointFolders {
    points: PathBuf,
    plan: Digest,
    part: u64,
    attempt: Attempt,
    kept: AtomicU64,
    left_out: Mutex<Vec<String>>,
}

impl PointFolders {
    pub(super) fn new(folder: &Path, plan: Digest, part: u64, attempt: Attempt) -> Self {
        Self {
            points: folder.join(POINTS),
            plan,
            part,
            attempt,
            kept: AtomicU64::new(0),
            left_out: Mutex::default(),
        }
    }

    /// Records that were added.
    pub(super) fn kept(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    /// Files that are no records, with what is wrong.
    pub(super) fn left_out(&self) -> Vec<String> {
        self.left_out.lock().expect("nobody panicked").clone()
    }

    /// The record called `name` in `folder`; `None` when it is none of `point`.
    fn record(
        &self,
        folder: &Path,
        name: &str,
        point: &str,
    ) -> Result<Option<Record>, FolderError> {
        let path = folder.join(name);
        let why = match bounded(folder, name, 2 * BYTES_MAX as u64) {
            Ok(bytes) => match Record::read(&bytes, &self.plan, point) {
                Ok(record) => return Ok(Some(record)),
                Err(why) => why.to_string(),
            },
            Err(error) => match error.kind() {
                // A link, a folder, a pipe; or more than a record has, or gone meanwhile.
                io::ErrorKind::AlreadyExists
                | io::ErrorKind::InvalidData
                | io::ErrorKind::NotFound => error.to_string(),
                _ => return Err(FolderError { path, source: error }),
            },
        };
        let mut left_out = self.left_out.lock().expect("nobody panicked");
        left_out.push(format!("{}: {why}, and is left out", path.display()));
        Ok(None)
    }
}

impl Shelf for PointFolders {
    fn read(&self, point: &str) -> Result<Vec<Record>, FolderError> {
        let folder = self.points.join(point_name(point));
        let refuse = |source| FolderError { path: folder.clone(), source };
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(refuse(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(refuse)?.file_name().to_string_lossy().into_owned();
            if !name.starts_with('.') {
                names.push(name);
            }
        }
        names.sort();
        let names = names.into_iter().take(RECORDS_MAX);
        let records = names.map(|name| self.record(&folder, &name, point));
        records.filter_map(Result::transpose).collect()
    }

    fn keep(&self, point: &str, tried: &Tried) -> Result<(), FolderError> {
        let Attempt { name, node } = &self.attempt;
        let record = Record::new(self.plan, point, self.part, (name, node), tried);
        let folder = self.points.join(point_name(point));
        let refuse = |source| FolderError { path: folder.join(name), source };
        fs::create_dir_all(&folder).map_err(refuse)?;
        RunFolder::at(&folder).write(name, &record.to_bytes())?;
        self.kept.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// The bytes of a regular file of at most `most` bytes.
fn bounded(folder: &Path, name: &str, most: u64) -> io::Result<Vec<u8>> {
    let file = regular_file(folder, name)?.ok_or(io::ErrorKind::NotFound)?;
    let mut bytes = Vec::new();
    let length = file.take(most + 1).read_to_end(&mut bytes)?;
    match length as u64 > most {
        true => Err(io::Error::new(io::ErrorKind::InvalidData, "is too large")),
        false => Ok(bytes),
    }
}
