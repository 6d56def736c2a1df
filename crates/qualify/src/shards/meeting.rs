//! Where parts of one test meet: shards of one process, or hosts.

use std::fmt::Debug;
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

/// Where all parts must have come before one of them goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    /// It is decided which files are kept, and none has been changed.
    Decided,
    /// The databases are open.
    Ready,
}

/// What a part of a test says to the others, and hears of them. Times are of the part's own clock.
pub trait Meeting: Debug + Send + Sync {
    /// This part has come to `border`.
    fn arrive(&self, border: Border);
    /// Whether all parts may go on from `border`.
    fn are_all_at(&self, border: Border) -> bool;
    /// This part could collect from `now` on.
    fn arrive_warm(&self, now: Time);
    /// When all parts begin to collect; `None` until the last one is warm.
    fn begin(&self) -> Option<Time>;
    /// When sessions begin, once all are [`Border::Ready`]; `None` where that is at once.
    fn start(&self) -> Option<Time> {
        None
    }
    /// The collection of this part has ended before its time because of `why`, and so does that of
    /// the others. They then close and verify their databases.
    fn give_up(&self, why: &str);
    /// Whether one of the parts has given up.
    fn has_given_up(&self) -> bool;
}

/// No time yet.
const UNSET: u64 = u64::MAX;

/// The meeting of the shards of one process, whose clocks are the same. Together they may be a part
/// of a larger test, where the last of them to arrive speaks for all.
#[derive(Debug)]
pub struct LocalMeeting {
    shards: usize,
    beyond: Option<Arc<dyn Meeting>>,
    /// Shards that have come to each [`Border`].
    arrived: [AtomicUsize; 2],
    warm: AtomicUsize,
    /// When the collection begins, in nanoseconds of their clock.
    begin: AtomicU64,
    given_up: AtomicBool,
    failed: Arc<AtomicBool>,
}

