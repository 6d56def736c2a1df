//! What follows from a journal.
//!
//! A journal may end anywhere. All streams are taken up to one point in time: the end of the last
//! sample with which every histogram was written. Of faults everything counts, however late it was
//! recorded: what is left out can only hide a failure, and then nothing is said to have passed.
//!
//! A journal may come from anywhere, so sums that would be too large stay at the largest number.
//!
//! A run that was carried on has several parts in one journal, and its samples follow each other.

use std::collections::BTreeMap;
use std::io::{self, Read};

use brunt_stats::Latencies;
use brunt_units::{Span, Time};

use crate::frame::{Cut, Journal};
use crate::record::{Ended, Event, Head, Record, Row, Sample, Value, is_of_array, is_of_server};
use crate::standing::Standing;

/// What is known of a run.
#[derive(Clone, Debug, Default)]
pub struct Folded {
    /// The head of each part.
    pub heads: Vec<Head>,
    /// When the first sample began.
    pub begin: Option<Time>,
    /// Length of all samples together.
    pub length: Span,
    /// The samples of the load: rows of the whole server and of arrays, without histograms.
    pub samples: Vec<Sample>,
    pub streams: BTreeMap<String, Stream>,
    /// Of all parts together.
    pub standing: Standing,
    pub events: Vec<Event>,
    /// As lines of `news.jsonl`.
    pub news: Vec<String>,
    /// How it ended; `None` for a run that still goes on, was killed, or whose host died.
    pub ended: Option<Ended>,
    /// Records up to the last sample that counts.
    pub records: u64,
    /// Why the end of the journal was not read.
    pub cut: Option<Cut>,
}

/// One stream in all samples.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// I/Os or events.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Empty for streams without histograms.
    pub latencies: Latencies,
    /// Each sample with I/O: its begin, and its mean latency.
    pub means: Vec<(Time, Span)>,
    /// Other values, each with the length of its sample.
    pub values: Vec<(f64, Span)>,
}

/// Reads a journal to its end.
///
/// # Errors
/// Those of reading.
pub fn fold<R: Read>(journal: &mut Journal<R>) -> io::Result<Folded> {
    let mut folding = Folding::default();
    while let Some(entry) = journal.next_entry()? {
        folding.take(entry.record);
    }
    Ok(folding.end(journal.cut()))
}

/// Hands out every sample that counts, with its histograms.
///
/// # Errors
/// Those of reading.
pub fn each_sample<R: Read>(
    journal: &mut Journal<R>,
    mut each: impl FnMut(&Sample),
) -> io::Result<()> {
    let mut waiting = Waiting::default();
    while let Some(entry) = journal.next_entry()? {
        match entry.record {
            Record::Head(_) => waiting.next_part(),
            Record::Sample(sample) => waiting.take(sample).iter().for_each(&mut each),
            _ => {}
        }
    }
    Ok(())
}

/// Samples since the last whole one.
#[derive(Clone, Debug, Default)]
struct Waiting(Vec<Sample>);

impl Waiting {
    /// Those that count from now on; none before a whole one.
    fn take(&mut self, sample: Sample) -> Vec<Sample> {
        let is_whole = sample.is_whole;
        self.0.push(sample);
        match is_whole {
            true => std::mem::take(&mut self.0),
            false => Vec::new(),
        }
    }

    /// Nothing makes those of a part whole that has ended.
    fn next_part(&mut self) {
        self.0.clear();
    }
}

/// The fold of a journal that may still grow.
#[derive(Clone, Debug, Default)]
pub struct Folding {
    folded: Folded,
    streams: Streams,
    waiting: Waiting,
    /// The newest standing of this part, and that of all parts before it.
    standing: Option<Standing>,
    earlier: Option<Standing>,
    /// How much had been collected before this part.
    before: Span,
    taken: u64,
}

