//! `brunt report RUN --follow`: a running test on another terminal, by its journal.
//!
//! It reads what is appended, so any user who may read the folder can watch, from the beginning or
//! in the middle; it never writes. Frequent progress is in the journal once per sample. It ends
//! with the run, or when it is interrupted; a run that was killed says nothing more.

use std::path::Path;
use std::thread;
use std::time::Duration;

use brunt_host::runs;
use brunt_report::{JOURNAL, NewsLine, Timestamp, journal_in, result_in};
use brunt_run::{Entry, Listener, Record};

use super::ReportError;
use crate::commands::run::Watch;
use crate::interrupt::Interrupt;
use crate::output::Output;

/// How often the journal is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// How often a result is looked for after the end.
const LOOKS: u32 = 20;

/// Shows the run in `folder` until it ends; `false` when it was interrupted before. As `json` its
/// news are printed as they are.
///
/// # Errors
/// [`ReportError`] when there is no journal, or it cannot be read.
pub(super) fn follow(folder: &Path, json: bool, output: &Output) -> Result<bool, ReportError> {
    let none = || ReportError::NoJournal(folder.join(JOURNAL));
    let mut journal = journal_in(folder)?.ok_or_else(none)?;
    let interrupt = Interrupt::listen()?;
    let mut shown = Shown { watch: None, json, output };
    while !interrupt.is_asked() {
        match journal.next_entry().map_err(runs::refused(folder))? {
            Some(Entry { record: Record::Ended(_), .. }) => {
                shown.end();
                // The result is written right after.
                for _ in 0..LOOKS {
                    if result_in(folder).is_ok_and(|result| result.is_finished()) {
                        break;
                    }
                    thread::sleep(LOOK);
                }
                return Ok(true);
            }
            Some(entry) => shown.take(entry, folder)?,
            None => {
                thread::sleep(LOOK);
                journal.look_again().map_err(runs::refused(folder))?;
            }
        }
    }
    shown.end();
    Ok(false)
}

struct Shown<'a> {
    watch: Option<Watch>,
    json: bool,
    output: &'a Output,
}

impl Shown<'_> {
    fn take(&mut self, entry: Entry, folder: &Path) -> Result<(), ReportError> {
        match entry.record {
            // A run that was carried on goes on with the plan of its last part.
            Record::Head(head) => {
                self.end();
                let plan = runs::plan(&head);
                let plan = plan.ok_or_else(|| ReportError::NotFollowed(folder.to_owned()))?;
                self.watch = Some(Watch::of_another(self.output, &plan));
                if !self.json {
                    let began = Timestamp { unix_seconds: head.began_unix_s }.for_people();
                    self.output
                        .talk(&format!("{:13} run {}, begun {began}", "follow", head.run_id));
                }
            }
            Record::News(json) if self.json => self.output.data(&json),
            Record::News(json) => {
                // Kinds of news are only added: those of another version are skipped.
                if let (Some(watch), Some(line)) = (&self.watch, NewsLine::from_json(&json)) {
                    watch.tell(entry.at, &line.news);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self) {
        if let Some(watch) = self.watch.take() {
            watch.clear();
        }
    }
}