impl LocalMeeting {
    /// A meeting of `shards` shards, which are a part of the test that meets `beyond`.
    pub fn of(shards: usize, beyond: Option<Arc<dyn Meeting>>) -> Arc<Self> {
        Arc::new(Self {
            shards,
            beyond,
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

impl Meeting for LocalMeeting {
    fn arrive(&self, border: Border) {
        let before = self.arrived[border as usize].fetch_add(1, Ordering::SeqCst);
        if before + 1 == self.shards {
            self.beyond.iter().for_each(|beyond| beyond.arrive(border));
        }
    }

    fn are_all_at(&self, border: Border) -> bool {
        let arrived = self.arrived[border as usize].load(Ordering::SeqCst);
        arrived == self.shards && self.beyond.iter().all(|beyond| beyond.are_all_at(border))
    }

    fn arrive_warm(&self, now: Time) {
        let before = self.warm.fetch_add(1, Ordering::SeqCst);
        if before + 1 == self.shards {
            match &self.beyond {
                Some(beyond) => beyond.arrive_warm(now),
                None => self.begin.store((now + LEAD).0, Ordering::SeqCst),
            }
        }
    }

    fn begin(&self) -> Option<Time> {
        if let Some(beyond) = &self.beyond {
            return beyond.begin();
        }
        let begin = self.begin.load(Ordering::SeqCst);
        (begin != UNSET).then_some(Time(begin))
    }

    fn start(&self) -> Option<Time> {
        self.beyond.as_ref().and_then(|beyond| beyond.start())
    }

    fn give_up(&self, why: &str) {
        if !self.given_up.swap(true, Ordering::SeqCst) {
            self.beyond.iter().for_each(|beyond| beyond.give_up(why));
        }
    }

    fn has_given_up(&self) -> bool {
        let beyond = || self.beyond.iter().any(|beyond| beyond.has_given_up());
        self.given_up.load(Ordering::SeqCst) || beyond()
    }
}

/// A shard's way to the others, and to the thread that joins them.
#[derive(Debug)]
pub struct Shard {
    number: usize,
    meeting: Arc<LocalMeeting>,
    pieces: Sender<(usize, Piece)>,
}

impl Shard {
    /// Shard number `number`, from zero, which sends its news and samples to `pieces`.
    pub fn new(number: usize, meeting: &Arc<LocalMeeting>, pieces: Sender<(usize, Piece)>) -> Self {
        Self { number, meeting: Arc::clone(meeting), pieces }
    }

    /// Where it meets the others.
    pub(crate) fn meeting(&self) -> &dyn Meeting {
        &*self.meeting
    }

    /// There will be no test: all shards stop.
    pub fn fail(&self) {
        self.meeting.fail();
    }

    /// A stop that is asked for with `stop`, or because a shard has failed.
    pub(crate) fn or_failed(&self, stop: &Stop) -> Stop {
        stop.or(&self.meeting.failed)
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
    use std::sync::{Mutex, mpsc};

    use super::*;

    fn shards(beyond: Option<Arc<dyn Meeting>>) -> [Shard; 2] {
        let meeting = LocalMeeting::of(2, beyond);
        let (pieces, _) = mpsc::channel();
        [0, 1].map(|number| Shard::new(number, &meeting, pieces.clone()))
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::seconds(seconds)
    }

    #[test]
    fn the_last_to_arrive_sets_the_common_beginning() {
        let shards = shards(None);
        let [first, second] = shards.each_ref().map(Shard::meeting);
        first.arrive(Border::Ready);
        assert!(!first.are_all_at(Border::Ready));
        second.arrive(Border::Ready);
        assert!(first.are_all_at(Border::Ready) && !first.are_all_at(Border::Decided));
        first.arrive_warm(at(5));
        assert_eq!(first.begin(), None);
        second.arrive_warm(at(9));
        assert_eq!(first.begin(), Some(at(9) + LEAD));
        assert_eq!(second.begin(), first.begin());
    }

    /// Other hosts: what they were told, and when they begin.
    #[derive(Debug, Default)]
    struct Hosts {
        told: Mutex<Vec<&'static str>>,
        are_ready: AtomicBool,
        begin: AtomicU64,
        given_up: AtomicBool,
    }

    impl Meeting for Hosts {
        fn arrive(&self, _: Border) {
            self.told.lock().unwrap().push("ready");
        }

        fn are_all_at(&self, _: Border) -> bool {
            self.are_ready.load(Ordering::SeqCst)
        }

        fn arrive_warm(&self, _: Time) {
            self.told.lock().unwrap().push("warm");
        }

        fn begin(&self) -> Option<Time> {
            Some(Time(self.begin.load(Ordering::SeqCst))).filter(|at| *at > Time::ZERO)
        }

        fn give_up(&self, _: &str) {
            self.told.lock().unwrap().push("given up");
        }

        fn has_given_up(&self) -> bool {
            self.given_up.load(Ordering::SeqCst)
        }
    }

    #[test]
    fn shards_of_one_host_speak_with_one_voice() {
        let hosts: Arc<Hosts> = Arc::default();
        let shards = shards(Some(Arc::<Hosts>::clone(&hosts)));
        let [first, second] = shards.each_ref().map(Shard::meeting);
        first.arrive(Border::Ready);
        hosts.are_ready.store(true, Ordering::SeqCst);
        assert!(!first.are_all_at(Border::Ready), "the other shard is not ready");
        second.arrive(Border::Ready);
        assert!(second.are_all_at(Border::Ready));
        hosts.are_ready.store(false, Ordering::SeqCst);
        assert!(!second.are_all_at(Border::Ready), "another host is not ready");
        first.arrive_warm(at(5));
        second.arrive_warm(at(6));
        assert_eq!(first.begin(), None, "other hosts are not warm");
        hosts.begin.store(at(20).0, Ordering::SeqCst);
        assert_eq!([first.begin(), second.begin()], [Some(at(20)); 2]);
        assert!(!first.has_given_up());
        first.give_up("it is full");
        second.give_up("it is full");
        assert!(second.has_given_up());
        assert_eq!(*hosts.told.lock().unwrap(), ["ready", "warm", "given up"]);
    }

    #[test]
    fn a_host_that_gives_up_ends_the_collection_of_shards_elsewhere() {
        let hosts: Arc<Hosts> = Arc::default();
        let [first, _] = shards(Some(Arc::<Hosts>::clone(&hosts)));
        hosts.given_up.store(true, Ordering::SeqCst);
        assert!(first.meeting().has_given_up());
    }

    #[test]
    fn a_shard_that_panics_stops_the_others() {
        let [first, second] = shards(None);
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
