//! The samples of a run with the histograms of its whole server, to be added up with others.
//!
//! ```text
//!   journal                         samples as they were recorded
//!   no journal: counters.csv        counts, bytes, means and maxima
//!               latency.hlog        histograms, as far as there is one for each row
//! ```
//!
//! Papers carry tables instead of a journal. Those of a long run have one histogram for all
//! samples, so its samples have none.

use std::io::{self, BufRead, BufReader};
use std::path::Path;

use brunt_run::{Histogram, Journal, JournalError, Sample, Value, is_of_server};
use brunt_stats::{Latencies, LatencyLines, Reading};
use brunt_units::{Span, Time};

use crate::recorded::{Recorded, Row, Wanted};
use crate::run::{BUFFER, COUNTERS, Files, LATENCIES, Opened, refused};
use crate::streams::{CACHE, PAGE_FAULT_STALLS};
use crate::{ReadError, regular_file};

/// A file that may still grow.
pub trait Seekable: io::Read + io::Seek + Send {}

impl<T: io::Read + io::Seek + Send> Seekable for T {}

/// The journal of a run folder.
pub type JournalFile = Journal<BufReader<Box<dyn Seekable>>>;

/// The journal in a run folder.
pub const JOURNAL: &str = "journal";

/// Hands out the samples of the load of a run, in order; `open` opens its files by their names.
///
/// # Errors
/// [`ReadError`] when a file cannot be read.
pub fn each_sample<'f>(
    folder: &Path,
    open: impl Fn(&str) -> Opened<'f>,
    mut each: impl FnMut(&Sample),
) -> Result<(), ReadError> {
    let opened = |name: &str| open(name).map_err(refused(&folder.join(name)));
    let mut of_load = |sample: &Sample| {
        if sample.has_load() {
            each(sample);
        }
    };
    if let Some(journal) = opened(JOURNAL)? {
        let mut journal = journal_of(folder, BufReader::with_capacity(BUFFER, journal))?;
        let handed_out = brunt_run::each_sample(&mut journal, of_load);
        return handed_out.map_err(refused(&folder.join(JOURNAL)));
    }
    let files = Files { folder, open: &open };
    let mut histograms = Histograms::of(files.lines(LATENCIES)?);
    let mut is_read = Ok(());
    let samples = each_in_table(files.lines(COUNTERS)?, |sample| {
        if is_read.is_ok() {
            is_read = histograms.add_to(sample);
        }
        of_load(sample);
    });
    samples.map_err(refused(&folder.join(COUNTERS)))?;
    is_read.map_err(refused(&folder.join(LATENCIES)))
}

/// Hands out the samples of a table, without histograms.
fn each_in_table(table: impl BufRead, mut each: impl FnMut(&mut Sample)) -> io::Result<()> {
    let mut sample = Sample::default();
    Recorded::read_where(table, Wanted::Samples, |_, row| {
        let begin = Time::ZERO + Span::from_seconds(row.begin_s);
        if is_of_server(&row.stream) {
            if !sample.rows.is_empty() && sample.begin != begin {
                each(&mut sample);
                sample.rows.clear();
            }
            (sample.begin, sample.length) = (begin, Span::from_seconds(row.length_s));
            sample.rows.push(of_row(row));
        }
        // Nothing is to be kept.
        false
    })?;
    if !sample.rows.is_empty() {
        each(&mut sample);
    }
    Ok(())
}

/// The journal in `folder`, or beside the given `result.json`; `None` when there is none.
///
/// # Errors
/// [`ReadError`] when it cannot be read, or is of another version.
pub fn journal_in(folder: &Path) -> Result<Option<JournalFile>, ReadError> {
    let folder = crate::folder_of(folder);
    let file = regular_file(folder, JOURNAL).map_err(refused(&folder.join(JOURNAL)))?;
    let journal = file.map(|file| {
        let file: Box<dyn Seekable> = Box::new(file);
        journal_of(folder, BufReader::with_capacity(BUFFER, file))
    });
    journal.transpose()
}

fn journal_of<R: io::Read>(folder: &Path, bytes: R) -> Result<Journal<R>, ReadError> {
    Journal::open(bytes).map_err(|error| {
        let source = match error {
            JournalError::Io(source) => source,
            other @ JournalError::Format => io::Error::new(io::ErrorKind::InvalidData, other),
        };
        refused(&folder.join(JOURNAL))(source)
    })
}

/// A row of `counters.csv` as it was recorded.
fn of_row(row: &Row<'_>) -> brunt_run::Row {
    let span = |ms: Option<f64>| ms.map(|ms| Span::from_seconds(ms / 1e3));
    let value = match row.stream.as_ref() {
        PAGE_FAULT_STALLS => Value::Count(row.count),
        CACHE => Value::Bytes(row.bytes),
        _ => Value::Io(Reading {
            count: row.count,
            bytes: row.bytes,
            mean: span(row.latency_ms_mean),
            p50: span(row.latency_ms_p50),
            p99: span(row.latency_ms_p99),
            p999: span(row.latency_ms_p999),
            max: span(row.latency_ms_max),
        }),
    };
    brunt_run::Row::new(&row.stream, value)
}

/// The lines of whole servers in a latency log, read as far as samples have come.
struct Histograms<R> {
    lines: LatencyLines<R>,
    /// The first line after the last sample: its end, its stream, and its latencies.
    next: Option<(f64, String, Latencies)>,
}

impl<R: BufRead> Histograms<R> {
    fn of(log: R) -> Self {
        Self { lines: LatencyLines::of(log), next: None }
    }

    /// Adds the histograms that end with `sample`. One that does not have the I/Os of its row is of
    /// other samples, too, and is left out.
    fn add_to(&mut self, sample: &mut Sample) -> io::Result<()> {
        sample.histograms.clear();
        let end_s = (sample.begin + sample.length).since(Time::ZERO).as_seconds();
        let tolerance_s = sample.length.as_seconds() / 2.0;
        while let Some((line_end_s, stream, mut latencies)) = self.take()? {
            if line_end_s > end_s + tolerance_s {
                self.next = Some((line_end_s, stream, latencies));
                return Ok(());
            }
            let of_stream = sample.rows.iter().find(|row| row.stream == stream);
            if let Some(Value::Io(reading)) = of_stream.map(|row| row.value)
                && line_end_s > end_s - tolerance_s
                && reading.count == latencies.count()
            {
                let (mean, max) = (reading.mean, reading.max);
                latencies.correct(mean.unwrap_or_default(), max.unwrap_or_default());
                let (begin, length) = (sample.begin, sample.length);
                sample.histograms.push(Histogram { stream, begin, length, latencies });
            }
        }
        Ok(())
    }

    fn take(&mut self) -> io::Result<Option<(f64, String, Latencies)>> {
        if let Some(next) = self.next.take() {
            return Ok(Some(next));
        }
        while let Some(line) = self.lines.next_line()? {
            if is_of_server(line.stream) {
                let mut latencies = Latencies::new();
                line.add_to(&mut latencies);
                return Ok(Some((line.end_s, line.stream.to_owned(), latencies)));
            }
        }
        Ok(None)
    }
}
