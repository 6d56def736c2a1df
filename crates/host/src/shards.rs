//! Runs the shards of a test, each on a thread of its own.
//!
//! ```text
//!   this thread: joins -----------------------------------------> listener, result
//!                  ^  news, samples (channel)
//!   shard 1 -------+   world, engine, sessions, executor of its own
//!   shard 2 -------'
//! ```

use std::panic::resume_unwind;
use std::sync::{Arc, mpsc};
use std::thread;

use brunt_qualify::error::RunError;
use brunt_qualify::phases::portion::Portion;
use brunt_qualify::phases::run::run_shard;
use brunt_qualify::phases::test_run::TestRun;
use brunt_qualify::plan::Plan;
use brunt_qualify::shards::joined::Joined;
use brunt_qualify::shards::{LocalMeeting, Meeting, Shard};
use brunt_run::{Listener, Stop};
use brunt_world_real::{Backend, Options, RealWorld, StartError};

/// What a shard's thread returns.
type Outcome = Result<(Result<Portion, RunError>, Backend), StartError>;

/// Runs all shards of `plan` in worlds with these `options`. `listener` hears of them as of one
/// test. They meet other hosts `beyond` this one, if there are some.
///
/// The way of I/O is returned beside the test: that of all worlds together.
///
/// # Errors
/// [`StartError`] when a world or a thread cannot be had.
///
/// # Panics
/// When the thread of a shard does.
pub fn run(
    plan: &Plan,
    options: &Options,
    listener: &dyn Listener,
    stop: &Stop,
    beyond: Option<Arc<dyn Meeting>>,
) -> Result<(Result<TestRun, RunError>, Backend), StartError> {
    let meeting = LocalMeeting::of(plan.shards as usize, beyond);
    let (pieces, received) = mpsc::channel();
    let shards: Vec<(Plan, Shard)> = (0..plan.shards)
        .map(|number| {
            let shard = Shard::new(number as usize, &meeting, pieces.clone());
            (plan.shard(number), shard)
        })
        .collect();
    drop(pieces);
    let mut joined = Joined::new(plan, listener);
    let outcomes = thread::scope(|scope| {
        let threads: Vec<_> = shards
            .into_iter()
            .enumerate()
            .map(|(number, (plan, shard))| {
                let thread = thread::Builder::new().name(format!("shard {}", number + 1));
                let started = thread.spawn_scoped(scope, move || one(plan, options, shard, stop));
                started.inspect_err(|_| meeting.fail())
            })
            .collect();
        // It ends with the last shard.
        for (shard, piece) in received {
            joined.take(shard, piece, options.zero.elapsed());
        }
        let ended = threads.into_iter().map(|thread| match thread?.join() {
            Ok(outcome) => outcome,
            Err(panic) => resume_unwind(panic),
        });
        ended.collect::<Vec<Outcome>>()
    });
    let mut backend: Option<Backend> = None;
    let mut parts = Vec::new();
    let mut failed = None;
    for outcome in outcomes {
        let (part, own) = outcome?;
        backend = Some(match backend {
            Some(others) => others.and(own),
            None => own,
        });
        match part {
            Ok(part) => parts.push(part),
            // Shards that were stopped because another failed are not why.
            Err(error) if matches!(failed, None | Some(RunError::Stopped)) => failed = Some(error),
            Err(_) => {}
        }
    }
    let run = match failed {
        Some(error) => Err(error),
        None => Ok(joined.finish(parts)),
    };
    Ok((run, backend.unwrap_or_default()))
}

/// Runs one shard on this thread.
fn one(plan: Plan, options: &Options, shard: Shard, stop: &Stop) -> Outcome {
    let options = Options { seed: plan.seed, ..options.clone() };
    let mut real = match RealWorld::new(&options) {
        Ok(real) => real,
        Err(error) => {
            shard.fail();
            return Err(error);
        }
    };
    let (world, stop) = (real.world.clone(), stop.clone());
    let run = real.executor.block_on(async move { run_shard(&world, &plan, &shard, &stop).await });
    let backend = real.backend();
    let hangs = match &run {
        Ok(part) => part.hangs(),
        Err(error) => matches!(error, RunError::Hung(_)),
    };
    if hangs {
        // Taking the world apart would wait for what does not come back.
        std::mem::forget(real);
    }
    Ok((run, backend))
}
