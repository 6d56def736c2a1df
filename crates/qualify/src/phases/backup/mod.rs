//! Database backup: how fast can whole databases be read, and can the backup be restored?
//!
//! ```text
//!   every database at once, read in file order, every page verified --+--> dropped: only the rate counts
//!                                                                     '--> written to one folder, with the logs it needs
//!        the server is closed --> the backup files are copied beside its files, and replace them --> opened, which recovers them
//!             --> every record compared, every page verified: as after any test
//! ```
//!
//! With the twin nothing is compared, because nothing has content; files, I/Os and recovery are the
//! same.
//!
//! No sessions run meanwhile. The version decides the size of a read: 128 KiB up to 2007, 256 KiB
//! later. All databases of a log stream are restored together, because its log names them all.
//!
//! The backup files are in one folder, under their own names: `brunt-backup-1-DB1.edb`,
//! `brunt-backup-1-edb00007.log`. A file with such a name that is not ours stays untouched and ends
//! the test.

pub(crate) mod copying;
pub(crate) mod journal;
mod restoring;

use std::rc::Rc;

use brunt_ese::backup::{self, Piece, Sink};
use brunt_ese::content::Content;
use brunt_ese::error::EngineError;
use brunt_report::result::PhaseName;
use brunt_run::{News, Stop};
use brunt_units::{ByteSize, Span};
use brunt_world::{Task, World};

use crate::error::RunError;
use crate::load::punctuality::Punctuality;
use crate::phases::places;
use crate::phases::run::{Director, GaveUp};
use crate::phases::telling::telling;
use crate::phases::test_run::{BackedUp, TestRun};
use crate::plan::{Plan, reads};
use crate::rules::Ending;
use crate::server::{Server, Table};
use copying::CopySink;

/// Whether a file in the folder of backups has the name of one, which the next backup replaces.
pub fn is_copy_name(name: &str) -> bool {
    name.starts_with(copying::PREFIX)
}

impl Director<'_> {
    /// Runs the test; `false` when it was stopped or failed.
    pub(crate) async fn back_up<T: Table>(
        &self,
        run: &mut TestRun,
        server: &Rc<Server<T>>,
    ) -> bool {
        let backed_up = self.unless_hung(self.read_or_restore(run, server)).await;
        let is_done = matches!(backed_up, Ok(Ok(()))) && !self.stop.is_asked();
        match backed_up {
            Ok(Ok(())) if is_done => {}
            Ok(Ok(())) => run.ending = Ending::Stopped,
            Ok(Err(RunError::Engine(error))) => {
                run.note_errors(Some(error.clone()));
                run.ending = Ending::Broken(error.to_string());
            }
            Ok(Err(error)) => run.ending = Ending::Broken(error.to_string()),
            Err(GaveUp) => run.ending = Ending::Broken(self.hung()),
        }
        run.note_failed_runs(server.failed_runs());
        is_done
    }

    async fn read_or_restore<T: Table>(
        &self,
        run: &mut TestRun,
        server: &Rc<Server<T>>,
    ) -> Result<(), RunError> {
        let copied = self.read_all(run, server).await;
        let backed_up = T::backed_up(server);
        let closed = server.close().await;
        copied?;
        closed?;
        match &self.plan.copy_to {
            Some(folder) if self.plan.restores && !self.stop.is_asked() => {
                self.restore::<T>(run, folder, backed_up).await
            }
            _ => Ok(()),
        }
    }

    /// Reads all databases concurrently.
    async fn read_all<T: Table>(
        &self,
        run: &mut TestRun,
        server: &Rc<Server<T>>,
    ) -> Result<(), RunError> {
        if let Some(folder) = &self.plan.copy_to {
            let earlier = copying::earlier(self.world, folder).await?;
            places::remove_all(self.world, &earlier).await?;
        }
        let total = sum(&server.file_sizes());
        let begun = self.now();
        self.tell(News::CollectionStarted);
        self.begin_phase(PhaseName::Backup);
        server.board().with(crate::sampling::discard);
        let punctuality = Punctuality::watch(self.world, self.recorder);
        let mut tasks: Vec<(usize, Task<Result<Span, EngineError>>)> = Vec::new();
        for at in 0..server.tables().len() {
            let (server, world) = (Rc::clone(server), self.world.clone());
            let (plan, stop) = (self.plan.clone(), self.stop.clone());
            let read = async move {
                let begun = world.clock.now();
                copy_or_read(&world, &plan, &server, at, &stop).await?;
                Ok(world.clock.now() - begun)
            };
            tasks.push((at, self.world.spawner.spawn(read)));
        }
        let all = async {
            let mut all = Vec::new();
            for (at, task) in tasks {
                all.push((at, task.await));
            }
            all
        };
        let tell = || {
            let done = read_so_far(server).min(total);
            self.tell(News::BackingUp { done, total });
        };
        tell();
        let all = telling(self.world, all, tell).await;
        self.end_phase(run);
        run.delays = punctuality.end();
        let sizes = server.file_sizes();
        for (at, read) in all {
            let took = match read {
                Err(EngineError::Stopped) => continue,
                other => other?,
            };
            let bytes = sizes[at];
            run.backups.push(BackedUp { database: at, bytes, took });
        }
        if let Some(folder) = &self.plan.copy_to {
            let synced = self.world.volume.sync_directory(folder).await;
            synced.map_err(RunError::name(folder))?;
        }
        server.board().with(crate::sampling::close_all);
        self.tell(News::BackedUp { total, took: self.now() - begun });
        Ok(())
    }
}

/// Drops everything, until asked to stop.
struct UntilStopped(Stop);

impl<C: Content> Sink<C> for UntilStopped {
    async fn take(&mut self, _: Piece<'_, C>) -> Result<(), EngineError> {
        match self.0.is_asked() {
            true => Err(EngineError::Stopped),
            false => Ok(()),
        }
    }
}

/// Reads database number `at` of the plan, and writes a backup of it if the plan says so.
async fn copy_or_read<T: Table>(
    world: &World,
    plan: &Plan,
    server: &Server<T>,
    at: usize,
    stop: &Stop,
) -> Result<(), EngineError> {
    let table = &server.tables()[at];
    let (instance, database) = (server.instance_of(table), table.database());
    let reads = reads(plan.version);
    let Some(folder) = &plan.copy_to else {
        let mut sink = UntilStopped(stop.clone());
        return backup::read_pages(instance, database, reads, &mut sink).await;
    };
    let name = plan.databases().nth(at).expect("a database of the plan");
    let number = table.instance_number();
    let mut sink = CopySink::new(world, plan, folder, number, &name.name, stop).await?;
    // The first database of an instance brings the log.
    match database {
        0 => backup::read(instance, database, reads, &mut sink).await?,
        _ => backup::read_pages(instance, database, reads, &mut sink).await?,
    }
    sink.finish().await
}

fn read_so_far<T: Table>(server: &Server<T>) -> ByteSize {
    let bytes = server.board().with(|meters| {
        let databases = meters.databases.iter();
        databases.map(|database| database.backup.bytes()).sum()
    });
    ByteSize::bytes(bytes)
}

fn sum(sizes: &[ByteSize]) -> ByteSize {
    ByteSize::bytes(sizes.iter().map(|size| size.get()).sum())
}
