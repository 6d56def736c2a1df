//! News of a run while it goes on.
//!
//! One stream for every kind of work: tests of storage, raw load, drills, mail, sweeps, searches.
//! A [`Listener`](crate::Listener) hears it, and the journal keeps it.
//!
//! A run folder has the news in `news.jsonl` as well: a head that names [`NEWS_SCHEMA`], then a line
//! for each. [`Thinned`] leaves out frequent progress reports.

mod in_json;
mod state;

pub use state::{Live, LiveDatabase, SoFar};

use std::mem::{self, Discriminant};

use brunt_units::{ByteSize, Span, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tuning::{Target, Trial, Tuning};

/// Name and version of the stream of news. Kinds of news and their fields are only added; a reader
/// skips unknown ones.
pub const NEWS_SCHEMA: &str = "brunt.news/1";

/// A database of an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Size of its file.
    #[serde(rename = "bytes", with = "in_json::bytes")]
    pub size: ByteSize,
    /// When it was created: `2026-11-23 04:25:09`.
    pub made: String,
}

/// A host of a fleet at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostNews {
    pub name: String,
    /// What it is doing, or what became of it.
    pub state: String,
    /// How far its clock is ahead of that of the coordinator, both since they were started.
    pub offset_ms: Option<f64>,
    /// Since it last said where it stands.
    pub heard_s: Option<f64>,
}

/// An event of a run. In JSON `news` names its kind, and field names end in their unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "news", rename_all = "snake_case")]
pub enum News {
    /// A note for the test log.
    Note { text: String },
    /// The databases of the test are decided.
    Databases {
        /// Databases of earlier runs, to be opened.
        open: Vec<Kept>,
        /// Sizes of the databases to be created.
        #[serde(rename = "create_bytes", with = "in_json::sizes")]
        create: Vec<ByteSize>,
    },
    /// Databases are being created.
    Creating {
        /// Bytes written.
        #[serde(rename = "done_bytes", with = "in_json::bytes")]
        done: ByteSize,
        /// Bytes to write.
        #[serde(rename = "total_bytes", with = "in_json::bytes")]
        total: ByteSize,
    },
    /// Databases were created.
    Created {
        /// Bytes written.
        #[serde(rename = "total_bytes", with = "in_json::bytes")]
        total: ByteSize,
        /// How long it took.
        #[serde(rename = "took_s", with = "in_json::seconds")]
        took: Span,
    },
    /// The records of an earlier run's databases are being surveyed.
    Surveying {
        /// Records found.
        records: u64,
    },
    /// Databases are ready; sessions wait for their common start.
    Waiting {
        /// How long they will wait.
        #[serde(rename = "left_s", with = "in_json::seconds")]
        left: Span,
    },
    /// Sessions begin.
    Dispatching,
    /// Sessions run, but nothing counts yet.
    WarmingUp {
        /// Bytes in the cache.
        #[serde(rename = "filled_bytes", with = "in_json::bytes")]
        filled: ByteSize,
        /// Bytes that must be there.
        #[serde(rename = "wanted_bytes", with = "in_json::bytes")]
        wanted: ByteSize,
    },
    /// The cache is full, but another condition for the collection is not met yet.
    Settling {
        /// Progress, 0 to 1.
        share: f64,
        /// The condition.
        what: String,
        /// Maximum remaining time, if it may end sooner.
        #[serde(rename = "at_most_s", with = "in_json::maybe_seconds")]
        at_most: Option<Span>,
    },
    /// The warm-up is over.
    WarmedUp {
        /// Bytes in the cache.
        #[serde(rename = "filled_bytes", with = "in_json::bytes")]
        filled: ByteSize,
        /// The largest cache.
        #[serde(rename = "cache_bytes", with = "in_json::bytes")]
        cache: ByteSize,
        /// How long it took.
        #[serde(rename = "took_s", with = "in_json::seconds")]
        took: Span,
    },
    /// Tuning begins a trial.
    Tuning {
        /// The number of the trial, from 1.
        trial: usize,
        /// Sessions of the trial.
        sessions: u32,
    },
    /// A trial of tuning has ended.
    Tried(Trial),
    /// Tuning has found what the test runs with.
    Tuned {
        /// Sessions of the test.
        sessions: u32,
        /// The rate to reach, if tuning has set one: a share of the maximum that it found.
        target: Option<Target>,
        /// How it was found.
        tuning: Tuning,
    },
    /// From now on everything counts.
    CollectionStarted,
    /// Databases are being read for a backup.
    BackingUp {
        /// Bytes read.
        #[serde(rename = "done_bytes", with = "in_json::bytes")]
        done: ByteSize,
        /// Bytes to read.
        #[serde(rename = "total_bytes", with = "in_json::bytes")]
        total: ByteSize,
    },
    /// Databases were read for a backup.
    BackedUp {
        /// Bytes read.
        #[serde(rename = "total_bytes", with = "in_json::bytes")]
        total: ByteSize,
        /// How long it took.
        #[serde(rename = "took_s", with = "in_json::seconds")]
        took: Span,
    },
    /// The backup is copied beside the databases, and compared.
    Restoring {
        /// Bytes restored.
        #[serde(rename = "done_bytes", with = "in_json::bytes")]
        done: ByteSize,
        /// Bytes to restore.
        #[serde(rename = "total_bytes", with = "in_json::bytes")]
        total: ByteSize,
    },
    /// Sessions write logs that will be replayed.
    GeneratingLogs {
        /// Log files of the instance with the fewest.
        done: u32,
        /// Log files wanted of each instance.
        wanted: u32,
    },
    /// Databases are being recovered.
    Recovering {
        /// Log files replayed, over all instances.
        done: u32,
        /// Log files to replay, as far as known.
        logs: u32,
    },
    /// Sessions run and count.
    Testing(Live),
    /// The collection is over.
    CollectionEnded,
    /// Sessions have ended; dirty pages are written.
    Closing {
        /// Bytes written.
        #[serde(rename = "done_bytes", with = "in_json::bytes")]
        done: ByteSize,
        /// Dirty bytes at the beginning.
        #[serde(rename = "total_bytes", with = "in_json::bytes")]
        total: ByteSize,
    },
    /// Files are being verified.
    VerifyingFiles {
        /// Bytes read.
        #[serde(rename = "done_bytes", with = "in_json::bytes")]
        done: ByteSize,
        /// Bytes to read.
        #[serde(rename = "total_bytes", with = "in_json::bytes")]
        total: ByteSize,
    },
    /// Records are being compared.
    VerifyingRecords {
        /// Records compared.
        done: u64,
        /// Records to compare.
        total: u64,
    },
    /// Verification is over.
    Verified {
        /// How long it took, files and records.
        #[serde(rename = "took_s", with = "in_json::seconds")]
        took: Span,
        /// Whether anything was judged. A simulation only reads: its databases have no content.
        #[serde(default = "in_json::yes")]
        judged: bool,
    },
    /// Something happened in a drill.
    Happened {
        /// When, in the drill's own time.
        at_s: f64,
        what: String,
    },
    /// A drill has come so far.
    Rehearsing {
        at_s: f64,
        /// The same as a share of its longest course.
        share: f64,
    },
    /// A drill on a replica that is broken on purpose begins.
    Control {
        /// What is broken.
        name: String,
    },
    /// A command of the user begins, outside of the timeline.
    Step {
        /// The word for its time: `prepare`, `clean up`.
        when: String,
        name: String,
    },
    /// Raw load on a model has come so far.
    Simulating {
        at_s: f64,
        /// When it ends.
        end_s: f64,
    },
    /// How many of several simulations, runs, or steps of a search are done.
    Computed {
        done: u64,
        /// Of how many; `None` where the next follows from what was found.
        all: Option<u64>,
        /// The newest of them, as an object of `points.json`; `None` where one says nothing.
        point: Option<Value>,
    },
    /// What each host of a fleet is doing.
    Hosts { hosts: Vec<HostNews> },
    /// Mail is being sent.
    Sending {
        /// Progress, 0 to 1.
        share: f64,
        /// Deliveries that servers have accepted.
        accepted: u64,
        /// Whether mailboxes are only filled, before users work.
        #[serde(default)]
        filling: bool,
    },
}

