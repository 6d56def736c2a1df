//! The state of an array's groups, and the repairs that have not ended.

use std::fmt;

use brunt_units::Span;

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
    pub const ALL: [Self; 5] = [
        Self::Whole,
        Self::CopyingBack,
        Self::Rebuilding,
        Self::Degraded,
        Self::Lost,
    ];

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

/// A repair under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfinished {
    /// The array's member number, if there are several.
    pub member: Option<usize>,
    /// The group.
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
