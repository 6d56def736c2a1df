//! Crash images: possible states of the files after a power failure at any step of a journal.
//!
//! ```text
//!    journal --- cut ---> durable state (certain)  +  pending actions (each may have happened, or a part of it)
//!                                                  |
//!                         sample: which of them, torn where, in which order  --->  Store
//! ```
//!
//! The rules are the durability contract of [`brunt_world::Disk`], in its worst-case reading:
//!
//! * **Bytes.** A write-through that completed is durable. So is a write that completed before a
//!   sync of its file was submitted, if that sync completed. Of every other write, in flight or
//!   completed, any set of 512-byte sectors may survive, whatever happened to the others; later
//!   writes do not need earlier ones. Data that completed before a durable write to the same sector
//!   was submitted is gone for good. Two concurrent writes have no order: until both are durable,
//!   either may be found; then the one that completed last is.
//! * **Lengths.** A file is at least as long as its durable writes need. Growing by
//!   [`brunt_world::Volume::allocate`] is durable after a sync, like a write. A write past the end
//!   may leave its length without its bytes, which then read as zero. Shrinking may be lost, but
//!   not if a write that completed after it is durable; otherwise that write would be cut off.
//! * **Names.** A change is durable once every directory it touches was synced after it completed;
//!   earlier changes of the same names are durable with it. Any of the others may have happened, in
//!   any possible order: a file can be renamed only from the name it has, and created only under a
//!   free name. Each happens completely or not at all. A file without a name is gone.
//!
//! Making an image forks the durable store and writes what survives: microseconds for tiny files.
//! Advancing to the next cut costs only the moments between; going back costs the whole way from
//! the beginning. So go forwards.

mod corner;
mod durable;
mod pending;
mod random;
mod sample;

pub use sample::Sample;

use durable::Cursor;

use crate::journal::{Mark, Moment};
use crate::{Journal, Step, Store};

/// Makes the crash images of one journal; see the [module](self).
///
/// ```
/// use brunt_world_virtual::crash::{CrashImages, Sample};
/// # let made = brunt_world_virtual::VirtualWorld::new(Default::default());
/// # made.machine.start_recording();
/// let journal = made.machine.stop_recording().expect("it was started");
/// let mut images = CrashImages::new(&journal);
/// for cut in images.cuts() {
///     for sample in (0..100).map(Sample::nth) {
///         let store = images.image(cut, sample);
///         let acknowledged = journal.marks(cut).next_back();
///         // Open a world on `store`, recover, and hold it against what was acknowledged.
/// #       let _ = (store, acknowledged);
///     }
/// }
/// ```
pub struct CrashImages<'j> {
    journal: &'j Journal,
    cursor: Cursor<'j>,
}

impl<'j> CrashImages<'j> {
    /// Images of `journal`.
    pub fn new(journal: &'j Journal) -> Self {
        Self { journal, cursor: Cursor::new(journal) }
    }

    /// The steps at which to cut: before the first moment, and after every submission and
    /// completion including the marks that follow it, because the test set those afterwards.
    pub fn cuts(&self) -> Vec<Step> {
        let moments = self.journal.moments();
        let ends = (0..).zip(moments).filter_map(|(step, moment)| {
            let is_boundary = !matches!(moment, Moment::Marked(_));
            is_boundary.then_some(Step(step))
        });
        let last = u32::try_from(moments.len()).expect("fewer than 2^32 moments");
        ends.chain([Step(last)]).collect()
    }

    /// The files after a crash at `cut`: everything durable, and of the rest what `sample` selects.
    ///
    /// Equal arguments give equal images.
    ///
    /// # Panics
    /// When the journal has fewer moments than `cut`.
    pub fn image(&mut self, cut: Step, sample: Sample) -> Store {
        self.go_to(cut);
        sample::image(&self.cursor, sample)
    }

    /// Number of actions that are undecided at `cut`; with none, all its images are equal.
    pub fn pending(&mut self, cut: Step) -> usize {
        self.go_to(cut);
        self.cursor.pending()
    }

    /// The marks set before `cut`.
    pub fn marks(&self, cut: Step) -> impl DoubleEndedIterator<Item = Mark> + use<'j> {
        self.journal.marks(cut)
    }

    fn go_to(&mut self, cut: Step) {
        if cut < self.cursor.step() {
            self.cursor = Cursor::new(self.journal);
        }
        self.cursor.advance(cut);
    }
}
