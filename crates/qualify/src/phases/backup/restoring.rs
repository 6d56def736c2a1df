//! Restores a backup: its files are copied beside those of the server, compared, and moved into
//! place; the engine recovers them.
//!
//! Every backup file is verified before it is copied. The written bytes are read back and compared
//! before any file of the server is touched. How one set then replaces the other, and what a start
//! does when that was interrupted, is described in [`super::journal`].

use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_ese::content::Content;
use brunt_ese::error::EngineError;
use brunt_report::result::PhaseName;
use brunt_run::News;
use brunt_units::ByteSize;
use brunt_world::{Class, FileId, Io, IoError, Op, OpenMode, Segments, World};

use super::copying::{copy_path, database_name};
use super::copying::{create, file_error, volume_error, write};
use super::journal::{self, Journal, copy_beside};
use crate::error::RunError;
use crate::phases::run::Director;
use crate::phases::telling::telling;
use crate::phases::test_run::{Restored, TestRun};
use crate::plan::{InstancePlan, Plan};
use crate::server::{Server, Table};
use crate::truth::counting::CountingDisk;

/// Bytes copied at a time.
const CHUNK: u64 = 1 << 20;
/// How often each byte is read or written: read, written, and both read again and compared.
const PASSES: u64 = 4;

impl Director<'_> {
    /// Replaces the databases by the backup in `folder`, and recovers them.
    pub(super) async fn restore<T: Table>(
        &self,
        run: &mut TestRun,
        folder: &Path,
        backed_up: T::BackedUp,
    ) -> Result<(), RunError> {
        let (world, plan) = (self.world, self.plan);
        run.attempted = true;
        for path in copies(plan, folder) {
            T::judge_copy(world, &path).await?;
        }
        self.note("the copies are restored beside the databases".to_owned());
        let begun = self.now();
        self.begin_phase(PhaseName::Restore);
        let mut all = Vec::new();
        for (number, instance) in plan.instances.iter().enumerate() {
            all.push(pairs(world, folder, number, instance).await?);
        }
        let total = ByteSize::bytes(run.backups.iter().map(|one| one.bytes.get()).sum());
        let counting = Rc::new(CountingDisk::over(world));
        let counted = counting.world(world);
        let laying_out = self.lay_out::<T::Content>(&counted, &all);
        let tell = || {
            let done = ByteSize::bytes(counting.bytes().div_euclid(PASSES)).min(total);
            self.tell(News::Restoring { done, total });
        };
        tell();
        let laid_out = telling(world, laying_out, tell).await;
        if laid_out.is_err() {
            for (_, target) in all.iter().flatten() {
                // The first error is the one to report, and the next start removes what is left.
                let _ = journal::remove(world, &copy_beside(target)).await;
            }
        }
        let bytes = laid_out?;
        let copied = self.now() - begun;
        self.note("what was restored takes the databases' place".to_owned());
        for (instance, pairs) in plan.instances.iter().zip(&all) {
            let logs = pairs.iter().filter(|(_, target)| target.starts_with(&instance.log));
            let logs = logs.filter_map(|(_, target)| target.file_name()?.to_str());
            let logs = logs.filter(|name| journal::is_log_or_checkpoint(name));
            let journal = Journal::new(instance, logs.map(str::to_owned));
            journal.write(world, instance).await?;
            journal.carry_out(world, instance).await?;
        }
        self.end_phase(run);
        self.begin_phase(PhaseName::Replay);
        let server = T::open_restored(world, plan, self.listener, backed_up).await;
        self.end_phase(run);
        let server: Server<T> = server?;
        run.recoveries = server.recoveries().to_vec();
        server.close().await?;
        run.restored = Some(Restored { bytes, copied, took: self.now() - begun });
        let took = (self.now() - begun).as_seconds();
        self.note(format!(
            "restored {} in {took:.1} s, recovery included",
            brunt_units::ByteSize::bytes(bytes)
        ));
        Ok(())
    }

    /// Copies every file beside its target, durably, and compares it. Returns the number of bytes.
    async fn lay_out<C: Content>(
        &self,
        world: &World,
        all: &[Vec<(PathBuf, PathBuf)>],
    ) -> Result<u64, RunError> {
        let mut bytes = 0;
        for (instance, pairs) in self.plan.instances.iter().zip(all) {
            let mut tasks = Vec::new();
            for (from, target) in pairs {
                let copying = copy::<C>(world.clone(), from.clone(), copy_beside(target));
                tasks.push(self.world.spawner.spawn(copying));
            }
            let mut failed = None;
            // Wait for all of them: a file that is being written cannot be removed.
            for task in tasks {
                match task.await {
                    Ok(copied) => bytes += copied,
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            failed.map_or(Ok(()), Err)?;
            journal::sync_directories(self.world, instance).await?;
        }
        Ok(bytes)
    }
}

/// The backup files of all databases.
fn copies(plan: &Plan, folder: &Path) -> Vec<PathBuf> {
    let instances = plan.instances.iter().enumerate();
    let databases = instances.flat_map(|(number, instance)| {
        let databases = instance.databases.iter();
        databases.map(move |database| copy_path(folder, number, &database_name(&database.name)))
    });
    databases.collect()
}

/// Pairs of a backup file and its target.
async fn pairs(
    world: &World,
    folder: &Path,
    number: usize,
    instance: &InstancePlan,
) -> Result<Vec<(PathBuf, PathBuf)>, RunError> {
    let databases = instance.databases.iter();
    let mut pairs: Vec<_> = databases
        .map(|database| {
            let from = copy_path(folder, number, &database_name(&database.name));
            (from, database.path.clone())
        })
        .collect();
    let prefix = copy_path(Path::new(""), number, "");
    let prefix = prefix.to_string_lossy().into_owned();
    let names = world.volume.list(folder).await;
    for name in names.map_err(RunError::name(folder))? {
        let Some(own) = name.strip_prefix(&prefix) else {
            continue;
        };
        if own.starts_with("edb") && (own.ends_with(".log") || own.ends_with(".chk")) {
            pairs.push((folder.join(&name), instance.log.join(own)));
        }
    }
    Ok(pairs)
}

/// Copies a file durably and compares the result. Returns the number of bytes.
async fn copy<C: Content>(world: World, from: PathBuf, to: PathBuf) -> Result<u64, EngineError> {
    let opened = world.volume.open(&from, OpenMode::Read).await;
    let source = opened.map_err(volume_error(&from))?;
    let length = world.volume.length(source).await;
    let length = length.map_err(volume_error(&from))?;
    let target = create(&world, &to, length).await?;
    let copied = copy_bytes::<C>(&world, (source, &from), (target, &to), length).await;
    for (file, path) in [(source, &from), (target, &to)] {
        let closed = world.volume.close(file).await;
        closed.map_err(volume_error(path))?;
    }
    copied.map(|()| length)
}

/// An open file and its path.
type Named<'a> = (FileId, &'a Path);

