//! Which site serves a group: failover, planned and not, split, and the way back. Pure, like
//! [`Group`].
//!
//! ```text
//!    Source serves --planned: hosts wait until all is there--> Destination serves, in step
//!         |  unplanned: with what it has ----------------------> Destination serves; the rest is lost, and overwritten at the source
//!         |  forced, link lost, source alive ------------------> both serve: Split
//!                                                                   | an operator keeps one; the other is overwritten
//!                                                                   v
//!                                                              that one serves
//! ```
//!
//! The same goes the other way. Invariants:
//!
//! * Without a force, hosts use a group at one site at most.
//! * The site that serves after a failover is a prefix of the order until then. Only a force makes
//!   another one serve: one that a full copy left inconsistent, or that has writes of its own (it
//!   was overtaken by the other, or is stale).
//! * What a site has beyond the order that goes on stays marked until a full copy has overwritten
//!   it.
//! * A serving site that was lost asks the other one before it serves again: that may have taken
//!   over.
//! * Failsafe is off from an unplanned failover until both sites are in step: there is nothing to
//!   write to.

use std::fmt;

use brunt_units::Time;

use super::group::{AtRisk, Group, Phase};

/// A site of a pair, by its part in the design. A failover changes which one serves, not their
/// names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Site {
    /// Where hosts use the LUNs at first.
    #[default]
    Source,
    /// Where the replicas are at first.
    Destination,
}

impl Site {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Source, Self::Destination];

    pub fn other(self) -> Self {
        match self {
            Self::Source => Self::Destination,
            Self::Destination => Self::Source,
        }
    }

    /// Name in scenarios and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Destination => "destination",
        }
    }

    pub(super) fn index(self) -> usize {
        usize::from(self == Self::Destination)
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How a group fails over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failover {
    /// Hosts lose the group's LUNs; when everything is at the other site, that serves. Nothing is
    /// lost.
    Planned,
    /// The other site serves at once with what it has. The rest is lost.
    Unplanned,
    /// The same, also where both sites serve then or where the other one is not a state of the
    /// group.
    Forced,
}

/// Why a group does not do what an operator wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// That site serves the group.
    Serves(Site),
    /// The storage of that site is lost.
    Lost(Site),
    /// A planned failover needs a connection.
    Apart,
    /// A planned failover is under way.
    Draining,
    /// Both sites serve: one has to be chosen first.
    Split,
    /// Only one site serves: there is nothing to choose.
    NoSplit,
    /// A full copy has left the site inconsistent.
    Inconsistent(Site),
    /// The site has writes of its own, and lacks those since the other one took over.
    Stale(Site),
    /// The other site serves and cannot be told, as the link is lost.
    OtherServes(Site),
    /// The site has to ask the other one first.
    Unsure(Site),
    /// Sites that cannot talk cannot be told which one is kept.
    NoTalk,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serves(site) => write!(f, "the {site} serves it already"),
            Self::Lost(site) => write!(f, "the {site} is lost"),
            Self::Apart => write!(f, "the sites are not connected, as a planned failover needs"),
            Self::Draining => write!(f, "a planned failover is under way"),
            Self::Split => write!(f, "both sites serve it: choose one to keep"),
            Self::NoSplit => write!(f, "only one site serves it"),
            Self::Inconsistent(site) => {
                write!(
                    f,
                    "a full copy has left the {site} inconsistent; force it if nothing else is left"
                )
            }
            Self::Stale(site) => {
                write!(f, "the {site} is stale; force it if nothing else is left")
            }
            Self::OtherServes(site) => {
                write!(f, "the {site} serves, and the link is lost; with force, both serve")
            }
            Self::Unsure(site) => {
                write!(
                    f,
                    "the {site} has to ask the {} first; force it if that is gone",
                    site.other()
                )
            }
            Self::NoTalk => write!(f, "the sites cannot talk yet"),
        }
    }
}

/// What a failover, or the choice after a split, has cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// When it happened.
    pub at: Time,
    /// The site that serves since.
    pub to: Site,
    /// Acknowledged writes that this site does not have; `None` when it was forced to serve
    /// although a full copy had left it inconsistent, so that it is not a state of the group.
    pub lost: Option<AtRisk>,
    /// Whether failsafe was on, so that nothing may be lost.
    pub is_failsafe: bool,
}

/// Both sites serve a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    /// What each site has acknowledged beyond the point where they parted; `None` where that is no
    /// state of the group.
    pub(super) beyond: [Option<AtRisk>; 2],
    /// Whether the sites have found out.
    pub(super) is_seen: bool,
}

