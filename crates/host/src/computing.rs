//! Work that consists of several simulations, runs or steps: sweeps, searches, proofs.
//!
//! It tells each when it is done, from any thread and in the order in which they end. Its time is
//! that of this machine, whatever is simulated.

use std::sync::{Mutex, MutexGuard};

use brunt_report::result::Verdict;
use brunt_report::{FolderError, RunFolder, Timestamp};
use brunt_run::{Head, Listener, News};
use brunt_world_real::ClockZero;
use serde_json::{Value, json};

use crate::keeping::Keeping;
use crate::recorder::Heard;

/// What is done of such work, for its journal and for what shows it.
pub struct Computing<S> {
    state: Mutex<State<S>>,
    zero: ClockZero,
}

struct State<S> {
    keeping: Keeping<S>,
    done: u64,
}

/// The head of work called `name`, in the folder where it has one. `outline` is its result before
/// anything was computed.
pub fn head(
    folder: Option<&RunFolder>,
    began: Timestamp,
    name: &str,
    scenario: String,
    outline: &Value,
) -> Head {
    let own = folder.and_then(|folder| folder.path().file_name());
    let run_id = match own {
        Some(own) => own.to_string_lossy().into_owned(),
        None => format!("{}-{name}", began.for_folder()),
    };
    Head { run_id, began_unix_s: began.unix_seconds, scenario, outline: outline.to_string() }
}

/// The result of a sweep or a search of `key` before anything was computed, as `points.json`.
pub fn no_points(scenario: &str, key: &str) -> Value {
    json!({
        "schema": "brunt.points/1",
        "scenario": scenario,
        "key": key,
        "found": Value::Null,
        "points": [],
    })
}

impl<S: Listener> Computing<S> {
    /// Work with this head, which begins now: `shown` hears it, its journal is in `folder`, and
    /// `heard` hears the records.
    ///
    /// # Errors
    /// [`FolderError`] when the journal cannot be made.
    pub fn begin(
        head: Head,
        folder: Option<&RunFolder>,
        heard: Option<Heard>,
        shown: S,
    ) -> Result<Self, FolderError> {
        let state = State { keeping: Keeping::begin(head, folder, heard, shown)?, done: 0 };
        Ok(Self { state: state.into(), zero: ClockZero::now() })
    }

    /// One more is done, of `all` if that is known; `point` is what came of it, as an object of
    /// `points.json`.
    pub fn done(&self, all: Option<u64>, point: Value) {
        let mut state = self.state();
        state.done += 1;
        let news = News::Computed { done: state.done, all, point: Some(point) };
        state.keeping.tell(self.zero.elapsed(), &news);
    }

    /// As many of `all` steps are `done`, of which one says nothing.
    pub fn so_far(&self, done: u64, all: u64) {
        let news = News::Computed { done, all: Some(all), point: None };
        self.state().keeping.tell(self.zero.elapsed(), &news);
    }

    /// Has `use_it` use what shows the work.
    pub fn shown<R>(&self, use_it: impl FnOnce(&S) -> R) -> R {
        use_it(self.state().keeping.shown())
    }

    /// The work has ended with `verdict`; waits until everything is on storage.
    ///
    /// # Errors
    /// [`FolderError`] for what could not be written.
    pub fn ended(&self, verdict: Verdict) -> Result<(), FolderError> {
        self.state().keeping.ended_at(self.zero.elapsed(), verdict)
    }

    fn state(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().expect("no thread panicked")
    }
}
