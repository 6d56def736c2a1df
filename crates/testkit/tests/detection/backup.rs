//! A fault under a backup: a database is streamed, written to faulty storage, verified, restored,
//! and recovered with the logs that came with it.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_ese::backup::{self, Piece, Reads, Sink};
use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::format::log_file::log_file_name;
use brunt_ese::verify::verify;
use brunt_testkit::records::{FRAMES, Versions, no_versions, work, world_of};
use brunt_testkit::tiny::{SIZE, database_path, open};
use brunt_units::Span;
use brunt_world::fault::{Fault, FaultKind, faulty};
use brunt_world::{Class, Io, IoError, OpenMode, World};
use brunt_world_virtual::crash::{CrashImages, Sample};
use brunt_world_virtual::{Store, VirtualWorld};

use super::trial::{Outcome, Prepared, code, compare, instance_options, noticed, patiently};

/// Bytes per read and write.
const PIECE: usize = 64 << 10;

/// The result of a backup.
#[derive(Default)]
struct Copy {
    image: Vec<u8>,
    others: Vec<(PathBuf, Vec<u8>)>,
}

impl Sink<Bytes> for Copy {
    async fn take(&mut self, piece: Piece<'_, Bytes>) -> Result<(), EngineError> {
        let log = Path::new("/log");
        match piece {
            Piece::Header(bytes) => {
                for _ in 0..2 {
                    self.image.extend_from_slice(bytes);
                    let end = self.image.len().next_multiple_of(SIZE.bytes());
                    self.image.resize(end, 0);
                }
            }
            Piece::Pages(_, pages) => {
                for page in pages {
                    match page {
                        Some(page) => self.image.extend_from_slice(page),
                        None => self.image.resize(self.image.len() + SIZE.bytes(), 0),
                    }
                }
            }
            Piece::Log { generation, bytes } => {
                let path = log.join(log_file_name("edb", generation));
                self.others.push((path, bytes.to_vec()));
            }
            Piece::Checkpoint(bytes) => self.others.push((log.join("edb.chk"), bytes.to_vec())),
        }
        Ok(())
    }
}

/// Applies fault `kind` to a data page of the backup.
pub(crate) fn try_copy(prepared: &Prepared, kind: FaultKind) -> Outcome {
    let (copy, versions) = stream(prepared);
    let path = Path::new("/copy/tiny.edb");
    let bytes = prepared.leaf_bytes();
    let fault = Fault::new(kind, path, bytes);
    let mut made = world_of(&Store::new());
    made.machine.start_recording();
    let (world, struck) = faulty(&made.world, vec![fault]);
    let (lying, image) = (world.clone(), copy.image.clone());
    let honest = made.world.clone();
    let written =
        made.executor.block_on(patiently(honest, async move { write(&lying, path, &image).await }));
    let mut outcome = Outcome::struck(struck.counts()[0]);
    match written {
        None => return noticed(outcome, "the copy hangs (rule: hung I/O)".to_owned()),
        Some(Err(error)) => return noticed(outcome, format!("while copying: {}", code(&error))),
        Some(Ok(())) => {}
    }
    if kind == FaultKind::DroppedSync {
        // The power fails before it is used.
        let journal = made.machine.stop_recording().expect("it was started");
        let mut images = CrashImages::new(&journal);
        let end = *images.cuts().last().expect("there is an end");
        let left = images.image(end, Sample::Nothing);
        made = world_of(&left);
        let world = made.world.clone();
        return restore(made, world, outcome, copy, &versions);
    }
    outcome = restore(made, world, outcome, copy, &versions);
    outcome.struck = struck.counts()[0];
    outcome
}

/// Backs up a database that was worked on.
fn stream(prepared: &Prepared) -> (Copy, Versions) {
    let versions = no_versions();
    let kept = Rc::clone(&versions);
    let mut made = world_of(&prepared.store);
    let world = made.world.clone();
    let copy = made.executor.block_on(async move {
        let (instance, _) = open(&world, FRAMES, instance_options()).await?;
        work(&world, Span::ZERO, &instance, &kept).await?;
        let mut copy = Copy::default();
        backup::read(&instance, 0, Reads::COPY, &mut copy).await?;
        instance.close().await?;
        Ok::<Copy, EngineError>(copy)
    });
    (copy.expect("storage that keeps its word"), versions)
}

fn file_error(path: &Path) -> impl Fn(IoError) -> EngineError {
    let path = path.to_owned();
    move |error| EngineError::File { path: path.clone(), error }
}

async fn write(world: &World, path: &Path, image: &[u8]) -> Result<(), EngineError> {
    let file = world.volume.open(path, OpenMode::CreateNew).await;
    let file = file.expect("a new name");
    let reserved = world.volume.allocate(file, image.len() as u64).await;
    reserved.expect("there is room");
    for (number, piece) in (0..).zip(image.chunks(PIECE)) {
        let mut frame = world.frames.take(piece.len());
        frame.copy_from_slice(piece);
        let io = Io::write(Class::Backup, file, number * PIECE as u64, &Rc::new(frame));
        let done = world.disk.submit(io).await;
        done.result.map_err(file_error(path))?;
    }
    let synced = world.disk.submit(Io::sync(Class::Backup, file)).await;
    synced.result.map_err(file_error(path))
}

async fn read(world: &World, path: &Path) -> Result<Vec<u8>, EngineError> {
    let file = world.volume.open(path, OpenMode::Read).await;
    let file = file.expect("it is there");
    let length = world.volume.length(file).await.expect("it is open");
    let mut image = Vec::new();
    while (image.len() as u64) < length {
        let left = length - image.len() as u64;
        let frame = world.frames.take(PIECE.min(usize::try_from(left).expect("small")));
        let io = Io::read(Class::Backup, file, image.len() as u64, frame);
        let done = world.disk.submit(io).await;
        done.result.map_err(file_error(path))?;
        image.extend_from_slice(&done.into_frame());
    }
    Ok(image)
}

/// Checks the backup as `brunt run` does before a restore, puts it in the database's place, and
/// recovers.
fn restore(
    mut made: VirtualWorld,
    world: World,
    outcome: Outcome,
    copy: Copy,
    versions: &Versions,
) -> Outcome {
    let path = Path::new("/copy/tiny.edb");
    let honest = made.world.clone();
    let looked = made.executor.block_on(patiently(honest, async move {
        let bad = match verify(&world, path).await {
            Ok(report) if report.pages_bad > 0 => {
                report.findings.first().map(|f| f.fault.to_string())
            }
            Ok(_) => None,
            Err(error) => Some(error.to_string()),
        };
        let image = match bad {
            None => read(&world, path).await?,
            Some(_) => Vec::new(),
        };
        Ok((bad, image))
    }));
    let image = match looked {
        None => return noticed(outcome, "reading it hangs (rule: hung I/O)".to_owned()),
        Some(Err(error)) => return noticed(outcome, format!("when restored: {}", code(&error))),
        Some(Ok((Some(bad), _))) => {
            return noticed(outcome, format!("by verify, before it is restored: {bad}"));
        }
        Some(Ok((None, image))) => image,
    };
    let mut store = Store::new();
    store.put(&database_path(0), &image);
    for (path, bytes) in &copy.others {
        store.put(path, bytes);
    }
    compare(&store, &versions.borrow(), outcome, "when restored")
}
