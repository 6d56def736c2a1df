//! How many frames to free, and when: the thresholds of the pool of available frames.
//!
//! A reader that needs a frame takes a free one, and evicts only when there is none. The cache
//! evicts clean pages and writes dirty ones ahead of need, coldest first, between two thresholds:
//!
//! ```text
//!   free frames        0 ....... start ............ stop .................. all
//!   trickle            all of   |  the fewer are   |  nothing to do
//!                      the limit|  free, the more  |
//!                               |  writes at once  |
//!   burst, idle        begin!   |  nothing to do   |  nothing to do
//!   burst, running     all of the limit until stop |  done
//! ```
//!
//! Both thresholds are shares of the *whole* cache maximum, even when several databases share it.
//! Frames whose writes are in flight count as free; otherwise every pass would choose the same
//! frames again.
//!
//! A *trickle* keeps the pool near *stop* with as few concurrent writes as possible, so that reads
//! rarely meet them. The public source does this (there a pass begins up to 10 ms later, here when
//! a sixteenth of the way is used). A *burst* is what reports of earlier generations show.
//!
//! Source of the defaults and limits: microsoft/Extensible-Storage-Engine, dev/ese/src/ese/bf.cxx
//! (maintenance thresholds of the available pool) and sysparamtable.g.cxx: 1 % and 2 %; never above
//! 20 % and 25 %; at least 0.1 % and 0.2 % in caches of more than 10,000 frames; an inconsistent
//! pair is replaced by the defaults. The minimum of one and two frames, and keeping stop above
//! start, are ours: caches of 16 frames exist in tests only.

use super::checkpoint::BURST_PAGES;
use super::urgency::{WRITES_MAX, rise};

/// ESE's share of the cache below which freeing begins.
pub const START_PERCENT: u32 = 1;

/// ESE's share of the cache at which freeing ends.
pub const STOP_PERCENT: u32 = 2;

const START_PERCENT_MAX: u64 = 20;
const STOP_PERCENT_MAX: u64 = 25;

/// Above this many frames the minimums of 1/1000 and 2/1000 apply.
const FLOOR_FRAMES: u32 = 10_000;

/// How writes that free frames are paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freeing {
    /// From start to stop, without a pause.
    Burst {
        /// Writes in flight.
        most: u32,
    },
    /// Few writes in flight below stop, more towards start.
    Trickle {
        /// Maximum writes in flight.
        most: u32,
    },
}

impl Freeing {
    /// The older engines: as many writes at a time as a checkpoint burst.
    pub const BURST: Self = Self::Burst { most: BURST_PAGES };
    /// The public engine: up to half of 1,024 I/Os in flight.
    pub const TRICKLE: Self = Self::Trickle { most: WRITES_MAX };
}

/// What to do now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Frames to start freeing.
    pub frames: u32,
    /// Writes for this that may be in flight, including those that already are.
    pub writes: u32,
}

/// The thresholds of one cache, in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Available {
    /// Freeing starts when fewer than this many frames are free.
    pub start: u32,
    /// Freeing ends when this many are free; above `start`.
    pub stop: u32,
}

impl Available {
    /// Thresholds for a cache of at most `cache_frames`, given in percent of it.
    ///
    /// A pair that is not ascending is replaced by 1 % and 2 %, as ESE does.
    ///
    /// # Panics
    /// For a cache of fewer than three frames, because `stop` would cover all of them.
    pub fn new(cache_frames: u32, start_percent: u32, stop_percent: u32) -> Self {
        assert!(cache_frames >= 3, "a cache of {cache_frames} frames holds no pages");
        let (start, stop) = if start_percent < stop_percent {
            (u64::from(start_percent), u64::from(stop_percent))
        } else {
            (u64::from(START_PERCENT), u64::from(STOP_PERCENT))
        };
        let floor = if cache_frames > FLOOR_FRAMES { 1 } else { 0 };
        let start = share(cache_frames, start.min(START_PERCENT_MAX), floor).max(1);
        let stop = share(cache_frames, stop.min(STOP_PERCENT_MAX), 2 * floor).max(start + 1);
        Self { start, stop }
    }

    /// How many more frames to start freeing now.
    ///
    /// `free` frames can be taken at once; `coming_free` will be free when writes in flight end.
    /// `running` says whether freeing is in progress; it ends when this asks for no frames.
    pub fn demand(self, freeing: Freeing, free: u32, coming_free: u32, running: bool) -> Demand {
        let supply = free.saturating_add(coming_free);
        let (begin, writes) = match freeing {
            Freeing::Burst { most } => (self.start, most),
            Freeing::Trickle { most } => (self.trickle_begin(), self.writes(free, most)),
        };
        let threshold = if running { self.stop } else { begin };
        let frames = if supply < threshold { self.stop - supply } else { 0 };
        Demand { frames, writes }
    }

