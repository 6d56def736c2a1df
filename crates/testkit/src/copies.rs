//! Copies of databases for tests of page patching; some of them are faulty.
//!
//! A copy takes its pages from files ([`Store`]). The latest pages are what the engine has written,
//! recorded above any layer that may lose them ([`crate::ledger::Ledger::written`]); former pages
//! are files from some time before. Pages get a flush type of the copy's own: a copy that replays a
//! log writes its pages at its own times.

use std::path::Path;
use std::rc::Rc;

use brunt_ese::format::checksum::{is_sound, seal};
use brunt_ese::format::header::DatabaseHeader;
use brunt_ese::format::page::{DATABASE_TIME_AT, FLAGS_AT, Page};
use brunt_ese::format::stamp::Signature;
use brunt_ese::patch::{Answering, Copies, Offer, Wanted};
use brunt_units::{LogPosition, PageNumber, PageSize};
use brunt_world::{Frames, Segment};
use brunt_world_virtual::Store;

/// The behaviour of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Has replayed all log; its pages are right.
    Faithful,
    /// Has former pages, and reports that it lacks log.
    Behind,
    /// Has former pages, but claims to have replayed everything.
    Stale,
    /// Has replayed all log, but two bits of each page are flipped.
    Rotten,
    /// Has replayed log that was never written here, which makes a page newer.
    Diverged,
    /// Never answers.
    Silent,
}

/// Copies of the databases of one engine.
pub struct Shelf {
    frames: Frames,
    size: PageSize,
    latest: Box<dyn Fn() -> Store>,
    former: Store,
    manners: Vec<Manner>,
}

impl Shelf {
    /// Copies with these behaviours and pages of `size`, taken from `latest` or `former`.
    pub fn new(
        frames: &Frames,
        size: PageSize,
        manners: &[Manner],
        former: Store,
        latest: impl Fn() -> Store + 'static,
    ) -> Rc<Self> {
        Rc::new(Self {
            frames: frames.clone(),
            size,
            latest: Box::new(latest),
            former,
            manners: manners.to_vec(),
        })
    }

    /// A copy's page, and the signature of its database.
    fn page(&self, manner: Manner, wanted: &Wanted) -> Option<(Signature, Vec<u8>)> {
        let (path, number) = (&wanted.database, wanted.page);
        let store = match manner {
            Manner::Behind | Manner::Stale => self.former.fork(),
            Manner::Faithful | Manner::Rotten | Manner::Diverged => (self.latest)(),
            Manner::Silent => return None,
        };
        let signature = signature(&store, path)?;
        let mut page = read_page(&store, path, number, self.size)?;
        // Sealing would make a page valid that a crash has torn in the copy's files.
        if is_sound(&page, self.size, number) {
            if manner == Manner::Diverged {
                page[DATABASE_TIME_AT + 2] ^= 1;
            }
            let flags = Page::new(&page, self.size).flags();
            let other = flags.with_flush_type(1 + flags.flush_type() % 3);
            page[FLAGS_AT..FLAGS_AT + 4].copy_from_slice(&other.0.to_le_bytes());
            seal(&mut page, self.size, number);
        }
        if manner == Manner::Rotten {
            page[self.size.bytes().div_euclid(2)] ^= 3;
        }
        Some((signature, page))
    }
}

fn signature(store: &Store, path: &Path) -> Option<Signature> {
    let file = store.find(path)?;
    let mut head = vec![0; 64 << 10];
    store.read(file, 0, &mut head);
    Some(DatabaseHeader::find(&head).ok()?.header.signature)
}

/// A page of a file; `None` when the file is too short.
pub(crate) fn read_page(
    store: &Store,
    path: &Path,
    number: PageNumber,
    size: PageSize,
) -> Option<Vec<u8>> {
    let (file, offset) = (store.find(path)?, number.offset(size));
    let is_there = store.length(file)? >= offset + size.bytes_u64();
    let mut page = vec![0; size.bytes()];
    is_there.then(|| store.read(file, offset, &mut page))?;
    Some(page)
}

impl Copies for Shelf {
    fn names(&self, _: &Wanted) -> Vec<String> {
        let names = self.manners.iter().map(|manner| format!("{manner:?}"));
        names.collect()
    }

    fn ask(&self, copy: usize, wanted: &Wanted) -> Answering {
        let manner = self.manners[copy];
        if manner == Manner::Silent {
            return Box::pin(std::future::pending());
        }
        let generation = wanted.replayed.generation;
        let replayed = match manner {
            Manner::Behind => LogPosition::start_of(generation),
            Manner::Diverged => LogPosition::start_of(generation + 1),
            _ => wanted.replayed,
        };
        let offer = self.page(manner, wanted).map(|(signature, bytes)| {
            let mut frame = self.frames.take(bytes.len());
            frame.copy_from_slice(&bytes);
            Offer { signature, replayed, page: Segment::Fill(frame) }
        });
        Box::pin(async move { offer })
    }
}
