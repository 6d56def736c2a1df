//! The folder of a plan.
//!
//! ```text
//!   DIR/plan.json                    what is computed; never changed
//!   DIR/points/POINT/ATTEMPT         a record, complete before it has this name
//!   DIR/points/POINT/.ATTEMPT        one that is being written, or whose attempt ended
//! ```
//!
//! Attempts have names of their own, so none writes over another's record. The folder is the truth:
//! queues forget. It may come from anywhere: links are not followed, and what is no record of the
//! point is left out and named.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use brunt_lab::batch::{BYTES_MAX, Digest, Plan, Record, Shelf, point_name};
use brunt_lab::{Program, Tried};
use brunt_report::FolderError;
use rustix::fs::OFlags;

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
    let text = match bounded(&path, PLAN_BYTES_MAX) {
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

    /// The record in the file `path`; `None` when it is none of `point`.
    fn record(&self, path: &Path, point: &str) -> Result<Option<Record>, FolderError> {
        let why = match bounded(path, 2 * BYTES_MAX as u64) {
            Ok(bytes) => match Record::read(&bytes, &self.plan, point) {
                Ok(record) => return Ok(Some(record)),
                Err(why) => why.to_string(),
            },
            // A link, a folder, a pipe.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => error.to_string(),
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                "is a link".to_owned()
            }
            Err(source) => return Err(FolderError { path: path.to_owned(), source }),
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
            let name = entry.map_err(refuse)?.file_name();
            if !name.as_encoded_bytes().starts_with(b".") {
                names.push(name);
            }
        }
        names.sort();
        let names = names.into_iter().take(RECORDS_MAX);
        let records = names.map(|name| self.record(&folder.join(name), point));
        records.filter_map(Result::transpose).collect()
    }

    fn keep(&self, point: &str, tried: &Tried, seconds: f64) -> Result<(), FolderError> {
        let Attempt { name, node } = &self.attempt;
        let record = Record::new(self.plan, point, self.part, (name, node), seconds, tried);
        let folder = self.points.join(point_name(point));
        let refuse = |source| FolderError { path: folder.join(name), source };
        fs::create_dir_all(&folder).map_err(refuse)?;
        let draft = folder.join(format!(".{name}"));
        let written = write_synced(&draft, &record.to_bytes())
            .and_then(|()| fs::rename(&draft, folder.join(name)))
            .and_then(|()| fs::File::open(&folder)?.sync_all());
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written.map_err(refuse)?;
        self.kept.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// The bytes of a plain file of at most `most` bytes.
fn bounded(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).expect("flags are small");
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let facts = file.metadata()?;
    match facts.is_file() {
        false => return Err(invalid("is not a file")),
        true if facts.len() > most => return Err(invalid("is too large")),
        true => {}
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
