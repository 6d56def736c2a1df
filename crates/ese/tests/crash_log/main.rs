//! Crash search without trees: cache, log, checkpoint and redo over pages that hold one number each.
//!
//! Every change gets the next number and writes it into one to three pages. Whatever survives a crash, recovery must
//! bring back the state after some number of changes, all of a change or nothing of it, and not fewer than were
//! reported durable.
//!
//! The searches here are small. `BRUNT_CRASH_LOG` names others, and one violation alone; see [`search::Scope`].
//! The whole of four seeds:
//!
//! ```text
//! BRUNT_CRASH_LOG="seeds=1-4 every=1 samples=60" cargo test --release -p brunt-ese --test crash_log every_crash
//! ```

#[path = "../common/mod.rs"]
mod common;
mod search;
mod story;

use brunt_ese::log::Durability;
use search::{Scope, Violation, search};
use story::{Mistake, Plan};

#[test]
fn every_crash_leaves_a_state_that_was() {
    let scope = Scope::asked().unwrap_or(Scope {
        seeds: 1..=1,
        every: 29,
        samples: 4,
        ..Scope::ALL
    });
    if let Err(violation) = scope.search() {
        panic!("{violation}");
    }
}

/// A process that is killed while its machine goes on has written things that are read back and are not durable. The
/// next one took pages and the end of the log for done; then the power failed, and they were gone.
#[test]
fn what_a_killed_process_left_is_made_durable_before_it_is_trusted() {
    let scope = Scope {
        seeds: 3..=3,
        segment: Some(4096),
        durability: Some(Durability::WriteThenSync),
        killed: Some(true),
        first_sample: Some(3),
        ..Scope::ALL
    };
    if let Err(violation) = scope.search() {
        panic!("{violation}");
    }
}

/// The first violation that a search finds when somebody makes `mistake`.
fn caught(mistake: Mistake, durability: Durability) -> Violation {
    let plan = Plan {
        mistake: Some(mistake),
        ..Plan::new(5, 512, durability)
    };
    let scope = Scope {
        every: 3,
        samples: 4,
        ..Scope::ALL
    };
    let found = search(plan, &scope);
    found.expect_err("the mistake must be found")
}

#[test]
fn canary_an_acknowledgement_before_the_flush_is_found() {
    for durability in [Durability::WriteThrough, Durability::WriteThenSync] {
        let violation = caught(Mistake::AcknowledgeEarly, durability);
        assert!(
            violation.what.starts_with("lost a durable change"),
            "{violation}"
        );
    }
}

#[test]
fn canary_a_checkpoint_over_pages_that_are_not_synced_is_found() {
    let violation = caught(Mistake::SkipDatabaseSyncs, Durability::WriteThrough);
    assert!(
        !violation.what.starts_with("lost a durable change"),
        "{violation}"
    );
}

#[test]
fn canary_a_log_that_is_not_synced_is_found() {
    caught(Mistake::SkipLogSyncs, Durability::WriteThenSync);
}
