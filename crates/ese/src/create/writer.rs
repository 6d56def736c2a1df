//! Writes pages in order of their numbers, from large frames, with several writes in flight.

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use brunt_units::{PageNumber, PageSize};
use brunt_world::{Class, FileId, Frame, Io, IoError, Op, Segment, Segments, Ticket, World};
use smallvec::smallvec;

use super::MessageSource;
use crate::content::{Bytes, Content};
use crate::tree::bulk::PageSink;

/// Bytes per write.
const CHUNK_BYTES: usize = 512 << 10;
/// Maximum writes in flight.
const IN_FLIGHT: usize = 8;

/// Writes pages sequentially.
pub(super) struct SequentialWriter<'a> {
    world: World,
    /// What is in the free space of pages.
    source: &'a dyn MessageSource,
    file: FileId,
    size: PageSize,
    pages_per_chunk: u32,
    /// The first page of the first open chunk.
    first: PageNumber,
    open: VecDeque<Frame>,
    flying: VecDeque<Ticket>,
}

impl<'a> SequentialWriter<'a> {
    pub(super) fn new(
        world: &World,
        source: &'a dyn MessageSource,
        file: FileId,
        size: PageSize,
        first: PageNumber,
    ) -> Self {
        let pages = CHUNK_BYTES.div_euclid(size.bytes());
        Self {
            world: world.clone(),
            source,
            file,
            size,
            pages_per_chunk: u32::try_from(pages).expect("a chunk is small"),
            first,
            open: VecDeque::new(),
            flying: VecDeque::new(),
        }
    }

    /// Submits the chunks before `settled`, and waits while too many are in flight.
    pub(super) async fn send(&mut self, settled: PageNumber) -> Result<(), IoError> {
        while !self.open.is_empty() && self.first.after(self.pages_per_chunk) <= settled {
            let frame = self.open.pop_front().expect("one is open");
            let length = frame.len();
            self.submit(frame, length);
            self.first = self.first.after(self.pages_per_chunk);
        }
        while self.flying.len() > IN_FLIGHT {
            self.land().await?;
        }
        Ok(())
    }

    /// Submits everything up to page `used`, writes zeros up to page `last`, and waits for all of
    /// it.
    pub(super) async fn finish(
        &mut self,
        used: PageNumber,
        last: PageNumber,
    ) -> Result<(), IoError> {
        self.send(used.after(1)).await?;
        while let Some(frame) = self.open.pop_front() {
            let pages = (last.0 + 1).saturating_sub(self.first.0).min(self.pages_per_chunk);
            if pages > 0 {
                self.submit(frame, pages as usize * self.size.bytes());
            }
            self.first = self.first.after(self.pages_per_chunk);
        }
        while self.first <= last {
            let frame = self.world.frames.zeroed(CHUNK_BYTES);
            let pages = (last.0 + 1 - self.first.0).min(self.pages_per_chunk);
            self.submit(frame, pages as usize * self.size.bytes());
            self.first = self.first.after(self.pages_per_chunk);
            while self.flying.len() > IN_FLIGHT {
                self.land().await?;
            }
        }
        while !self.flying.is_empty() {
            self.land().await?;
        }
        Ok(())
    }

    /// Overwrites one page.
    pub(super) async fn patch(&self, number: PageNumber, bytes: &[u8]) -> Result<(), IoError> {
        let segment = Bytes::outgoing(&self.world.frames, bytes);
        let offset = number.offset(self.size);
        let io = Io::new(Class::Create, Op::Write, self.file, offset, smallvec![segment]);
        self.world.disk.submit(io).await.result
    }

    fn submit(&mut self, frame: Frame, length: usize) {
        let segment = Segment::Drain { frame: Rc::new(frame), start: 0, length };
        let offset = self.first.offset(self.size);
        let io =
            Io::new(Class::Create, Op::Write, self.file, offset, Segments::from_buf([segment]));
        self.flying.push_back(self.world.disk.submit(io));
    }

    async fn land(&mut self) -> Result<(), IoError> {
        match self.flying.pop_front() {
            Some(ticket) => ticket.await.result,
            None => Ok(()),
        }
    }
}

impl PageSink for SequentialWriter<'_> {
    fn page(&mut self, number: PageNumber) -> &mut [u8] {
        let distance = number.0 - self.first.0;
        let chunk = distance.div_euclid(self.pages_per_chunk) as usize;
        while self.open.len() <= chunk {
            // Pages between passes are not streamed; they are overwritten at the end.
            self.open.push_back(self.world.frames.zeroed(CHUNK_BYTES));
        }
        let within = distance.rem_euclid(self.pages_per_chunk) as usize * self.size.bytes();
        &mut self.open[chunk][within..within + self.size.bytes()]
    }

    fn fill_free(&mut self, number: PageNumber, free: Range<usize>) {
        let source = self.source;
        source.old_content(number, &mut self.page(number)[free]);
    }
}
