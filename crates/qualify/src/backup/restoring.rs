//! Restoring: the files of the server are removed, the copies take their place, and the engine recovers them.
//!
//! Only files that this run has opened as its own are removed, and only when every copy has been judged and found whole.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_ese::error::EngineError;
use brunt_ese::format::flush_map::path_beside;
use brunt_ese::verify::verify;
use brunt_world::{Class, FileId, Io, OpenMode, VolumeError, World};

use super::copying::{file_error, volume_error};
use super::{copy_path, database_name};
use crate::error::RunError;
use crate::plan::{InstancePlan, Plan};
use crate::run::Director;
use crate::server::Server;
use crate::test_run::{Restored, TestRun};

/// Bytes copied at a time.
const CHUNK: u64 = 1 << 20;

impl Director<'_> {
    /// Puts the copies in `folder` in the place of the databases, and recovers them.
    pub(super) async fn restore(&self, run: &mut TestRun, folder: &Path) -> Result<(), RunError> {
        let (world, plan) = (self.world, self.plan);
        run.attempted = true;
        for path in copies(plan, folder) {
            let damaged = |what| EngineError::Damaged {
                path: path.clone(),
                what,
            };
            match verify(world, &path).await {
                Ok(report) if report.pages_bad == 0 => {}
                Ok(_) => return Err(damaged("the copy has bad pages; nothing was restored").into()),
                Err(_) => {
                    return Err(damaged("the copy cannot be judged; nothing was restored").into());
                }
            }
        }
        self.note("the copies are whole; the databases are removed and restored".to_owned());
        let begun = self.now();
        let mut bytes = 0;
        for (number, instance) in plan.instances.iter().enumerate() {
            remove(world, instance).await?;
            let mut tasks = Vec::new();
            for (from, to) in pairs(world, folder, number, instance).await? {
                tasks.push(world.spawner.spawn(copy(world.clone(), from, to)));
            }
            for task in tasks {
                bytes += task.await?;
            }
            world
                .volume
                .sync_directory(&instance.log)
                .await
                .map_err(RunError::name(&instance.log))?;
        }
        let copied = self.now() - begun;
        let server = Server::open(world, plan, self.listener, None).await?;
        run.recoveries = server.recoveries().to_vec();
        server.close().await?;
        run.restored = Some(Restored {
            bytes,
            copied,
            took: self.now() - begun,
        });
        let took = (self.now() - begun).as_seconds();
        self.note(format!(
            "restored {} in {took:.1} s, recovery included",
            brunt_units::ByteSize::bytes(bytes)
        ));
        Ok(())
    }
}

/// The copies of all databases.
fn copies(plan: &Plan, folder: &Path) -> Vec<PathBuf> {
    let instances = plan.instances.iter().enumerate();
    let databases = instances.flat_map(|(number, instance)| {
        let databases = instance.databases.iter();
        databases.map(move |database| copy_path(folder, number, &database_name(&database.name)))
    });
    databases.collect()
}

/// What goes where.
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

/// Removes the files of an instance that this run has worked on.
async fn remove(world: &World, instance: &InstancePlan) -> Result<(), RunError> {
    let mut paths = Vec::new();
    for database in &instance.databases {
        paths.extend([database.path.clone(), path_beside(&database.path)]);
    }
    let names = world.volume.list(&instance.log).await;
    for name in names.map_err(RunError::name(&instance.log))? {
        if name.starts_with("edb") && (name.ends_with(".log") || name.ends_with(".chk")) {
            paths.push(instance.log.join(name));
        }
    }
    for path in paths {
        match world.volume.remove(&path).await {
            Ok(()) | Err(VolumeError::NotFound) => {}
            Err(error) => return Err(RunError::name(&path)(error)),
        }
    }
    Ok(())
}

/// Copies one file, durably. Says how many bytes it has.
async fn copy(world: World, from: PathBuf, to: PathBuf) -> Result<u64, EngineError> {
    let opened = world.volume.open(&from, OpenMode::Read).await;
    let source = opened.map_err(volume_error(&from))?;
    let created = world.volume.open(&to, OpenMode::CreateNew).await;
    let target = created.map_err(volume_error(&to))?;
    let length = world.volume.length(source).await;
    let length = length.map_err(volume_error(&from))?;
    let reserved = world.volume.allocate(target, length).await;
    reserved.map_err(volume_error(&to))?;
    let mut at = 0;
    // One chunk is read while the one before it is written.
    let mut writing = None;
    while at < length {
        let bytes = CHUNK.min(length - at);
        let frame = read(&world, source, at, bytes)
            .await
            .map_err(file_error(&from))?;
        if let Some(before) = writing.take() {
            landed(before).await.map_err(file_error(&to))?;
        }
        let io = Io::write(Class::Backup, target, at, &Rc::new(frame));
        writing = Some(world.disk.submit(io));
        at += bytes;
    }
    if let Some(last) = writing {
        landed(last).await.map_err(file_error(&to))?;
    }
    let synced = world.disk.submit(Io::sync(Class::Backup, target)).await;
    synced.result.map_err(file_error(&to))?;
    for (file, path) in [(source, &from), (target, &to)] {
        let closed = world.volume.close(file).await;
        closed.map_err(volume_error(path))?;
    }
    Ok(length)
}

async fn landed(ticket: brunt_world::Ticket) -> Result<(), brunt_world::IoError> {
    ticket.await.result
}

async fn read(
    world: &World,
    file: FileId,
    at: u64,
    bytes: u64,
) -> Result<brunt_world::Frame, brunt_world::IoError> {
    let frame = world
        .frames
        .take(usize::try_from(bytes).expect("a chunk is small"));
    let done = world
        .disk
        .submit(Io::read(Class::Backup, file, at, frame))
        .await;
    done.result?;
    Ok(done.into_frame())
}