/// Writes that were accepted before two sites parted, and may be acknowledged after.
#[derive(Clone, Copy, Debug)]
struct Parted {
    /// Where they were accepted.
    at: Site,
    generation: u32,
    /// The other site has those before this number.
    from: u64,
}

/// Who serves a group.
#[derive(Default)]
pub(super) struct Roles {
    /// The site whose order it is; writes go from there to the other one.
    pub(super) serving: Site,
    /// Sites that serve hosts, by index; both after a split.
    pub(super) hosts: [bool; 2],
    /// The serving site was lost, and has not asked the other one since.
    pub(super) must_ask: bool,
    /// A planned failover is under way.
    pub(super) is_draining: bool,
    /// The other site has writes that are not of this order.
    pub(super) is_divergent: bool,
    /// What it has acknowledged beyond that.
    beyond: Option<AtRisk>,
    /// Whether nobody can say what this site has beyond the other one, which is a mixture.
    pub(super) is_unknown: bool,
    /// Failsafe is off until both sites are in step.
    pub(super) is_waived: bool,
    pub(super) split: Option<Split>,
    /// Since both sites were last in step.
    parted: Vec<Parted>,
    /// Whether the source has not always served.
    pub(super) has_changed: bool,
    pub(super) losses: Vec<Loss>,
}

impl Roles {
    /// The source serves.
    pub(super) fn new() -> Self {
        Self { hosts: [true, false], ..Self::default() }
    }

    pub(super) fn other(&self) -> Site {
        self.serving.other()
    }

    fn serve_alone(&mut self, to: Site) {
        self.serving = to;
        self.hosts = [false; 2];
        self.hosts[to.index()] = true;
        (self.must_ask, self.is_draining) = (false, false);
        self.has_changed = true;
    }
}

impl Group {
    /// Whether hosts may use the LUNs at `site`, if its storage is there.
    pub(super) fn serves(&self, site: Site) -> bool {
        let roles = &self.roles;
        let is_stopped = roles.must_ask || roles.is_draining || self.phase == Phase::Locked;
        roles.hosts[site.index()] && !(site == roles.serving && is_stopped)
    }

    /// Whether a failover to `to` may begin now, and whether both sites serve then. `is_up` says
    /// which storage is there, `is_link_up` whether they can talk.
    ///
    /// # Errors
    /// What is in the way.
    pub(super) fn may_fail_over(
        &self,
        to: Site,
        how: Failover,
        is_up: [bool; 2],
        is_link_up: bool,
    ) -> Result<bool, Obstacle> {
        let roles = &self.roles;
        let from = to.other();
        if self.phase == Phase::Split {
            return Err(Obstacle::Split);
        }
        if roles.is_draining && how == Failover::Planned {
            return Err(Obstacle::Draining);
        }
        if !is_up[to.index()] {
            return Err(Obstacle::Lost(to));
        }
        if roles.serving == to {
            return match (roles.must_ask, how) {
                (false, _) => Err(Obstacle::Serves(to)),
                (true, Failover::Forced) => Ok(false),
                (true, _) => Err(Obstacle::Unsure(to)),
            };
        }
        let is_forced = how == Failover::Forced;
        let obstacle = match how {
            Failover::Planned if !is_up[from.index()] => Some(Obstacle::Lost(from)),
            Failover::Planned if !self.is_connected => Some(Obstacle::Apart),
            Failover::Planned => None,
            _ if !self.is_consistent => Some(Obstacle::Inconsistent(to)),
            _ if roles.is_divergent => Some(Obstacle::Stale(to)),
            _ => None,
        };
        if let Some(obstacle) = obstacle.filter(|_| !is_forced) {
            return Err(obstacle);
        }
        // A site that serves and cannot be told goes on.
        let is_split =
            how != Failover::Planned && is_up[from.index()] && !is_link_up && self.serves(from);
        match is_split && !is_forced {
            true => Err(Obstacle::OtherServes(from)),
            false => Ok(is_split),
        }
    }

    /// Whether a planned failover has everything at the other site; `is_quiet` when the serving one
    /// has nothing under way.
    pub(super) fn is_drained(&self, is_quiet: bool) -> bool {
        let is_settled = self.phase == Phase::Normal && self.is_connected;
        let is_empty = self.order.base() == self.order.end();
        self.roles.is_draining && is_settled && is_empty && is_quiet
    }

    /// The direction is reversed, in step.
    pub(super) fn reverse(&mut self) {
        self.roles.serve_alone(self.roles.other());
        self.blocks.clear();
        self.empty_log();
    }

