//! What a run of mail keeps in its folder besides the result: how to find the servers again, the
//! ledger, and what was said around messages that failed.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_load::{Conversation, Conversations, Keep, KeepError};
use brunt_mail::{Ledger, Mailing};
use brunt_report::RunFolder;
use brunt_report::result::MailFinding;
use serde::{Deserialize, Serialize};

use super::LoadError;

pub(super) const LEDGER: &str = "ledger.bin";
const CONVERSATIONS: &str = "conversations.log";
const LOAD: &str = "load.json";
const SCHEMA: &str = "brunt.load/1";
/// The link in the folder of servers to that of their run.
const RUN: &str = "run";

/// What a later audit has to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Load {
    schema: String,
    /// The folder of the servers.
    pub(super) servers: PathBuf,
}

impl Load {
    pub(super) fn new(servers: &Path) -> Self {
        Self { schema: SCHEMA.to_owned(), servers: servers.to_owned() }
    }

    pub(super) fn keep(&self, folder: &RunFolder) -> Result<(), LoadError> {
        let text = serde_json::to_string_pretty(self).expect("paths and words can be written");
        Ok(folder.write(LOAD, format!("{text}\n").as_bytes())?)
    }

    /// There are no servers any more.
    pub(super) fn forget(folder: &Path) -> Result<(), LoadError> {
        let path = folder.join(LOAD);
        fs::remove_file(&path).map_err(LoadError::at(&path))
    }

    /// Of the run in `folder`.
    pub(super) fn read(folder: &Path) -> Result<Self, LoadError> {
        let path = folder.join(LOAD);
        let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => LoadError::NoRun(folder.to_owned()),
            _ => LoadError::at(&path)(error),
        })?;
        let load: Self = serde_json::from_str(&text)
            .map_err(|error| LoadError::Kept { path: path.clone(), why: error.to_string() })?;
        match load.schema == SCHEMA {
            true => Ok(load),
            false => Err(LoadError::Kept { path, why: format!("its schema is `{}`", load.schema) }),
        }
    }
}

/// Keeps in the folder of servers that they are of `run`.
pub(super) fn keep_run(servers: &Path, run: &Path) -> Result<(), LoadError> {
    let path = servers.join(RUN);
    let run = fs::canonicalize(run).map_err(LoadError::at(run))?;
    std::os::unix::fs::symlink(run, &path).map_err(LoadError::at(&path))
}

/// The run whose servers these are; `None` where nothing says so.
pub(super) fn run_of(servers: &Path) -> Option<PathBuf> {
    fs::read_link(servers.join(RUN)).ok()
}

/// `ledger.bin` while it is written. What was appended survives this program at once, and the
/// machine when the run ends.
pub(super) struct LedgerFile {
    path: PathBuf,
    file: RefCell<File>,
}

impl LedgerFile {
    pub(super) fn create(folder: &RunFolder) -> Result<Self, LoadError> {
        let path = folder.file(LEDGER);
        let file = OpenOptions::new().append(true).create_new(true).open(&path);
        Ok(Self { file: file.map_err(LoadError::at(&path))?.into(), path })
    }

    /// Forces it to the disk.
    pub(super) fn sync(&self) -> Result<(), LoadError> {
        self.file.borrow().sync_data().map_err(LoadError::at(&self.path))
    }
}

impl Keep for LedgerFile {
    fn append(&self, bytes: &[u8]) -> Result<(), KeepError> {
        let written = self.file.borrow_mut().write_all(bytes);
        written.map_err(|error| KeepError(format!("{}: {error}", self.path.display())))
    }
}

/// The messages of a run, its ledger, and what is to be said about the file.
pub(super) type Kept = (Rc<Mailing>, Ledger, Option<String>);

/// What is kept of the run in `folder`.
pub(super) fn ledger(folder: &Path) -> Result<Kept, LoadError> {
    let path = folder.join(LEDGER);
    let file = File::open(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound if folder.join(LOAD).exists() => LoadError::NothingSent,
        _ => LoadError::at(&path)(error),
    })?;
    let found = Ledger::read(BufReader::new(file))
        .map_err(|error| LoadError::Kept { path: path.clone(), why: error.to_string() })?;
    let cut = found.cut.map(|cut| {
        format!("{LEDGER} ends after {} records: what followed is not known", cut.after)
    });
    let unended = (!found.ledger.has_ended()).then(|| {
        "the run was killed while it sent: its last messages may have no record".to_owned()
    });
    Ok((Rc::new(Mailing::new(found.mailing)?), found.ledger, cut.or(unended)))
}

/// Writes what was said around each message that is not as promised, with the section of the
/// standard, and around other trouble. Nothing is written where there is nothing to say.
pub(super) fn conversations(
    folder: &RunFolder,
    findings: &[MailFinding],
    said: &Conversations,
) -> Result<(), LoadError> {
    let mut text = String::new();
    for finding in findings {
        let number = u32::try_from(finding.message).unwrap_or(u32::MAX);
        let head = format!("message {} to {}: {}", finding.message, finding.user, finding.outcome);
        let section = match finding.section.as_str() {
            "" => String::new(),
            section => format!(" ({section})"),
        };
        text.push_str(&format!("## {head}{section}\n"));
        match said.about(number) {
            Some(conversation) => text.push_str(&lines(conversation)),
            None => text.push_str("not kept: it was accepted, and its session went on\n\n"),
        }
    }
    for conversation in said.troubled() {
        text.push_str(&format!("## trouble in {}\n{}", conversation.session, lines(conversation)));
    }
    if said.passed_over() > 0 {
        text.push_str(&format!("{} more conversations were not kept\n", said.passed_over()));
    }
    match text.is_empty() {
        true => Ok(()),
        false => Ok(folder.write(CONVERSATIONS, text.as_bytes())?),
    }
}

fn lines(conversation: &Conversation) -> String {
    let lines = conversation.lines.iter().map(|line| format!("{line}\n"));
    lines.chain(["\n".to_owned()]).collect()
}
