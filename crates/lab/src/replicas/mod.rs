//! Replicas of volumes under a mail server: the newest complete one is recovered after the test, as
//! from a clone at the other site.
//!
//! ```text
//!   sets       which databases a set of LUNs holds whole, with their log
//!   copies     the files of each replica's instant, kept until a newer replica is complete
//!   recovery   log replay on the pool of the partner, every page, every changed record
//! ```
//!
//! The pool carries no content. It says which writes each replica has, and the files are kept here;
//! that a replica has just these is what the tests of `array::sites` prove.

mod copies;
mod recovery;
mod sets;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::rc::Rc;

use brunt_drill::{Base, Ledger, SharedLedger};
use brunt_qualify::phases::sizing::amount;
use brunt_qualify::plan::Plan;
use brunt_qualify::truth::witness::Hearing;
use brunt_scenario::ModelledScenario;
use brunt_units::Time;
use brunt_world_virtual::Machine;

use crate::Engine;
use crate::device::SharedArray;
use copies::Copies;
pub(crate) use recovery::Recovered;
use sets::SetPlan;

/// The replicas of all sets that hold something of a server.
pub(crate) struct Replicas {
    sets: Vec<SetPlan>,
    copies: Rc<RefCell<Copies>>,
    engine: Engine,
}

impl Replicas {
    /// Follows the replicas of `scenario` on `arrays` from now on; nothing when no set holds
    /// something of `plans`, which get a ledger where there is content.
    pub(crate) fn follow(
        scenario: &ModelledScenario,
        plans: Vec<&mut Plan>,
        engine: Engine,
        arrays: &[SharedArray],
        machine: &Machine,
    ) -> Option<Self> {
        let seen: Vec<&Plan> = plans.iter().map(|plan| &**plan).collect();
        let sets = sets::of(scenario, &seen);
        if sets.is_empty() {
            return None;
        }
        let ledgers = match engine {
            Engine::Bytes => plans.into_iter().map(open_ledger).collect(),
            Engine::Twin => Vec::new(),
        };
        let (copies, queues) = Copies::new(scenario, &sets, arrays, ledgers);
        for (array, queue) in queues {
            let mut device = arrays[array].device();
            device.listen_to_replicas(queue).expect("it has replicas");
        }
        let copies = Rc::new(RefCell::new(copies));
        machine.follow(Rc::<RefCell<Copies>>::clone(&copies));
        Some(Self { sets, copies, engine })
    }

    /// The load has ended: what is complete at the partner by now is what an operator would have.
    pub(crate) fn load_ended(&self, at: Time) {
        self.copies.borrow_mut().end(at);
    }

    /// Recovers the newest complete replica of each set.
    pub(crate) fn recover(&self, scenario: &ModelledScenario, plans: &[&Plan]) -> Vec<Recovered> {
        let copies = self.copies.borrow();
        let Some(end) = copies.at_end() else {
            return Vec::new();
        };
        let sets = self.sets.iter().enumerate();
        let recovered = sets
            .map(|(number, set)| recovery::recover(scenario, set, end, number, plans, self.engine));
        recovered.collect()
    }
}

/// Lets the sessions of `plan` write down their commits.
fn open_ledger(plan: &mut Plan) -> SharedLedger {
    let mut created = Vec::new();
    for (stream, instance) in plan.instances.iter().enumerate() {
        for (number, database) in (0_u8..).zip(&instance.databases) {
            let amount = amount(database.size, plan.engine.page, &plan.load.shape);
            created.push(((stream, number), amount.records));
        }
    }
    let ledger = SharedLedger::open(Ledger::new(Base::created(created)));
    plan.hearing = Hearing::of(std::sync::Arc::new(ledger.clone()));
    ledger
}
