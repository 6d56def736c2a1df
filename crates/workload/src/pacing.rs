//! The operation rate that yields a given I/O rate.
//!
//! A target is given in database reads and writes, but sessions perform operations. How many I/Os
//! an operation costs depends on the mix, the cache and how pages are coalesced, and drifts as
//! databases grow. So it is measured: every window of the run yields a number of I/Os and of
//! operations, and the operation rate follows.
//!
//! ```text
//!    rate = target / (I/Os per operation)        both summed over windows, each older one counting a little less
//! ```
//!
//! Writes come when the checkpoint requires them, up to minutes after their operations. A pacer
//! that follows only the latest windows sees few I/Os when operations increase, asks for even more,
//! and gets all their writes later: the pace oscillates forever. So the memory grows to a third of
//! the windows seen: a cold start is soon forgotten, and the memory becomes longer than the delay.
//!
//! A cold engine reads and hardly writes; only when pages must be evicted does an operation reach
//! its steady cost. So a pace is *settled* when five windows in a row have each cost what the
//! earlier ones predicted. Each is checked by itself, because the sum hardly moves while every
//! window costs slightly more than the last.
//!
//! Only the *ratio* is followed. Storage that is too slow completes fewer operations and fewer I/Os
//! in proportion, so its slowness does not change the requested rate: the schedule falls behind,
//! and that is visible.

/// The ratio assumed before measurement: about the cost of the mixes of all versions.
const IO_PER_OPERATION: f64 = 1.3;
/// Share of the past windows that is remembered.
const REMEMBERED: f64 = 1.0 / 3.0;
/// Bounds of the memory, in windows.
const REMEMBERED_WINDOWS: (f64, f64) = (2.5, 240.0);
/// A window with fewer operations is ignored.
const OPERATIONS_MIN: u64 = 20;
/// A rate is at most this many times the previous one, so that one odd window does no harm.
const STEP_MAX: f64 = 2.0;
/// In a settled pace, a window differs from the earlier ones by less than this, or by less than
/// chance.
const SETTLED: f64 = 0.05;
/// Chance, in standard deviations of a number of I/Os.
const CHANCE: f64 = 2.0;
/// Consecutive windows that settle a pace.
const SETTLED_WINDOWS: u32 = 5;
/// Upper limit of the rate, even when hardly any operation needs an I/O.
const RATE_MAX: f64 = 1_000_000.0;

/// Follows the ratio of I/Os to operations; see the [module](self).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pacer {
    target: f64,
    rate: f64,
    /// Windows seen.
    windows: u32,
    ios: f64,
    operations: f64,
    /// Consecutive windows with the predicted cost.
    quiet: u32,
}

impl Pacer {
    /// A pacer for this many I/Os per second.
    ///
    /// # Panics
    /// When the target is not above zero.
    pub fn new(target_io_per_s: f64) -> Self {
        assert!(target_io_per_s > 0.0, "a target of {target_io_per_s} /s");
        Self {
            target: target_io_per_s,
            rate: (target_io_per_s / IO_PER_OPERATION).min(RATE_MAX),
            windows: 0,
            ios: 0.0,
            operations: 0.0,
            quiet: 0,
        }
    }

    /// Whether the pace is settled.
    pub fn is_settled(&self) -> bool {
        self.quiet >= SETTLED_WINDOWS
    }

    /// Forgets what operations have cost so far, and keeps the rate: from now on they cost
    /// something else.
    pub fn forget(&mut self) {
        *self = Self { rate: self.rate, ..Self::new(self.target) };
    }

    /// Operations per second to request.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The target in I/Os per second.
    pub fn target(&self) -> f64 {
        self.target
    }

    /// Records a window's I/Os and operations; returns the rate to request from now on.
    pub fn observe(&mut self, ios: u64, operations: u64) -> f64 {
        if operations >= OPERATIONS_MIN {
            let fade = self.fade();
            self.windows += 1;
            self.ios = self.ios * fade + ios as f64;
            self.operations = self.operations * fade + operations as f64;
            let ratio = self.ios / self.operations;
            let (least, most) = (self.rate / STEP_MAX, (self.rate * STEP_MAX).min(RATE_MAX));
            // Without any I/O the quotient is infinite; the step limit bounds it.
            let rate = (self.target / ratio).clamp(least.min(most), most);
            let chance = CHANCE / (ios.max(1) as f64).sqrt();
            let asked = self.target / self.rate;
            let differs = (ios as f64 / operations as f64 / asked - 1.0).abs();
            self.quiet = match differs < SETTLED.max(chance) {
                true => self.quiet + 1,
                false => 0,
            };
            self.rate = rate;
        }
        self.rate
    }

