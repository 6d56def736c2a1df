//! The journal of work other than storage tests: drills, raw load, mail.
//!
//! It hears what the work tells, keeps it, and lets another listener show it. Frequent progress is
//! kept once in a while.

use std::cell::{Cell, RefCell};

use brunt_report::result::Verdict;
use brunt_report::{Event, FolderError, NewsLine, RunFolder, Timestamp};
use brunt_run::{Head, Listener, News, Recorded, Thinned};
use brunt_units::{Span, Time};

use crate::recorder::{Heard, Recorder};
use crate::test_log;

/// How often progress of one kind is kept.
const PROGRESS: Span = Span::seconds(5);

/// Keeps what it hears.
pub struct Keeping<S> {
    recorder: RefCell<Option<Recorder>>,
    began: Timestamp,
    thinned: RefCell<Thinned>,
    /// Courses of a drill have clocks of their own; the time of a journal never goes back.
    now: Cell<Time>,
    shown: S,
}

impl<S: Listener> Keeping<S> {
    /// Work with this head, which begins now: its journal is in `folder`, where it has one, `heard`
    /// hears the records, and `shown` hears what is told.
    ///
    /// # Errors
    /// [`FolderError`] when the journal cannot be made.
    pub fn begin(
        head: Head,
        folder: Option<&RunFolder>,
        heard: Option<Heard>,
        shown: S,
    ) -> Result<Self, FolderError> {
        let began = Timestamp { unix_seconds: head.began_unix_s };
        let recorder = match (folder, heard) {
            (Some(folder), heard) => Some(Recorder::of_work(folder, head, heard)?),
            (None, Some(heard)) => Some(Recorder::of_stream(head, heard)?),
            (None, None) => None,
        };
        Ok(Self {
            recorder: recorder.into(),
            began,
            thinned: Thinned::to(PROGRESS).into(),
            now: Cell::default(),
            shown,
        })
    }

    /// The other listener.
    pub fn shown(&self) -> &S {
        &self.shown
    }

    /// The work has ended with `verdict`; waits until everything is on storage.
    ///
    /// # Errors
    /// [`FolderError`] for what could not be written.
    pub fn ended(&self, verdict: Verdict) -> Result<(), FolderError> {
        self.ended_at(self.now.get(), verdict)
    }

    /// The same, at a time after that of the newest news.
    ///
    /// # Errors
    /// [`FolderError`] for what could not be written.
    pub fn ended_at(&self, at: Time, verdict: Verdict) -> Result<(), FolderError> {
        if let Some(recorder) = &*self.recorder.borrow() {
            recorder.work_ended(at, verdict);
        }
        self.end()
    }

    /// Nothing came of the work; waits as well.
    ///
    /// # Errors
    /// [`FolderError`] for what could not be written.
    pub fn end(&self) -> Result<(), FolderError> {
        self.recorder.take().map_or(Ok(()), Recorder::finish)
    }
}

impl<S: Listener> Listener for Keeping<S> {
    fn tell(&self, at: Time, news: &News) {
        let now = at.max(self.now.get());
        self.now.set(now);
        let utc = self.began.after(now.0.div_euclid(1_000_000_000));
        if let Some(recorder) = &*self.recorder.borrow() {
            if self.thinned.borrow_mut().keeps(now, news) {
                recorder.news(now, NewsLine { at: utc, news: news.clone() });
            }
            for text in test_log::news(news) {
                recorder.event(now, Event { at: utc, text });
            }
        }
        self.shown.tell(at, news);
    }

    fn recorded(&self, recorded: &Recorded) {
        if let Some(recorder) = &*self.recorder.borrow() {
            recorder.sample(recorded);
        }
        self.shown.recorded(recorded);
    }
}
