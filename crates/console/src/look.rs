//! What is known of a run at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use brunt_report::Run;
use brunt_run::Stream;

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
}

/// What a run is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Its journal grows.
    GoesOn,
    /// Its journal has not grown for longer than its records let expect: it was killed, or its
    /// host died, or hangs.
    Silent,
    /// It has ended; `run` has its verdict.
    Ended,
}
