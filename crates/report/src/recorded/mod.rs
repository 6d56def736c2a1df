//! What a run recorded in `counters.csv`, read back.
//!
//! The pictures of a finished run need only the rows of the whole server. The numbers of a run that
//! did not end are added up from all rows. The table is read line by line, so memory use does not
//! grow with its length.

mod row;

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use crate::parts::Parts;
use crate::result::{Flow, Sample, Watched};
use crate::streams::{CACHE, DATABASE_READ, DATABASE_WRITE, LOG_WRITE, PAGE_FAULT_STALLS};
use brunt_run::{ARRAY, is_of_server};
use brunt_stats::read_line;
use row::Columns;
pub(crate) use row::Row;

/// The rows of a table, combined.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// When the first sample began, in seconds from the beginning of the run.
    pub begin_s: f64,
    /// The whole server over time, from the beginning of the collection.
    pub samples: Vec<Sample>,
    /// The parts of modelled arrays over time.
    pub parts: Parts,
    /// Totals of every stream; empty for [`Wanted::Samples`].
    pub totals: BTreeMap<String, Total>,
}

/// Totals of one stream over all samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// Number of I/Os or events.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Sum of all latencies.
    pub latency_ms_sum: f64,
    /// The longest latency; `None` without I/O.
    pub latency_ms_max: Option<f64>,
    /// Values of the samples that are neither counts nor latencies.
    pub values: Watched,
}

/// Which rows to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Rows of the whole server, for pictures.
    Samples,
    /// All rows, with totals.
    Totals,
}

impl Recorded {
    /// Reads a table. Malformed rows are skipped, and so is a last line without a line end: the
    /// program was killed while it wrote it.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn read(table: impl BufRead, wanted: Wanted) -> io::Result<Self> {
        Self::read_where(table, wanted, |_, _| true)
    }

    /// The same for the rows that `takes` accepts; it also gets their lines.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub(crate) fn read_where(
        mut table: impl BufRead,
        wanted: Wanted,
        mut takes: impl FnMut(&[u8], &Row<'_>) -> bool,
    ) -> io::Result<Self> {
        let mut recorded = Self::default();
        let mut line = Vec::new();
        read_line(&mut table, &mut line)?;
        let Some(columns) = Columns::of(&line) else {
            return Ok(recorded);
        };
        loop {
            read_line(&mut table, &mut line)?;
            if line.pop() != Some(b'\n') {
                break;
            }
            if wanted == Wanted::Samples && columns.stream(&line).is_none_or(is_of_file) {
                continue;
            }
            if let Some(row) = columns.row(&line)
                && takes(&line, &row)
            {
                recorded.add(&row, wanted);
            }
        }
        if let Some(first) = recorded.samples.first() {
            recorded.begin_s = first.begin_s;
        }
        recorded.parts.begin_at(recorded.begin_s);
        for sample in &mut recorded.samples {
            sample.begin_s -= recorded.begin_s;
        }
        Ok(recorded)
    }

    fn add(&mut self, row: &Row<'_>, wanted: Wanted) {
        if is_of_server(&row.stream) {
            self.add_to_sample(row);
        } else if let Some(value) = row.value {
            self.parts.add((row.begin_s, row.length_s), &row.stream, value);
        }
        if wanted == Wanted::Totals {
            match self.totals.get_mut(row.stream.as_ref()) {
                Some(total) => total.add(row),
                None => {
                    let mut total = Total::default();
                    total.add(row);
                    self.totals.insert(row.stream.clone().into_owned(), total);
                }
            }
        }
    }

    fn add_to_sample(&mut self, row: &Row<'_>) {
        let sample = match self.samples.last_mut() {
            Some(last) if last.begin_s == row.begin_s => last,
            _ => {
                self.samples.push(Sample {
                    begin_s: row.begin_s,
                    length_s: row.length_s,
                    ..Sample::default()
                });
                self.samples.last_mut().expect("it was just pushed")
            }
        };
        match row.stream.as_ref() {
            DATABASE_READ => sample.database_reads = row.flow(),
            DATABASE_WRITE => sample.database_writes = row.flow(),
            LOG_WRITE => sample.log_writes = row.flow(),
            PAGE_FAULT_STALLS => sample.page_fault_stalls_per_s = row.flow().per_s,
            CACHE => sample.cache_bytes = row.bytes,
            _ => {}
        }
    }

    /// Length of the collection, in seconds.
    pub fn length_s(&self) -> f64 {
        let last = self.samples.last();
        last.map_or(0.0, |sample| sample.begin_s + sample.length_s)
    }
}

/// Whether a stream as written is of one file: its name contains a dot. Most rows are theirs.
fn is_of_file(stream: &[u8]) -> bool {
    let name = stream.strip_prefix(b"\"").unwrap_or(stream);
    stream.contains(&b'.') && !name.starts_with(ARRAY.as_bytes())
}

impl Row<'_> {
    fn flow(&self) -> Flow {
        Flow {
            per_s: self.count as f64 / self.length_s,
            bytes_per_s: self.bytes as f64 / self.length_s,
            latency_ms_mean: self.latency_ms_mean,
            latency_ms_p50: self.latency_ms_p50,
            latency_ms_p99: self.latency_ms_p99,
            latency_ms_p999: self.latency_ms_p999,
            latency_ms_max: self.latency_ms_max,
        }
    }
}

