//! What happened to a host, and what follows for the whole.
//!
//! | what | outcome |
//! | --- | --- |
//! | killed, restarted, broke, silent for 5 s, ended early, an instant missed | *invalid* |
//! | not reached, not ready in time, another program, doubled machine or device, clock not known | *error*: nobody begins |
//! | connection lost and not back by the end, folder not fetched | *inconclusive* |
//! | over a limit | *fail* |
//! | stopped, let go | *interrupted* |
//! | to its end, within its limits, folder here | *pass* |

use brunt_report::result::Verdict;
use brunt_units::Span;

/// Characters of what another host says that are shown.
const SHOWN_MAX: usize = 400;

/// What happened to a host.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// It came to a verdict, and its folder is here.
    Complete(Verdict),
    /// Nobody could be asked there, before anything began.
    NotReached {
        why: String,
    },
    /// It refuses the run, or cannot carry it out.
    Refused {
        why: String,
    },
    /// It was not ready in time.
    NotReady {
        within: Span,
    },
    /// Another server is on the same machine.
    SameMachine {
        other: String,
    },
    /// Another server writes to the same device.
    SameDevice {
        other: String,
        device: String,
        folder: String,
    },
    /// Its clock is not known well enough.
    Skew {
        bound: Span,
        max: Span,
    },
    Killed {
        why: String,
    },
    Restarted,
    /// It did nothing for a while.
    Silent {
        at: Span,
        lasted: Span,
    },
    Broke {
        why: String,
    },
    GaveUp {
        why: String,
    },
    Late {
        by: Span,
    },
    /// It ended because of another host.
    WithOthers,
    /// The connection was lost, and did not come back.
    Lost {
        why: String,
    },
    /// Its folder did not come whole.
    NotFetched {
        why: String,
    },
    Stopped,
    /// It was not waited for.
    LetGo,
}

impl Fate {
    /// The verdict that it leads to; `None` when another host has caused it.
    pub fn outcome(&self) -> Option<Verdict> {
        Some(match self {
            Self::Complete(verdict) => *verdict,
            Self::NotReached { .. }
            | Self::Refused { .. }
            | Self::NotReady { .. }
            | Self::SameMachine { .. }
            | Self::SameDevice { .. }
            | Self::Skew { .. } => Verdict::Error,
            Self::Killed { .. }
            | Self::Restarted
            | Self::Silent { .. }
            | Self::Broke { .. }
            | Self::GaveUp { .. }
            | Self::Late { .. } => Verdict::Invalid,
            Self::WithOthers => return None,
            Self::Lost { .. } | Self::NotFetched { .. } => Verdict::Inconclusive,
            Self::Stopped | Self::LetGo => Verdict::Interrupted,
        })
    }
}

impl std::fmt::Display for Fate {
    /// After the name of the host and a colon.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Complete(verdict) => f.write_str(verdict.word()),
            Self::NotReached { why } => write!(f, "not reached: {why}"),
            Self::Refused { why } => write!(f, "cannot begin: {why}"),
            Self::NotReady { within } => write!(f, "was not ready within {within} of the first"),
            Self::SameMachine { other } => write!(f, "is the machine of {other}"),
            Self::SameDevice { other, device, folder } => {
                write!(f, "{folder} is on {device}, which {other} writes to")
            }
            Self::Skew { bound, max } => {
                write!(f, "its clock is known to {bound} only, and {max} is allowed")
            }
            Self::Killed { why } => write!(f, "was killed: {why}"),
            Self::Restarted => f.write_str("the host was restarted"),
            Self::Silent { at, lasted } => {
                write!(f, "did nothing for {lasted}, {at} after the start")
            }
            Self::Broke { why } => write!(f, "broke: {why}"),
            Self::GaveUp { why } => write!(f, "ended early: {why}"),
            Self::Late { by } => write!(f, "began {by} later than the others"),
            Self::WithOthers => f.write_str("ended with the others"),
            Self::Lost { why } => write!(f, "the connection was lost and did not come back: {why}"),
            Self::NotFetched { why } => write!(f, "its folder did not come whole: {why}"),
            Self::Stopped => f.write_str("stopped"),
            Self::LetGo => f.write_str("let go: it may still be running"),
        }
    }
}

