//! Incidents of a pair, and what it reports in its event log.

use std::fmt;

use brunt_units::{ByteSize, Span, Time, grouped};

use super::group::AtRisk;
use super::roles::{Failover, Loss, Obstacle, Site};

/// An event of a pair that the scenario schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairIncident {
    /// Nothing gets through the link; what is under way is lost.
    LinkLost,
    /// The link works again.
    LinkReturns,
    /// One path of the link is lost.
    LinkPathLost(usize),
    /// It works again.
    LinkPathReturns(usize),
    /// The link is lost and returns, again and again.
    LinkFlaps {
        /// How often it is lost.
        times: u32,
        /// How long each time.
        down: Span,
        /// How long it works in between.
        up: Span,
    },
    /// The storage of the source stops; it keeps what it has accepted. Together with
    /// [`PairIncident::LinkLost`], the site is lost.
    SourceLost,
    /// It works again. A site that served has to ask the other one before it serves again.
    SourceReturns,
    /// The storage of the destination stops; it keeps what it has done, and what it has accepted if
    /// it serves.
    DestinationLost,
    /// It works again, like the source.
    DestinationReturns,
    /// A group, or all of them, are to be served by this site. What is in the way is noted, and
    /// nothing changes then.
    FailOver {
        /// The group; all by default.
        group: Option<usize>,
        to: Site,
        /// With or without the site that serves now.
        how: Failover,
    },
    /// After a split, what this site has is kept; the other one is overwritten.
    Keep {
        /// The group; all by default.
        group: Option<usize>,
        site: Site,
    },
    /// A group stops replicating; its writes go into its log.
    GroupSuspended(usize),
    /// A group replicates again: its log is replayed, or everything is copied.
    GroupResumed {
        group: usize,
        /// Whether everything is copied instead.
        full_copy: bool,
    },
}

/// What a pair reports.
#[derive(Clone, Debug, PartialEq)]
pub enum PairNote {
    /// The link is lost (false) or works again.
    Link(bool),
    /// A path of the link is lost (false) or works again.
    LinkPath(usize, bool),
    /// The storage of a site is lost (false) or works again.
    Storage(Site, bool),
    /// Something about a group, named as in the design.
    Group(String, GroupNote),
}

/// What a pair reports about a group.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupNote {
    /// An operator has suspended it.
    Suspended,
    /// An operator has resumed it.
    Resumed,
    /// Failsafe: its hosts have lost their LUNs.
    Locked,
    /// Its hosts have their LUNs again.
    Unlocked,
    /// Its writes go into its log.
    Logging,
    /// Its log is fuller than the alarm.
    LogAlarm {
        /// What the log holds.
        used: ByteSize,
        /// What it may grow to.
        limit: ByteSize,
        /// When it is full at the pace so far.
        full_in: Option<Span>,
    },
    /// Its log was full, and a full copy is due.
    LogOverflowed,
    /// Its log is replayed.
    Merging(ByteSize),
    /// A full copy begins, of at most so much.
    Copying(ByteSize),
    /// The destination refused a write: the group is suspended.
    Refused,
    /// The source could not read a block: the group is suspended.
    Unreadable,
    /// Both sides are in step again, after so long without.
    Normal(Span),
    /// A planned failover begins: hosts of this site lose its LUNs.
    Draining(Site),
    /// A planned failover is given up: hosts have the LUNs where they had them.
    DrainEnds(Obstacle),
    /// A planned failover has ended: this site serves.
    Reversed(Site),
    /// An unplanned failover.
    TookOver(Loss),
    /// Both sites serve: this one was forced to.
    Parted(Site),
    /// Both sites serve, and have found out; what source and destination have acknowledged since.
    SplitSeen([Option<AtRisk>; 2]),
    /// An operator has chosen a site after a split.
    Kept(Loss),
    /// This site serves again.
    Serves(Site),
    /// This site has returned and serves no hosts before it has asked the other one.
    Unsure(Site),
    /// This site has returned, while the other one serves.
    Standby(Site),
    /// The first request of a host at this site, which does not serve.
    HostsRefused(Site),
    /// An operator's order that cannot be carried out.
    Stays(Obstacle),
}

