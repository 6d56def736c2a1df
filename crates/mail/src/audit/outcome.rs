//! What became of each delivery, and what that means for the answer.

use crate::comparison::Difference;
use crate::promises::Flags;

/// What became of a delivery. Each has one outcome: of several, the one that comes first in
/// [`Outcome::ALL`] after those that are as they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Accepted, and there: once, equal, in its place, in time.
    Found,
    /// Refused for now (4xx), or for a full mailbox (552), and not there.
    Refused,
    /// Cut before the final dot, and not there.
    NotSent,
    /// Without an answer, and not there.
    UnansweredAbsent,
    /// Without an answer, and there, perhaps several times.
    UnansweredPresent,
    /// There more than once, and a fault between the arrivals explains it.
    ExplainedDouble,
    /// Accepted, and gone because it was removed as asked.
    Removed,
    /// Accepted, readable mailbox, empty queue, and nowhere.
    Lost,
    /// With a user who was not addressed; the recipient may have it as well.
    Misdelivered,
    /// There, and different from what was sent.
    Changed,
    /// There more than once, and no fault explains it.
    Doubled,
    /// Accepted, and then reported to its sender as failed.
    Bounced,
    /// Not found in a mailbox that shows messages which cannot be read, each alone.
    Unreadable,
    /// There although the server refused it.
    RefusedButDelivered,
    /// There although the server never had its end.
    NotSentButDelivered,
    /// There although it was never sent.
    NeverSentButDelivered,
    /// There although the server said that it was removed.
    Resurrected,
    /// There, without a change of flags that the server confirmed.
    ForgottenFlag,
    /// Refused for good (5xx), for an account that exists.
    RefusedForGood,
    /// In another folder of the recipient.
    Misplaced,
    /// There, after the time limit.
    Late,
    /// Accepted and not there, and the queue may still hold it.
    Queued,
    /// Accepted, and its mailbox could not be read.
    Unchecked,
}

/// What an outcome means for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// As promised.
    Kept,
    /// It cannot be told.
    Unknown,
    /// Not as promised.
    Broken,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::Found,
        Self::Refused,
        Self::NotSent,
        Self::UnansweredAbsent,
        Self::UnansweredPresent,
        Self::ExplainedDouble,
        Self::Removed,
        Self::Lost,
        Self::Misdelivered,
        Self::Changed,
        Self::Doubled,
        Self::Bounced,
        Self::Unreadable,
        Self::RefusedButDelivered,
        Self::NotSentButDelivered,
        Self::NeverSentButDelivered,
        Self::Resurrected,
        Self::ForgottenFlag,
        Self::RefusedForGood,
        Self::Misplaced,
        Self::Late,
        Self::Queued,
        Self::Unchecked,
    ];

    /// What it means for the answer.
    pub const fn standing(self) -> Standing {
        match self {
            Self::Found
            | Self::Refused
            | Self::NotSent
            | Self::UnansweredAbsent
            | Self::UnansweredPresent
            | Self::ExplainedDouble
            | Self::Removed => Standing::Kept,
            Self::Queued | Self::Unchecked => Standing::Unknown,
            _ => Standing::Broken,
        }
    }

    /// Its name in reports, and with underscores in `result.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Refused => "refused",
            Self::NotSent => "not sent",
            Self::UnansweredAbsent => "unanswered, absent",
            Self::UnansweredPresent => "unanswered, present",
            Self::ExplainedDouble => "explained double",
            Self::Removed => "removed",
            Self::Resurrected => "resurrected",
            Self::ForgottenFlag => "forgotten flag",
            Self::Lost => "lost",
            Self::Misdelivered => "misdelivered",
            Self::Changed => "changed",
            Self::Doubled => "doubled",
            Self::Bounced => "bounced",
            Self::Unreadable => "unreadable",
            Self::RefusedButDelivered => "refused but delivered",
            Self::NotSentButDelivered => "not sent but delivered",
            Self::NeverSentButDelivered => "never sent but delivered",
            Self::RefusedForGood => "refused for good",
            Self::Misplaced => "misplaced",
            Self::Late => "late",
            Self::Queued => "queued",
            Self::Unchecked => "unchecked",
        }
    }

    /// The section that says what should have been, for outcomes that break a promise.
    pub const fn section(self) -> Option<&'static str> {
        Some(match self {
            Self::Lost | Self::Bounced => {
                "RFC 5321, 4.2.5 and 6.1: after 250 the server must deliver or report"
            }
            Self::Changed => "RFC 5321, 4.5.2 and 6.4: content passes unchanged",
            Self::Doubled => {
                "RFC 1047 and RFC 5321, 6.1: only a broken connection excuses a second copy"
            }
            Self::Misdelivered => "RFC 5321, 3.3: to the addresses of RCPT and no others",
            Self::RefusedButDelivered => {
                "RFC 5321, 4.2.5: after 4xx or 5xx the server must not deliver"
            }
            Self::NotSentButDelivered => {
                "RFC 5321, 4.1.1.4: without the end of the data nothing is delivered"
            }
            Self::RefusedForGood => "RFC 5321, 4.2.1: 5xx says that another attempt is useless",
            Self::Resurrected => "RFC 9051, 6.4.3: EXPUNGE removes for good",
            Self::ForgottenFlag => "RFC 9051, 6.4.6: STORE alters the flags",
            Self::Unreadable => "RFC 9051, 6.4.5: FETCH returns the message",
            _ => return None,
        })
    }
}

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The message.
    pub number: u32,
    /// The account that was promised a copy, or that shows one it should not have.
    pub account: u32,
    /// What it is.
    pub outcome: Outcome,
    /// What more is known.
    pub detail: Detail,
}

/// What more is known about a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Nothing.
    None,
    /// The first byte that differs.
    Difference(Difference),
    /// Copies that were found.
    Copies(u32),
    /// When each of the copies arrived, in Unix seconds by the server's clock, in order.
    Arrivals(Vec<u64>),
    /// Another folder, by its index.
    Folder(u16),
    /// The flags that are shown.
    Flags(Flags),
    /// The reply's code.
    Code(u16),
    /// The account it was meant for, or that has the copy meant for this one.
    Account(u32),
}

/// How many deliveries have each outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts([u64; Outcome::ALL.len()]);

impl Counts {
    /// Deliveries with this outcome.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize]
    }

    pub(super) fn add(&mut self, outcome: Outcome) {
        self.0[outcome as usize] += 1;
    }

    /// Outcomes that occurred, with their counts, in the order of [`Outcome::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Outcome, u64)> + '_ {
        let counted = Outcome::ALL.into_iter().map(|outcome| (outcome, self.of(outcome)));
        counted.filter(|(_, count)| *count > 0)
    }

    /// Deliveries whose outcome stands so.
    pub fn standing(&self, standing: Standing) -> u64 {
        let with = self.iter().filter(|(outcome, _)| outcome.standing() == standing);
        with.map(|(_, count)| count).sum()
    }
}
