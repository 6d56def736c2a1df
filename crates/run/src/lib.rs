//! What a run is: a journal of records, and what follows from them.
//!
//! ```text
//!   head, news, events, samples, standings, end     records, in the order in which they happened
//!        |
//!        v
//!   journal                                         appended and synced while the run goes on
//!        |
//!        +--> counters.csv, latency.hlog, events.log, news.jsonl    the same records, for people and scripts
//!        +--> fold                                  what is known: streams, samples, faults, how it ended
//!        +--> Sum                                   samples of several servers as those of one
//! ```
//!
//! The [`fold`] of a journal that was cut is that of its whole records, so a run whose host died is
//! judged, shown and carried on from the same records as one that ended.
//!
//! Nothing here reads a clock or opens a file: who writes a journal appends the bytes of a
//! [`Writer`], and who reads one hands in the bytes.

mod fold;
mod frame;
mod listener;
mod news;
mod record;
mod standing;
mod stop;
mod sum;
mod tuning;

pub use fold::{Folded, Folding, Stream, each_sample, fold};
pub use frame::{Cut, FORMAT, Journal, JournalError, Why, Writer};
pub use listener::{Both, Interval, Listener, Recorded, Silence, TELL, WholeLatencies};
pub use news::{HostNews, Kept, Live, LiveDatabase, NEWS_SCHEMA, News, SoFar, Thinned};
pub use record::{
    ARRAY, Ended, Entry, Event, Head, Histogram, Record, Row, Sample, Value, is_of_array,
    is_of_server,
};
pub use standing::{Errors, Finding, Findings, Hung, LongestStop, Standing, Standstill};
pub use stop::Stop;
pub use sum::Sum;
pub use tuning::{Target, Trial, Tuning};
