//! `--json=records` of tasks that make predictions: each as a line when it is made, then what is
//! said at the end. Without it, the same text is printed.

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use brunt_host::computing::{Computing, head};
use brunt_report::result::Verdict;
use brunt_report::{FolderError, Records};
use brunt_run::{Entry, Record, Silence};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::prediction::Prediction;
use crate::predictions::Request;
use crate::{TaskError, say};

/// What is printed while predictions are made.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ToldArgs {
    /// Print each prediction as a line of JSON when it is made, and the text in the last
    #[arg(long, value_name = "WHAT")]
    json: Option<Json>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Json {
    Records,
}

/// What a task tells.
#[derive(Default)]
pub(crate) struct Told {
    /// `None` when it prints text.
    records: Option<Computing<Silence>>,
    /// The end of the journal, which waits for the text.
    last: Arc<Mutex<Value>>,
    text: Mutex<Vec<String>>,
}

impl Told {
    /// Of the task called `task`.
    pub(crate) fn new(args: ToldArgs, task: &str) -> Result<Self, TaskError> {
        let mut told = Self::default();
        if args.json.is_some() {
            let (last, mut records) = (Arc::clone(&told.last), Records::default());
            let began = SystemTime::now().into();
            let head = head(None, began, task, String::new(), &json!({ "task": task }));
            let heard = move |entry: &Entry<&Record>| {
                let line = records.line(entry);
                match entry.record {
                    Record::Ended(_) => *last.lock().expect("nobody panicked") = line,
                    _ => say(&line.to_string()),
                }
            };
            let computing = Computing::begin(head, None, Some(Box::new(heard)), Silence);
            told.records = Some(computing.map_err(failed)?);
        }
        Ok(told)
    }

    /// One prediction of `all` is made.
    pub(crate) fn made(&self, request: &Request, all: usize, made: &Result<Prediction, TaskError>) {
        let Some(computing) = &self.records else {
            return;
        };
        let mut point = match made {
            Ok(made) => json!({
                "passed": made.result.verdict == Verdict::Pass,
                "verdict": made.result.verdict,
                "sentence": made.result.storage.details.sentence,
                "io_per_s": made.result.storage.achieved_iops,
            }),
            Err(why) => json!({ "passed": false, "refused": why.to_string() }),
        };
        point["value"] = json!(request.to_string());
        computing.done(Some(all as u64), point);
    }

    /// A part of the text.
    pub(crate) fn say(&self, text: &str) {
        match self.records {
            Some(_) => self.text.lock().expect("nobody panicked").push(text.to_owned()),
            None => say(text),
        }
    }

    /// Everything was said.
    pub(crate) fn end(self, verdict: Verdict) -> Result<(), TaskError> {
        if let Some(computing) = self.records {
            computing.ended(verdict).map_err(failed)?;
            let mut last = std::mem::take(&mut *self.last.lock().expect("nobody panicked"));
            let text = self.text.into_inner().expect("nobody panicked");
            last["result"] = json!({ "text": text.join("\n") });
            say(&last.to_string());
        }
        Ok(())
    }
}

fn failed(error: FolderError) -> TaskError {
    TaskError::File { path: error.path, error: error.source }
}