async fn copy_bytes<C: Content>(
    world: &World,
    (source, from): Named<'_>,
    (target, to): Named<'_>,
    length: u64,
) -> Result<(), EngineError> {
    let mut at = 0;
    // One chunk is read while the one before it is written.
    let mut writing = None;
    while at < length {
        let bytes = CHUNK.min(length - at);
        let piece = read::<C>(world, source, at, bytes).await;
        let piece = piece.map_err(file_error(from))?;
        if let Some(before) = writing.take() {
            landed(before).await.map_err(file_error(to))?;
        }
        let segment = C::copied(&piece, memory(bytes));
        writing = Some(world.disk.submit(write(target, at, segment)));
        at += bytes;
    }
    if let Some(last) = writing {
        landed(last).await.map_err(file_error(to))?;
    }
    let synced = world.disk.submit(Io::sync(Class::Backup, target)).await;
    synced.result.map_err(file_error(to))?;
    let mut at = 0;
    while at < length {
        let bytes = CHUNK.min(length - at);
        let wanted = read::<C>(world, source, at, bytes).await;
        let wanted = wanted.map_err(file_error(from))?;
        let written = read::<C>(world, target, at, bytes).await;
        let written = written.map_err(file_error(to))?;
        if !C::is_same(&wanted, &written) {
            return Err(EngineError::Damaged {
                path: to.to_owned(),
                what: "it was read back otherwise than it was written; nothing was restored",
            });
        }
        at += bytes;
    }
    Ok(())
}

async fn landed(ticket: brunt_world::Ticket) -> Result<(), IoError> {
    ticket.await.result
}

async fn read<C: Content>(
    world: &World,
    file: FileId,
    at: u64,
    bytes: u64,
) -> Result<C::Page, IoError> {
    let segments = Segments::from_buf([C::incoming(&world.frames, memory(bytes))]);
    let io = Io::new(Class::Backup, Op::Read, file, at, segments);
    let mut done = world.disk.submit(io).await;
    done.result?;
    Ok(C::arrived(done.segments.remove(0)))
}

fn memory(bytes: u64) -> usize {
    usize::try_from(bytes).expect("a chunk is small")
}
