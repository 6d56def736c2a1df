//! One run, followed while its journal grows.
//!
//! ```text
//!   journal     grows           its new records are folded
//!               is another file everything is read anew
//!               stands still    the run goes on, until it has been still for longer than ever before; then it is silent
//!               is at its end   result.json says how it ended
//!   no journal of its own, but servers with journals: they are added up when one of them has grown
//! ```
//!
//! Reading costs processor time, and the test beside it may need that. So after a look that took a
//! while the next one waits a hundred times as long.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use brunt_host::runs;
use brunt_report::points::Points;
use brunt_report::{
    JOURNAL, JournalFile, NewsLine, OTHER_RESULTS, ReadError, RunFolder, journal_in, result_in,
};
use brunt_run::{Entry, Folding, HostNews, News, Record};

use crate::look::{Look, State};
use crate::progress::Progress;

/// A journal that stands still for less is not silent: a sample may take a minute.
const SILENT_MIN: Duration = Duration::from_secs(90);
/// Nor is one that stood still for a third of that before.
const SILENT_TIMES: u32 = 3;
/// Looking takes at most one part of this many.
const SHARE: u32 = 100;
/// Folders of servers that are looked for in that of a run.
const SERVERS_MAX: usize = 1_000;

/// A run that is followed.
pub(crate) struct Followed {
    name: String,
    folder: PathBuf,
    journal: Option<Open>,
    /// The journals of its servers, by their lengths.
    servers: Vec<(PathBuf, u64)>,
    /// When it grew, and the longest that it stood still before.
    grew: Instant,
    still: Duration,
    next: Instant,
    seen: Option<Seen>,
}

/// What is known of the work in a folder.
#[derive(Clone, Debug)]
pub enum Seen {
    Run(Look),
    Other(Other),
}

/// Work that is not one run: a sweep, a search, runs in turns, raw load.
#[derive(Clone, Debug)]
pub struct Other {
    pub(crate) name: String,
    pub(crate) state: State,
    pub(crate) progress: Option<Progress>,
    /// What it has computed.
    pub(crate) points: Option<Points>,
    /// What the hosts of a fleet are doing.
    pub(crate) hosts: Vec<HostNews>,
    /// Grows with every record.
    pub(crate) records: u64,
}

impl Seen {
    /// The name of its folder.
    pub fn name(&self) -> &str {
        match self {
            Self::Run(look) => &look.name,
            Self::Other(other) => &other.name,
        }
    }

    /// How it ended, in a word.
    pub fn headline(&self) -> String {
        match self {
            Self::Run(look) => look.run.result.headline(),
            Self::Other(_) => "its report is in its folder".to_owned(),
        }
    }

    /// What it is doing.
    pub fn state(&self) -> State {
        match self {
            Self::Run(look) => look.state,
            Self::Other(other) => other.state,
        }
    }

    fn set(&mut self, new: State) {
        match self {
            Self::Run(look) => look.state = new,
            Self::Other(other) => other.state = new,
        }
    }

    pub(crate) fn progress(&self) -> Option<&Progress> {
        match self {
            Self::Run(look) => look.progress.as_ref(),
            Self::Other(other) => other.progress.as_ref(),
        }
    }

    /// A number that changes with what is shown.
    pub(crate) fn version(&self) -> u64 {
        match self {
            Self::Run(look) => look.samples,
            Self::Other(other) => other.records,
        }
    }
}

/// A journal that is being read.
struct Open {
    journal: JournalFile,
    /// Device and number of the file.
    file: (u64, u64),
    folding: Folding,
    run_id: String,
    progress: Option<Progress>,
    is_at_end: bool,
    records: u64,
    hosts: Vec<HostNews>,
}

impl Followed {
    pub(crate) fn new(name: String, folder: PathBuf, now: Instant) -> Self {
        let journal = folder.join(JOURNAL);
        // One that stood still before the console began is silent at once.
        let age = fs::symlink_metadata(&journal).and_then(|found| found.modified());
        let age = age.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        let grew = age.and_then(|age| now.checked_sub(age)).unwrap_or(now);
        let (journal, servers) = (None, Vec::new());
        Self { name, folder, journal, servers, grew, still: Duration::ZERO, next: now, seen: None }
    }

    /// Reads what there is to read; what has changed by that.
    ///
    /// # Errors
    /// [`ReadError`] when it cannot be read.
    pub(crate) fn look(&mut self, now: Instant) -> Result<Option<&Seen>, ReadError> {
        if now < self.next {
            return Ok(None);
        }
        let (begun, is_first) = (Instant::now(), self.seen.is_none());
        let changed = self.look_now(now);
        // All that was recorded before is read only once.
        let is_once = is_first && changed.is_ok();
        self.next = if is_once { now } else { now + SHARE * begun.elapsed() };
        Ok(if changed? { self.seen.as_ref() } else { None })
    }