    /// Freeing can start only when fewer than this many frames are free.
    pub fn begin(self, freeing: Freeing) -> u32 {
        match freeing {
            Freeing::Burst { .. } => self.start,
            Freeing::Trickle { .. } => self.trickle_begin(),
        }
    }

    /// A sixteenth of the way from stop to start.
    fn trickle_begin(self) -> u32 {
        self.stop - (self.stop - self.start).div_euclid(16)
    }

    /// Trickle writes for `free` free frames: one just below stop, all of `most` at start.
    fn writes(self, free: u32, most: u32) -> u32 {
        let top = self.stop - 1;
        rise(top.saturating_sub(free).into(), (top - self.start).into(), most)
    }
}

/// `percent` of `frames`, at least `thousandths` of it, rounded down.
fn share(frames: u32, percent: u64, thousandths: u64) -> u32 {
    let tenths = (percent * 10).max(thousandths);
    let share = (u64::from(frames) * tenths).div_euclid(1_000);
    u32::try_from(share).expect("a share of a u32")
}

#[cfg(test)]
mod tests {
    use brunt_world::random::Streams;

    use super::*;

    #[test]
    fn defaults_are_one_and_two_percent() {
        // 2 GiB of 8 KiB pages: 20.5 and 41.0 MB, as the reports of 2008 print.
        let pool = Available::new(262_144, START_PERCENT, STOP_PERCENT);
        assert_eq!((pool.start, pool.stop), (2_621, 5_242));
    }

    #[test]
    fn limits_hold() {
        let pool = |frames, start, stop| {
            let Available { start, stop } = Available::new(frames, start, stop);
            (start, stop)
        };
        assert_eq!(pool(100_000, 50, 90), (20_000, 25_000));
        assert_eq!(pool(100_000, 5, 5), (1_000, 2_000));
        assert_eq!(pool(100_000, 0, 1), (100, 1_000));
        assert_eq!(pool(10_000, 0, 1), (1, 100));
        assert_eq!(pool(16, 1, 2), (1, 2));
        assert_eq!(pool(3, 90, 99), (1, 2));
    }

    const POOL: Available = Available { start: 10, stop: 20 };

    #[test]
    fn a_burst_runs_from_start_to_stop() {
        let frames = |free, coming, running| {
            let demand = POOL.demand(Freeing::BURST, free, coming, running);
            assert_eq!(demand.writes, BURST_PAGES);
            demand.frames
        };
        assert_eq!(frames(10, 0, false), 0);
        assert_eq!(frames(9, 0, false), 11);
        assert_eq!(frames(15, 0, true), 5);
        assert_eq!(frames(5, 15, true), 0);
        assert_eq!(frames(2, 9, false), 0);
    }

    #[test]
    fn a_trickle_writes_the_more_the_fewer_frames_are_free() {
        let pool = Available { start: 100, stop: 901 };
        let demand = |free, running| {
            let demand = pool.demand(Freeing::TRICKLE, free, 0, running);
            (demand.frames, demand.writes)
        };
        // A sixteenth of 801 is 50.
        assert_eq!(demand(851, false), (0, 2));
        assert_eq!(demand(850, false), (51, 2));
        assert_eq!(demand(851, true), (50, 2));
        assert_eq!(demand(800, true), (101, 4));
        assert_eq!(demand(700, true), (201, 16));
        assert_eq!(demand(500, true), (401, 128));
        assert_eq!(demand(100, true), (801, 512));
        assert_eq!(demand(0, true), (901, 512));
        assert_eq!(demand(901, true), (0, 1));
    }

    #[test]
    fn a_pool_of_one_step_trickles_at_once() {
        let pool = Available { start: 1, stop: 2 };
        let all = Demand { frames: 1, writes: 512 };
        assert_eq!(pool.demand(Freeing::TRICKLE, 1, 0, false), all);
    }

    #[test]
    fn demand_met_is_demand_ended() {
        let mut random = Streams::new(3).named("available");
        for _ in 0..5_000 {
            let mut draw = |bound: u64| u32::try_from(random.below(bound)).unwrap();
            let frames = 3 + draw(100_000);
            let pool = Available::new(frames, draw(30), draw(40));
            assert!(0 < pool.start && pool.start < pool.stop && pool.stop < frames);
            let (free, coming) = (draw(u64::from(frames)), draw(50));
            for freeing in [Freeing::BURST, Freeing::TRICKLE] {
                let demand = |free, running| pool.demand(freeing, free, coming, running).frames;
                let most = demand(free, true);
                assert_eq!(demand(free + most, true), 0);
                assert!(demand(free, false) <= most);
                assert!(demand(free, false) == 0 || free < pool.begin(freeing));
            }
        }
    }
}
