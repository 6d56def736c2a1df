//! What is known of a run at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use brunt_report::Run;
use brunt_report::parts::What;
use brunt_run::Stream;
use brunt_units::Span;

use crate::progress::Progress;

/// A run at one moment.
#[derive(Clone, Debug)]
pub struct Look {
    /// The name of its folder, which tells it from the other runs of a console.
    pub name: String,
    pub run_id: String,
    /// What `brunt report` would say of the folder now.
    pub run: Arc<Run>,
    /// What the journal has of each stream since the test began; empty without a journal.
    pub streams: Arc<BTreeMap<String, Stream>>,
    /// The number of samples that count: it only grows, and names what `run` is made of.
    pub samples: u64,
    pub state: State,
    /// What it is doing, as its newest news says.
    pub progress: Option<Progress>,
}

impl Look {
    /// A run called `name` in this `state`, without streams.
    pub fn of(name: &str, run: Run, state: State) -> Self {
        Self {
            name: name.to_owned(),
            run_id: run.result.origin.run_id.clone(),
            samples: run.samples.len() as u64,
            run: Arc::new(run),
            streams: Arc::default(),
            state,
            progress: None,
        }
    }

    /// How soon the first of its write history logs is full, as its newest sample says.
    pub fn full_in(&self) -> Option<Span> {
        let parts = &self.run.parts;
        let last = parts.samples().len().checked_sub(1)?;
        let logs = parts.series(What::FullIn).filter_map(|(_, values)| values.last());
        let growing = logs.filter(|(sample, _)| *sample == last);
        growing.map(|(_, seconds)| *seconds).reduce(f64::min).map(Span::from_seconds)
    }
}

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its journal grows.
    GoesOn,
    /// Its journal has not grown for longer than ever before: it was killed, or its host died, or
    /// hangs.
    Silent,
    /// It has ended; `run` has its verdict.
    Ended,
}

impl State {
    pub const ALL: [Self; 3] = [Self::GoesOn, Self::Silent, Self::Ended];

    /// For programs: in alarms and figures.
    pub fn label(self) -> &'static str {
        match self {
            Self::GoesOn => "goes on",
            Self::Silent => "silent",
            Self::Ended => "ended",
        }
    }

    /// For people.
    pub fn word(self) -> &'static str {
        match self {
            Self::GoesOn => "running",
            Self::Silent => "silent",
            Self::Ended => "ended",
        }
    }
}