impl fmt::Display for PairNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is = |is_up: &bool| if *is_up { "is back" } else { "lost" };
        match self {
            Self::Link(is_up) => write!(f, "link {}", is(is_up)),
            Self::LinkPath(path, is_up) => write!(f, "path {path} of the link {}", is(is_up)),
            Self::Storage(site, is_up) => write!(f, "{site} {}", is(is_up)),
            Self::Group(name, what) => write!(f, "{name}: {what}"),
        }
    }
}

impl fmt::Display for GroupNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suspended => write!(f, "suspended"),
            Self::Resumed => write!(f, "resumed"),
            Self::Locked => write!(f, "failsafe: hosts lose its LUNs"),
            Self::Unlocked => write!(f, "hosts have its LUNs again"),
            Self::Logging => write!(f, "writes go into the write history log"),
            Self::LogAlarm { used, limit, full_in } => {
                write!(f, "write history log has {used} of {limit}")?;
                match full_in {
                    Some(span) => write!(f, ", full in {span}"),
                    None => Ok(()),
                }
            }
            Self::LogOverflowed => {
                write!(f, "write history log overflowed: a full copy is due")
            }
            Self::Merging(bytes) => write!(f, "merging {bytes} of write history"),
            Self::Copying(bytes) => {
                write!(f, "full copy of {bytes}: not crash-consistent until it ends")
            }
            Self::Refused => write!(f, "suspended: the destination refuses its writes"),
            Self::Unreadable => write!(f, "suspended: the source cannot read a block"),
            Self::Normal(after) => write!(f, "both sides are in step, after {after}"),
            Self::Draining(site) => {
                write!(f, "planned failover: hosts of the {site} lose its LUNs")
            }
            Self::DrainEnds(why) => write!(f, "planned failover given up: {why}"),
            Self::Reversed(site) => write!(f, "the {site} serves, both sides are in step"),
            Self::TookOver(loss) => {
                write!(f, "the {} serves; {}", loss.to, lost(loss.lost, loss.at))
            }
            Self::Parted(site) => {
                write!(f, "forced: the {site} serves, too; both sites change now")
            }
            Self::SplitSeen(beyond) => {
                let [source, destination] = beyond.map(writes);
                write!(
                    f,
                    "split: the source has {source} of its own, the destination {destination}; nothing is overwritten until one is chosen"
                )
            }
            Self::Kept(loss) => {
                let lost = lost(loss.lost, loss.at);
                write!(f, "split ends, the {} is kept; {lost}", loss.to)
            }
            Self::Serves(site) => write!(f, "the {site} serves again"),
            Self::Unsure(site) => {
                write!(f, "the {site} serves no hosts: it has to ask the {} first", site.other())
            }
            Self::Standby(site) => write!(f, "the {site} stands by, the {} serves", site.other()),
            Self::HostsRefused(site) => {
                write!(f, "hosts of the {site} are refused: it does not serve")
            }
            Self::Stays(why) => write!(f, "no change: {why}"),
        }
    }
}

/// "3 writes".
fn writes(risk: Option<AtRisk>) -> String {
    match risk {
        None => "an unknown number of writes".to_owned(),
        Some(AtRisk { writes: 1, .. }) => "1 write".to_owned(),
        Some(risk) => format!("{} writes", grouped(risk.writes)),
    }
}

/// What was lost at `at`, in words.
fn lost(risk: Option<AtRisk>, at: Time) -> String {
    match risk {
        None => "that is not a state of the group".to_owned(),
        Some(AtRisk { since: None, .. }) => "nothing acknowledged is lost".to_owned(),
        Some(AtRisk { bytes, since: Some(since), .. }) => {
            let age = at.since(since);
            let bytes = ByteSize::bytes(bytes);
            format!("{} lost, {bytes}, up to {age} old", writes(risk))
        }
    }
}
