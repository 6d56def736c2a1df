//! The tables of a long run, small enough to travel in a paper.
//!
//! ```text
//!   counters.csv    rows of the whole server    as they are: pictures show them
//!                   all others                  those of many samples as one: counts, bytes, means and maxima stay exact
//!   latency.hlog    the lines of a stream       as one
//! ```
//!
//! Both are tables of a run folder again, with the same totals. Percentiles of merged rows are left
//! out of `counters.csv`, because they do not follow from those of the parts; those of the whole
//! collection are in the histograms.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use brunt_run::is_of_server;
use brunt_stats::{LatencyLog, read_latency_log};
use brunt_units::{Span, Time};

use crate::Counters;
use crate::recorded::{Recorded, Row, Total, Wanted};
use crate::table::{Cell, csv_row};

/// The table with rows of single files and of the machine merged, each over about `seconds`.
///
/// # Errors
/// When it cannot be read.
pub fn condensed_counters(table: impl BufRead, seconds: f64) -> io::Result<Vec<u8>> {
    let mut text = Counters::HEAD.as_bytes().to_vec();
    let mut merged = Merged::default();
    let mut rows = String::new();
    Recorded::read_where(table, Wanted::Totals, |line, row| {
        if merged.is_full(row, seconds) {
            merged.write(&mut rows);
            text.extend_from_slice(std::mem::take(&mut rows).as_bytes());
        }
        match is_of_server(&row.stream) {
            true => {
                text.extend_from_slice(line);
                text.push(b'\n');
            }
            false => merged.add(row),
        }
        // Nothing is to be kept.
        false
    })?;
    merged.write(&mut rows);
    text.extend_from_slice(rows.as_bytes());
    Ok(text)
}

/// The log with all lines of a stream merged. `unix_seconds` is when the run began.
///
/// # Errors
/// When it cannot be read.
pub fn condensed_latencies(log: impl BufRead, unix_seconds: u64) -> io::Result<Vec<u8>> {
    let mut condensed = LatencyLog::new(unix_seconds);
    for (stream, latencies) in read_latency_log(log)? {
        condensed.add(&stream, Time::ZERO, Span::seconds(1), &latencies);
    }
    Ok(condensed.take())
}

/// The rows of single files since some sample.
#[derive(Default)]
struct Merged {
    begin_s: f64,
    end_s: f64,
    streams: BTreeMap<String, Total>,
}

impl Merged {
    /// Whether `row` is of a sample that no longer belongs to these.
    fn is_full(&self, row: &Row<'_>, seconds: f64) -> bool {
        !self.streams.is_empty()
            && row.begin_s >= self.end_s
            && row.begin_s + row.length_s - self.begin_s > seconds
    }

    fn add(&mut self, row: &Row<'_>) {
        if self.streams.is_empty() {
            self.begin_s = row.begin_s;
        }
        self.end_s = row.begin_s + row.length_s;
        match self.streams.get_mut(row.stream.as_ref()) {
            Some(total) => total.add(row),
            None => {
                let mut total = Total::default();
                total.add(row);
                self.streams.insert(row.stream.clone().into_owned(), total);
            }
        }
    }

    /// Writes the rows, and begins anew.
    fn write(&mut self, rows: &mut String) {
        let length = self.end_s - self.begin_s;
        for (stream, total) in std::mem::take(&mut self.streams) {
            let value = total.values.counter("").avg;
            let counted = |number: u64| match value {
                Some(_) => Cell::Nothing,
                None => number.into(),
            };
            let fixed = |number: Option<f64>| number.map_or(Cell::Nothing, |n| Cell::Fixed(n, 6));
            csv_row(
                rows,
                &[
                    Cell::Fixed(self.begin_s, 3),
                    Cell::Fixed(length, 3),
                    stream.into(),
                    counted(total.count),
                    counted(total.bytes),
                    fixed(value),
                    fixed(total.latency_ms_mean()),
                    Cell::Nothing,
                    Cell::Nothing,
                    Cell::Nothing,
                    fixed(total.latency_ms_max),
                ],
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
0.000,15.000,DB1.read,600,19660800,,5.900000,4.9,21.6,29.9,29.984000
0.000,15.000,database-read,600,19660800,,5.900000,4.9,21.6,29.9,29.984000
0.000,15.000,host: busy,,,20.000000,,,,,
15.000,15.000,DB1.read,200,6553600,,1.900000,4.9,21.6,29.9,40.000000
15.000,15.000,database-read,200,6553600,,1.900000,4.9,21.6,29.9,40.000000
15.000,15.000,host: busy,,,40.000000,,,,,
30.000,15.000,DB1.read,1,32768,,1.000000,1.0,1.0,1.0,1.000000
30.000,15.000,database-read,1,32768,,1.000000,1.0,1.0,1.0,1.000000
";

    fn table() -> String {
        format!("{}{TABLE}", Counters::HEAD)
    }

    #[test]
    fn rows_of_files_are_merged_and_those_of_the_server_stay() {
        let condensed = condensed_counters(table().as_bytes(), 30.0).unwrap();
        let text = String::from_utf8(condensed).unwrap();
        let of_server = |line: &&str| line.contains("database-read");
        let (before, after) = (table(), text.clone());
        assert!(before.lines().filter(of_server).eq(after.lines().filter(of_server)));
        assert!(text.contains("\n0.000,30.000,DB1.read,800,26214400,,4.900000,,,,40.000000\n"));
        assert!(text.contains("\n0.000,30.000,host: busy,,,30.000000,,,,,\n"));
        assert!(text.contains("\n30.000,15.000,DB1.read,1,32768,,1.000000,,,,1.000000\n"));
    }

    #[test]
    fn totals_stay() {
        let condensed = condensed_counters(table().as_bytes(), 30.0).unwrap();
        let read = |text: &[u8]| Recorded::read(text, Wanted::Totals).unwrap();
        let (whole, small) = (read(table().as_bytes()), read(&condensed));
        assert_eq!(small.samples, whole.samples);
        for (stream, total) in &whole.totals {
            let found = small.totals[stream];
            assert_eq!((found.count, found.bytes), (total.count, total.bytes));
            assert_eq!(found.latency_ms_max, total.latency_ms_max);
            let [one, other] = [found, *total].map(|total| total.latency_ms_sum);
            assert!((one - other).abs() < 1e-3, "{stream}: {one} {other}");
        }
    }
}