/// The verdict of all hosts, and why: the name of each host that decided it.
///
/// A host that could not begin keeps all from beginning. A limit that one host broke is broken,
/// whatever happened to others.
pub fn whole<'a>(hosts: impl Iterator<Item = (&'a str, &'a Fate)>) -> (Verdict, Vec<String>) {
    let hosts: Vec<_> = hosts.collect();
    let outcome = |(_, fate): &(&str, &Fate)| fate.outcome();
    let worst = hosts.iter().filter_map(outcome).max_by_key(|verdict| weight(*verdict));
    let worst = match worst {
        // Somebody ended with others, and nobody says why.
        Some(Verdict::Pass) if hosts.iter().any(|host| outcome(host).is_none()) => Verdict::Invalid,
        worst => worst.unwrap_or(Verdict::Error),
    };
    let decided = hosts
        .iter()
        .filter(|host| outcome(host).is_some_and(|own| own != Verdict::Pass && weight(own) > 0));
    (worst, decided.map(|(name, fate)| shown(&format!("{name}: {fate}"))).collect())
}

/// What another host says, as it may be shown: one line without control characters, and no novel.
pub(crate) fn shown(text: &str) -> String {
    let line = brunt_report::one_line(text);
    match line.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.into_owned(),
    }
}

/// The heavier verdict is that of the whole.
fn weight(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass => 0,
        Verdict::NoLimitSet => 1,
        Verdict::Inconclusive => 2,
        Verdict::Invalid => 3,
        Verdict::Fail => 4,
        Verdict::Interrupted => 5,
        Verdict::Error => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(fate: Fate) -> Verdict {
        let others = [Fate::Complete(Verdict::Pass), Fate::Complete(Verdict::Pass)];
        let hosts = others.iter().chain([&fate]).map(|fate| ("A", fate));
        let (verdict, why) = whole(hosts);
        assert_eq!(why.len(), usize::from(verdict != Verdict::Pass), "{fate}");
        verdict
    }

    fn why() -> String {
        "why".to_owned()
    }

    #[test]
    fn a_host_that_did_not_bear_the_load_makes_it_invalid() {
        let second = Span::seconds(6);
        for fate in [
            Fate::Killed { why: why() },
            Fate::Restarted,
            Fate::Broke { why: why() },
            Fate::Silent { at: second, lasted: second },
        ] {
            assert_eq!(of(fate), Verdict::Invalid);
        }
    }

    #[test]
    fn a_host_that_cannot_begin_is_an_error() {
        let other = why();
        for fate in [
            Fate::NotReady { within: Span::seconds(1) },
            Fate::Refused { why: why() },
            Fate::NotReached { why: why() },
            Fate::SameMachine { other: other.clone() },
            Fate::SameDevice { other, device: why(), folder: why() },
            Fate::Skew { bound: Span::seconds(1), max: Span::ZERO },
        ] {
            assert_eq!(of(fate), Verdict::Error);
        }
    }

    #[test]
    fn a_lost_connection_is_inconclusive() {
        assert_eq!(of(Fate::Lost { why: why() }), Verdict::Inconclusive);
    }

    #[test]
    fn a_limit_that_one_host_breaks_is_broken() {
        assert_eq!(of(Fate::Complete(Verdict::Fail)), Verdict::Fail);
        let fates = [Fate::Complete(Verdict::Fail), Fate::Restarted];
        let (verdict, why) = whole(["A", "B"].into_iter().zip(&fates));
        assert_eq!(verdict, Verdict::Fail);
        assert_eq!(why, ["A: fail", "B: the host was restarted"]);
    }

    #[test]
    fn an_early_end_is_invalid() {
        assert_eq!(of(Fate::GaveUp { why: why() }), Verdict::Invalid);
        assert_eq!(of(Fate::Late { by: Span::seconds(1) }), Verdict::Invalid);
    }

    #[test]
    fn a_folder_that_is_not_here_is_inconclusive() {
        assert_eq!(of(Fate::NotFetched { why: why() }), Verdict::Inconclusive);
    }

    #[test]
    fn stopped_and_let_go_are_interrupted() {
        assert_eq!(of(Fate::Stopped), Verdict::Interrupted);
        assert_eq!(of(Fate::LetGo), Verdict::Interrupted);
    }

    #[test]
    fn what_a_host_says_does_not_move_the_cursor() {
        let why = "\u{1b}[2J\nPASS".to_owned() + &"x".repeat(1_000_000);
        let fate = Fate::Broke { why };
        let (_, reasons) = whole([("A", &fate)].into_iter());
        assert!(!reasons[0].contains(char::is_control), "{}", reasons[0]);
        assert!(reasons[0].len() < 500 && reasons[0].starts_with("A: broke: "));
    }

    #[test]
    fn only_whole_passes_pass() {
        assert_eq!(of(Fate::Complete(Verdict::Pass)), Verdict::Pass);
        let cut = [Fate::Complete(Verdict::Pass), Fate::WithOthers];
        assert_eq!(whole(["A", "B"].into_iter().zip(&cut)).0, Verdict::Invalid);
        assert_eq!(whole([("A", &Fate::WithOthers)].into_iter()).0, Verdict::Error);
        assert_eq!(whole(std::iter::empty()).0, Verdict::Error);
    }
}
