//! The content of pages and log: bytes, or only their lengths.
//!
//! Cache, log stream, checkpoint writer and maintenance are one asynchronous driver that is generic
//! over its [`Content`]. With [`Bytes`], pages hold records and the log can be replayed. With
//! [`Ghost`], nothing has content, so a server of terabytes runs in virtual time at about a
//! microsecond per I/O. The decisions, and so the I/Os, are the same; a test compares the two.

use std::ops::Range;
use std::rc::Rc;

use brunt_units::{DatabaseTime, PageNumber, PageSize};
use brunt_world::{Frame, Frames, Segment};

use crate::error::PageFault;
use crate::format::checksum::{self, Diagnosis};
use crate::format::field::put_u32;
use crate::format::log_file::{LOG_HEADER_BYTES, LogHeader};
use crate::format::page::{FLAGS_AT, Page};
use crate::format::stamp::Stamp;
use crate::log::LogShape;
use crate::log::buffer::Chunk;

/// What a valid page says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sound {
    /// Whether a flipped bit was corrected.
    pub corrected: bool,
    /// Flush type of its latest write; 0 is unknown.
    pub flush_type: u8,
    /// Time of its latest change, if known.
    pub time: Option<DatabaseTime>,
}

/// How to treat a single flipped bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flips {
    Correct,
    /// Report the page as bad.
    Leave,
}

