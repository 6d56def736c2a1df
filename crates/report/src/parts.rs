//! The parts of modelled arrays over time: their streams in `counters.csv`, written and read back.
//!
//! ```text
//!   array: controller 0                   a part of the only array
//!   array: san2: busiest drive of logs    one of several arrays is named first
//! ```
//!
//! Shares are 0 to 1, rates are per second, times in milliseconds unless they say otherwise. Only
//! some parts of a large array have a row in a sample: those that were the busiest.
//!
//! A table may come from anywhere, so what is kept of it is bounded: names above [`STREAMS_MAX`],
//! and values above [`VALUES_MAX`], are left out.

use std::collections::BTreeMap;

use brunt_run::{ARRAY, Sample, Value, is_of_array};
use brunt_units::Time;

/// More streams than any simulation has.
const STREAMS_MAX: usize = 2_000;
/// Those of a day of a large array.
const VALUES_MAX: usize = 2_000_000;

/// What is measured of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// Utilisation of a controller's processor.
    Controller,
    /// Utilisation of a port, in its busier direction.
    Port,
    /// Utilisation of the link between controllers; of several, the busiest.
    Link,
    /// Mean utilisation of a group's drives.
    Group,
    /// Utilisation of the busiest of them.
    BusiestDrive,
    /// Mean number of requests in a drive of a group.
    Queue,
    /// Utilisation of a drive.
    Drive,
    /// Mean number of requests in a drive.
    DriveQueue,
    /// Share of the write cache that is not yet on drives, at the end of the sample.
    Dirty,
    /// Reads of hosts.
    FrontReads,
    /// Writes of hosts.
    FrontWrites,
    /// Reads of drives.
    BackReads,
    /// Writes of drives.
    BackWrites,
    /// Reads and writes of hosts on a LUN.
    Lun,
    /// Mean time of a read on a LUN.
    LunRead,
    /// A part of the mean time of a database read.
    ReadPart,
    /// Share of a write history log in use, at the end of the sample.
    History,
    /// Seconds until a write history log that grows is full.
    FullIn,
}

impl What {
    /// All of them, with the words before the name of a part.
    const ALL: [(Self, &'static str); 18] = [
        // Before "queue ", which a group called "of drive 7" would have, too.
        (Self::DriveQueue, "queue of drive "),
        (Self::Controller, "controller "),
        (Self::Port, "port "),
        (Self::Link, "link"),
        (Self::Group, "group "),
        (Self::BusiestDrive, "busiest drive of "),
        (Self::Queue, "queue "),
        (Self::Drive, "drive "),
        (Self::Dirty, "cache dirty"),
        (Self::FrontReads, "front reads"),
        (Self::FrontWrites, "front writes"),
        (Self::BackReads, "back reads"),
        (Self::BackWrites, "back writes"),
        (Self::Lun, "LUN "),
        (Self::LunRead, "read time of LUN "),
        (Self::ReadPart, "read time in "),
        (Self::History, "history log "),
        (Self::FullIn, "full in (s) "),
    ];

    fn words(self) -> &'static str {
        let found = Self::ALL.iter().find(|(what, _)| *what == self);
        found.map_or("", |(_, words)| words)
    }

    /// What a stream is of, and the name of the part; words without a name stand alone.
    fn of(text: &str) -> Option<(Self, &str)> {
        Self::ALL.iter().find_map(|(what, words)| {
            let name = text.strip_prefix(words)?;
            (words.ends_with(' ') != name.is_empty()).then_some((*what, name))
        })
    }
}

/// The stream of the part called `name`; `array` is named if there are several.
pub fn stream(array: Option<&str>, what: What, name: &str) -> String {
    let array = array.map_or(String::new(), |array| format!("{array}: "));
    format!("{ARRAY}{array}{}{name}", what.words())
}

/// A part of an array.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// The array, if there are several.
    pub array: Option<String>,
    pub what: What,
    /// Empty for what an array has once.
    pub name: String,
}

impl Part {
    /// The part of a stream; `None` of other streams.
    pub fn of(stream: &str) -> Option<Self> {
        let text = stream.strip_prefix(ARRAY)?;
        let (array, (what, name)) = match What::of(text) {
            Some(found) => (None, found),
            None => {
                let (array, text) = text.split_once(": ")?;
                (Some(array), What::of(text)?)
            }
        };
        Some(Self { array: array.map(str::to_owned), what, name: name.to_owned() })
    }
}

/// Parts over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// When each sample began, and its length, in seconds.
    samples: Vec<(f64, f64)>,
    /// Of each part: numbers of samples, and what was measured in them.
    series: BTreeMap<Part, Vec<(usize, f64)>>,
    values: usize,
}

