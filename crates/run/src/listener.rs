//! Who hears of a run while it goes on, and what was measured in a piece of it.
//!
//! A run knows no terminal and no file. It calls a [`Listener`] with news and samples. The program
//! draws bars or prints lines, keeps the journal, reads the kernel's counters when the collection
//! begins and ends.

use std::rc::Rc;
use std::sync::Arc;

use brunt_stats::{Latencies, Reading};
use brunt_units::{Span, Time};

use crate::news::News;
use crate::record::{Row, Sample};
use crate::standing::Standing;

/// How often the state of a test is reported.
pub const TELL: Span = Span::millis(250);

/// Receives the news of a test.
pub trait Listener {
    /// Called for an event at `at`. Must return soon: the engine waits.
    fn tell(&self, at: Time, news: &News);

    /// How often it wants the state of a running test. Reading all meters takes time.
    fn wants_news_every(&self) -> Span {
        TELL
    }

    /// Whether the figures are known well enough: then a prediction ends its collection with the
    /// running sample.
    fn has_enough(&self) -> bool {
        false
    }

    /// Called with the rows of a closed sample. Must return soon as well. A listener without tables
    /// ignores them.
    fn recorded(&self, _: &Recorded) {}
}

/// Ignores all news.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silence;

impl Listener for Silence {
    fn tell(&self, _: Time, _: &News) {}
}

/// Two that hear the same; the first decides.
pub struct Both(pub Rc<dyn Listener>, pub Arc<dyn Listener>);

impl Listener for Both {
    fn tell(&self, at: Time, news: &News) {
        self.0.tell(at, news);
        self.1.tell(at, news);
    }

    fn wants_news_every(&self) -> Span {
        self.0.wants_news_every()
    }

    fn has_enough(&self) -> bool {
        self.0.has_enough()
    }

    fn recorded(&self, recorded: &Recorded) {
        self.0.recorded(recorded);
        self.1.recorded(recorded);
    }
}

impl<L: Listener + ?Sized> Listener for Rc<L> {
    fn tell(&self, at: Time, news: &News) {
        (**self).tell(at, news);
    }

    fn wants_news_every(&self) -> Span {
        (**self).wants_news_every()
    }

    fn has_enough(&self) -> bool {
        (**self).has_enough()
    }

    fn recorded(&self, recorded: &Recorded) {
        (**self).recorded(recorded);
    }
}

/// What one sample adds to the journal of the run.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    pub sample: Arc<Sample>,
    /// What the test knows of itself so far.
    pub standing: Arc<Standing>,
    /// Latencies of the whole server.
    pub whole: Arc<WholeLatencies>,
}

impl Recorded {
    /// An interval in which nothing but the machine was watched.
    pub fn of_machine(begin: Time, length: Span) -> Self {
        let sample = Sample { begin, length, is_whole: true, ..Default::default() };
        Self { sample: Arc::new(sample), ..Self::default() }
    }

    /// The same sample with `rows` after its own.
    #[must_use]
    pub fn with(&self, rows: Vec<Row>) -> Self {
        let mut sample = Sample::clone(&self.sample);
        sample.rows.extend(rows);
        Self { sample: Arc::new(sample), ..self.clone() }
    }

    /// The same sample as one that began at `begin` of a collection that had begun before.
    pub fn moved_to(&self, begin: Time) -> Self {
        Self { sample: Arc::new(self.sample.moved_to(begin)), ..self.clone() }
    }
}

/// Latencies of the whole server in one sample.
#[derive(Clone, Debug, Default)]
pub struct WholeLatencies {
    /// Database reads.
    pub reads: Latencies,
    /// Database writes.
    pub writes: Latencies,
    pub log_writes: Latencies,
    /// Bytes of both kinds of writes.
    pub written: u64,
}

/// What a server measured in an interval, over all its databases and logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// Database reads of operations.
    pub reads: Reading,
    /// Database writes.
    pub writes: Reading,
    pub log_writes: Reading,
}