/// The representation of pages and log records.
pub trait Content: 'static {
    /// A cached page.
    type Page;
    /// Log bytes to be written to a file.
    type Image: Default;
    /// An encoded log record.
    type Record<'a>: Copy;
    /// Whether successive writes of a page can be told apart, so that a lost one is detected.
    const TELLS_WRITES: bool;

    /// Encoded bytes as a record.
    fn record(bytes: &[u8]) -> Self::Record<'_>;
    /// Length of a record in bytes.
    fn record_length(record: Self::Record<'_>) -> usize;
    /// Puts a piece of a record at `offset` of an image, which grows with zeros if necessary.
    fn put(image: &mut Self::Image, offset: usize, record: Self::Record<'_>, piece: Range<usize>);
    /// A chunk's image as whole, sealed segments.
    fn seal_log(frames: &Frames, chunk: Chunk<Self>, shape: LogShape, written: Stamp) -> Segment
    where
        Self: Sized;
    /// Prepares bytes for a write, padded with zeros to a multiple of 4,096.
    fn outgoing(frames: &Frames, bytes: &[u8]) -> Segment;

    /// Memory for reading `bytes` bytes.
    fn incoming(frames: &Frames, bytes: usize) -> Segment;
    /// Memory for reading a page.
    fn blank(frames: &Frames, size: PageSize) -> Segment {
        Self::incoming(frames, size.bytes())
    }
    /// The page, or piece of a file, that was read into `segment`.
    fn arrived(segment: Segment) -> Self::Page;
    /// A write of `bytes` bytes that were read.
    fn copied(read: &Self::Page, bytes: usize) -> Segment;
    /// A write of adjacent pages; those that are `None` are blank.
    fn gathered(frames: &Frames, pages: &[Option<Self::Page>], size: PageSize) -> Segment;
    /// Whether two reads returned the same, as far as that can be told.
    fn is_same(one: &Self::Page, other: &Self::Page) -> bool;
    /// Whether a log file holds this generation, as far as that can be told.
    fn holds_generation(file: &[u8], generation: u32) -> bool;
    fn zeroed(frames: &Frames, size: PageSize) -> Self::Page;
    /// Checks the page read as page `number` of a file of `pages`. Corrects a flipped bit if
    /// `flips` says so. It must not where the page may be torn: a mixture of two versions can look
    /// like a flipped bit elsewhere.
    fn verify(
        page: &mut Self::Page,
        number: PageNumber,
        pages: u32,
        size: PageSize,
        flips: Flips,
    ) -> Result<Sound, PageFault>;
    /// Prepares a page for a write, sealed as page `number` with a flush type. The page stays
    /// readable. `None` when an earlier write of it is still in flight.
    fn depart(
        page: &mut Self::Page,
        number: PageNumber,
        size: PageSize,
        flush_type: u8,
    ) -> Option<Segment>;
    /// The bytes of a page, if it has any.
    fn bytes(page: &Self::Page) -> Option<&[u8]>;
    /// Flush type of the page as read.
    fn flush_type(page: &Self::Page, size: PageSize) -> u8;
    /// Time of the page's latest change, if known.
    fn time(page: &Self::Page, size: PageSize) -> Option<DatabaseTime>;
}

/// Real content.
#[derive(Clone, Copy, Debug)]
pub enum Bytes {}

/// A page in memory. While a write of it is in flight the frame is shared, and a change goes to a
/// copy.
pub type BytesPage = Rc<Frame>;

impl Content for Bytes {
    type Page = BytesPage;
    type Image = Vec<u8>;
    type Record<'a> = &'a [u8];
    const TELLS_WRITES: bool = true;

    fn record(bytes: &[u8]) -> &[u8] {
        bytes
    }

    fn record_length(record: &[u8]) -> usize {
        record.len()
    }

    fn put(image: &mut Vec<u8>, offset: usize, record: &[u8], piece: Range<usize>) {
        image.resize(offset, 0);
        image.extend_from_slice(&record[piece]);
    }

    fn seal_log(frames: &Frames, chunk: Chunk<Self>, shape: LogShape, written: Stamp) -> Segment {
        let bytes = chunk.segments(shape) * shape.segment_bytes();
        let mut frame = frames.take(bytes.next_multiple_of(4096));
        frame[..chunk.image.len()].copy_from_slice(&chunk.image);
        frame[chunk.image.len()..].fill(0);
        let segments = frame[..bytes].chunks_exact_mut(shape.segment_bytes());
        for (segment, header) in segments.zip(chunk.headers(shape, written)) {
            header.seal(segment);
        }
        Segment::Drain { frame: Rc::new(frame), start: 0, length: bytes }
    }

    fn outgoing(frames: &Frames, bytes: &[u8]) -> Segment {
        let mut frame = frames.zeroed(bytes.len().next_multiple_of(4096));
        frame[..bytes.len()].copy_from_slice(bytes);
        Segment::whole(&Rc::new(frame))
    }

    fn incoming(frames: &Frames, bytes: usize) -> Segment {
        Segment::Fill(frames.take(bytes))
    }

    fn arrived(segment: Segment) -> BytesPage {
        match segment {
            Segment::Fill(frame) => Rc::new(frame),
            Segment::Drain { .. } | Segment::Ghost(_) => unreachable!("pages are read into frames"),
        }
    }

    fn copied(read: &BytesPage, _: usize) -> Segment {
        Segment::whole(read)
    }

    fn gathered(frames: &Frames, pages: &[Option<BytesPage>], size: PageSize) -> Segment {
        let mut frame = frames.zeroed(pages.len() * size.bytes());
        for (place, page) in frame.chunks_mut(size.bytes()).zip(pages) {
            if let Some(page) = page {
                place.copy_from_slice(page);
            }
        }
        Segment::whole(&Rc::new(frame))
    }

    fn is_same(one: &BytesPage, other: &BytesPage) -> bool {
        one[..] == other[..]
    }

    fn holds_generation(file: &[u8], generation: u32) -> bool {
        let header = file.get(..LOG_HEADER_BYTES).map(LogHeader::read);
        header.is_some_and(|header| header.is_ok_and(|header| header.generation == generation))
    }

    fn zeroed(frames: &Frames, size: PageSize) -> BytesPage {
        Rc::new(frames.zeroed(size.bytes()))
    }

    fn verify(
        page: &mut BytesPage,
        number: PageNumber,
        pages: u32,
        size: PageSize,
        flips: Flips,
    ) -> Result<Sound, PageFault> {
        let corrected = match checksum::is_sound(page, size, number) {
            true => false,
            false => match checksum::diagnose(page, size, number) {
                Diagnosis::Sound => false,
                Diagnosis::Correctable(_) if flips == Flips::Leave => {
                    return Err(PageFault::Checksum);
                }
                Diagnosis::Correctable(flips) => {
                    flips
                        .repair(Rc::get_mut(page).expect("a page that just arrived is ours alone"));
                    true
                }
                Diagnosis::Uninitialised => return Err(PageFault::Uninitialised),
                // Damage can look like a page number, but hardly like one within the file.
                Diagnosis::OtherNumber(other) if other.0 <= pages => {
                    return Err(PageFault::WrongNumber);
                }
                Diagnosis::OtherNumber(_) | Diagnosis::Damaged => return Err(PageFault::Checksum),
            },
        };
        let view = Page::new(page, size);
        if view.check_frame().is_err() {
            return Err(PageFault::Structure);
        }
        Ok(Sound {
            corrected,
            flush_type: view.flags().flush_type(),
            time: Some(view.database_time()),
        })
    }

    fn depart(
        page: &mut BytesPage,
        number: PageNumber,
        size: PageSize,
        flush_type: u8,
    ) -> Option<Segment> {
        let frame = Rc::get_mut(page)?;
        let flags = Page::new(frame, size).flags().with_flush_type(flush_type);
        put_u32(frame, FLAGS_AT, flags.0);
        checksum::seal(frame, size, number);
        Some(Segment::whole(page))
    }

    fn bytes(page: &BytesPage) -> Option<&[u8]> {
        Some(page)
    }

    fn flush_type(page: &BytesPage, size: PageSize) -> u8 {
        Page::new(page, size).flags().flush_type()
    }

    fn time(page: &BytesPage, size: PageSize) -> Option<DatabaseTime> {
        Some(Page::new(page, size).database_time())
    }
}

/// Lengths without content.
#[derive(Clone, Copy, Debug)]
pub enum Ghost {}

impl Content for Ghost {
    type Page = u8;
    type Image = ();
    type Record<'a> = usize;
    const TELLS_WRITES: bool = false;

    fn record(bytes: &[u8]) -> usize {
        bytes.len()
    }

    fn record_length(record: usize) -> usize {
        record
    }

    fn put(_: &mut (), _: usize, _: usize, _: Range<usize>) {}

    fn seal_log(_: &Frames, chunk: Chunk<Self>, shape: LogShape, _: Stamp) -> Segment {
        Segment::Ghost((chunk.segments(shape) * shape.segment_bytes()) as u64)
    }

    fn outgoing(_: &Frames, bytes: &[u8]) -> Segment {
        Segment::Ghost(bytes.len().next_multiple_of(4096) as u64)
    }

    fn incoming(_: &Frames, bytes: usize) -> Segment {
        Segment::Ghost(bytes as u64)
    }

    fn arrived(_: Segment) -> u8 {
        0
    }

    fn copied(_: &u8, bytes: usize) -> Segment {
        Segment::Ghost(bytes as u64)
    }

    fn gathered(_: &Frames, pages: &[Option<u8>], size: PageSize) -> Segment {
        Segment::Ghost(pages.len() as u64 * size.bytes_u64())
    }

    fn is_same(_: &u8, _: &u8) -> bool {
        true
    }

    fn holds_generation(_: &[u8], _: u32) -> bool {
        true
    }

    fn zeroed(_: &Frames, _: PageSize) -> u8 {
        0
    }

    fn verify(
        page: &mut u8,
        _: PageNumber,
        _: u32,
        _: PageSize,
        _: Flips,
    ) -> Result<Sound, PageFault> {
        Ok(Sound { corrected: false, flush_type: *page, time: None })
    }

    fn depart(page: &mut u8, _: PageNumber, size: PageSize, flush_type: u8) -> Option<Segment> {
        *page = flush_type;
        Some(Segment::Ghost(size.bytes_u64()))
    }

    fn bytes(_: &u8) -> Option<&[u8]> {
        None
    }

    fn flush_type(page: &u8, _: PageSize) -> u8 {
        *page
    }

    fn time(_: &u8, _: PageSize) -> Option<DatabaseTime> {
        None
    }
}
