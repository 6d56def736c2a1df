//! Log replication: each log file is read once for every copy of the databases elsewhere, as soon as it is complete.
//!
//! What a server with copies ships is its log, and its log volume is read for that beside everything else. A file is read in
//! pieces of 256 KiB behind its header of 4 KiB: four large reads and one small one for a file of 1 MiB.
//!
//! Source: the mean of 232.6 kB over log reads in published tests with copies, which is what four reads of 256 KiB and one of
//! 4 KiB come to but for the last; each file once for every copy beyond the server's own (Dell PowerVault MD3820f, 500 users,
//! Exchange 2013, ESRP-Storage 4.0).

use std::rc::Rc;

use brunt_ese::content::Content;
use brunt_ese::error::EngineError;
use brunt_ese::instance::Instance;
use brunt_units::Span;
use brunt_world::{Class, FileId, Io, Op, OpenMode, Segments, VolumeError, World};

use crate::server::{Server, Table};

/// The header of a log file.
const HEADER: u64 = 4096;
/// A read behind it.
const PIECE: u64 = 256 << 10;
/// How often a reader looks whether a log file is complete.
const LOOK: Span = Span::millis(50);

/// Starts reading the logs of all instances for so many copies beyond the server's own. Readers end with their instance.
pub(crate) fn ship_logs<T: Table>(world: &World, server: &Rc<Server<T>>, copies: u32) {
    for (number, instance) in (0..).zip(server.instances()) {
        for _ in 0..copies {
            let (world, server) = (world.clone(), Rc::clone(server));
            let instance = instance.clone();
            drop(world.clone().spawner.spawn(async move {
                let shipped = ship(&world, &server, number, &instance).await;
                // A log that cannot be read is the log volume's fault, and shows like any other.
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
        // The current file may still be written to, and so may the one before it be on its way to its name.
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
        // It is no longer needed, and circular logging was faster.
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
    // It was only read, so a close that fails changes nothing.
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