    fn look_now(&mut self, now: Instant) -> Result<bool, ReadError> {
        let has_grown = self.read(now)?;
        if has_grown {
            self.still = self.still.max(now.saturating_duration_since(self.grew));
            self.grew = now;
        }
        let is_at_end = self.journal.as_ref().is_none_or(|open| open.is_at_end);
        let stood = now.saturating_duration_since(self.grew);
        let state = match is_at_end && has_result(&self.folder) {
            true => State::Ended,
            false if stood > SILENT_MIN.max(SILENT_TIMES * self.still) => State::Silent,
            false => State::GoesOn,
        };
        match &mut self.seen {
            Some(seen) if !has_grown && seen.state() == state => return Ok(false),
            Some(seen) if !has_grown && state != State::Ended => seen.set(state),
            _ => self.seen = Some(self.seen(state)?),
        }
        Ok(true)
    }

    /// Whether there is anything new.
    fn read(&mut self, now: Instant) -> Result<bool, ReadError> {
        let path = self.folder.join(JOURNAL);
        let file = fs::symlink_metadata(&path).ok();
        let file = file.map(|found| (found.dev(), found.ino()));
        if self.journal.as_ref().is_some_and(|open| Some(open.file) != file) {
            *self = Self::new(std::mem::take(&mut self.name), self.folder.clone(), now);
        }
        let Some(file) = file else {
            return Ok(self.servers_have_grown());
        };
        let is_new = self.journal.is_none();
        if is_new {
            let Some(journal) = journal_in(&self.folder)? else { return Ok(false) };
            self.journal = Some(Open::new(journal, file));
        }
        let open = self.journal.as_mut().expect("it is open");
        let read = open.read();
        Ok(read.map_err(runs::refused(&self.folder))? || is_new)
    }

    /// A simulation of several servers has a journal in the folder of each.
    fn servers_have_grown(&mut self) -> bool {
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let journals = folders.filter(is_folder).take(SERVERS_MAX);
        let journals = journals.map(|entry| entry.path().join(JOURNAL));
        let lengths = journals.filter_map(|path| {
            let found = fs::symlink_metadata(&path).ok()?;
            Some((path, found.len()))
        });
        let mut servers: Vec<_> = lengths.collect();
        servers.sort();
        let has_grown = servers != self.servers || self.seen.is_none();
        self.servers = servers;
        has_grown
    }

    fn seen(&self, state: State) -> Result<Seen, ReadError> {
        let Some(open) = &self.journal else {
            return ended(&self.name, &self.folder).map(|look| Seen::Run(Look { state, ..look }));
        };
        let folded = open.folding.so_far(open.journal.cut());
        let run = match state {
            State::Ended => runs::read(&self.folder).ok(),
            State::GoesOn | State::Silent => runs::of_journal(&folded),
        };
        let (name, run_id) = (self.name.clone(), open.run_id.clone());
        let progress = open.progress.clone().filter(|_| state != State::Ended);
        Ok(match run {
            Some(run) => Seen::Run(Look {
                name,
                run_id,
                run: Arc::new(run),
                samples: folded.samples.len() as u64,
                streams: Arc::new(folded.streams),
                state,
                progress,
            }),
            None => Seen::Other(Other {
                name,
                state,
                progress,
                points: Points::of(&folded),
                hosts: open.hosts.clone(),
                records: open.records,
            }),
        })
    }
}

impl Open {
    fn new(journal: JournalFile, file: (u64, u64)) -> Self {
        let (folding, run_id) = (Folding::default(), String::new());
        Self {
            journal,
            file,
            folding,
            run_id,
            progress: None,
            is_at_end: false,
            records: 0,
            hosts: Vec::new(),
        }
    }

    /// Whether there was a record.
    fn read(&mut self) -> std::io::Result<bool> {
        self.journal.look_again()?;
        let before = self.records;
        while let Some(entry) = self.journal.next_entry()? {
            self.records += 1;
            self.note(&entry);
            self.folding.take(entry.record);
        }
        Ok(self.records > before)
    }

    fn note(&mut self, entry: &Entry) {
        match &entry.record {
            Record::Head(head) => {
                self.run_id.clone_from(&head.run_id);
                (self.progress, self.is_at_end) = (None, false);
            }
            Record::News(line) => {
                let news = NewsLine::from_json(line).map(|line| line.news);
                if let Some(progress) = news.as_ref().and_then(Progress::of) {
                    self.progress = Some(progress);
                }
                if let Some(News::Hosts { hosts }) = news {
                    self.hosts = hosts;
                }
            }
            Record::Ended(_) => self.is_at_end = true,
            _ => {}
        }
    }
}

/// Whether `folder` has a file of this `name`; a link is none.
fn has(folder: &Path, name: &str) -> bool {
    folder.join(name).symlink_metadata().is_ok_and(|found| found.is_file())
}

/// Whether the work in `folder` has come to its end.
pub(crate) fn has_result(folder: &Path) -> bool {
    result_in(folder).is_ok_and(|result| result.is_finished())
        || OTHER_RESULTS.iter().any(|(name, _)| has(folder, name))
}

/// Whether `folder` is that of a run: it, and what it has, are no links.
pub(crate) fn is_run(folder: &Path) -> bool {
    let is_folder = folder.symlink_metadata().is_ok_and(|found| found.is_dir());
    let is_named =
        folder.file_name().and_then(|name| name.to_str()).is_some_and(RunFolder::is_name);
    is_folder && is_named && (has(folder, JOURNAL) || has(folder, "result.json"))
}

