//! How far the checkpoint may lag, and how many dirty pages to write now to keep it there.
//!
//! Recovery replays the log from the checkpoint. The distance from there to the newest record, the
//! *depth*, bounds how long that takes. It also sets the engine's write load: a page that keeps
//! changing is written once per depth. The *preferred* checkpoint lies one depth behind the newest
//! record; pages whose oldest change is before it should be written.
//!
//! There are two ways to pace these writes, because the reported database write latency depends on
//! it:
//!
//! ```text
//!   burst (2003 - 2007)                          trickle (2010 and later)
//!   once a second: are there such pages?         writes outstanding
//!   write `pages` of them, wait for all,         most |              /
//!   write the next `pages`, ... until none       1    |-------------
//!                                                     +----|-----|-----|---- lag / depth
//!                                                          1    1.25   2
//! ```
//!
//! Sources, all microsoft/Extensible-Storage-Engine: depth 20 MiB,
//! dev/ese/src/ese/sysparamtable.g.cxx; period, slack and retry,
//! dev/ese/published/inc/bf/_bfconst.hxx; for the rise see `urgency`. Its start at 1.25 depths
//! follows from observation of both generations. Its end at 2 depths and the size of a burst are
//! our assumptions. ESE's preferred checkpoint counts whole log files, ours bytes.

use brunt_units::{ByteSize, LogPosition, Span, Time};

use super::log_shape::LogShape;
use super::urgency::{WRITES_MAX, rise};

/// ESE's default depth. Exchange sets 5, 20 or 100 MB by role.
pub const DEPTH: ByteSize = ByteSize::mib(20);

/// From the end of a pass to the earliest start of the next.
pub const PASS_PERIOD: Span = Span::seconds(1);

/// A pass begins at most this long after the earliest time.
pub const PASS_SLACK: Span = Span::seconds(1);

/// How soon to retry when pages could not be written.
pub const RETRY: Span = Span::millis(10);

/// Pages that older engines write at a time: "a few tens".
pub const BURST_PAGES: u32 = 32;

/// The position one `depth` before `newest`, but not before the first log file. Changed pages
/// should not need log before it.
pub fn preferred(newest: LogPosition, depth: ByteSize, shape: LogShape) -> LogPosition {
    shape.before(newest, depth.get()).max(LogPosition::start_of(1)).min(newest)
}

/// How checkpoint writes are paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// A fixed number of pages at a time; the next burst starts when all have been written.
    Burst {
        /// Pages per burst, at least one.
        pages: u32,
    },
    /// One write in flight, more only when the checkpoint falls behind.
    Trickle {
        /// Maximum writes in flight.
        most: u32,
    },
}

impl Pacing {
    /// The older engines: "a few tens of pages".
    pub const BURST: Self = Self::Burst { pages: BURST_PAGES };
    /// The newer ones: up to half of 1,024 I/Os in flight.
    pub const TRICKLE: Self = Self::Trickle { most: WRITES_MAX };
}

/// The pacing of one database's checkpoint writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pacing: Pacing,
    /// A pass is in progress.
    running: bool,
    /// When the next pass may begin.
    earliest: Time,
    /// When to check again.
    look: Time,
}

impl Checkpoint {
    /// A database whose first pass may start at `first`.
    ///
    /// # Panics
    /// When the pacing allows no writes.
    pub fn new(pacing: Pacing, first: Time) -> Self {
        let (Pacing::Burst { pages: most } | Pacing::Trickle { most }) = pacing;
        assert!(most > 0, "a checkpoint that writes nothing");
        Self { pacing, running: false, earliest: first, look: first }
    }

    /// How many more pages before the preferred checkpoint to start writing now.
    ///
    /// `lag_bytes` is the log from the oldest unwritten change to the newest record; `in_flight`
    /// counts this database's checkpoint writes in flight. Call when one of them ends, and at
    /// [`Self::next_look`].
    pub fn write_budget(
        &mut self,
        now: Time,
        lag_bytes: u64,
        depth_bytes: u64,
        in_flight: u32,
    ) -> u32 {
        let behind = lag_bytes > depth_bytes;
        let (due, target) = match self.pacing {
            Pacing::Burst { pages } => {
                let due = self.running || now >= self.earliest;
                // The next burst waits for the previous one.
                (due, if due && in_flight == 0 { pages } else { 0 })
            }
            Pacing::Trickle { most } => (true, outstanding(lag_bytes, depth_bytes, most)),
        };
        self.running = behind && due;
        if due {
            self.earliest = now + PASS_PERIOD;
        }
        self.look = if self.running { now + RETRY } else { self.earliest + PASS_SLACK };
        if behind { target.saturating_sub(in_flight) } else { 0 }
    }

    /// When to call again even if no write has ended.
    pub fn next_look(&self) -> Time {
        self.look
    }
}

