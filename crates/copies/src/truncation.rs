//! Up to which generation an active may remove its logs.
//!
//! ```text
//!   logs   1  2  3  4  5  6  7  8  9        now: 9
//!          |        |     |     '-- checkpoint
//!          |        |     '-------- a copy has replayed this one
//!          |        '-------------- a lagged copy holds this one       --> logs before 4 may go
//!          '----------------------- a dead copy has this one: left out after the limit, with an alarm
//! ```
//!
//! A log may go when recovery no longer needs it, when every copy that replays at once has replayed
//! it, and when every lagged copy holds it: that one keeps its own logs for as long as it waits.
//! The newest log that a copy is known to have stays, because the two sides compare it when they
//! meet again.
//!
//! A copy that is not heard of would keep all logs until their volume is full. So it is left out
//! after a time, or when it is too many logs behind. When logs that it needs are gone, it must be
//! reseeded.
//!
//! Source: Microsoft, *Managing mailbox database copies*, log truncation: a log is below the
//! checkpoint, other non-lagged copies agree to its removal, and all lagged copies have inspected
//! it. The limits are ours; Exchange has none.

use brunt_units::{Span, Time};

/// When a copy is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest time without a word of it.
    pub silence: Span,
    /// Most logs that are kept for it beyond the checkpoint's.
    pub logs: u32,
}

impl Default for Limits {
    /// A day, and 100,000 logs.
    fn default() -> Self {
        Self { silence: Span::seconds(24 * 3600), logs: 100_000 }
    }
}

/// What an active knows of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The newest generation that it holds; 0 for none.
    pub stored: u32,
    /// The newest generation in its databases.
    pub replayed: u32,
    /// Whether it replays late on purpose.
    pub is_lagged: bool,
    /// When it was heard of last.
    pub heard: Time,
}

impl Standing {
    /// The oldest generation that must stay for it; 0 for all.
    pub fn needs(&self) -> u32 {
        match self.is_lagged {
            true => self.stored,
            false => self.stored.min(self.replayed),
        }
    }
}

/// Why a copy is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// Nothing was heard of it for this long.
    Silent(Span),
    /// It needs logs that are this many behind the newest closed one.
    Behind(u32),
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Silent(span) => write!(f, "not heard of for {span}"),
            Self::Behind(logs) => write!(f, "{logs} logs behind"),
        }
    }
}

/// What may be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Generations before this one may go.
    pub keep_from: u32,
    /// Copies that logs are no longer kept for, by their place in the list: each is an alarm.
    pub left_out: Vec<(usize, LeftOut)>,
}

/// Decides at `now`, with the checkpoint in generation `checkpoint` and `closed` as the newest
/// closed generation.
pub fn decide(
    now: Time,
    checkpoint: u32,
    closed: u32,
    copies: &[Standing],
    limits: Limits,
) -> Decision {
    let mut decision = Decision { keep_from: checkpoint, left_out: Vec::new() };
    for (number, copy) in copies.iter().enumerate() {
        let silence = now - copy.heard;
        let behind = closed.saturating_sub(copy.needs());
        if silence > limits.silence {
            decision.left_out.push((number, LeftOut::Silent(silence)));
        } else if behind > limits.logs {
            decision.left_out.push((number, LeftOut::Behind(behind)));
        } else {
            decision.keep_from = decision.keep_from.min(copy.needs());
        }
    }
    decision
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits { silence: Span::seconds(10), logs: 20 };

    fn copy(stored: u32, replayed: u32, is_lagged: bool, heard: u64) -> Standing {
        Standing { stored, replayed, is_lagged, heard: Time::ZERO + Span::seconds(heard) }
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::seconds(seconds)
    }

    #[test]
    fn logs_stay_for_the_checkpoint_and_for_every_copy() {
        let keep = |checkpoint, copies: &[Standing]| {
            decide(at(5), checkpoint, 9, copies, LIMITS).keep_from
        };
        assert_eq!(keep(7, &[]), 7);
        assert_eq!(keep(7, &[copy(9, 9, false, 5)]), 7);
        assert_eq!(keep(7, &[copy(9, 5, false, 5)]), 5, "not replayed");
        assert_eq!(keep(7, &[copy(9, 5, true, 5)]), 7, "lagged: it keeps its own");
        assert_eq!(keep(7, &[copy(4, 2, true, 5), copy(9, 6, false, 5)]), 4);
        assert_eq!(keep(7, &[copy(0, 0, false, 0)]), 0, "never heard of yet");
    }

    #[test]
    fn a_dead_copy_is_left_out_and_named() {
        let dead = [copy(2, 2, false, 0), copy(9, 8, false, 11)];
        let decided = |now, closed| decide(at(now), 9, closed, &dead, LIMITS);
        assert_eq!(decided(10, 9).keep_from, 2);
        assert_eq!(decided(10, 9).left_out, []);
        let left_out = decided(11, 9);
        assert_eq!(left_out.keep_from, 8);
        let silent = LeftOut::Silent(Span::seconds(11));
        assert_eq!(left_out.left_out, [(0, silent)]);
        assert_eq!(decided(10, 22).left_out, []);
        assert_eq!(decided(10, 23).left_out, [(0, LeftOut::Behind(21))]);
        assert_eq!(LeftOut::Behind(21).to_string(), "21 logs behind");
    }

    proptest! {
        /// A log that somebody needs stays, unless that copy is named.
        #[test]
        fn no_log_goes_that_a_copy_in_the_count_lacks(
            checkpoint in 0_u32..50,
            closed in 0_u32..60,
            now in 0_u64..40,
            copies in proptest::collection::vec((0_u32..60, 0_u32..60, any::<bool>(), 0_u64..40), 0..5),
        ) {
            let copies: Vec<Standing> = copies
                .into_iter()
                .map(|(stored, replayed, lagged, heard)| copy(stored, replayed, lagged, heard))
                .collect();
            let decided = decide(at(now), checkpoint, closed, &copies, LIMITS);
            prop_assert!(decided.keep_from <= checkpoint);
            for (number, copy) in copies.iter().enumerate() {
                let is_out = decided.left_out.iter().any(|(out, _)| *out == number);
                let is_dead = at(now) - copy.heard > LIMITS.silence
                    || closed.saturating_sub(copy.needs()) > LIMITS.logs;
                prop_assert_eq!(is_out, is_dead);
                prop_assert!(is_out || decided.keep_from <= copy.needs());
            }
        }
    }
}
