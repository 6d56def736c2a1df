//! Runs in their folders, read back whatever became of them.
//!
//! ```text
//!   result.json says how it ended    it is taken as it is
//!   it has not ended                 what its journal has is judged
//!   there is none, or a torn one     the same: the journal begins with what result.json said first
//! ```

use std::io::{BufReader, Read, Seek};
use std::path::Path;

use brunt_qualify::plan::Plan;
use brunt_qualify::result::unfinished_result;
use brunt_report::result::ResultError;
use brunt_report::{
    Event, ReadError, Run, RunResult, Timestamp, folder_of, regular_file, result_in,
};
use brunt_run::{Folded, Head, Journal, JournalError, fold};
use brunt_scenario::Document;

/// The journal in a run folder.
pub const JOURNAL: &str = "journal";

/// Reads the run in `folder`. One that did not end is judged by what it recorded.
///
/// # Errors
/// [`ReadError`] when there is no run, or one of its files cannot be read.
pub fn read(folder: &Path) -> Result<Run, ReadError> {
    let is_lost = match result_in(folder) {
        Ok(result) => !result.is_finished(),
        Err(ReadError::NotBegun(_)) => true,
        Err(ReadError::Result { source: ResultError::Json(_), .. }) => true,
        Err(_) => false,
    };
    let recorded = match is_lost {
        true => folded(folder)?.as_ref().and_then(recorded),
        false => None,
    };
    recorded.map_or_else(|| Run::read(folder), Ok)
}

/// What `result.json` in `folder` says, or the journal if it is lost.
pub(crate) fn outline(folder: &Path) -> Result<RunResult, ReadError> {
    let lost = match result_in(folder) {
        Ok(result) => return Ok(result),
        Err(error) => error,
    };
    let head = folded(folder)?.and_then(|folded| folded.heads.into_iter().next());
    head.and_then(|head| RunResult::from_json(&head.outline).ok()).ok_or(lost)
}

/// What the journal in `folder` says; `None` when there is no journal.
pub(crate) fn folded(folder: &Path) -> Result<Option<Folded>, ReadError> {
    let Some(mut journal) = open(folder)? else {
        return Ok(None);
    };
    fold(&mut journal).map(Some).map_err(refused(folder))
}

/// The journal in `folder`, or beside the given `result.json`; `None` when there is none.
///
/// # Errors
/// [`ReadError`] when it cannot be read, or is of another version.
pub fn open(folder: &Path) -> Result<Option<Journal<impl Read + Seek + use<>>>, ReadError> {
    let folder = folder_of(folder);
    let Some(file) = regular_file(folder, JOURNAL).map_err(refused(folder))? else {
        return Ok(None);
    };
    match Journal::open(BufReader::with_capacity(1 << 20, file)) {
        Ok(journal) => Ok(Some(journal)),
        Err(JournalError::Io(source)) => Err(refused(folder)(source)),
        Err(other @ JournalError::Format) => {
            Err(refused(folder)(std::io::Error::new(std::io::ErrorKind::InvalidData, other)))
        }
    }
}

/// What is said of a journal in `folder` that cannot be read.
pub fn refused(folder: &Path) -> impl Fn(std::io::Error) -> ReadError {
    let path = folder.join(JOURNAL);
    move |source| ReadError::File { path: path.clone(), source }
}

/// The head of a run of `plan`, without its scenario and outline.
pub fn head(plan: &Plan) -> Head {
    Head {
        run_id: plan.run.to_string(),
        began_unix_s: plan.epoch_ms.div_euclid(1_000),
        ..Head::default()
    }
}

/// The plan of the run with this head; `None` when it is not of real storage.
pub fn plan(head: &Head) -> Option<Plan> {
    let scenario = Document::new("scenario.toml", &head.scenario, Path::new("/"));
    let scenario = scenario.and_then(|document| document.server()).ok()?;
    Some(Plan { epoch_ms: head.began_unix_s * 1_000, ..scenario.plan() })
}

/// The run that a journal tells of; `None` when it says too little.
fn recorded(folded: &Folded) -> Option<Run> {
    let head = folded.heads.first()?;
    let outline = RunResult::from_json(&head.outline).ok()?;
    let plan = plan(head)?;
    let (result, samples) = unfinished_result(&plan, folded, &outline);
    let events = folded.events.iter().map(|event| Event {
        at: Timestamp { unix_seconds: event.unix_s },
        text: event.text.clone(),
    });
    Some(Run { result, scenario: head.scenario.clone(), events: events.collect(), samples })
}
