//! The best copy to activate.
//!
//! In this order: it is healthy; it lacks the fewest closed logs (what it lacks is lost); it has
//! the fewest logs left to replay (users wait for them); its preference number is lowest.
//!
//! Source: Microsoft, *Active Manager*, best copy selection: copies are sorted by copy queue
//! length, then by activation preference, and filtered by health and by the length of both queues.
//! Its thresholds (ten logs, fifty logs) become an order here: with two copies at hand, the better
//! one is better below a threshold, too.

use std::fmt;

/// A copy that could be activated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Whether it follows its log without an error.
    pub is_healthy: bool,
    /// Closed logs that it has not stored.
    pub copy_queue: u32,
    /// Stored logs that it has not replayed.
    pub replay_queue: u32,
    /// The administrator's preference; 1 comes first.
    pub preference: u32,
}

/// Why a copy is better than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is no other healthy copy.
    Only,
    /// It lacks fewer logs: its copy queue, and that of the next best.
    CopyQueue(u32, u32),
    /// It has fewer logs to replay.
    ReplayQueue(u32, u32),
    /// It is equal in these, and preferred.
    Preference(u32, u32),
    /// It is equal in everything, and was named first.
    First,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Only => f.write_str("the only healthy copy"),
            Self::CopyQueue(own, next) => {
                write!(f, "shortest copy queue: {own}, the next best copy {next}")
            }
            Self::ReplayQueue(own, next) => {
                write!(f, "shortest replay queue: {own}, the next best copy {next}")
            }
            Self::Preference(own, next) => {
                write!(f, "equal queues; preference {own}, the next best copy {next}")
            }
            Self::First => f.write_str("equal to the next best copy, and named first"),
        }
    }
}

/// The place of the best copy in `copies`, and why; `None` when none is healthy.
pub fn best(copies: &[Candidate]) -> Option<(usize, Reason)> {
    let rank = |copy: &Candidate| (copy.copy_queue, copy.replay_queue, copy.preference);
    let healthy = copies.iter().enumerate().filter(|(_, copy)| copy.is_healthy);
    let mut healthy: Vec<(usize, &Candidate)> = healthy.collect();
    healthy.sort_by_key(|(number, copy)| (rank(copy), *number));
    let (number, first) = *healthy.first()?;
    let Some((_, next)) = healthy.get(1) else {
        return Some((number, Reason::Only));
    };
    let reason = if first.copy_queue != next.copy_queue {
        Reason::CopyQueue(first.copy_queue, next.copy_queue)
    } else if first.replay_queue != next.replay_queue {
        Reason::ReplayQueue(first.replay_queue, next.replay_queue)
    } else if first.preference != next.preference {
        Reason::Preference(first.preference, next.preference)
    } else {
        Reason::First
    };
    Some((number, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(is_healthy: bool, [copy_queue, replay_queue, preference]: [u32; 3]) -> Candidate {
        Candidate { is_healthy, copy_queue, replay_queue, preference }
    }

    #[test]
    fn each_property_decides_where_those_before_it_are_equal() {
        let good = |figures| copy(true, figures);
        let all = [
            (vec![], None),
            (vec![copy(false, [0, 0, 1])], None),
            (vec![copy(false, [0, 0, 1]), good([9, 9, 9])], Some((1, "the only healthy copy"))),
            (
                vec![good([3, 0, 1]), good([2, 99, 9])],
                Some((1, "shortest copy queue: 2, the next best copy 3")),
            ),
            (
                vec![good([2, 7, 1]), good([2, 6, 9]), good([4, 0, 0])],
                Some((1, "shortest replay queue: 6, the next best copy 7")),
            ),
            (
                vec![good([2, 6, 2]), good([2, 6, 1])],
                Some((1, "equal queues; preference 1, the next best copy 2")),
            ),
            (
                vec![good([2, 6, 1]), good([2, 6, 1])],
                Some((0, "equal to the next best copy, and named first")),
            ),
        ];
        for (copies, expected) in all {
            let found = best(&copies).map(|(number, reason)| (number, reason.to_string()));
            let expected = expected.map(|(number, reason)| (number, reason.to_owned()));
            assert_eq!(found, expected);
        }
    }
}
