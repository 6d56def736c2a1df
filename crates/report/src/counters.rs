//! Every stream in every sample, as a table for spreadsheets and scripts.
//!
//! One row for each sample and stream: a new stream is new rows, never a new column. Empty fields mean that nothing was
//! measured, which is not zero.

use std::fmt::Write;

use brunt_stats::Reading;
use brunt_units::{Span, Time};

/// The text of `counters.csv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    text: String,
}

impl Default for Counters {
    fn default() -> Self {
        Self::new()
    }
}

impl Counters {
    /// A table with nothing but its head.
    pub fn new() -> Self {
        Self {
            text: "begin_s,length_s,stream,count,bytes,latency_ms_mean,latency_ms_p50,latency_ms_p99,latency_ms_max\n"
                .to_owned(),
        }
    }

    /// Adds what an I/O stream did in one sample.
    pub fn add(&mut self, begin: Time, length: Span, stream: &str, reading: &Reading) {
        self.begin_row(begin, length, stream);
        write!(self.text, ",{},{}", reading.count, reading.bytes).expect("a string takes all");
        for latency in [reading.mean, reading.p50, reading.p99, reading.max] {
            match latency {
                Some(span) => write!(self.text, ",{:.6}", span.as_millis()),
                None => write!(self.text, ","),
            }
            .expect("a string takes all");
        }
        self.text.push('\n');
    }

    /// Adds a number of events that have neither bytes nor latency.
    pub fn add_count(&mut self, begin: Time, length: Span, stream: &str, count: u64) {
        self.begin_row(begin, length, stream);
        writeln!(self.text, ",{count},,,,,").expect("a string takes all");
    }

    /// Adds an amount of memory or space, as it was at the end of the sample.
    pub fn add_bytes(&mut self, begin: Time, length: Span, stream: &str, bytes: u64) {
        self.begin_row(begin, length, stream);
        writeln!(self.text, ",,{bytes},,,,").expect("a string takes all");
    }

    fn begin_row(&mut self, begin: Time, length: Span, stream: &str) {
        let begin = begin.since(Time::ZERO).as_seconds();
        let stream = field(stream);
        write!(self.text, "{begin:.3},{:.3},{stream}", length.as_seconds())
            .expect("a string takes all");
    }

    /// The table so far.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
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
            max: Some(Span::micros(320)),
        };
        counters.add(begin, length, "db1.read", &reading);
        counters.add(begin, length, "a \"b\", c", &Reading::default());
        counters.add_count(begin, length, "stalls", 3);
        counters.add_bytes(begin, length, "cache", 4096);
        let rows: Vec<_> = counters.as_str().lines().skip(1).collect();
        assert_eq!(
            rows,
            [
                "15.000,15.250,db1.read,2,65536,0.310000,0.300000,0.320000,0.320000",
                "15.000,15.250,\"a \"\"b\"\", c\",0,0,,,,",
                "15.000,15.250,stalls,3,,,,,",
                "15.000,15.250,cache,,4096,,,,",
            ]
        );
        let commas = |line: &str| line.matches(',').count();
        let head = commas(counters.as_str().lines().next().unwrap());
        assert!([0, 2, 3].iter().all(|row| commas(rows[*row]) == head));
    }
}