impl News {
    /// Whether the news is a repeated progress report.
    pub fn is_progress(&self) -> bool {
        match self {
            Self::Creating { .. }
            | Self::Surveying { .. }
            | Self::Waiting { .. }
            | Self::WarmingUp { .. }
            | Self::Settling { .. }
            | Self::Tuning { .. }
            | Self::BackingUp { .. }
            | Self::Restoring { .. }
            | Self::GeneratingLogs { .. }
            | Self::Recovering { .. }
            | Self::Testing(_)
            | Self::Closing { .. }
            | Self::VerifyingFiles { .. }
            | Self::VerifyingRecords { .. }
            | Self::Rehearsing { .. }
            | Self::Simulating { .. }
            | Self::Computed { point: None, .. }
            | Self::Hosts { .. }
            | Self::Sending { .. } => true,
            Self::Note { .. }
            | Self::Databases { .. }
            | Self::Created { .. }
            | Self::Dispatching
            | Self::WarmedUp { .. }
            | Self::Tried(_)
            | Self::Tuned { .. }
            | Self::CollectionStarted
            | Self::BackedUp { .. }
            | Self::CollectionEnded
            | Self::Verified { .. }
            | Self::Happened { .. }
            | Self::Control { .. }
            | Self::Step { .. }
            | Self::Computed { point: Some(_), .. } => false,
        }
    }
}

/// Thins out a stream: keeps the first of consecutive progress reports of a kind, and then one per
/// interval.
#[derive(Debug)]
pub struct Thinned {
    every: Span,
    last: Option<(Discriminant<News>, Time)>,
}

