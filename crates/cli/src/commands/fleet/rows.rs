//! A running fleet on the screen: a row for each host.
//!
//! ```text
//! fleet         2 of 3 collecting
//! MAIL1         collecting   12 s of 60 s   812 I/Os per second   read 3.2 ms   pass so far
//! MAIL2         warm         waits for the others
//! MAIL3         not connected  the connection ended
//! ```

use brunt_agents::Conducting;
use brunt_fleet::{Phase, Row};
use brunt_host::keeping::Keeping;
use brunt_report::{NewsLine, decimals, one_line};
use brunt_run::{HostNews, Listener, News, Silence};
use brunt_units::Span;
use brunt_world_real::ClockZero;

use super::kept::Kept;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::progress::{Progress, UNKNOWN};

/// What is shown while a fleet is conducted, and what the user wants.
pub(super) struct Screen<'a> {
    interrupt: &'a Interrupt,
    stops: bool,
    keeping: &'a Keeping<Silence>,
    zero: ClockZero,
    output: Output,
    progress: Progress,
    /// What was last said of each host.
    said: Vec<String>,
    /// Why each was not connected, as was last said.
    whys: Vec<String>,
}

impl<'a> Screen<'a> {
    /// Shows hosts; what changes is kept, too.
    pub(super) fn new(
        kept: &Kept,
        (interrupt, stops): (&'a Interrupt, bool),
        keeping: &'a Keeping<Silence>,
        output: &Output,
    ) -> Self {
        let (output, progress) = (output.clone(), output.progress("fleet"));
        let said = vec![String::new(); kept.hosts.len()];
        let (whys, zero) = (said.clone(), ClockZero::now());
        Self { interrupt, stops, keeping, zero, output, progress, said, whys }
    }

    /// What is in place goes.
    pub(super) fn clear(&mut self) {
        self.progress.vanish();
    }

    fn line(&mut self, about: &str, text: &str) {
        self.progress.vanish();
        self.output.talk(&format!("{:14}{}", one_line(about), one_line(text)));
        let news = News::Note { text: format!("{about}: {text}") };
        self.keeping.tell(self.zero.elapsed(), &news);
    }
}

impl Conducting for Screen<'_> {
    fn stops(&self) -> u32 {
        u32::from(self.stops || self.interrupt.is_asked())
    }

    fn rows(&mut self, rows: &[Row<'_>]) {
        for (number, row) in rows.iter().enumerate() {
            let said = match row.fate {
                Some(fate) => fate.to_string(),
                None => phase(row.phase).to_owned(),
            };
            if self.said[number] != said {
                self.line(row.name, &said);
                self.said[number] = said;
            }
            // A stream that is cut every few seconds says so once.
            let why = row.why.filter(|why| row.fate.is_none() && self.whys[number] != *why);
            if let Some(why) = why {
                self.line(row.name, &format!("not connected: {why}; trying again"));
                why.clone_into(&mut self.whys[number]);
            }
        }
        let hosts = rows.iter().map(host).collect();
        self.keeping.tell(self.zero.elapsed(), &News::Hosts { hosts });
        let furthest = rows.iter().map(|row| row.phase).max().unwrap_or_default();
        let there = rows.iter().filter(|row| row.phase == furthest).count();
        let detail = || format!("{there} of {} {}", rows.len(), phase(furthest));
        let lines = |room: usize| rows.iter().take(room).map(line).collect();
        self.progress.show_frame(share(rows), detail, lines);
    }

    fn advise(&mut self, text: &str) {
        self.line("note", text);
    }
}

/// How much of the collection is done, by the host that is least far.
fn share(rows: &[Row<'_>]) -> f64 {
    let of = |row: &Row<'_>| match NewsLine::from_json(row.news).map(|line| line.news) {
        Some(News::Testing(live)) => live.elapsed.as_seconds() / live.duration.as_seconds(),
        _ => UNKNOWN,
    };
    rows.iter().map(of).min_by(f64::total_cmp).filter(|share| share.is_finite()).unwrap_or(UNKNOWN)
}

/// What it is doing, and more about it.
fn state(row: &Row<'_>) -> (String, String) {
    match (row.fate, row.is_connected) {
        (Some(fate), _) => (fate.to_string(), String::new()),
        (None, false) => ("not connected".to_owned(), row.why.unwrap_or_default().to_owned()),
        (None, true) => (phase(row.phase).to_owned(), news(row.news)),
    }
}

/// The same for the journal.
fn host(row: &Row<'_>) -> HostNews {
    let (state, more) = state(row);
    HostNews {
        name: row.name.to_owned(),
        state: one_line(format!("{state} {more}").trim_end()).into_owned(),
        offset_ms: row.offset_ns.map(|offset| offset as f64 / 1e6),
        heard_s: row.heard.map(Span::as_seconds),
    }
}

fn line(row: &Row<'_>) -> String {
    let (state, more) = state(row);
    one_line(format!("{:14}{state:12} {more}", row.name).trim_end()).into_owned()
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Checking => "checking",
        Phase::Checked => "checked",
        Phase::Preparing => "preparing",
        Phase::Ready => "ready",
        Phase::Warming => "warming up",
        Phase::Warm => "warm",
        Phase::Collecting => "collecting",
        Phase::Closing => "verifying",
        Phase::Ended => "ended",
    }
}

/// A test's last news, in a few words.
fn news(json: &str) -> String {
    let Some(line) = NewsLine::from_json(json) else {
        return String::new();
    };
    match line.news {
        News::Testing(live) => {
            let read = live.read.map(|read| format!("   read {} ms", decimals(read.as_millis())));
            let judged = match live.so_far.passes {
                Some(true) => "   pass so far",
                Some(false) => "   fail so far",
                None => "",
            };
            format!(
                "{:.0} s of {:.0} s   {} I/Os per second{}{judged}",
                live.elapsed.as_seconds(),
                live.duration.as_seconds(),
                decimals(live.io_per_s),
                read.unwrap_or_default()
            )
        }
        News::Creating { done, total } => format!("databases {done} of {total}"),
        News::WarmingUp { filled, wanted } => format!("cache {filled} of {wanted}"),
        News::Settling { what, .. } => what,
        News::Closing { done, total } => format!("clean shutdown, {done} of {total}"),
        News::VerifyingFiles { done, total } => format!("files {done} of {total}"),
        News::VerifyingRecords { done, total } => format!("{done} of {total} records"),
        News::Note { text } => text,
        _ => String::new(),
    }
}
