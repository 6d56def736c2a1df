//! Injects the faults of a plan between the test and its storage.
//!
//! ```text
//!   databases created, opened, surveyed     |  sessions, closing, verification, recovery
//!        faults are held back               |  faults strike, and every first strike is reported
//! ```
//!
//! Faults show a user how the verdict works. A test with faults says so in its opening lines, in
//! its test log, in its result and in its report. It never qualifies, even if no fault struck.

use brunt_world::Op;
use brunt_world::World;
use brunt_world::fault::{Fault, Strike, Struck, faulty};

use crate::plan::Plan;

/// A fault of the plan and how often it struck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injected {
    /// The planned fault.
    pub fault: Fault,
    /// How often it struck.
    pub struck: u64,
}

/// The faults of a plan.
pub(crate) struct Injection {
    plan: Vec<Fault>,
    struck: Option<Struck>,
}

impl Injection {
    /// Puts the faults of `plan` in front of `world`, which stays unchanged without any.
    pub(crate) fn before(world: &World, plan: &Plan) -> (World, Self) {
        let faults = plan.faults.clone();
        let none = Self { plan: Vec::new(), struck: None };
        if faults.is_empty() {
            return (world.clone(), none);
        }
        let (world, struck) = faulty(world, faults.clone());
        struck.hold();
        let injection = Self { plan: faults, struck: Some(struck) };
        (world, injection)
    }

    /// Activates the faults; returns a note about them, if there are any.
    pub(crate) fn release(&self) -> Option<String> {
        let struck = self.struck.as_ref()?;
        struck.release();
        let count = self.plan.len();
        Some(format!("FAULTS ON PURPOSE: from now on {count} faults of the scenario lie in wait"))
    }

    /// First strikes since the last call, in words.
    pub(crate) fn news(&self) -> Vec<String> {
        let strikes = self.struck.as_ref().map(Struck::take_strikes);
        strikes.iter().flatten().map(in_words).collect()
    }

    /// How often each fault struck.
    pub(crate) fn outcome(&self) -> Vec<Injected> {
        let counts = self.struck.as_ref().map_or(Vec::new(), Struck::counts);
        let faults = self.plan.iter().cloned().zip(counts);
        faults.map(|(fault, struck)| Injected { fault, struck }).collect()
    }
}

fn in_words(strike: &Strike) -> String {
    let what = match strike.op {
        Op::Read => "a read",
        Op::Write | Op::WriteThrough => "a write",
        Op::Sync => "a sync",
        Op::Trim => "a trim",
    };
    let place = match strike.op {
        Op::Sync => String::new(),
        _ => format!(" at offset {}", strike.offset.max(strike.fault.bytes.start)),
    };
    format!(
        "fault {} on purpose: {}: {what} of {}{place}",
        strike.number + 1,
        strike.fault.kind,
        strike.path.display(),
    )
}
