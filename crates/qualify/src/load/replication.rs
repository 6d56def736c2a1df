//! The reads of log shipping to copies that are not modelled: each log file is read once for every copy of the databases elsewhere, as
//! soon as it is complete. Copies that a scenario names are followed in [`crate::copies`].
//!
//! A server with copies ships its log, which adds reads to its log volume. A file is read as a header of 4 KiB and then in pieces
//! of 256 KiB: four large reads and one small read for a file of 1 MiB.
//!
//! Source: published tests with copies show a mean of 232.6 kB over log reads, close to four reads of 256 KiB (the last one
//! shorter) and one of 4 KiB. Each file is read once for every copy beyond the server's own (Dell PowerVault MD3820f, 500 users,
//! Exchange 2013, ESRP-Storage 4.0).

use std::rc::Rc;

use brunt_ese::content::Content;
use brunt_ese::error::EngineError;
use brunt_ese::instance::Instance;
use brunt_units::Span;
use brunt_world::{Class, FileId, Io, Op, OpenMode, Segments, VolumeError, World};

use crate::plan::{CopyPlan, Plan};
use crate::server::{Server, Table};

/// Bytes of the header of a log file.
const HEADER: u64 = 4096;
/// Bytes of each read after the header.
const PIECE: u64 = 256 << 10;
/// How often a reader checks whether the next log file is complete.
const LOOK: Span = Span::millis(50);

/// Starts reading the logs of all instances for the copies of `plan` beyond the server's own that are not there as passive copies. A
/// reader ends with its instance.
pub(crate) fn ship_logs<T: Table>(world: &World, plan: &Plan, server: &Rc<Server<T>>) {
    for (number, instance) in (0_u8..).zip(server.instances()) {
        let is_own = |copy: &&CopyPlan| copy.of == usize::from(number);
        let passive = plan.passive.iter().filter(is_own).count();
        let others = (plan.copies as usize).saturating_sub(1 + passive);
        for _ in 0..others {
            let (world, server) = (world.clone(), Rc::clone(server));
            let instance = instance.clone();
            drop(world.clone().spawner.spawn(async move {
                let shipped = ship(&world, &server, number, &instance).await;
                // A log that cannot be read is an error of the log volume, reported like any other.
                if let Err(error) = shipped {
                    server.note_replication_error(error);
                }
            }));
        }
    }
}

async fn ship<T: Table>(
    world: &World,
    server: &Server<T>,
    number: u8,
    instance: &Instance<T::Content>,
) -> Result<(), EngineError> {
    let mut next = instance.log().tail().generation;
    while !server.is_closing() && instance.failure().is_none() {
        // The current file may still be written to, and the one before it may still be waiting for its rename.
        if instance.log().durable().generation > next {
            ship_file(world, server, number, instance, next).await?;
            next += 1;
        } else {
            world.sleep(LOOK).await;
        }
    }
    Ok(())
}

async fn ship_file<T: Table>(
    world: &World,
    server: &Server<T>,
    number: u8,
    instance: &Instance<T::Content>,
    generation: u32,
) -> Result<(), EngineError> {
    let path = instance.log().files().archived_path(generation);
    let file = match world.volume.open(&path, OpenMode::Read).await {
        Ok(file) => file,
        // Circular logging has already removed it.
        Err(VolumeError::NotFound) => return Ok(()),
        Err(error) => return Err(EngineError::Volume { path, error }),
    };
    let read = read(
        world,
        server,
        number,
        file,
        instance.log().shape().file_bytes() as u64,
    )
    .await;
    // It was only read, so a failed close does not matter.
    let _ = world.volume.close(file).await;
    read.map_err(|error| EngineError::File { path, error })
}

async fn read<T: Table>(
    world: &World,
    server: &Server<T>,
    number: u8,
    file: FileId,
    length: u64,
) -> Result<(), brunt_world::IoError> {
    let mut at = 0;
    while at < length {
        let piece = if at == 0 {
            HEADER
        } else {
            PIECE.min(length - at)
        };
        let bytes = usize::try_from(piece).expect("a piece is small");
        let segments = Segments::from_buf([T::Content::incoming(&world.frames, bytes)]);
        let io = Io::new(Class::Replication, Op::Read, file, at, segments);
        let done = world.disk.submit(io).await;
        let latency = done.latency();
        done.result?;
        server
            .board()
            .log(number, |meters| &mut meters.replication, piece, latency);
        at += piece;
    }
    Ok(())
}
