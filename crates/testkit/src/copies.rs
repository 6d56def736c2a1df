//! Other copies of databases, for tests of page patching: some keep their word, some do not.
//!
//! A copy takes its pages from files ([`Store`]). The latest ones are what the engine has written, noted above whatever may
//! lose it on the way ([`crate::ledger::Ledger::written`]); former ones are files of some time before. Pages get a flush type of the
//! copy's own: a copy that replays a log writes its pages when it likes.

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

/// What a copy is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It has replayed all log, and its pages are right.
    Faithful,
    /// It has former pages, and says that it lacks log.
    Behind,
    /// It has former pages, and says that it has replayed everything.
    Stale,
    /// It has replayed all log, and two bits of its pages are flipped.
    Rotten,
    /// It has replayed log that was never written here, and a page that is newer for it.
    Diverged,
    /// It never answers.
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
    /// Copies of these manners, whose pages are of `size`, and are those of `latest` or of `former`.
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

    /// The page as a copy has it, and the signature of its database.
    fn page(&self, manner: Manner, wanted: &Wanted) -> Option<(Signature, Vec<u8>)> {
        let (path, number) = (&wanted.database, wanted.page);
        let store = match manner {
            Manner::Behind | Manner::Stale => self.former.fork(),
            Manner::Faithful | Manner::Rotten | Manner::Diverged => (self.latest)(),
            Manner::Silent => return None,
        };
        let signature = signature(&store, path)?;
        let mut page = read_page(&store, path, number, self.size)?;
        // A seal would call right what a crash has torn in the files that the copy is made of.
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

/// A page of a file; `None` when the file does not reach so far.
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
    fn names(&self) -> Vec<String> {
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
            Offer {
                signature,
                replayed,
                page: Segment::Fill(frame),
            }
        });
        Box::pin(async move { offer })
    }
}
