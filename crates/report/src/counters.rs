//! `counters.csv`: every stream in every sample, for spreadsheets and scripts.
//!
//! One row for each sample and stream: a new stream adds rows, never a column. An empty field means
//! *not measured*, which is not zero. A stream of one file has no row for a sample in which it had
//! no I/O. Streams of a database or log have names like `DB1.read`; names of streams of the whole
//! server have no dot, and these have a row in every sample.
//!
//! The table grows piece by piece: the caller takes the new rows and appends them to a file.

use brunt_run::{Row, Sample, Value};
use brunt_stats::Reading;
use brunt_units::{Span, Time};

use crate::table::{Cell, csv_row};

const NO_LATENCIES: [Cell; 5] = [const { Cell::Nothing }; 5];

/// Builds the text of `counters.csv`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    text: String,
}

impl Counters {
    /// The head of the table.
    pub const HEAD: &'static str = "begin_s,length_s,stream,count,bytes,value,latency_ms_mean,latency_ms_p50,latency_ms_p99,latency_ms_p999,latency_ms_max\n";

    /// An empty table, without the head.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the I/O of a stream in one sample.
    pub fn add(&mut self, begin: Time, length: Span, stream: &str, reading: &Reading) {
        let latency = |span: Option<Span>| match span {
            Some(span) => Cell::Fixed(span.as_millis(), 6),
            None => Cell::Nothing,
        };
        let (count, bytes) = (reading.count.into(), reading.bytes.into());
        let latencies =
            [reading.mean, reading.p50, reading.p99, reading.p999, reading.max].map(latency);
        self.row(begin, length, stream, [count, bytes, Cell::Nothing], latencies);
    }

    /// Adds a count of events that have neither bytes nor latency.
    pub fn add_count(&mut self, begin: Time, length: Span, stream: &str, count: u64) {
        let values = [count.into(), Cell::Nothing, Cell::Nothing];
        self.row(begin, length, stream, values, NO_LATENCIES);
    }

    /// Adds an amount of memory or disk space, taken at the end of the sample.
    pub fn add_bytes(&mut self, begin: Time, length: Span, stream: &str, bytes: u64) {
        let values = [Cell::Nothing, bytes.into(), Cell::Nothing];
        self.row(begin, length, stream, values, NO_LATENCIES);
    }

    /// Adds any other number, as the mean over the sample: a share, a temperature.
    pub fn add_value(&mut self, begin: Time, length: Span, stream: &str, value: f64) {
        let values = [Cell::Nothing, Cell::Nothing, Cell::Fixed(value, 6)];
        self.row(begin, length, stream, values, NO_LATENCIES);
    }

    /// Adds all rows of a sample.
    pub fn add_sample(&mut self, sample: &Sample) {
        let (begin, length) = (sample.begin, sample.length);
        for Row { stream, value } in &sample.rows {
            match value {
                Value::Io(reading) => self.add(begin, length, stream, reading),
                Value::Count(count) => self.add_count(begin, length, stream, *count),
                Value::Bytes(bytes) => self.add_bytes(begin, length, stream, *bytes),
                Value::Other(value) => self.add_value(begin, length, stream, *value),
            }
        }
    }

    fn row(
        &mut self,
        begin: Time,
        length: Span,
        stream: &str,
        [count, bytes, value]: [Cell; 3],
        [mean, p50, p99, p999, max]: [Cell; 5],
    ) {
        let begin = Cell::Fixed(begin.since(Time::ZERO).as_seconds(), 3);
        let length = Cell::Fixed(length.as_seconds(), 3);
        let cells = [begin, length, stream.into(), count, bytes, value, mean, p50, p99, p999, max];
        csv_row(&mut self.text, &cells);
    }

    /// Removes and returns the rows added since the last call.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_every_column() {
        let mut counters = Counters::new();
        let (begin, length) = (Time::ZERO + Span::seconds(15), Span::millis(15_250));
        let reading = Reading {
            count: 2,
            bytes: 65_536,
            mean: Some(Span::micros(310)),
            p50: Some(Span::micros(300)),
            p99: Some(Span::micros(320)),
            p999: Some(Span::micros(320)),
            max: Some(Span::micros(320)),
        };
        counters.add(begin, length, "db1.read", &reading);
        counters.add(begin, length, "a \"b\", c", &Reading::default());
        counters.add_count(begin, length, "stalls", 3);
        counters.add_bytes(begin, length, "cache", 4096);
        counters.add_value(begin, length, "share", 0.25);
        counters.add_value(begin, length, "=cmd|'/c calc'!A1", -1.0);
        counters.add_value(begin, length, "'quoted\u{1b}\n", 1.0);
        let text = counters.take();
        let rows: Vec<_> = text.lines().collect();
        assert_eq!(
            rows,
            [
                "15.000,15.250,db1.read,2,65536,,0.310000,0.300000,0.320000,0.320000,0.320000",
                "15.000,15.250,\"a \"\"b\"\", c\",0,0,,,,,,",
                "15.000,15.250,stalls,3,,,,,,,",
                "15.000,15.250,cache,,4096,,,,,,",
                "15.000,15.250,share,,,0.250000,,,,,",
                "15.000,15.250,\"'=cmd|'/c calc'!A1\",,,-1.000000,,,,,",
                "15.000,15.250,\"''quoted\\u{1b}\\n\",,,1.000000,,,,,",
            ]
        );
        let commas = |line: &str| line.matches(',').count();
        let head = commas(Counters::HEAD);
        assert!([0, 2, 3, 4].iter().all(|row| commas(rows[*row]) == head));
        assert_eq!(counters.take(), "");
    }
}
