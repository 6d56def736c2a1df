//! What a test of mail servers tells, as news and samples for a journal.

use std::cell::Cell;
use std::sync::Arc;

use brunt_run::{Listener, News, Recorded, Row, Sample, Value};
use brunt_units::{Span, Time};
use brunt_world_real::ClockZero;

use super::LoadListener;
use crate::unfinished::ACCEPTED;

/// The length of a sample.
const SAMPLE: Span = Span::seconds(5);

/// Tells a listener what happens, and a sample every few seconds.
pub struct Telling<L> {
    listener: L,
    zero: ClockZero,
    /// When the newest sample ended, and the deliveries that were accepted until then.
    sampled: Cell<Option<(Time, u64)>>,
}

impl<L: Listener> Telling<L> {
    /// Time counts from now on.
    pub fn new(listener: L) -> Self {
        Self { listener, zero: ClockZero::now(), sampled: Cell::default() }
    }

    /// The listener that is told.
    pub fn listener(&self) -> &L {
        &self.listener
    }
}

impl<L: Listener> LoadListener for Telling<L> {
    fn step(&self, what: &str) {
        self.listener.tell(self.zero.elapsed(), &News::Note { text: what.to_owned() });
    }

    fn progress(&self, share: f64, accepted: u64, filling: bool) {
        let now = self.zero.elapsed();
        self.listener.tell(now, &News::Sending { share, accepted, filling });
        if filling {
            return;
        }
        let Some((begin, before)) = self.sampled.get() else {
            return self.sampled.set(Some((now, accepted)));
        };
        let length = now.since(begin);
        if length < SAMPLE {
            return;
        }
        let count = accepted.saturating_sub(before);
        let sample = Sample {
            begin,
            length,
            rows: vec![Row::new(ACCEPTED, Value::Count(count))],
            histograms: Vec::new(),
            is_whole: true,
        };
        self.listener.recorded(&Recorded { sample: Arc::new(sample), ..Recorded::default() });
        self.sampled.set(Some((now, accepted)));
    }
}