/// The run in `folder`, as it ended.
///
/// # Errors
/// [`ReadError`] when it cannot be read.
pub(crate) fn ended(name: &str, folder: &Path) -> Result<Look, ReadError> {
    Ok(Look::of(name, runs::read(folder)?, State::Ended))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use brunt_report::report_html;
    use proptest::prelude::*;

    use super::*;
    use crate::made;

    fn later(now: Instant, seconds: u64) -> Instant {
        now + Duration::from_secs(seconds)
    }

    fn look(followed: &mut Followed, now: Instant) -> Option<Look> {
        match followed.look(now).unwrap() {
            Some(Seen::Run(look)) => Some(look.clone()),
            Some(other) => panic!("{other:?}"),
            None => None,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// However it was read: what is shown is the report of the folder as it was left.
        #[test]
        fn what_is_shown_is_the_report_of_a_folder_cut_there(
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..5),
        ) {
            let home = tempfile::tempdir().unwrap();
            let whole = made::journal(&made::records(5));
            let begin = brunt_run::FORMAT.len();
            let mut ends: Vec<usize> =
                cuts.iter().map(|cut| begin + cut.index(whole.len() - begin + 1)).collect();
            ends.sort_unstable();
            let folder = made::folder(home.path(), "growing", &whole[..begin]);
            let mut now = Instant::now();
            let mut followed = Followed::new("growing".to_owned(), folder.clone(), now);
            for (number, end) in ends.into_iter().enumerate() {
                std::fs::write(folder.join(JOURNAL), &whole[..begin]).unwrap();
                let file = std::fs::OpenOptions::new().append(true).open(folder.join(JOURNAL));
                file.unwrap().write_all(&whole[begin..end]).unwrap();
                now = later(now, 60);
                let _ = followed.look(now).unwrap();
                let cut = made::folder(home.path(), &format!("cut-{number}"), &whole[..end]);
                let wanted = runs::read(&cut).unwrap();
                if let Some(Seen::Run(look)) = &followed.seen {
                    prop_assert_eq!(look.run.result.to_json(), wanted.result.to_json());
                    prop_assert_eq!(report_html(&look.run), report_html(&wanted));
                    prop_assert_eq!(look.samples, wanted.samples.len() as u64);
                } else {
                    // Not even its head is there.
                    prop_assert!(wanted.samples.is_empty());
                }
            }
        }
    }

    #[test]
    fn a_journal_that_stands_still_is_silent_and_may_go_on() {
        let home = tempfile::tempdir().unwrap();
        let records = made::records(3);
        let folder = made::folder(home.path(), "a", &made::journal(&records[..6]));
        let now = Instant::now();
        let mut followed = Followed::new("a".to_owned(), folder.clone(), now);
        let first = look(&mut followed, now).unwrap();
        assert_eq!((first.state, first.samples), (State::GoesOn, 1));
        assert!(look(&mut followed, later(now, 60)).is_none());
        let silent = look(&mut followed, later(now, 200)).unwrap();
        assert_eq!((silent.state, silent.samples), (State::Silent, 1));
        std::fs::write(folder.join(JOURNAL), made::journal(&records[..9])).unwrap();
        let again = look(&mut followed, later(now, 300)).unwrap();
        assert_eq!((again.state, again.samples), (State::GoesOn, 2));
        // It has stood still for five minutes before, so that says less now.
        assert!(look(&mut followed, later(now, 300 + 250)).is_none());
    }

    #[test]
    fn a_run_has_ended_when_its_result_says_so() {
        let home = tempfile::tempdir().unwrap();
        let folder = made::folder(home.path(), "a", &made::journal(&made::records(2)));
        let now = Instant::now();
        let mut followed = Followed::new("a".to_owned(), folder.clone(), now);
        // Its journal is at its end, and the result is still being written.
        assert_eq!(look(&mut followed, now).unwrap().state, State::GoesOn);
        let kept = include_str!("../../report/tests/report/result_v2.json");
        std::fs::write(folder.join("result.json"), kept).unwrap();
        let ended = look(&mut followed, later(now, 60)).unwrap();
        assert_eq!((ended.state, ended.progress), (State::Ended, None));
    }

    #[test]
    fn a_journal_that_is_another_file_is_read_anew() {
        let home = tempfile::tempdir().unwrap();
        let records = made::records(4);
        let folder = made::folder(home.path(), "a", &made::journal(&records[..12]));
        let now = Instant::now();
        let mut followed = Followed::new("a".to_owned(), folder.clone(), now);
        assert_eq!(look(&mut followed, now).unwrap().samples, 3);
        let other = made::folder(home.path(), "b", &made::journal(&records[..6]));
        std::fs::rename(other.join(JOURNAL), folder.join(JOURNAL)).unwrap();
        assert_eq!(look(&mut followed, later(now, 60)).unwrap().samples, 1);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(followed.look(later(now, 120)).is_err());
    }
}
