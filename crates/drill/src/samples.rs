//! Samples of a drill as records of a journal, and back.
//!
//! Their time counts from the beginning of the timeline. A site tells numbers and means of I/Os, no
//! bytes.

use brunt_report::result::DrillSample;
use brunt_report::streams::{DATABASE_READ, DATABASE_WRITE, LOG_WRITE};
use brunt_run::{Row, Sample, Value};
use brunt_stats::Reading;
use brunt_units::{Span, Time};

const HISTORY: &str = "write-history";
const AT_RISK: &str = "writes-at-risk";
const FULL_IN: &str = "history-full-in-s";

/// `sample` as a record.
pub fn recorded(sample: &DrillSample) -> Sample {
    let io = |stream, count, mean_ms: Option<f64>| {
        let mean = mean_ms.map(|ms| Span::from_seconds(ms / 1e3));
        Row::io(stream, Reading { count, mean, ..Reading::default() })
    };
    let other = |stream, value: Option<f64>| Some(Row::new(stream, Value::Other(value?)));
    let at_risk = sample.at_risk_writes.map(|writes| Row::new(AT_RISK, Value::Count(writes)));
    let rows = [
        Some(io(DATABASE_READ, sample.reads, sample.read_ms)),
        Some(io(DATABASE_WRITE, sample.writes, sample.write_ms)),
        Some(io(LOG_WRITE, sample.log_writes, sample.log_ms)),
        Some(Row::new(HISTORY, Value::Bytes(sample.log_bytes))),
        at_risk,
        other(FULL_IN, sample.full_in_s),
    ];
    let begin = (sample.at_s - sample.length_s).max(0.0);
    Sample {
        begin: Time::ZERO + Span::from_seconds(begin),
        length: Span::from_seconds(sample.length_s),
        rows: rows.into_iter().flatten().collect(),
        histograms: Vec::new(),
        is_whole: true,
    }
}

/// The sample of a drill in a record.
pub fn of(sample: &Sample) -> DrillSample {
    let end = sample.begin.since(Time::ZERO).as_seconds() + sample.length.as_seconds();
    let mut read =
        DrillSample { at_s: end, length_s: sample.length.as_seconds(), ..DrillSample::default() };
    for row in &sample.rows {
        match (row.stream.as_str(), row.value) {
            (DATABASE_READ, Value::Io(io)) => (read.reads, read.read_ms) = counted(&io),
            (DATABASE_WRITE, Value::Io(io)) => (read.writes, read.write_ms) = counted(&io),
            (LOG_WRITE, Value::Io(io)) => (read.log_writes, read.log_ms) = counted(&io),
            (HISTORY, Value::Bytes(bytes)) => read.log_bytes = bytes,
            (AT_RISK, Value::Count(writes)) => read.at_risk_writes = Some(writes),
            (FULL_IN, Value::Other(seconds)) => read.full_in_s = Some(seconds),
            _ => {}
        }
    }
    read
}

fn counted(io: &Reading) -> (u64, Option<f64>) {
    (io.count, io.mean.map(Span::as_millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_read_as_it_was_recorded() {
        let sample = DrillSample {
            at_s: 12.5,
            length_s: 2.5,
            reads: 7,
            read_ms: Some(1.5),
            log_writes: 3,
            log_ms: Some(0.25),
            log_bytes: 4096,
            at_risk_writes: Some(2),
            full_in_s: Some(60.0),
            ..DrillSample::default()
        };
        assert_eq!(of(&recorded(&sample)), sample);
        assert!(recorded(&sample).has_load(), "it counts");
        let idle = DrillSample { at_s: 2.5, length_s: 2.5, ..DrillSample::default() };
        assert_eq!(of(&recorded(&idle)), idle);
    }
}
