//! Spreading pages over members: by load, and by space.
//!
//! * **By load.** Members are compared every few minutes. When one's mean latency exceeds the
//!   lowest by a set gap, its hottest pages are exchanged for the fastest member's coldest. Nothing
//!   happens when all are fast or all are slow.
//! * **By space.** When a member joins, pages move to it from the fullest members until all are
//!   equally full.
//! * **After removals.** When a LUN is removed, pages that were redirected because of it get copies
//!   of the grains they lack, and the pages behind them become free.
//!
//! Pages are copied one at a time, each unit followed by a pause as long as the copy took, so host
//! requests come first.
//!
//! Source of balancing by load: Dell EqualLogic, "PS Series Storage Architecture: load balancers",
//! TR1070, pp. 12-14: latencies compared every few minutes, at least 20 ms above the lowest,
//! high-I/O data exchanged for as much low-I/O data.

use std::cmp::Reverse;
use std::collections::VecDeque;

use brunt_units::{Span, Time};
use brunt_world::IoError;

use super::design::BalanceDesign;
use super::map::{Movable, NodeId};
use super::parts::SubKind;
use super::traffic::PageAt;
use super::{Event, PagedArray};
use crate::incident::NoteKind;
use crate::slab::{Key, Slab};

/// Minimum number of requests to judge a member by.
const JUDGED_FROM: u64 = 20;

/// A member's requests and their latency since the last comparison.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    count: u64,
    time: Span,
}

impl Measured {
    fn mean(self) -> Option<Span> {
        let enough = self.count >= JUDGED_FROM;
        enough.then(|| Span(self.time.0.div_euclid(self.count)))
    }
}

/// A page being moved.
struct Move {
    at: PageAt,
    node: NodeId,
    /// The first grain not yet examined.
    next: usize,
    since: Time,
    /// Whether it moves to another member; otherwise it gets the grains it lacks.
    is_away: bool,
}

/// The measurements, and the moves they lead to.
pub(super) struct Balance {
    design: Option<BalanceDesign>,
    measured: Vec<Measured>,
    moves: Slab<Move>,
    /// Pages to be moved or made whole.
    planned: VecDeque<Plan>,
}

/// What to do with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// Move it to this member.
    Move(PageAt, usize),
    /// Copy the grains it lacks from the pages behind it, which serve no other page.
    MakeWhole(PageAt),
}

impl Balance {
    pub(super) fn new(design: Option<BalanceDesign>, members: usize) -> Self {
        Self {
            design,
            measured: vec![Measured::default(); members],
            moves: Slab::default(),
            planned: VecDeque::new(),
        }
    }

    /// Records a request served by a member.
    pub(super) fn measured(&mut self, member: usize, took: Span, kind: SubKind) {
        if kind != SubKind::Metadata {
            self.measured[member].count += 1;
            self.measured[member].time += took;
        }
    }

    /// The slowest and the fastest member, if their latencies differ by at least `gap`.
    fn apart(&self, gap: Span) -> Option<(usize, usize)> {
        let means = self.measured.iter().enumerate();
        let means = means.filter_map(|(member, measured)| Some((measured.mean()?, member)));
        let (low, fastest) = means.clone().min()?;
        let (high, slowest) = means.max()?;
        (high >= low + gap && fastest != slowest).then_some((slowest, fastest))
    }
}

impl PagedArray {
    pub(super) fn compare_later(&mut self) {
        if let Some(design) = self.balance.design {
            self.schedule.set(self.now + design.every, Event::Compare);
        }
    }

    /// Compares members and plans moves if necessary.
    pub(super) fn compare(&mut self) {
        let Some(design) = self.balance.design else {
            return;
        };
        let is_quiet = self.balance.planned.is_empty() && self.balance.moves.len() == 0;
        if let Some((slowest, fastest)) = self.balance.apart(design.gap)
            && is_quiet
        {
            self.exchange(slowest, fastest, design.pages as usize);
        }
        self.balance.measured.fill(Measured::default());
        self.map.cool();
        self.compare_later();
    }

    /// Plans to exchange the hottest pages of one member for the coldest of another.
    fn exchange(&mut self, slowest: usize, fastest: usize, pages: usize) {
        let mut hot = self.map.movable_on(slowest);
        let mut cold = self.map.movable_on(fastest);
        hot.sort_by_key(|page| (Reverse(page.heat), page.lun, page.page));
        cold.sort_unstable();
        let pairs = hot.iter().zip(&cold).take(pages);
        // An exchange of similarly hot pages would change nothing.
        let worth: Vec<_> = pairs.filter(|(hot, cold)| hot.heat > cold.heat * 2).collect();
        for (hot, cold) in &worth {
            self.balance.planned.push_back(Plan::Move((hot.lun, hot.page), fastest));
            self.balance.planned.push_back(Plan::Move((cold.lun, cold.page), slowest));
        }
        let pages = u32::try_from(worth.len()).expect("few pages");
        if pages > 0 {
            self.note(NoteKind::PagesExchanged { from: slowest, to: fastest, pages });
        }
        self.move_next();
    }

