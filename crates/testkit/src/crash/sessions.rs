//! Sessions that run transactions: they insert, delete, replace, commit hard or lazily, or roll
//! back.
//!
//! The target of transactions is a *desk*: the bare trees of [`super::records`], or the messages of
//! [`super::messages`]. A transaction that meets a full volume is rolled back, and the session
//! continues with the next one.

use std::collections::BTreeMap;

use brunt_ese::error::EngineError;
use brunt_ese::instance::transaction::{Commit, Transaction};
use brunt_units::Span;
use brunt_world::random::Stream;

use super::Mistake;
use super::story::{DURABLE, Setup};

/// Transactions of a session.
const BATCHES: u64 = 40;

/// A record: its database and its number.
pub(super) type Name = (u8, u32);

/// The state of a record: a version, or `None` if absent.
pub(super) type After = Option<u64>;

/// The changes of a transaction to the records that it has locked.
type Made = BTreeMap<Name, After>;

/// The target of transactions.
pub(super) trait Desk {
    /// Maximum number of records in each database.
    const RECORDS: u64;

    /// Number of databases that hold records.
    fn databases(&self) -> u8;

    /// Performs the task; returns the new state of the record.
    async fn work(&self, transaction: &Transaction<'_>, task: Task) -> Result<After, EngineError>;
}

/// One insert, delete or replacement, depending on whether the record exists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) record: Name,
    /// The version that it would create; unique to this task.
    pub(super) version: u64,
    /// Whether an existing record is deleted rather than replaced.
    pub(super) deletes: bool,
}

/// How the steps of a transaction ended.
enum Steps {
    Done(Made),
    /// A step found no space.
    Cramped,
}

pub(super) async fn session(
    setup: Setup,
    number: u64,
    desk: &impl Desk,
) -> Result<(), EngineError> {
    let mut draw = setup.draw(number);
    let generation = setup.configuration.generation;
    for batch in 0..BATCHES {
        let first = generation << 28 | number << 26 | batch << 20;
        let transaction = setup.instance.begin();
        let steps = work(&setup, &mut draw, desk, &transaction, first).await?;
        match steps {
            Steps::Done(made) if !draw.percent(15) => {
                commit(&setup, &mut draw, transaction, made).await?;
            }
            _ => transaction.take_back().await?,
        }
    }
    Ok(())
}

async fn work<D: Desk>(
    setup: &Setup,
    draw: &mut Stream,
    desk: &D,
    transaction: &Transaction<'_>,
    first: u64,
) -> Result<Steps, EngineError> {
    let mut made = Made::new();
    for step in 0..=draw.below(4) {
        let database = draw.below(desk.databases().into());
        let record = (
            u8::try_from(database).expect("few databases"),
            u32::try_from(draw.below(D::RECORDS)).expect("few records"),
        );
        let task = Task { record, version: first | step << 16 | 1, deletes: draw.below(3) == 0 };
        match desk.work(transaction, task).await {
            Ok(after) => drop(made.insert(record, after)),
            // Its lock was refused, so nothing has happened.
            Err(EngineError::WriteConflict) => {}
            // No new changes begin then; those that have begun continue.
            Err(EngineError::LogDiskFull(..)) => setup.refusals.log.update(|count| count + 1),
            Err(error) if error.is_full() => {
                setup.refusals.databases.update(|count| count + 1);
                return Ok(Steps::Cramped);
            }
            Err(error) => return Err(error),
        }
        if draw.percent(10) {
            setup.world.sleep(Span::millis(draw.below(50))).await;
        }
    }
    Ok(Steps::Done(made))
}

async fn commit(
    setup: &Setup,
    draw: &mut Stream,
    transaction: Transaction<'_>,
    made: Made,
) -> Result<(), EngineError> {
    if made.is_empty() {
        // It logged nothing, so its commit promises nothing.
        return transaction.commit(Commit::Hard).await;
    }
    let is_hard = draw.percent(40);
    let number = setup.note(|state| {
        for (record, after) in made {
            match after {
                Some(version) => drop(state.insert(record, version)),
                None => drop(state.remove(&record)),
            }
        }
    });
    if is_hard && setup.configuration.mistake == Some(Mistake::AcknowledgeEarly) {
        setup.machine.mark(DURABLE, number);
    }
    let commit = if is_hard { Commit::Hard } else { Commit::Lazy };
    transaction.commit(commit).await?;
    if is_hard {
        setup.machine.mark(DURABLE, number);
    }
    Ok(())
}