/// Writes that a trickle keeps in flight at a lag beyond the depth.
fn outstanding(lag: u64, depth: u64, most: u32) -> u32 {
    // The way from 1.25 to 2 depths, and how much of it is used, both times four to stay in
    // integers.
    let (lag, depth) = (u128::from(lag), u128::from(depth));
    rise((4 * lag).saturating_sub(5 * depth), 3 * depth, most)
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_preferred_checkpoint_is_a_depth_behind() {
        let shape = LogShape::new(512, 1 << 20);
        let newest = LogPosition { generation: 40, segment: 100, byte: 7 };
        let position = preferred(newest, DEPTH, shape);
        assert_eq!(shape.distance(position, newest), 20 * MIB);
        assert_eq!(position.generation, 20);
        let early = LogPosition { generation: 2, ..newest };
        assert_eq!(preferred(early, DEPTH, shape), LogPosition::start_of(1));
        assert_eq!(preferred(LogPosition::default(), DEPTH, shape), LogPosition::default());
    }

    #[test]
    fn bursts_follow_each_other_until_the_depth_is_reached() {
        let at = |millis: u64| Time::ZERO + Span::millis(millis);
        let mut checkpoint = Checkpoint::new(Pacing::Burst { pages: 30 }, at(0));
        let mut budget =
            |millis, lag, in_flight| checkpoint.write_budget(at(millis), lag, 100, in_flight);
        assert_eq!(budget(0, 150, 0), 30);
        assert_eq!(budget(1, 140, 29), 0);
        assert_eq!(budget(20, 120, 0), 30);
        assert_eq!(budget(40, 100, 0), 0, "depth reached, the pass is over");
        assert_eq!(budget(900, 130, 0), 0, "not before a second has passed");
        assert_eq!(budget(1_041, 130, 0), 30);
        assert_eq!(checkpoint.next_look(), at(1_051));
    }

    #[test]
    fn an_idle_pass_comes_every_one_to_two_seconds() {
        let mut now = Time::ZERO;
        let mut checkpoint = Checkpoint::new(Pacing::BURST, now);
        assert_eq!(checkpoint.write_budget(now, 0, 100, 0), 0);
        for _ in 0..5 {
            let look = checkpoint.next_look();
            assert_eq!(look - now, PASS_PERIOD + PASS_SLACK);
            now = look;
            assert_eq!(checkpoint.write_budget(now, 90, 100, 0), 0);
        }
    }

    /// Compares random log and write traffic with the rules of a burst, written out literally.
    #[test]
    fn bursts_never_overlap_and_passes_keep_their_distance() {
        for seed in 0..20 {
            let mut random = Streams::new(seed).named("burst");
            let (pages, depth) = (8, 1_000);
            let mut now = Time::ZERO;
            let mut checkpoint = Checkpoint::new(Pacing::Burst { pages }, now);
            let (mut lag, mut in_flight) = (0_u64, 0_u32);
            let (mut in_pass, mut looked) = (false, None::<Time>);
            let mut passes = 0;
            for _ in 0..3_000 {
                now += Span::millis(random.below(60));
                lag += random.below(40);
                let ended = random.below(u64::from(in_flight) + 1);
                in_flight -= u32::try_from(ended).unwrap();
                lag = lag.saturating_sub(20 * ended);
                let mut expected = 0;
                if in_pass || looked.is_none_or(|looked| now - looked >= PASS_PERIOD) {
                    looked = Some(now);
                    passes += u32::from(!in_pass && lag > depth);
                    in_pass = lag > depth;
                    expected = if in_pass && in_flight == 0 { pages } else { 0 };
                }
                let budget = checkpoint.write_budget(now, lag, depth, in_flight);
                assert_eq!(budget, expected);
                in_flight += budget;
                assert!(checkpoint.next_look() > now);
                assert!(checkpoint.next_look() - now <= PASS_PERIOD + PASS_SLACK);
            }
            assert!(passes > 3, "{passes} passes");
        }
    }

    #[test]
    fn a_trickle_rises_only_beyond_five_quarters() {
        let mut checkpoint = Checkpoint::new(Pacing::TRICKLE, Time::ZERO);
        let mut budget =
            |lag, in_flight| checkpoint.write_budget(Time::ZERO, lag, 1_000, in_flight);
        assert_eq!(budget(1_000, 0), 0);
        assert_eq!(budget(1_001, 0), 1);
        assert_eq!(budget(1_250, 0), 1);
        assert_eq!(budget(1_250, 1), 0);
        // 1/8, 1/4 and 1/2 of the way from 1,250 to 2,000, rounded up to whole bytes.
        assert_eq!(budget(1_344, 0), 4);
        assert_eq!(budget(1_438, 0), 16);
        assert_eq!(budget(1_625, 0), 128);
        assert_eq!(budget(2_000, 0), 512);
        assert_eq!(budget(u64::MAX, 12), 500);
    }

    #[test]
    fn a_trickle_never_falls_as_the_lag_grows() {
        let mut random = Streams::new(2).named("trickle");
        for _ in 0..300 {
            let depth = 1 + random.below(1 << 30);
            let most = 1 + u32::try_from(random.below(1_024)).unwrap();
            let mut last = 1;
            for step in 0..100 {
                let lag = depth + 1 + (depth * step).div_euclid(80);
                let now = outstanding(lag, depth, most);
                assert!((last..=most).contains(&now), "{now} after {last}");
                last = now;
            }
            assert_eq!(last, most);
        }
    }
}
