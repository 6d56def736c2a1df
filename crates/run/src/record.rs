//! The records of a journal.

use brunt_stats::{Latencies, Reading};
use brunt_units::{Span, Time};
use serde::{Deserialize, Serialize};

use crate::Standing;

/// A record with its place in the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry<R = Record> {
    /// Checksum of the run's id: a record of another run is found out.
    pub run: u32,
    /// The part of the run that it is from: a run that was carried on has several.
    pub part: u16,
    /// Its number in the journal, from 0.
    pub seq: u64,
    /// When it was written, on the clock of its part; the part's [`Head`] says when that began.
    pub at: Time,
    pub record: R,
}

/// Something that is known of a run from now on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Record {
    /// A part of the run begins.
    Head(Box<Head>),
    /// A sample has ended.
    Sample(Sample),
    /// What the test knows of itself so far, apart from samples; replaces the standing before.
    Standing(Box<Standing>),
    /// A line of the test log.
    Event(Event),
    /// News, as a line of `news.jsonl`: one JSON object without a line break. A reader of another
    /// version finds kinds that it does not know, and passes them over.
    News(String),
    /// The run is over.
    Ended(Ended),
}

/// The beginning of a part of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The run's id, as in `result.json`.
    pub run_id: String,
    /// When the part's clock was at zero, in seconds since 1970-01-01 UTC.
    pub began_unix_s: u64,
    /// `scenario.toml`, with every default resolved.
    pub scenario: String,
    /// `result.json` before anything was measured: the plan, its databases and logs, the machine.
    pub outline: String,
}

/// All streams in one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When the interval began.
    pub begin: Time,
    pub length: Span,
    /// Streams of the whole server have a row in every sample; those of a file only with I/O.
    pub rows: Vec<Row>,
    /// Histograms that end with this sample. Those of single files may be of several samples.
    pub histograms: Vec<Histogram>,
    /// Whether no histogram is held back: all I/O up to here is in histograms.
    pub is_whole: bool,
}

/// One stream in one sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `database-read`, `DB1.read`, `host: Available MBytes`.
    pub stream: String,
    pub value: Value,
}

/// What was measured of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// I/O.
    Io(Reading),
    /// Events that have neither bytes nor latency.
    Count(u64),
    /// An amount of memory or disk space at the end of the sample.
    Bytes(u64),
    /// Any other number, as the mean over the sample.
    Other(f64),
}

/// Latencies of one stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Histogram {
    pub stream: String,
    pub begin: Time,
    pub length: Span,
    pub latencies: Latencies,
}

/// A line of the test log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Seconds since 1970-01-01 UTC.
    pub unix_s: u64,
    pub text: String,
}

/// How the run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The word of its verdict, as in `result.json`.
    pub verdict: String,
}

impl Row {
    /// The I/O of a stream.
    pub fn io(stream: &str, reading: Reading) -> Self {
        Self::new(stream, Value::Io(reading))
    }

    pub fn new(stream: &str, value: Value) -> Self {
        Self { stream: stream.to_owned(), value }
    }
}

/// Whether `stream` is of the whole server: not of a file, and not of the machine.
pub fn is_of_server(stream: &str) -> bool {
    !stream.contains(['.', ':'])
}

/// Prefix of the streams of modelled arrays' parts.
pub const ARRAY: &str = "array: ";

/// Whether `stream` is of a part of a modelled array.
pub fn is_of_array(stream: &str) -> bool {
    stream.starts_with(ARRAY)
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        (&self.stream, self.begin, self.length) == (&other.stream, other.begin, other.length)
            && self.latencies.buckets().eq(other.latencies.buckets())
    }
}

impl Sample {
    /// Whether it is of the load: samples without load have only the machine's streams.
    pub fn has_load(&self) -> bool {
        self.rows.iter().any(|row| matches!(row.value, Value::Io(_) | Value::Count(_)))
    }

    /// The same sample, of a collection that had begun before: it begins at `begin`.
    #[must_use]
    pub fn moved_to(&self, begin: Time) -> Self {
        let moved = |histogram: &Histogram| Histogram {
            // One that is of several samples began before.
            begin: Time((begin.0 + histogram.begin.0).saturating_sub(self.begin.0)),
            ..histogram.clone()
        };
        Self { begin, histograms: self.histograms.iter().map(moved).collect(), ..self.clone() }
    }
}
