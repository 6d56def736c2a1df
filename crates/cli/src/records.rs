//! `--json=records`: the records of a run as lines on stdout, while it works.
//!
//! ```text
//!   recorder: journal, then --> channel --> a thread that prints
//!   command: the result -------^            "ended" waits for it, and is the last line
//! ```
//!
//! A reader of stdout that is slow delays neither the journal nor the work.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use brunt_host::recorder::Heard;
use brunt_report::Records;
use serde_json::{Value, json};

use crate::output::Output;
use crate::test_args::Json;

/// The lines of a command.
pub(crate) struct Lines {
    /// `None` when no records were asked for.
    printing: Option<(Sender<Line>, JoinHandle<()>)>,
}

enum Line {
    Record(Value),
    /// The result: its verdict, and all of it.
    Result(Value, Value),
}

impl Lines {
    /// Prints records if `json` asks for them.
    pub(crate) fn of(json: Option<Json>, output: &Output) -> Self {
        let printing = (json == Some(Json::Records)).then(|| {
            let (lines, received) = mpsc::channel();
            let output = output.clone();
            (lines, thread::spawn(move || print(&received, &output)))
        });
        Self { printing }
    }

    /// What hears the records of a journal; each has one of its own.
    pub(crate) fn heard(&self) -> Option<Heard> {
        let (lines, _) = self.printing.as_ref()?;
        let (lines, mut records) = (lines.clone(), Records::default());
        Some(Box::new(move |entry| {
            // The thread lives as long as the command.
            let _ = lines.send(Line::Record(records.line(entry)));
        }))
    }

    /// Prints the result, which is the JSON `text`, and waits until everything is printed.
    pub(crate) fn end(self, verdict: &str, text: &str) {
        let Some((lines, thread)) = self.printing else {
            return;
        };
        let result = serde_json::from_str(text).unwrap_or_default();
        let _ = lines.send(Line::Result(json!(verdict), result));
        drop(lines);
        let _ = thread.join();
    }
}

/// Prints lines in their order. The end of a journal waits for the result of the command.
fn print(lines: &Receiver<Line>, output: &Output) {
    let mut ended: Vec<Value> = Vec::new();
    for line in lines {
        match line {
            Line::Record(line) if line["record"] == "ended" => ended.push(line),
            Line::Record(line) => output.data(&line.to_string()),
            Line::Result(verdict, result) => {
                // Several servers have a journal each, and the result is of all of them.
                let mut last = match (ended.pop(), ended.is_empty()) {
                    (Some(only), true) => only,
                    (last, _) => {
                        ended.extend(last);
                        json!({ "record": "ended" })
                    }
                };
                ended.drain(..).for_each(|line| output.data(&line.to_string()));
                last["verdict"] = verdict;
                last["result"] = result;
                output.data(&last.to_string());
                return;
            }
        }
    }
    ended.iter().for_each(|line| output.data(&line.to_string()));
}