impl Folding {
    /// What [`fold`] would say of the records until now, if the rest was lost.
    pub fn so_far(&self, cut: Option<Cut>) -> Folded {
        self.clone().end(cut)
    }

    /// Takes the next record.
    pub fn take(&mut self, record: Record) {
        self.taken += 1;
        match record {
            Record::Head(head) => {
                self.next_part();
                self.folded.heads.push(*head);
            }
            Record::Sample(sample) => {
                for sample in self.waiting.take(sample) {
                    self.folded.records = self.taken;
                    self.add(sample);
                }
            }
            Record::Standing(standing) => self.standing = Some(*standing),
            Record::Event(event) => self.folded.events.push(event),
            Record::News(news) => self.folded.news.push(news),
            Record::Ended(ended) => self.folded.ended = Some(ended),
        }
    }

    fn next_part(&mut self) {
        self.waiting.next_part();
        if let Some(standing) = self.standing.take() {
            self.earlier = Some(match self.earlier.take() {
                None => standing,
                Some(earlier) => earlier.followed_by(standing, self.before),
            });
        }
        self.before = self.folded.length;
        self.folded.ended = None;
    }

    fn end(mut self, cut: Option<Cut>) -> Folded {
        let ended = self.folded.ended.take();
        self.next_part();
        let (standing, streams) = (self.earlier.unwrap_or_default(), self.streams.all());
        Folded { standing, streams, cut, ended, ..self.folded }
    }

    fn add(&mut self, sample: Sample) {
        let Sample { begin, length, rows, histograms, is_whole } = sample;
        for row in &rows {
            let stream = self.streams.get(&row.stream);
            match row.value {
                Value::Io(reading) => {
                    stream.count = stream.count.saturating_add(reading.count);
                    stream.bytes = stream.bytes.saturating_add(reading.bytes);
                    stream.means.extend(reading.mean.map(|mean| (begin, mean)));
                }
                Value::Count(count) => stream.count = stream.count.saturating_add(count),
                Value::Bytes(bytes) => stream.bytes = bytes,
                Value::Other(value) => stream.values.push((value, length)),
            }
        }
        for histogram in &histograms {
            self.streams.get(&histogram.stream).latencies.merge(&histogram.latencies);
        }
        let sample = Sample { begin, length, rows, histograms: Vec::new(), is_whole };
        if sample.has_load() {
            let folded = &mut self.folded;
            folded.begin.get_or_insert(begin);
            folded.length = Span(folded.length.0.saturating_add(length.0));
            let is_kept = |row: &Row| is_of_server(&row.stream) || is_of_array(&row.stream);
            let rows = sample.rows.into_iter().filter(is_kept);
            folded.samples.push(Sample { rows: rows.collect(), ..sample });
        }
    }
}

/// Streams by their names. They come in the same order in every sample, so the next one is most
/// often that which followed the last time.
#[derive(Clone, Debug, Default)]
struct Streams {
    named: Vec<Named>,
    places: BTreeMap<String, usize>,
    /// The place of the last one.
    last: usize,
}

#[derive(Clone, Debug)]
struct Named {
    name: String,
    stream: Stream,
    /// The place of the one that followed it.
    then: usize,
}

impl Streams {
    fn get(&mut self, name: &str) -> &mut Stream {
        let guess = self.named.get(self.last).map_or(0, |last| last.then);
        let is_right = self.named.get(guess).is_some_and(|named| named.name == name);
        let place = if is_right { guess } else { self.place(name) };
        if let Some(last) = self.named.get_mut(self.last) {
            last.then = place;
        }
        self.last = place;
        &mut self.named[place].stream
    }

    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.named.len();
        self.named.push(Named { name: name.to_owned(), stream: Stream::default(), then: 0 });
        self.places.insert(name.to_owned(), place);
        place
    }

    fn all(self) -> BTreeMap<String, Stream> {
        self.named.into_iter().map(|named| (named.name, named.stream)).collect()
    }
}
