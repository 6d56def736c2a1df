//! Opens the server of a test: its instances begin one after the other, and those that were not
//! closed recover concurrently.
//!
//! A mail server does the same when it comes up again, so recovery is timed while the other
//! instances recover as well. Each holds two log files in memory meanwhile, so at most
//! [`RECOVERING_MAX`] recover at once; the time that another one waits for its turn is not counted.

use brunt_ese::content::{Bytes, Content};
use brunt_ese::error::EngineError;
use brunt_ese::instance::{Instance, Replayed, Replayer, recovery::RecoveryReport};
use brunt_report::grouped;
use brunt_run::{Listener, News};
use brunt_units::Span;
use brunt_world::World;
use brunt_world::sync::Limit;

use super::{Records, Server, Table};
use crate::phases::telling::telling;
use crate::phases::test_run::Recovered;
use crate::plan::Plan;
use crate::truth::oracle::Oracle;

/// Instances that recover concurrently.
const RECOVERING_MAX: usize = 8;

/// An open instance, and the cost of opening it.
pub(super) struct Opened<C: Content> {
    pub(super) instance: Instance<C>,
    recovery: RecoveryReport,
    took: Span,
}

type Recovering<C> = Result<(Instance<C>, RecoveryReport), EngineError>;

impl Server {
    /// Opens all instances over one cache, recovering those that were not closed. `oracles` know
    /// what all databases must hold; without them, records may have any version.
    ///
    /// # Errors
    /// The first error of the engine. Instances that were opened are closed again.
    pub async fn open(
        world: &World,
        plan: &Plan,
        listener: &dyn Listener,
        oracles: Option<Vec<Oracle>>,
    ) -> Result<Self, EngineError> {
        let mut server = Self::empty(world, plan);
        let databases = plan.databases().count();
        let unknown = || vec![Oracle::unknown(databases); databases];
        let mut oracles = oracles.unwrap_or_else(unknown).into_iter();
        let mut error = None;
        let begin = async |index| {
            let options = plan.instance_options(index);
            let opening = Replayer::open(world, &server.cache, options).await?;
            Ok((opening.replayed(), opening.finish()))
        };
        let all = open_all(world, plan.instances.len(), listener, begin).await;
        for (index, opened) in all.into_iter().enumerate() {
            let taken = match opened {
                Ok(opened) => {
                    server.note_recovery(plan, index, &opened, listener);
                    server.take_in(plan, index, opened.instance, &mut oracles).await
                }
                Err(failed) => Err(failed),
            };
            error = error.or(taken.err());
        }
        let Some(error) = error else {
            return Ok(server);
        };
        // The first error is the one to report.
        let _ = server.close().await;
        Err(error)
    }

    /// Adds the databases of an open instance.
    async fn take_in(
        &mut self,
        plan: &Plan,
        index: usize,
        instance: Instance<Bytes>,
        oracles: &mut impl Iterator<Item = Oracle>,
    ) -> Result<(), EngineError> {
        self.instances.push(instance.clone());
        for (number, database) in (0..).zip(instance.databases()) {
            let signature = database.header.borrow().signature;
            let messages = instance.messages(number).await?;
            let oracle = oracles.next().expect("one for every database");
            let records = Records::new(plan, index, messages, &signature, oracle);
            self.databases.push(records);
        }
        Ok(())
    }
}

impl<T: Table> Server<T> {
    pub(super) fn note_recovery(
        &mut self,
        plan: &Plan,
        index: usize,
        opened: &Opened<T::Content>,
        listener: &dyn Listener,
    ) {
        self.recoveries.push(Recovered {
            instance: index,
            logs: opened.recovery.generations,
            took: opened.took,
        });
        if opened.recovery.generations > 0 {
            let note = recovered(&plan.instances[index].name, opened);
            listener.tell(self.world.clock.now(), &News::Note { text: note });
        }
    }
}

/// Opens `instances` instances in order, up to the first that cannot begin. `begin` returns the
/// rest of the work for each.
pub(super) async fn open_all<C, F>(
    world: &World,
    instances: usize,
    listener: &dyn Listener,
    mut begin: impl AsyncFnMut(usize) -> Result<(Replayed, F), EngineError>,
) -> Vec<Result<Opened<C>, EngineError>>
where
    C: Content,
    F: Future<Output = Recovering<C>> + 'static,
{
    let at_once = Limit::new(world.spawner.tasks(), RECOVERING_MAX);
    let (mut recovering, mut all_replayed) = (Vec::new(), Vec::new());
    let mut refused = None;
    for index in 0..instances {
        let begun = world.clock.now();
        match begin(index).await {
            Ok((replayed, recovery)) => {
                all_replayed.push(replayed);
                let took = world.clock.now() - begun;
                let finish = finish(world.clone(), at_once.clone(), recovery, took);
                recovering.push(world.spawner.spawn(finish));
            }
            Err(error) => {
                refused = Some(Err(error));
                break;
            }
        }
    }
    let all = async {
        let mut all = Vec::new();
        for task in recovering {
            all.push(task.await);
        }
        all.into_iter().chain(refused).collect()
    };
    let tell = || {
        let replayed = all_replayed.iter().map(|one| one.get());
        let (done, logs) = replayed.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if logs > 0 {
            listener.tell(world.clock.now(), &News::Recovering { done, logs });
        }
    };
    telling(world, all, tell).await
}

/// Finishes the recovery of an instance when it is its turn. Beginning it took `took`.
async fn finish<C: Content>(
    world: World,
    at_once: Limit,
    recovering: impl Future<Output = Recovering<C>>,
    took: Span,
) -> Result<Opened<C>, EngineError> {
    let _turn = at_once.enter().await;
    let begun = world.clock.now();
    let (instance, recovery) = recovering.await?;
    let took = took + (world.clock.now() - begun);
    Ok(Opened { instance, recovery, took })
}

fn recovered<C: Content>(name: &str, opened: &Opened<C>) -> String {
    let report = &opened.recovery;
    format!(
        "{name}: recovered from {} log {} in {:.1} s: {} changes repeated, {} transactions taken back, {} torn pages rebuilt",
        grouped(report.generations.into()),
        if report.generations == 1 { "file" } else { "files" },
        opened.took.as_seconds(),
        grouped(report.changes),
        report.undone,
        report.torn_pages
    )
}
