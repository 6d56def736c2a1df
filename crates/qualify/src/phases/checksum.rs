//! Reads a file without content in order, as a checksum of its pages does.

use std::cell::Cell;
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;

use brunt_ese::content::{Content, Ghost};
use brunt_ese::error::EngineError;
use brunt_run::Stop;
use brunt_units::Span;
use brunt_world::{Class, Io, Op, OpenMode, Segments, World};

use super::backup::copying::{file_error, volume_error};

/// How a file is read.
pub(crate) struct Reader {
    pub(crate) world: World,
    /// Bytes to read; `None` for the whole file.
    pub(crate) bytes: Option<u64>,
    /// Bytes of a read.
    pub(crate) piece: u64,
    pub(crate) in_flight: usize,
    /// Computing for each read.
    pub(crate) cost: Span,
    /// Bytes read so far.
    pub(crate) read: Rc<Cell<u64>>,
    pub(crate) stop: Stop,
}

impl Reader {
    /// A reader of a whole file.
    pub(crate) fn new(world: &World, piece: u64, in_flight: usize) -> Self {
        Self {
            world: world.clone(),
            bytes: None,
            piece,
            in_flight,
            cost: Span::ZERO,
            read: Rc::default(),
            stop: Stop::default(),
        }
    }

    /// Reads the file at `path` from its beginning; returns the number of bytes.
    ///
    /// # Errors
    /// When it cannot be opened or read.
    pub(crate) async fn read(self, path: &Path) -> Result<u64, EngineError> {
        let world = &self.world;
        let opened = world.volume.open(path, OpenMode::Read).await;
        let file = opened.map_err(volume_error(path))?;
        let bytes = match self.bytes {
            Some(bytes) => bytes,
            None => {
                let length = world.volume.length(file).await;
                length.map_err(volume_error(path))?
            }
        };
        let mut coming = VecDeque::new();
        let mut at = 0;
        while !self.stop.is_asked() {
            while at < bytes && coming.len() < self.in_flight {
                let piece = self.piece.min(bytes - at);
                let room = usize::try_from(piece).expect("a piece is small");
                let segments = Segments::from_buf([Ghost::incoming(&world.frames, room)]);
                let io = Io::new(Class::Verify, Op::Read, file, at, segments);
                coming.push_back((piece, world.disk.submit(io)));
                at += piece;
            }
            let Some((piece, ticket)) = coming.pop_front() else {
                break;
            };
            ticket.await.result.map_err(file_error(path))?;
            self.read.set(self.read.get() + piece);
            if self.cost > Span::ZERO {
                world.clock.spend(self.cost).await;
            }
        }
        // It was only read.
        let _ = world.volume.close(file).await;
        Ok(at)
    }
}