    /// The other site serves from now on, which has every write before `done`; returns what is
    /// lost.
    pub(super) fn take_over(&mut self, done: u64, now: Time) -> Loss {
        let loss = Loss {
            at: now,
            to: self.roles.other(),
            lost: self.at_risk(done),
            is_failsafe: self.is_failsafe(),
        };
        let theirs = self.lead_of_other();
        self.roles.is_divergent |= self.leave(done);
        if !self.roles.is_divergent {
            self.blocks.clear();
        }
        self.roles.serve_alone(loss.to);
        self.lead_with(theirs, loss.lost);
        self.roles.is_waived = self.failsafe;
        self.phase = Phase::Logging;
        self.roles.losses.push(loss);
        loss
    }

    /// Both sites serve from now on; the other one has every write before `done`.
    pub(super) fn part(&mut self, done: u64) {
        let from = self.roles.serving;
        let mut beyond = [self.at_risk(done); 2];
        beyond[from.other().index()] = self.lead_of_other();
        self.roles.parted.push(Parted { at: from, generation: self.generation, from: done });
        self.leave(done);
        self.roles.serve_alone(from.other());
        self.roles.hosts = [true; 2];
        self.roles.is_waived = self.failsafe;
        self.roles.split = Some(Split { beyond, is_seen: false });
        self.phase = Phase::Split;
    }

    /// After a split, what `site` has is kept, and the other one is to be overwritten; returns what
    /// is lost there.
    pub(super) fn keep(&mut self, site: Site, now: Time) -> Loss {
        let split = self.roles.split.take().expect("both serve");
        let lost = split.beyond[site.other().index()];
        let loss = Loss { at: now, to: site, lost, is_failsafe: false };
        self.roles.serve_alone(site);
        self.roles.is_divergent = true;
        self.lead_with(split.beyond[site.index()], lost);
        self.phase = Phase::Overflowed;
        self.roles.losses.push(loss);
        loss
    }

    /// What the other site has acknowledged that this one does not have; nothing that counts while
    /// a full copy mixes the two.
    fn lead_of_other(&self) -> Option<AtRisk> {
        match self.is_consistent && self.roles.is_divergent {
            true => self.roles.beyond,
            false => Some(AtRisk::default()),
        }
    }

    /// An order begins at a site that has this beyond the other one, which has `theirs`; `None` for
    /// what nobody can say.
    fn lead_with(&mut self, own: Option<AtRisk>, theirs: Option<AtRisk>) {
        self.dropped = own.unwrap_or_default();
        self.roles.is_unknown = own.is_none();
        self.roles.beyond = theirs;
        self.is_consistent = true;
    }

    /// Ends the order, and forgets all but the marks of its blocks; whether the serving site had
    /// anything that the other one, which has every write before `done`, does not have.
    fn leave(&mut self, done: u64) -> bool {
        self.confirm(done);
        let is_behind = matches!(self.phase, Phase::Overflowed | Phase::Copying);
        let is_copy_due = self.phase == Phase::Locked && self.blocks.count() > 0;
        let is_beyond = is_behind || is_copy_due || self.order.base() < self.order.end();
        self.give_up_order();
        self.forget_lost();
        self.generation += 1;
        self.is_connected = false;
        is_beyond
    }

    /// A write that was accepted at `site` is acknowledged, and not part of the order that goes on.
    ///
    /// Whether that is all there is to it.
    pub(super) fn acknowledged_apart(
        &mut self,
        site: Site,
        number: Option<u64>,
        bytes: u64,
        generation: u32,
        now: Time,
    ) -> bool {
        let mut parted = self.roles.parted.iter();
        let before = parted.find(|one| one.at == site && one.generation == generation);
        let before = before.copied();
        if before.is_some_and(|one| number.is_some_and(|number| number < one.from)) {
            return true;
        }
        if let Some(split) = &mut self.roles.split {
            let is_own = before.is_some() || generation == self.generation;
            if let Some(beyond) = split.beyond[site.index()].as_mut().filter(|_| is_own) {
                beyond.add(bytes, now);
            }
            return true;
        }
        if before.is_some() && self.roles.serving == site && self.roles.is_divergent {
            self.dropped.add(bytes, now);
        }
        before.is_some()
    }

    /// Both sites are in step.
    pub(super) fn in_step(&mut self) {
        self.roles.is_divergent = false;
        self.roles.is_unknown = false;
        self.roles.is_waived = false;
        self.roles.parted.clear();
    }
}