impl Total {
    pub(crate) fn add(&mut self, row: &Row<'_>) {
        self.count += row.count;
        self.bytes += row.bytes;
        self.latency_ms_sum += row.count as f64 * row.latency_ms_mean.unwrap_or(0.0);
        self.latency_ms_max = match (self.latency_ms_max, row.latency_ms_max) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        if let Some(value) = row.value {
            self.values.add(value, row.length_s);
        }
    }

    /// Mean of all latencies; `None` without I/O.
    pub fn latency_ms_mean(&self) -> Option<f64> {
        let counted = self.count > 0 && self.latency_ms_max.is_some();
        counted.then(|| self.latency_ms_sum / self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use brunt_stats::Reading;
    use brunt_units::{Span, Time};

    use super::*;
    use crate::Counters;
    use crate::parts::{Part, What};

    fn reading(count: u64, millis: u64) -> Reading {
        let latency = (count > 0).then_some(Span::millis(millis));
        Reading {
            count,
            bytes: count * 4096,
            mean: latency,
            p50: latency,
            p99: latency,
            p999: latency,
            max: latency,
        }
    }

    fn table() -> String {
        let mut counters = Counters::new();
        for at in 0..2 {
            let (begin, length) = (Time::ZERO + Span::seconds(40 + at * 10), Span::seconds(10));
            counters.add(begin, length, "DB \"1\".read", &reading(100, 2 + at));
            counters.add(begin, length, DATABASE_READ, &reading(100, 2 + at));
            counters.add(begin, length, LOG_WRITE, &reading(0, 0));
            counters.add_count(begin, length, PAGE_FAULT_STALLS, 5);
            counters.add_bytes(begin, length, CACHE, 1 << 20);
            counters.add_value(begin, length, "host: cpu", 10.0 + at as f64);
            counters.add_value(begin, length, "array: a, b: group \"x.y\"", 0.25 * at as f64);
            counters.add_value(begin, length, "array: queue v1.0", 2.5);
        }
        format!("{}{}", Counters::HEAD, counters.take())
    }

    #[test]
    fn samples_are_those_that_were_written() {
        let recorded = Recorded::read(table().as_bytes(), Wanted::Samples).unwrap();
        assert_eq!((recorded.begin_s, recorded.length_s()), (40.0, 20.0));
        let [first, second] = recorded.samples[..] else { panic!("two samples") };
        assert_eq!((first.begin_s, second.begin_s), (0.0, 10.0));
        assert_eq!(first.database_reads.per_s, 10.0);
        assert_eq!(second.database_reads.latency_ms_mean, Some(3.0));
        assert_eq!(second.database_reads.latency_ms_p999, Some(3.0));
        assert_eq!(second.log_writes, Flow::default());
        assert_eq!(second.page_fault_stalls_per_s, 0.5);
        assert_eq!(second.cache_bytes, 1 << 20);
        assert!(recorded.totals.is_empty());
        assert_eq!(recorded.parts.samples(), [(0.0, 10.0), (10.0, 10.0)]);
        let groups: Vec<_> = recorded.parts.series(What::Group).collect();
        let part =
            Part { array: Some("a, b".to_owned()), what: What::Group, name: "\"x.y\"".to_owned() };
        assert_eq!(groups, [(&part, [(0, 0.0), (1, 0.25)].as_slice())]);
        assert_eq!(recorded.parts.series(What::Queue).count(), 1);
    }

    #[test]
    fn a_machine_that_is_watched_alone_makes_no_sample() {
        let mut counters = Counters::new();
        counters.add_value(Time::ZERO, Span::seconds(5), "host: cpu", 50.0);
        let table = format!("{}{}", Counters::HEAD, counters.take());
        let recorded = Recorded::read(table.as_bytes(), Wanted::Totals).unwrap();
        assert!(recorded.samples.is_empty());
        assert_eq!(recorded.totals["host: cpu"].values.counter("cpu").avg, Some(50.0));
    }

    #[test]
    fn totals_weigh_their_samples() {
        let recorded = Recorded::read(table().as_bytes(), Wanted::Totals).unwrap();
        let reads = &recorded.totals["DB \"1\".read"];
        assert_eq!((reads.count, reads.bytes), (200, 200 * 4096));
        assert_eq!(reads.latency_ms_mean(), Some(2.5));
        assert_eq!(reads.latency_ms_max, Some(3.0));
        let cpu = recorded.totals["host: cpu"].values.counter("cpu");
        let wanted = (Some(10.5), Some(10.0), Some(11.0));
        assert_eq!((cpu.avg, cpu.min, cpu.max), wanted);
        assert_eq!(recorded.totals[LOG_WRITE].latency_ms_mean(), None);
    }

    #[test]
    fn a_torn_end_and_rubbish_are_left_out() {
        let whole = Recorded::read(table().as_bytes(), Wanted::Totals).unwrap();
        let torn = format!("{}rubbish\n1,2\n60.000,10.000,database-rea", table());
        assert_eq!(Recorded::read(torn.as_bytes(), Wanted::Totals).unwrap(), whole);
        let none = Recorded::read(b"".as_slice(), Wanted::Totals).unwrap();
        assert_eq!(none, Recorded::default());
        let endless = io::BufReader::new(io::repeat(0));
        assert!(Recorded::read(endless, Wanted::Samples).is_err());
        for length in 0..table().len() {
            Recorded::read(&table().as_bytes()[..length], Wanted::Totals).unwrap();
        }
    }
}
