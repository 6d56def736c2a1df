//! Which doubles a fault explains.
//!
//! A server that loses its connection after handing a message on cannot know whether it arrived, and
//! must send it again (RFC 1047; RFC 5321, 6.1). So a second copy is right when a fault lies between
//! the two arrivals, and each fault explains no more copies than deliveries can have been under way.
//! Copies and faults are matched so that as many copies as possible are explained: an honest history
//! must not fail because one fault was used up for a copy that another one explains as well.

use brunt_units::{Span, Time};

use crate::ledger::Fault;

/// A copy beyond the first, with the arrivals of its neighbour and itself in Unix seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extra {
    /// Index of its delivery.
    pub(super) delivery: usize,
    pub(super) arrivals: (u64, u64),
}

/// Whether `fault` may lie between two arrivals. Servers write whole seconds, by a clock that
/// differs from ours by up to `skew`.
fn lies_between(fault: &Fault, (first, second): (u64, u64), began: u64, skew: Span) -> bool {
    let at = |seconds: u64| Time::ZERO + Span::seconds(1) * seconds.saturating_sub(began);
    let slack = Span::seconds(1) + skew;
    fault.from <= at(second) + slack && fault.until + skew >= at(first)
}

/// For each of `extras` whether a fault explains it.
pub(super) fn explained(extras: &[Extra], faults: &[Fault], began: u64, skew: Span) -> Vec<bool> {
    let mut matching = Matching {
        fits: |extra: usize, fault: usize| {
            lies_between(&faults[fault], extras[extra].arrivals, began, skew)
        },
        used: faults.iter().map(|fault| (fault.in_flight as usize, Vec::new())).collect(),
        is_exhausted: vec![false; faults.len()],
    };
    (0..extras.len()).for_each(|extra| {
        matching.place(extra);
    });
    let mut explained = vec![false; extras.len()];
    let placed = matching.used.iter().flat_map(|(_, extras)| extras);
    placed.for_each(|extra| explained[*extra] = true);
    explained
}

/// Copies that are assigned to faults with room for a number of them (augmenting paths).
struct Matching<F> {
    fits: F,
    used: Vec<(usize, Vec<usize>)>,
    /// Faults from which no path leads to room. It stays so: paths only use room up.
    is_exhausted: Vec<bool>,
}

impl<F: Fn(usize, usize) -> bool> Matching<F> {
    /// Finds a fault for `extra`, moving others if that helps: breadth first, so that deep chains
    /// need no stack.
    fn place(&mut self, extra: usize) -> bool {
        // For each fault that was reached: the copy that would move there.
        let mut reached: Vec<Option<usize>> = vec![None; self.used.len()];
        // Copies that would move, with the fault that they would leave.
        let mut waiting = vec![(extra, None)];
        let mut visited = Vec::new();
        let mut next = 0;
        while let Some((moving, _)) = waiting.get(next).copied() {
            for fault in 0..self.used.len() {
                let is_new = reached[fault].is_none() && !self.is_exhausted[fault];
                if !is_new || !(self.fits)(moving, fault) {
                    continue;
                }
                reached[fault] = Some(next);
                if self.used[fault].1.len() < self.used[fault].0 {
                    self.shift(fault, &reached, &waiting);
                    return true;
                }
                visited.push(fault);
                waiting.extend(self.used[fault].1.iter().map(|other| (*other, Some(fault))));
            }
            next += 1;
        }
        visited.into_iter().for_each(|fault| self.is_exhausted[fault] = true);
        false
    }

    /// Moves each copy of a path, from its end with room to the new copy.
    fn shift(
        &mut self,
        mut fault: usize,
        reached: &[Option<usize>],
        waiting: &[(usize, Option<usize>)],
    ) {
        while let Some((moving, left)) = reached[fault].map(|index| waiting[index]) {
            self.used[fault].1.push(moving);
            let Some(left) = left else { break };
            self.used[left].1.retain(|other| *other != moving);
            fault = left;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::ledger::FaultKind;

    /// As many as can be explained, by trying everything.
    fn most(fits: &[Vec<bool>], room: &mut [usize]) -> usize {
        let Some((first, rest)) = fits.split_first() else { return 0 };
        let mut best = most(rest, room);
        for fault in 0..room.len() {
            if first[fault] && room[fault] > 0 {
                room[fault] -= 1;
                best = best.max(1 + most(rest, room));
                room[fault] += 1;
            }
        }
        best
    }

    proptest! {
        #[test]
        fn as_many_as_possible_are_explained(
            arrivals in vec((0_u64..30, 0_u64..10), 0..7),
            faults in vec((0_u64..40, 0_u64..8, 0_u32..3), 0..4),
        ) {
            let extras = arrivals.iter().enumerate().map(|(delivery, (first, more))| {
                Extra { delivery, arrivals: (1000 + first, 1000 + first + more) }
            });
            let extras: Vec<_> = extras.collect();
            let at = |seconds| Time::ZERO + Span::seconds(seconds);
            let faults = faults.iter().map(|(from, length, in_flight)| Fault {
                kind: FaultKind::Kill,
                from: at(*from),
                until: at(from + length),
                in_flight: *in_flight,
            });
            let faults: Vec<_> = faults.collect();
            let found = explained(&extras, &faults, 1000, Span::ZERO);
            let fits: Vec<Vec<bool>> = extras.iter().map(|extra| {
                let fits = |fault| lies_between(fault, extra.arrivals, 1000, Span::ZERO);
                faults.iter().map(fits).collect()
            }).collect();
            let mut room: Vec<_> = faults.iter().map(|fault| fault.in_flight as usize).collect();
            let expected = most(&fits, &mut room);
            prop_assert_eq!(found.iter().filter(|is| **is).count(), expected);
        }
    }
}
