//! The steps of a failover, as data. Users wait for one after the other.
//!
//! ```text
//!   how it begins          what the pair does                                                  recovery
//!   planned    shutdown    arrays          storage failover, role change, host rescan
//!   unplanned  decision    mirror          fencing                                             log replay, mount,
//!   automatic  detection   log shipping    fencing                                             first operation
//!                          user's storage  cut by commands, fencing, failover by commands
//! ```

use std::borrow::Cow;

use brunt_scenario::Decision;
use brunt_units::Span;

use crate::Side;

/// A step of a failover.
pub struct Step<D> {
    pub(crate) name: Cow<'static, str>,
    pub(crate) ends: Ends<D>,
    /// Whether the scenario gives its time, so that the drill has not measured it.
    pub(crate) is_given: bool,
    pub(crate) otherwise: Otherwise,
}

/// What a step waits for.
pub enum Ends<D> {
    /// For nothing more: the timeline, or the step before it, has brought it about.
    Here,
    /// For as long as the scenario says.
    After(Span),
    /// Until servers of the former site are closed.
    ShutDown,
    /// Until this is done, which this kind of pair alone knows.
    Own(D),
    /// Until logs are replayed; databases are open then.
    Recovered,
    /// Until a record is read.
    Served,
}

/// What it means that a step cannot be done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Otherwise {
    /// The drill has no answer.
    NoAnswer,
    /// The failover does not take place, and nothing is lost by it.
    Refused,
    /// What is at the other site cannot be used.
    NoSurvivor,
}

impl<D> Step<D> {
    /// The step called `name`, whose time is measured. Without it there is no survivor.
    pub fn new(name: impl Into<Cow<'static, str>>, ends: Ends<D>) -> Self {
        let otherwise = Otherwise::NoSurvivor;
        Self { name: name.into(), ends, is_given: false, otherwise }
    }

    /// The scenario gives its time.
    #[must_use]
    pub fn given(self) -> Self {
        Self { is_given: true, ..self }
    }

    /// What it means that it cannot be done.
    #[must_use]
    pub fn or(self, otherwise: Otherwise) -> Self {
        Self { otherwise, ..self }
    }
}

/// What a failover to `to` is called.
pub(crate) fn name(decision: Decision, to: Side) -> &'static str {
    match (decision, to) {
        (Decision::Planned, Side::Destination) => "planned failover",
        (Decision::Planned, Side::Source) => "failback",
        (Decision::Unplanned | Decision::Forced, _) => "unplanned failover",
        (Decision::Automatic { .. }, _) => "automatic failover",
    }
}

/// All steps of a failover, of which `own` are those of the pair.
pub(crate) fn procedure<D>(decision: Decision, own: Vec<Step<D>>) -> Vec<Step<D>> {
    let first = match decision {
        Decision::Planned => Step::new("shutdown", Ends::ShutDown).or(Otherwise::NoAnswer),
        Decision::Unplanned | Decision::Forced => Step::new("decision", Ends::Here).given(),
        Decision::Automatic { .. } => Step::new("detection", Ends::Here),
    };
    let recovery = [
        Step::new("log replay", Ends::Recovered),
        Step::new("mount", Ends::Here),
        Step::new("first operation", Ends::Served),
    ];
    std::iter::once(first).chain(own).chain(recovery).collect()
}