    /// Plans moves until all active members are equally full.
    pub(super) fn even_out(&mut self) {
        let members: Vec<usize> =
            (0..self.members.len()).filter(|member| self.map.is_open(*member)).collect();
        let mut pages: Vec<(usize, Vec<Movable>)> =
            members.iter().map(|member| (*member, self.map.movable_on(*member))).collect();
        let all: usize = pages.iter().map(|(_, movable)| movable.len()).sum();
        let each = all.div_ceil(members.len().max(1));
        let mut wanting: Vec<(usize, usize)> = pages
            .iter()
            .map(|(member, movable)| (*member, each.saturating_sub(movable.len())))
            .collect();
        for (_, movable) in &mut pages {
            while movable.len() > each {
                let Some((to, left)) = wanting.iter_mut().find(|(_, left)| *left > 0) else {
                    break;
                };
                let Movable { lun, page, .. } = movable.pop().expect("there are more than enough");
                self.balance.planned.push_back(Plan::Move((lun, page), *to));
                *left -= 1;
            }
        }
        self.move_next();
    }

    /// Plans to make whole the pages that are the only users of the pages behind them.
    pub(super) fn merge(&mut self) {
        for at in self.map.alone_behind() {
            self.balance.planned.push_back(Plan::MakeWhole(at));
        }
        self.move_next();
    }

    /// Pages to be moved or made whole, including the current one.
    pub(super) fn pages_planned(&self) -> u64 {
        (self.balance.planned.len() + self.balance.moves.len()) as u64
    }

    /// Begins the next possible move, if none is under way.
    fn move_next(&mut self) {
        while self.balance.moves.len() == 0 {
            let Some(plan) = self.balance.planned.pop_front() else {
                return;
            };
            let (at, node) = match plan {
                Plan::Move(at, to) => (at, self.map.begin_move(at.0, at.1, to)),
                Plan::MakeWhole(at) => (at, self.map.begin_merge(at.0, at.1)),
            };
            let Some(node) = node else {
                continue;
            };
            // Pinned until it is filled, even if its LUN is removed.
            self.map.pin(node);
            let moving = self.balance.moves.insert(Move {
                at,
                node,
                next: 0,
                since: self.now,
                is_away: matches!(plan, Plan::Move(..)),
            });
            self.copy_unit(moving);
        }
    }

    /// Copies the next unit of a page, or ends its move.
    pub(super) fn copy_unit(&mut self, key: Key) {
        let unit = self.balance.design.unwrap_or_default().unit;
        let grain = self.map.extent(&(0..1)).bytes();
        let most = usize::try_from(unit.get().div_euclid(grain)).unwrap_or(usize::MAX);
        let moving = &mut self.balance.moves[key];
        moving.since = self.now;
        let (at, node) = (moving.at, moving.node);
        match self.map.lacking(node, moving.next, most.max(1)) {
            Some(grains) => {
                moving.next = grains.end;
                self.start_copy(key, at, node, &grains);
            }
            None => {
                let count = match moving.is_away {
                    true => &mut self.stats.moved,
                    false => &mut self.stats.made_whole,
                };
                *count += 1;
                self.end_move(key);
            }
        }
    }

    /// Continues after a unit was copied, or failed to be.
    pub(super) fn copied(&mut self, key: Key, result: Result<(), IoError>) {
        match result {
            Ok(()) => {
                let took = self.now - self.balance.moves[key].since;
                self.schedule.set(self.now + took, Event::Copy(key));
            }
            // What was copied stays; the rest is read from its old place.
            Err(_) => self.end_move(key),
        }
    }

    fn end_move(&mut self, key: Key) {
        let moving = self.balance.moves.remove(key).expect("it is under way");
        self.map.unpin(moving.node);
        self.look_for_room();
        self.move_next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_members_far_apart_are_told() {
        let mut balance = Balance::new(None, 3);
        let serve = |balance: &mut Balance, member, ms| {
            for _ in 0..JUDGED_FROM {
                balance.measured(member, Span::millis(ms), SubKind::Data(0));
            }
        };
        serve(&mut balance, 0, 15);
        assert_eq!(balance.apart(Span::millis(20)), None, "only one was asked");
        serve(&mut balance, 2, 30);
        assert_eq!(balance.apart(Span::millis(20)), None);
        serve(&mut balance, 1, 40);
        assert_eq!(balance.apart(Span::millis(20)), Some((1, 0)));
    }
}
