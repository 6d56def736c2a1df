//! Where a request's time went.

use brunt_units::Span;

/// The parts of a request's response time. Their sum is the response time.
///
/// For a request that needs several drives, it describes the I/O that ended last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakdown {
    /// Host stack and ports, both ways.
    pub link: Span,
    /// The controllers' processors, and the copy to the other controller.
    pub controller: Span,
    /// Waiting for room in the cache, for a stripe, or for another request's data.
    pub wait: Span,
    /// Waiting in a drive's queue.
    pub queue: Span,
    /// The drive's command overhead.
    pub overhead: Span,
    /// Moving the arm.
    pub seek: Span,
    /// Waiting for the sector.
    pub rotation: Span,
    /// Moving the data.
    pub transfer: Span,
}

impl Breakdown {
    /// Names of the parts, in the order of [`Self::parts`].
    pub const NAMES: [&'static str; 8] =
        ["link", "controller", "wait", "queue", "overhead", "seek", "rotation", "transfer"];

    pub fn parts(&self) -> [Span; 8] {
        [
            self.link,
            self.controller,
            self.wait,
            self.queue,
            self.overhead,
            self.seek,
            self.rotation,
            self.transfer,
        ]
    }

    /// The sum of all parts.
    pub fn total(&self) -> Span {
        self.parts().into_iter().fold(Span::ZERO, |sum, part| sum + part)
    }

    /// Adds a later breakdown.
    pub(crate) fn add(&mut self, later: &Self) {
        self.link += later.link;
        self.controller += later.controller;
        self.wait += later.wait;
        self.queue += later.queue;
        self.overhead += later.overhead;
        self.seek += later.seek;
        self.rotation += later.rotation;
        self.transfer += later.transfer;
    }
}
