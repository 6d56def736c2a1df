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
use crate::test_args::{Json, Printed};

/// The lines of a command. Lines that are dropped say that it failed: they have no result.
pub(crate) struct Lines {
    json: Option<Json>,
    /// `None` when no records were asked for.
    printing: Option<(Sender<Line>, JoinHandle<()>)>,
}

enum Line {
    Record(Value),
    /// The result: its verdict, and all of it.
    Result(Value, Value),
    /// Nothing comes of it.
    Failed,
}

impl Lines {
    /// Prints records if `printed` asks for them.
    pub(crate) fn of(printed: &Printed, output: &Output) -> Self {
        let json = printed.json;
        let printing = (json == Some(Json::Records)).then(|| {
            let (lines, received) = mpsc::channel();
            let output = output.clone();
            (lines, thread::spawn(move || print(&received, &output)))
        });
        Self { json, printing }
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

    /// Prints the result: the JSON `text`, alone or as the end of the lines, or what `show` shows.
    pub(crate) fn tell(
        mut self,
        (verdict, text): (&str, &str),
        output: &Output,
        show: impl FnOnce(),
    ) {
        match self.json {
            None => show(),
            Some(Json::Result) => output.data(text.trim_end()),
            Some(Json::Records) => {
                let result = serde_json::from_str(text).unwrap_or_default();
                self.end(Line::Result(json!(verdict), result));
            }
        }
    }

    /// Waits until everything is printed, `last` as the last.
    fn end(&mut self, last: Line) {
        if let Some((lines, thread)) = self.printing.take() {
            let _ = lines.send(last);
            let _ = thread.join();
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.end(Line::Failed);
    }
}

/// Prints lines in their order. The end of a journal waits for what comes next: of the last, that is
/// the result of the command.
fn print(lines: &Receiver<Line>, output: &Output) {
    let mut ended: Vec<Value> = Vec::new();
    let mut journals = 0;
    for line in lines {
        let is_end = matches!(&line, Line::Record(line) if line["record"] == "ended");
        match line {
            Line::Record(line) if is_end => {
                ended.push(line);
                journals += 1;
            }
            Line::Record(line) => {
                ended.drain(..).for_each(|line| output.data(&line.to_string()));
                output.data(&line.to_string());
            }
            Line::Result(verdict, result) => {
                // Several servers or runs have a journal each, and the result is of all of them.
                let mut last = match ended.pop() {
                    Some(only) if journals == 1 => only,
                    last => {
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
            Line::Failed => break,
        }
    }
    ended.iter().for_each(|line| output.data(&line.to_string()));
}
