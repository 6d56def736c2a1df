//! Where shards meet.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

use brunt_run::{Listener, News, Stop};
use brunt_units::{Span, Time};

use crate::phases::run::TICK;
use crate::shards::joined::{Piece, Sampled};

/// From the arrival of the last shard to the common beginning: long enough for every shard to hear
/// of it.
const LEAD: Span = Span(TICK.0 * 4);

/// Where all shards must have come before one of them goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Border {
    /// It is decided which files are kept, and none has been changed.
    Decided,
    /// The databases are open.
    Ready,
}

/// No time yet.
const UNSET: u64 = u64::MAX;

/// What all shards of a test know of each other. Their clocks are the same.
#[derive(Debug)]
pub struct Meeting {
    shards: usize,
    /// Shards that have come to each [`Border`].
    arrived: [AtomicUsize; 2],
    warm: AtomicUsize,
    /// When the collection begins, in nanoseconds of their clock.
    begin: AtomicU64,
    given_up: AtomicBool,
    failed: Arc<AtomicBool>,
}

impl Meeting {
    /// A meeting of `shards` shards.
    pub fn of(shards: usize) -> Arc<Self> {
        Arc::new(Self {
            shards,
            arrived: Default::default(),
            warm: AtomicUsize::new(0),
            begin: AtomicU64::new(UNSET),
            given_up: AtomicBool::new(false),
            failed: Arc::default(),
        })
    }

    /// There will be no test: all shards stop.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::SeqCst);
    }
}

/// A shard's way to the others, and to the thread that joins them.
#[derive(Debug)]
pub struct Shard {
    number: usize,
    meeting: Arc<Meeting>,
    pieces: Sender<(usize, Piece)>,
}

impl Shard {
    /// Shard number `number`, from zero, which sends its news and samples to `pieces`.
    pub fn new(number: usize, meeting: &Arc<Meeting>, pieces: Sender<(usize, Piece)>) -> Self {
        Self { number, meeting: Arc::clone(meeting), pieces }
    }

    /// This shard has come to `border`.
    pub(crate) fn arrive(&self, border: Border) {
        self.meeting.arrived[border as usize].fetch_add(1, Ordering::SeqCst);
    }

    /// Whether all shards have come to `border`.
    pub(crate) fn are_all_at(&self, border: Border) -> bool {
        let arrived = self.meeting.arrived[border as usize].load(Ordering::SeqCst);
        arrived == self.meeting.shards
    }

    /// This shard could collect from `now` on.
    pub(crate) fn arrive_warm(&self, now: Time) {
        let before = self.meeting.warm.fetch_add(1, Ordering::SeqCst);
        if before + 1 == self.meeting.shards {
            self.meeting.begin.store((now + LEAD).0, Ordering::SeqCst);
        }
    }

    /// When all shards begin to collect; `None` until the last one is warm.
    pub(crate) fn begin(&self) -> Option<Time> {
        let begin = self.meeting.begin.load(Ordering::SeqCst);
        (begin != UNSET).then_some(Time(begin))
    }

    /// There will be no test: all shards stop.
    pub fn fail(&self) {
        self.meeting.fail();
    }

    /// A stop that is asked for with `stop`, or because a shard has failed.
    pub(crate) fn or_failed(&self, stop: &Stop) -> Stop {
        stop.or(&self.meeting.failed)
    }

    /// The collection of this shard has ended before its time, and so does that of the others. They
    /// then close and verify their databases.
    pub(crate) fn give_up(&self) {
        self.meeting.given_up.store(true, Ordering::SeqCst);
    }

    /// Whether one of the shards has given up.
    pub(crate) fn has_given_up(&self) -> bool {
        self.meeting.given_up.load(Ordering::SeqCst)
    }

    /// Hands in a sample.
    pub(crate) fn sampled(&self, sampled: Sampled) {
        self.send(Piece::Sampled(Box::new(sampled)));
    }

    fn send(&self, piece: Piece) {
        // Nobody joins them any more when the program is ending.
        let _ = self.pieces.send((self.number, piece));
    }
}

impl Listener for Shard {
    fn tell(&self, at: Time, news: &News) {
        self.send(Piece::Told(at, Box::new(news.clone())));
    }
}

impl Drop for Shard {
    /// Nobody waits for a shard that has ended, or has panicked.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.fail();
        }
        self.send(Piece::Ended);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn shards() -> [Shard; 2] {
        let meeting = Meeting::of(2);
        let (pieces, _) = mpsc::channel();
        [0, 1].map(|number| Shard::new(number, &meeting, pieces.clone()))
    }

    #[test]
    fn the_last_to_arrive_sets_the_common_beginning() {
        let [first, second] = shards();
        first.arrive(Border::Ready);
        assert!(!first.are_all_at(Border::Ready));
        second.arrive(Border::Ready);
        assert!(first.are_all_at(Border::Ready) && !first.are_all_at(Border::Decided));
        let at = |seconds| Time::ZERO + Span::seconds(seconds);
        first.arrive_warm(at(5));
        assert_eq!(first.begin(), None);
        second.arrive_warm(at(9));
        assert_eq!(first.begin(), Some(at(9) + LEAD));
        assert_eq!(second.begin(), first.begin());
    }

    #[test]
    fn a_shard_that_panics_stops_the_others() {
        let [first, second] = shards();
        let stop = first.or_failed(&Stop::default());
        assert!(!stop.is_asked());
        let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _held = second;
            panic!("on purpose");
        }));
        assert!(died.is_err());
        assert!(stop.is_asked());
    }
}
