//! `brunt report RUN --follow`: running work on another terminal, by its journal.
//!
//! It reads what is appended, so any user who may read the folder can watch, from the beginning or
//! in the middle; it never writes. Frequent progress is in the journal once per sample. It ends
//! with the run, or when it is interrupted; a run that was killed says nothing more.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use brunt_host::runs;
use brunt_report::{JOURNAL, NewsLine, OTHER_RESULTS, Records, Timestamp, journal_in, result_in};
use brunt_run::{Entry, Head, Listener, Record};
use serde_json::Value;

use super::ReportError;
use crate::commands::run::Watch;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::teller::Teller;

/// How often the journal is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// How often a result is looked for after the end.
const LOOKS: u32 = 20;

/// Shows the run in `folder` until it ends; `false` when it was interrupted before. As `json` its
/// records are printed, the last with the result.
///
/// # Errors
/// [`ReportError`] when there is no journal, or it cannot be read.
pub(super) fn follow(folder: &Path, json: bool, output: &Output) -> Result<bool, ReportError> {
    let none = || ReportError::NoJournal(folder.join(JOURNAL));
    let mut journal = journal_in(folder)?.ok_or_else(none)?;
    let interrupt = Interrupt::listen()?;
    let mut shown = Shown { screen: None, records: json.then(Records::default), output };
    while !interrupt.is_asked() {
        match journal.next_entry().map_err(runs::refused(folder))? {
            Some(entry) => {
                let is_end = matches!(entry.record, Record::Ended(_));
                shown.take(&entry, folder);
                if is_end {
                    shown.end();
                    return Ok(true);
                }
            }
            None => {
                thread::sleep(LOOK);
                journal.look_again().map_err(runs::refused(folder))?;
            }
        }
    }
    shown.end();
    Ok(false)
}

/// The result, which is written right after the end of the journal; null where it does not come.
fn result(folder: &Path) -> Value {
    for _ in 0..LOOKS {
        if let Ok(result) = result_in(folder)
            && result.is_finished()
        {
            return serde_json::from_str(&result.to_json()).unwrap_or_default();
        }
        let mut others = OTHER_RESULTS.iter();
        if let Some(text) = others.find_map(|(name, _)| fs::read_to_string(folder.join(name)).ok())
        {
            return serde_json::from_str(&text).unwrap_or_default();
        }
        thread::sleep(LOOK);
    }
    Value::Null
}

struct Shown<'a> {
    screen: Option<Screen>,
    /// `None` when it is shown on the screen.
    records: Option<Records>,
    output: &'a Output,
}

enum Screen {
    Test(Box<Watch>),
    Other(Teller),
}

impl Shown<'_> {
    fn take(&mut self, entry: &Entry, folder: &Path) {
        let Entry { run, part, seq, at, record } = entry;
        let result = matches!(record, Record::Ended(_)).then(|| result(folder));
        if let Some(records) = &mut self.records {
            let (run, part, seq, at) = (*run, *part, *seq, *at);
            let mut line = records.line(&Entry { run, part, seq, at, record });
            if let Some(result) = result {
                line["result"] = result;
            }
            return self.output.data(&line.to_string());
        }
        match record {
            Record::Head(head) => self.begin(head),
            Record::News(json) => {
                // Kinds of news are only added: those of another version are skipped.
                let news = NewsLine::from_json(json).map(|line| line.news);
                match (&self.screen, news) {
                    (Some(Screen::Test(watch)), Some(news)) => watch.tell(*at, &news),
                    (Some(Screen::Other(teller)), Some(news)) => teller.tell(*at, &news),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// A run that was carried on goes on with the plan of its last part.
    fn begin(&mut self, head: &Head) {
        self.end();
        self.screen = Some(match runs::plan(head) {
            Some(plan) => Screen::Test(Box::new(Watch::of_another(self.output, &plan))),
            None => Screen::Other(Teller::new(self.output, "work")),
        });
        let began = Timestamp { unix_seconds: head.began_unix_s }.for_people();
        self.output.talk(&format!("{:13} run {}, begun {began}", "follow", head.run_id));
    }

    fn end(&mut self) {
        match self.screen.take() {
            Some(Screen::Test(watch)) => watch.clear(),
            Some(Screen::Other(teller)) => teller.clear(),
            None => {}
        }
    }
}