impl Parts {
    /// Those in the rows of `samples`; times count from the first.
    pub fn of<S: std::borrow::Borrow<Sample>>(samples: impl IntoIterator<Item = S>) -> Self {
        let mut parts = Self::default();
        let mut first = None;
        for sample in samples {
            let sample = sample.borrow();
            let begin: Time = *first.get_or_insert(sample.begin);
            let (begin_s, length_s) =
                (sample.begin.since(begin).as_seconds(), sample.length.as_seconds());
            for row in &sample.rows {
                if let Value::Other(value) = row.value {
                    parts.add((begin_s, length_s), &row.stream, value);
                }
            }
        }
        parts
    }

    /// Adds what was measured of `stream` in the sample with this begin and length. Other streams,
    /// and what is no number, are left out.
    pub(crate) fn add(&mut self, sample: (f64, f64), stream: &str, value: f64) {
        if !is_of_array(stream) || !value.is_finite() || self.values == VALUES_MAX {
            return;
        }
        let Some(part) = Part::of(stream) else { return };
        if self.series.len() == STREAMS_MAX && !self.series.contains_key(&part) {
            return;
        }
        if self.samples.last().is_none_or(|last| last.0 != sample.0) {
            self.samples.push(sample);
        }
        self.values += 1;
        self.series.entry(part).or_default().push((self.samples.len() - 1, value));
    }

    /// Counts times from `begin_s`.
    pub(crate) fn begin_at(&mut self, begin_s: f64) {
        self.samples.iter_mut().for_each(|(begin, _)| *begin -= begin_s);
    }

    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// The samples: when each began, and its length, in seconds from the first of the load.
    pub fn samples(&self) -> &[(f64, f64)] {
        &self.samples
    }

    /// What was measured of each part: the number of the sample, and the value.
    pub fn series(&self, what: What) -> impl Iterator<Item = (&Part, &[(usize, f64)])> {
        let all = self.series.iter().filter(move |(part, _)| part.what == what);
        all.map(|(part, values)| (part, values.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use brunt_run::Row;
    use brunt_units::Span;

    use super::*;

    #[test]
    fn every_stream_is_read_as_it_was_written() {
        for (what, words) in What::ALL {
            let names: &[&str] = match words.ends_with(' ') {
                true => &["0", "logs", "a: b", "databases of member 1", "x.y, \"z\""],
                false => &[""],
            };
            for name in names {
                for array in [None, Some("san"), Some("san 2.0")] {
                    let part =
                        Part { array: array.map(str::to_owned), what, name: (*name).to_owned() };
                    assert_eq!(Part::of(&stream(array, what, name)), Some(part));
                }
            }
        }
        for other in ["database-read", "array: ", "array: linked", "array: group ", "host: link"] {
            assert_eq!(Part::of(other), None, "{other}");
        }
    }

    fn sample(begin: u64, rows: &[(&str, f64)]) -> Sample {
        let rows = rows.iter().map(|(stream, value)| Row::new(stream, Value::Other(*value)));
        Sample {
            begin: Time::ZERO + Span::seconds(begin),
            length: Span::seconds(10),
            rows: rows.collect(),
            ..Sample::default()
        }
    }

    #[test]
    fn parts_have_their_times() {
        let samples = [
            sample(40, &[("array: link", 0.25), ("host: cpu", 3.0), ("array: drive 7", 0.5)]),
            sample(50, &[("array: link", f64::NAN)]),
            sample(60, &[("array: link", 0.75)]),
        ];
        let parts = Parts::of(&samples);
        assert_eq!(parts.samples(), [(0.0, 10.0), (20.0, 10.0)]);
        let link: Vec<_> = parts.series(What::Link).map(|(_, values)| values.to_vec()).collect();
        assert_eq!(link, [[(0, 0.25), (1, 0.75)]]);
        assert_eq!(parts.series(What::Drive).count(), 1);
        assert_eq!(parts.series(What::Port).count(), 0);
    }

    #[test]
    fn a_table_of_too_many_names_is_cut() {
        let mut parts = Parts::default();
        for number in 0..2 * STREAMS_MAX {
            parts.add((0.0, 1.0), &format!("array: drive {number}"), 1.0);
        }
        assert_eq!(parts.series(What::Drive).count(), STREAMS_MAX);
        parts.add((1.0, 1.0), "array: drive 0", 0.5);
        let first = parts.series(What::Drive).next().map(|(_, values)| values.len());
        assert_eq!(first, Some(2), "what is known goes on");
    }
}
