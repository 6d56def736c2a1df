//! What raw load tells while it is simulated: on the screen, in the journal of its folder, and as
//! records.

use std::sync::Arc;

use brunt_array::load::{Interval, Side};
use brunt_host::keeping::Keeping;
use brunt_report::result::Verdict;
use brunt_report::{FolderError, RunFolder, Timestamp};
use brunt_run::{Head, Histogram, Listener, News, Recorded, Row, Sample};
use brunt_stats::Reading;
use brunt_units::Time;

use crate::output::Output;
use crate::records::Lines;
use crate::teller::Teller;

/// The beginning of virtual time: 2000-01-01T00:00:00Z.
const EPOCH: Timestamp = Timestamp { unix_seconds: 946_684_800 };

/// Raw load under way.
pub(super) struct Told {
    keeping: Keeping<Teller>,
}

impl Told {
    /// Raw load called `name` begins, in virtual time: equal scenarios have equal journals.
    ///
    /// # Errors
    /// [`FolderError`] when its journal cannot be made.
    pub(super) fn begin(
        name: &str,
        scenario: String,
        folder: &RunFolder,
        lines: &Lines,
        output: &Output,
    ) -> Result<Self, FolderError> {
        let (run_id, began_unix_s) = (name.to_owned(), EPOCH.unix_seconds);
        let head = Head { run_id, began_unix_s, scenario, outline: String::new() };
        let teller = Teller::new(output, "simulate");
        Ok(Self { keeping: Keeping::begin(head, Some(folder), lines.heard(), teller)? })
    }

    /// Raw load has come to the end of `interval`, of all until `end`.
    pub(super) fn interval(&self, interval: &Interval, end: Time) {
        let keeping = &self.keeping;
        let seconds = |time: Time| time.since(Time::ZERO).as_seconds();
        let (at_s, end_s) = (seconds(interval.until), seconds(end));
        keeping.recorded(&recorded(interval));
        keeping.tell(interval.until, &News::Simulating { at_s, end_s });
    }

    /// It has ended with `verdict`.
    ///
    /// # Errors
    /// [`FolderError`] for what could not be written.
    pub(super) fn end(&self, verdict: Verdict) -> Result<(), FolderError> {
        let keeping = &self.keeping;
        keeping.shown().clear();
        keeping.ended(verdict)
    }
}

/// The requests of hosts in an interval. Their sizes are not counted.
fn recorded(interval: &Interval) -> Recorded {
    let begin = Time(interval.until.0.saturating_sub(interval.length.0));
    let length = interval.length;
    let sides = [("host-read", &interval.reads), ("host-write", &interval.writes)];
    let row = |(stream, side): (&str, &Side)| Row::io(stream, Reading::of(&side.latencies, 0));
    let histogram = |(stream, side): (&str, &Side)| {
        let (stream, latencies) = (stream.to_owned(), side.latencies.clone());
        Histogram { stream, begin, length, latencies }
    };
    let sample = Sample {
        begin,
        length,
        rows: sides.map(row).to_vec(),
        histograms: sides.map(histogram).to_vec(),
        is_whole: true,
    };
    Recorded { sample: Arc::new(sample), ..Recorded::default() }
}