    /// The weight of the earlier windows beside the next one.
    fn fade(&self) -> f64 {
        let (least, most) = REMEMBERED_WINDOWS;
        let remembered = (f64::from(self.windows) * REMEMBERED).clamp(least, most);
        1.0 - remembered.recip()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_follows_the_cost_of_operations() {
        let mut pacer = Pacer::new(1_300.0);
        assert_eq!(pacer.rate(), 1_000.0);
        for _ in 0..20 {
            let operations = 5_000;
            pacer.observe(operations * 2, operations);
        }
        assert!((pacer.rate() - 650.0).abs() < 0.5, "{}", pacer.rate());
    }

    #[test]
    fn a_pace_is_settled_when_windows_cost_what_they_are_expected_to() {
        let mut pacer = Pacer::new(1_300.0);
        for (ios, settled) in [(6_500, false), (3_000, false), (9_000, false)] {
            pacer.observe(ios, 5_000);
            assert_eq!(pacer.is_settled(), settled);
        }
        for _ in 0..12 {
            pacer.observe(9_000, 5_000);
        }
        assert!(pacer.is_settled());
        pacer.observe(18_000, 5_000);
        assert!(!pacer.is_settled());
    }

    #[test]
    fn a_slow_drift_is_not_settled() {
        let mut pacer = Pacer::new(1_300.0);
        let mut ios = 5_000_u64;
        for _ in 0..40 {
            // Each window costs four percent more than the last.
            ios += ios.div_euclid(25);
            pacer.observe(ios, 5_000);
            assert!(!pacer.is_settled());
        }
    }

    #[test]
    fn a_pace_that_is_found_anew_soon_follows_the_new_cost() {
        let mut pacer = Pacer::new(400.0);
        for _ in 0..120 {
            pacer.observe(300, 1_000);
        }
        assert!(pacer.is_settled());
        let rate = pacer.rate();
        pacer.forget();
        assert_eq!((pacer.is_settled(), pacer.rate()), (false, rate));
        for _ in 0..10 {
            pacer.observe(500, 1_000);
        }
        assert!(pacer.is_settled());
        assert!((pacer.rate() - 800.0).abs() < 1.0, "{}", pacer.rate());
    }

    /// As many writes as reads, each sixteen windows after its operation: those of a checkpoint 20
    /// MiB behind at 0.25 MiB/s.
    #[test]
    fn writes_that_come_late_do_not_make_it_swing() {
        let mut pacer = Pacer::new(400.0);
        let mut begun = vec![0; 16];
        let mut swing = 0.0_f64;
        for window in 0..240 {
            #[expect(clippy::cast_possible_truncation, reason = "some thousands")]
            let operations = (pacer.rate() * 5.0).round() as u64;
            let ios = (3 * (operations + begun[window])).div_euclid(10);
            begun.push(operations);
            pacer.observe(ios, operations);
            if window >= 120 {
                swing = swing.max((ios as f64 / 5.0 / 400.0 - 1.0).abs());
            }
        }
        assert!(swing < 0.02, "{swing}");
    }

    #[test]
    fn slow_storage_does_not_lower_what_is_asked_of_it() {
        let mut pacer = Pacer::new(1_300.0);
        for operations in [1_000_u64, 100, 50, 1_000] {
            pacer.observe((operations * 13).div_euclid(10), operations);
        }
        assert!((pacer.rate() - 1_000.0).abs() < 1.0, "{}", pacer.rate());
    }

    #[test]
    fn one_odd_window_moves_it_by_a_factor_of_two_at_most() {
        let mut pacer = Pacer::new(1_300.0);
        assert_eq!(pacer.observe(0, 1_000), 2_000.0);
        assert_eq!(pacer.observe(1_000_000, 1_000), 1_000.0);
        assert_eq!(pacer.observe(0, OPERATIONS_MIN - 1), 1_000.0);
        let mut idle = Pacer::new(1e9);
        assert_eq!(idle.observe(0, 1_000), RATE_MAX);
    }
}
