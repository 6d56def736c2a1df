//! The state of an array's groups, now and over time, and the repairs that have not ended.

use std::fmt;

use brunt_units::{Span, Time};

use crate::system::System;

/// The state of the worst of some groups, from good to bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Nothing is lost, and nothing is moving.
    #[default]
    Whole,
    /// Nothing is lost; a spare's content is copied back, or a pool is rebalanced.
    CopyingBack,
    /// A drive's content is lost and is being rebuilt.
    Rebuilding,
    /// A drive's content is lost, and there is no drive to rebuild it onto.
    Degraded,
    /// Data loss.
    Lost,
}

impl Standing {
    /// All states, from good to bad.
    pub const ALL: [Self; 5] =
        [Self::Whole, Self::CopyingBack, Self::Rebuilding, Self::Degraded, Self::Lost];

    /// Name in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::CopyingBack => "copying back",
            Self::Rebuilding => "rebuilding",
            Self::Degraded => "degraded",
            Self::Lost => "data lost",
        }
    }
}

/// The standing of a system over time.
#[derive(Clone, Debug, Default)]
pub struct Standings {
    notes_seen: usize,
    /// When it changed, and to what.
    changes: Vec<(Time, Standing)>,
}

impl Standings {
    /// From now on; the current standing is the first.
    pub fn begin(system: &dyn System) -> Self {
        Self { notes_seen: system.notes_count(), changes: vec![(system.now(), system.standing())] }
    }

    /// The new standing if it has changed since the last look. It can only change when something
    /// was noted.
    pub fn look(&mut self, system: &dyn System) -> Option<Standing> {
        let notes = system.notes_count();
        if notes == self.notes_seen {
            return None;
        }
        self.notes_seen = notes;
        let standing = system.standing();
        let is_new = self.changes.last().is_none_or(|(_, last)| *last != standing);
        is_new.then(|| {
            self.changes.push((system.now(), standing));
            standing
        })
    }

    /// Each standing with its begin and end, up to `until`.
    pub fn spans(&self, until: Time) -> impl Iterator<Item = (Standing, Time, Time)> {
        let ends = self.changes.iter().skip(1).map(|(at, _)| *at);
        let spans = self.changes.iter().zip(ends.chain([until]));
        spans.map(|((since, standing), end)| (*standing, *since, end))
    }

    /// The worst standing between `since` and `until`.
    pub fn worst(&self, since: Time, until: Time) -> Standing {
        let within = self.spans(until).filter(|(_, begin, end)| *begin < until && *end > since);
        within.map(|(standing, ..)| standing).max().unwrap_or_default()
    }
}

/// A repair under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfinished {
    /// The array's member number, if there are several.
    pub member: Option<usize>,
    pub group: String,
    /// The lost drive; `None` when the content being moved is still there.
    pub lost: Option<u16>,
    /// The target drive; `None` when the target is all drives.
    pub onto: Option<u16>,
    /// Progress, 0 to 1.
    pub done: f64,
    /// Remaining time at the pace so far; `None` until some progress is made.
    pub left: Option<Span>,
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(member) = self.member {
            write!(f, "member {member}: ")?;
        }
        write!(f, "{}: ", self.group)?;
        match (self.lost, self.onto) {
            (Some(lost), _) => write!(f, "rebuilding drive {lost}")?,
            (None, Some(onto)) => write!(f, "copying to drive {onto}")?,
            (None, None) => write!(f, "moving")?,
        }
        write!(f, " goes on, {:.0} % done", self.done * 100.0)?;
        match self.left {
            Some(left) => write!(f, "; at this pace {left} more"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_as_bad_as_the_worst_moment_in_it() {
        let at = |seconds| Time::ZERO + Span::seconds(seconds);
        let standings = Standings {
            notes_seen: 0,
            changes: vec![
                (at(0), Standing::Whole),
                (at(20), Standing::Degraded),
                (at(30), Standing::Rebuilding),
                (at(50), Standing::Whole),
            ],
        };
        let worst = |since, until| standings.worst(at(since), at(until));
        assert_eq!(worst(0, 20), Standing::Whole);
        assert_eq!(worst(10, 21), Standing::Degraded);
        assert_eq!(worst(25, 60), Standing::Degraded);
        assert_eq!(worst(30, 60), Standing::Rebuilding);
        assert_eq!(worst(50, 60), Standing::Whole);
        let spans: Vec<_> = standings.spans(at(60)).collect();
        assert_eq!(spans[1], (Standing::Degraded, at(20), at(30)));
        assert_eq!(spans[3], (Standing::Whole, at(50), at(60)));
    }

    #[test]
    fn all_are_in_order_and_a_repair_says_how_far_it_is() {
        assert!(Standing::ALL.is_sorted());
        assert_eq!(Standing::ALL[0], Standing::default());
        let mut one = Unfinished {
            member: None,
            group: "data".into(),
            lost: Some(2),
            onto: Some(5),
            done: 0.366,
            left: Some(Span::seconds(90)),
        };
        let words = "data: rebuilding drive 2 goes on, 37 % done; at this pace 90.0 s more";
        assert_eq!(one.to_string(), words);
        (one.member, one.lost, one.left) = (Some(1), None, None);
        let words = "member 1: data: copying to drive 5 goes on, 37 % done";
        assert_eq!(one.to_string(), words);
    }
}
