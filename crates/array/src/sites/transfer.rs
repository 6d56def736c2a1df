//! One replication under way.
//!
//! ```text
//!    over the link   read a block of the start -> link -> write it at the partner -> link: done
//!    on media        read every block -> wait for the media -> write every block at the partner
//!    then            link: complete -> the partner makes its LUNs a replica
//! ```
//!
//! A grain is left until the source knows that the partner has it, so nothing is forgotten when the
//! link is lost, and what was done is not done again. The partner's newest replica shares pages
//! with its LUNs and stays whole whatever happens to these.

use std::ops::Range;

use brunt_units::Time;

use crate::paged::Grains;

/// How far a replication is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Blocks go over the link.
    Sending,
    /// Blocks are read, to media.
    ToMedia,
    /// The media are on their way.
    Shipping,
    /// Blocks are written from media.
    FromMedia,
    /// The partner has everything, and has been told.
    Completing,
}

/// Steps that wait while the link is lost.
pub(super) const OVER_THE_LINK: &[Step] = &[Step::Sending, Step::Completing];
/// Steps that wait while the partner is lost.
pub(super) const AT_THE_PARTNER: &[Step] = &[Step::Sending, Step::FromMedia, Step::Completing];

/// A replication under way.
pub(super) struct Transfer {
    pub(super) number: u64,
    /// Its instant.
    pub(super) at: Time,
    /// By LUN: the snapshot of that instant.
    pub(super) starts: Vec<u32>,
    /// By LUN: grains that have not arrived.
    pub(super) left: Vec<Grains>,
    /// By LUN: grains that are on media only.
    on_media: Vec<Grains>,
    pub(super) step: Step,
    /// Where the next block is looked for.
    cursor: (usize, u64),
    /// Blocks under way.
    pub(super) under_way: u32,
    /// Whether the partner has made the replica, which the source may not know yet.
    pub(super) is_taken: bool,
    pub(super) is_paused: bool,
}

/// A block of a replication: grains of one page of a LUN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) set: usize,
    pub(super) turn: u32,
    /// The place of the LUN in its set.
    pub(super) lun: usize,
    pub(super) grains: Range<u64>,
}

impl Transfer {
    pub(super) fn new(
        number: u64,
        at: Time,
        starts: Vec<u32>,
        left: Vec<Grains>,
        on_media: bool,
    ) -> Self {
        Self {
            number,
            at,
            on_media: vec![Grains::default(); starts.len()],
            starts,
            left,
            step: if on_media { Step::ToMedia } else { Step::Sending },
            cursor: (0, 0),
            under_way: 0,
            is_taken: false,
            is_paused: false,
        }
    }

    /// Grains that the partner does not have.
    pub(super) fn left(&self) -> u64 {
        let all = self.left.iter().chain(&self.on_media);
        all.map(Grains::count).sum()
    }

    /// What the next replication has to bring if this one is given up.
    pub(super) fn owed(self) -> Vec<Grains> {
        let mut owed = self.left;
        for (own, media) in owed.iter_mut().zip(&self.on_media) {
            own.merge(media);
        }
        owed
    }

    fn pending(&self) -> &[Grains] {
        match self.step {
            Step::FromMedia => &self.on_media,
            _ => &self.left,
        }
    }

    /// The next block that is not being worked on, of at most `most` grains within a page of `page`
    /// grains.
    pub(super) fn next_block(&mut self, most: u64, page: u64) -> Option<(usize, Range<u64>)> {
        while self.cursor.0 < self.starts.len() {
            let (lun, from) = self.cursor;
            match self.pending()[lun].next_run(from, most, page) {
                Some(run) => {
                    self.cursor.1 = run.end;
                    return Some((lun, run));
                }
                None => self.cursor = (lun + 1, 0),
            }
        }
        None
    }

    /// Looks for blocks from the beginning: those that did not arrive.
    pub(super) fn begin_anew(&mut self) {
        self.cursor = (0, 0);
    }

    /// Whether this step has nothing left to do.
    pub(super) fn is_done(&self) -> bool {
        self.under_way == 0 && self.pending().iter().all(|grains| grains.count() == 0)
    }

    /// A block was read to media.
    pub(super) fn put_on_media(&mut self, block: &Block) {
        self.left[block.lun].remove(block.grains.clone());
        self.on_media[block.lun].insert(block.grains.clone());
    }

    /// The partner has a block.
    pub(super) fn arrived(&mut self, block: &Block) {
        self.left[block.lun].remove(block.grains.clone());
        self.on_media[block.lun].remove(block.grains.clone());
    }
}