impl Thinned {
    /// Keeps progress reports at least `every` apart.
    pub fn to(every: Span) -> Self {
        Self { every, last: None }
    }

    /// Whether to keep `news`.
    pub fn keeps(&mut self, at: Time, news: &News) -> bool {
        let kind = mem::discriminant(news);
        let is_repeated =
            self.last.is_some_and(|(last, since)| last == kind && at < since + self.every);
        let keeps = !(news.is_progress() && is_repeated);
        if keeps {
            self.last = Some((kind, at));
        }
        keeps
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn all() -> Vec<News> {
        let (done, total) = (ByteSize::mib(3), ByteSize::gib(70_000));
        let took = Span::nanos(86_400_123_456_789);
        vec![
            News::Note { text: "two\nlines".to_owned() },
            News::Databases {
                open: vec![Kept { size: total, made: "2026-11-23 04:25:09".to_owned() }],
                create: vec![done, total],
            },
            News::Creating { done, total },
            News::Created { total, took },
            News::Surveying { records: u64::MAX },
            News::Waiting { left: took },
            News::Dispatching,
            News::WarmingUp { filled: done, wanted: total },
            News::Settling { share: 0.5, what: "the checkpoint".to_owned(), at_most: None },
            News::Settling { share: 0.75, what: "the checkpoint".to_owned(), at_most: Some(took) },
            News::WarmedUp { filled: done, cache: total, took },
            News::Tuning { trial: 1, sessions: 8 },
            News::Tried(Trial {
                sessions: 8,
                is_paced: true,
                io_per_s: 2_431.5,
                db_read_ms: 0.18,
                log_write_ms: 0.95,
                page_fault_stalls_per_s: 0.0,
                outcome: "passes".to_owned(),
            }),
            News::Tuned {
                sessions: 19,
                target: Some(Target { io_per_s: 1_900.5, headroom_percent: 0 }),
                tuning: Tuning::default(),
            },
            News::CollectionStarted,
            News::BackingUp { done, total },
            News::BackedUp { total, took },
            News::GeneratingLogs { done: 1, wanted: 9 },
            News::Restoring { done, total },
            News::Recovering { done: 1, logs: 9 },
            News::Testing(Live {
                elapsed: took,
                duration: took,
                io_per_s: 1_202.25,
                read: Some(Span::nanos(171_234)),
                stalls: 3,
                over: true,
                ..Live::default()
            }),
            News::CollectionEnded,
            News::Closing { done, total },
            News::VerifyingFiles { done, total },
            News::VerifyingRecords { done: 1, total: 9 },
            News::Verified { took, judged: true },
            News::Happened { at_s: 12.5, what: "the link is lost".to_owned() },
            News::Rehearsing { at_s: 12.5, share: 0.5 },
            News::Control { name: "swap two writes".to_owned() },
            News::Step { when: "prepare".to_owned(), name: "snapshot".to_owned() },
            News::Simulating { at_s: 1.0, end_s: 60.0 },
            News::Computed {
                done: 3,
                all: None,
                point: Some(json!({ "value": "4", "io_per_s": 0.1 })),
            },
            News::Hosts {
                hosts: vec![HostNews {
                    name: "MAIL1".to_owned(),
                    state: "collecting".to_owned(),
                    offset_ms: Some(-12.5),
                    heard_s: None,
                }],
            },
            News::Sending { share: 0.25, accepted: 1_200, filling: false },
        ]
    }

    #[test]
    fn every_kind_of_news_is_read_as_it_was_written() {
        let mut kinds = BTreeSet::new();
        for news in all() {
            let text = serde_json::to_string(&news).unwrap();
            assert!(!text.contains('\n'), "{text}");
            assert_eq!(serde_json::from_str::<News>(&text).unwrap(), news);
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            kinds.insert(value["news"].as_str().unwrap().to_owned());
        }
        // One kind is in the list twice.
        assert_eq!(kinds.len(), all().len() - 1);
    }

    #[test]
    fn names_and_units_are_kept() {
        let news = News::Created { total: ByteSize::mib(1), took: Span::millis(1_500) };
        assert_eq!(
            serde_json::to_string(&news).unwrap(),
            r#"{"news":"created","total_bytes":1048576,"took_s":1.5}"#
        );
    }

    #[test]
    fn progress_is_thinned_and_events_are_not() {
        let mut thinned = Thinned::to(Span::seconds(15));
        let mut keeps =
            |seconds, news: &News| thinned.keeps(Time::ZERO + Span::seconds(seconds), news);
        let testing = News::Testing(Live::default());
        let note = News::Note { text: String::new() };
        assert_eq!(
            [0, 1, 14, 15, 16, 30].map(|at| keeps(at, &testing)),
            [true, false, false, true, false, true]
        );
        assert_eq!([31, 31].map(|at| keeps(at, &note)), [true; 2]);
        assert!(keeps(32, &testing), "it was another kind before");
    }
}
