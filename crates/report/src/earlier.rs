//! What an interrupted run has recorded, so that another run can carry it on.
//!
//! A kill or a lost host may cut each table somewhere else. So there is one point in time until
//! which all of them are taken: the end of a sample that another sample follows in `counters.csv`,
//! and another histogram of each file in `latency.hlog`.
//!
//! ```text
//!   counters.csv    |#####|#####|#####|##
//!   latency.hlog    |###########|###########      two samples in a histogram
//!                               ^ taken until here
//! ```
//!
//! The run that carries it on begins its own tables with these rows and lines, so it can be
//! interrupted and carried on, too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use brunt_stats::{Latencies, LatencyLine, LatencyLog, read_latency_lines};
use brunt_units::Span;

use crate::recorded::{Recorded, Row, Total, Wanted};
use crate::result::{Sample, Verdict};
use crate::run::{ReadError, open, refused, text_of};
use crate::{Counters, RunResult};

/// What an interrupted run has recorded.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// Its result: an outline, or that of a run which was stopped.
    pub result: RunResult,
    /// When its collection began, in seconds from the beginning of the run.
    pub begin_s: f64,
    /// How much it collected.
    pub length_s: f64,
    /// The whole server over time, from the beginning of the collection.
    pub samples: Vec<Sample>,
    pub streams: BTreeMap<String, Stream>,
    /// The table `counters.csv`.
    pub counters: Vec<u8>,
    /// The table `latency.hlog`.
    pub latency_log: Vec<u8>,
    /// `events.log`.
    pub events: String,
    /// `news.jsonl`.
    pub news: String,
}

/// A stream over the whole collection.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub total: Total,
    /// Its latencies; empty for streams without histograms.
    pub latencies: Latencies,
    /// Each sample with I/O: its begin, in seconds from that of the collection, and its mean
    /// latency in milliseconds.
    pub means: Vec<(f64, f64)>,
}

/// Why a run cannot be carried on.
#[derive(Debug, thiserror::Error)]
pub enum EarlierError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{}: was not interrupted, its verdict is {}\n  to run it again: brunt run {}", .0.display(), .1, .0.join("scenario.toml").display())]
    Ended(PathBuf, Verdict),
    /// It is a drill, which records nothing until it is over.
    #[error("{}: is a drill, which is not carried on\n  to rehearse it again: brunt drill {}", .0.display(), .0.join("scenario.toml").display())]
    Drill(PathBuf),
    /// Nothing that counts was recorded.
    #[error("{}: was interrupted before it had recorded two samples, so there is nothing to carry on\n  to run it again: brunt run {}", .0.display(), .0.join("scenario.toml").display())]
    NotBegun(PathBuf),
}

/// Times in the tables are rounded to this, in seconds.
const ROUNDED: f64 = 0.002;

impl Earlier {
    /// Reads the run in `folder`.
    ///
    /// # Errors
    /// [`EarlierError`] when it was not interrupted, has recorded too little, or cannot be read.
    pub fn read(folder: &Path) -> Result<Self, EarlierError> {
        let path = folder.join("result.json");
        let Some(text) = text_of(&path)? else {
            return Err(ReadError::NoRun(folder.to_owned()).into());
        };
        let result = RunResult::from_json(&text);
        let result = result.map_err(|source| ReadError::Result { path, source })?;
        if result.drill.is_some() {
            return Err(EarlierError::Drill(folder.to_owned()));
        }
        if result.is_finished() && result.verdict != Verdict::Interrupted {
            return Err(EarlierError::Ended(folder.to_owned(), result.verdict));
        }
        let tables = Tables {
            counters: folder.join("counters.csv"),
            latency_log: folder.join("latency.hlog"),
        };
        let Some(until) = tables.agree_until()? else {
            return Err(EarlierError::NotBegun(folder.to_owned()));
        };
        let mut streams = BTreeMap::<String, Stream>::new();
        let mut counters = Counters::HEAD.as_bytes().to_vec();
        let recorded = tables.counters(Wanted::Totals, |line, row| {
            let is_taken = row.begin_s + row.length_s < until;
            if is_taken {
                counters.extend_from_slice(line);
                counters.push(b'\n');
                if let Some(mean) = row.latency_ms_mean {
                    let stream = streams.entry(row.stream.clone().into_owned()).or_default();
                    stream.means.push((row.begin_s, mean));
                }
            }
            is_taken
        })?;
        let mut latency_log = LatencyLog::new(result.times.started.unix_seconds).take();
        tables.latency_log(|line| {
            if line.end_s < until {
                latency_log.extend_from_slice(line.text);
                latency_log.push(b'\n');
                let stream = streams.entry(line.stream.to_owned()).or_default();
                line.add_to(&mut stream.latencies);
            }
        })?;
        for (name, total) in &recorded.totals {
            let stream = streams.entry(name.clone()).or_default();
            stream.total = *total;
            stream.correct();
            for (begin_s, _) in &mut stream.means {
                *begin_s -= recorded.begin_s;
            }
        }
        Ok(Self {
            result,
            begin_s: recorded.begin_s,
            length_s: recorded.length_s(),
            samples: recorded.samples,
            streams,
            counters,
            latency_log,
            events: text_of(&folder.join("events.log"))?.unwrap_or_default(),
            news: text_of(&folder.join("news.jsonl"))?.unwrap_or_default(),
        })
    }
}

impl Stream {
    /// Buckets know latencies only roughly; the counters know mean and maximum.
    fn correct(&mut self) {
        let (mean, max) = (self.total.latency_ms_mean(), self.total.latency_ms_max);
        if let (Some(mean), Some(max)) = (mean, max) {
            let span = |millis: f64| Span::from_seconds(millis / 1_000.0);
            self.latencies.correct(span(mean), span(max));
        }
    }
}

/// The two tables that have to agree.
struct Tables {
    counters: PathBuf,
    latency_log: PathBuf,
}

impl Tables {
    fn counters(
        &self,
        wanted: Wanted,
        takes: impl FnMut(&[u8], &Row<'_>) -> bool,
    ) -> Result<Recorded, ReadError> {
        let read = Recorded::read_where(open(&self.counters)?, wanted, takes);
        read.map_err(refused(&self.counters))
    }

    fn latency_log(&self, each: impl FnMut(LatencyLine<'_>)) -> Result<(), ReadError> {
        let read = read_latency_lines(open(&self.latency_log)?, each);
        read.map_err(refused(&self.latency_log))
    }

    /// Until when, in seconds from the beginning of the run, both tables are whole; a little later,
    /// as times are rounded.
    fn agree_until(&self) -> Result<Option<f64>, ReadError> {
        let mut ends = Vec::new();
        self.counters(Wanted::Samples, |_, row| {
            note(&mut ends, row.begin_s + row.length_s);
            false
        })?;
        let mut held = Vec::new();
        self.latency_log(|line| {
            // Only files have a line for several samples.
            if line.stream.contains('.') {
                note(&mut held, line.end_s);
            }
        })?;
        // The last of each may not be whole.
        ends.pop();
        held.pop();
        let is_held = |end: &f64| held.iter().any(|held| (held - end).abs() < ROUNDED);
        Ok(ends.into_iter().rev().find(is_held).map(|end| end + ROUNDED))
    }
}

/// Adds `end` unless it is the last one already.
fn note(ends: &mut Vec<f64>, end: f64) {
    if ends.last().is_none_or(|last| end > last + ROUNDED) {
        ends.push(end);
    }
}
