//! The side that conducts: it tells hosts what their status lacks, and says what happened to whom.
//!
//! ```text
//!   connected, heard, lost, tick, stop ---> Coordinator ---> Deed: connect, close, send, keep
//!                                               |
//!                                               '--- Report, once nothing is to come from any host
//! ```
//!
//! It keeps nothing that a host does not know as well: a coordinator that begins on a run under way
//! takes its instants from the hosts' status, and goes on.

mod peer;
mod steps;

use std::mem;

use brunt_report::result::Verdict;
use brunt_units::{Span, Time};
use serde::{Deserialize, Serialize};

use crate::fate::{Fate, shown, whole};
use crate::message::{Phase, Program, Status};
use peer::Peer;

/// What is to be conducted.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    pub program: Program,
    /// A number of this coordinator, drawn at random.
    pub coordinator: u64,
    /// Whether databases that are there may be replaced.
    pub replace: bool,
    pub hosts: Vec<HostPlan>,
    pub limits: Limits,
}

/// One server of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPlan {
    pub name: String,
    /// The id of its run, which begins at most once on a host.
    pub run: String,
    /// Its scenario, complete.
    pub scenario: String,
}

/// What is waited for, and how long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// From the first host that is ready to the last one.
    pub wait: Span,
    /// By how much hosts may begin apart.
    pub max_skew: Span,
    /// Whether several servers may be on one machine.
    pub same_machine: bool,
    /// How long a host may take to answer for the first time.
    pub reach: Span,
    /// How long a collection takes.
    pub lasts: Span,
    /// Bytes in the folder of a host.
    pub bytes_max: u64,
}

/// What the caller is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    Connect(usize),
    Close(usize),
    Send(usize, Vec<u8>),
    /// Write these bytes of a file of the host's folder.
    Keep {
        host: usize,
        name: String,
        offset: u64,
        bytes: Vec<u8>,
    },
    /// Tell the user.
    Advise(String),
}

/// What is shown of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<'a> {
    pub name: &'a str,
    pub is_connected: bool,
    /// Why it is not connected; `None` while it is, and before the first try has failed.
    pub why: Option<&'a str>,
    pub phase: Phase,
    /// Its test's last news.
    pub news: &'a str,
    pub fate: Option<&'a Fate>,
    /// How far its clock was ahead when it was last needed.
    pub offset_ns: Option<i64>,
    /// Since it last said where it stands; `None` before the first time.
    pub heard: Option<Span>,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub verdict: Verdict,
    /// The hosts that decided it, each with what happened.
    pub reasons: Vec<String>,
    pub agents: Vec<AgentReport>,
    /// How far apart hosts began to collect; `None` when fewer than two did.
    pub skew: Option<Span>,
    /// That is wrong by at most this.
    pub skew_bound: Option<Span>,
}

/// What happened to a host.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentReport {
    pub name: String,
    /// Its own name.
    pub host: Option<String>,
    pub fate: Fate,
    /// Nanoseconds by which its clock is ahead of the coordinator's, and by how much that is wrong.
    pub offset_ns: Option<i64>,
    pub offset_bound: Option<Span>,
}

/// How far the run is, in the coordinator's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Course {
    Checking,
    Preparing,
    Beginning(Time),
    Collecting(Time),
}

/// Why hosts are told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// A host could not begin.
    Nobody,
    /// A host has ended early.
    Early,
    /// The user wants it.
    Stopped,
}

/// A coordinator; see the [module](self).
pub struct Coordinator {
    plan: Plan,
    peers: Vec<Peer>,
    course: Course,
    ending: Option<Ending>,
    is_replaced: bool,
    is_let_go: bool,
    has_advised: bool,
    /// When the first host came to where all are awaited.
    first: [Option<Time>; 3],
    deeds: Vec<Deed>,
}

impl Coordinator {
    /// Conducts `plan`: from its beginning, or from where its hosts are.
    pub fn new(plan: Plan, now: Time) -> Self {
        let peers = plan.hosts.iter().map(|host| Peer::new(host.clone(), now)).collect();
        Self {
            plan,
            peers,
            course: Course::Checking,
            ending: None,
            is_replaced: false,
            is_let_go: false,
            has_advised: false,
            first: [None; 3],
            deeds: Vec::new(),
        }
    }

    /// What is to be done.
    pub fn deeds(&mut self) -> Vec<Deed> {
        mem::take(&mut self.deeds)
    }

    /// The caller has connected to `host`.
    pub fn connected(&mut self, host: usize, now: Time) {
        let (plan, peer) = (&self.plan, &mut self.peers[host]);
        let bytes = peer.connected(plan, now);
        self.deeds.push(Deed::Send(host, bytes));
    }

    /// `bytes` have come from `host`.
    pub fn heard(&mut self, host: usize, bytes: &[u8], now: Time) {
        let peer = &mut self.peers[host];
        if !peer.takes(bytes, now) {
            return;
        }
        loop {
            match self.peers[host].next_content() {
                Ok(None) => return,
                Ok(Some(content)) => self.take(host, &content, now),
                Err(why) => {
                    self.peers[host].lost(why.to_string(), now);
                    self.deeds.push(Deed::Close(host));
                    return;
                }
            }
        }
    }

    /// The connection to `host` has ended, or could not be made.
    pub fn lost(&mut self, host: usize, why: String, now: Time) {
        self.peers[host].lost(why, now);
    }

    /// The user wants to stop: in order; the second time, at once.
    pub fn stop(&mut self) {
        self.is_let_go = self.ending == Some(Ending::Stopped);
        self.ending = Some(Ending::Stopped);
    }

    /// One row for each host, at `now`.
    pub fn rows(&self, now: Time) -> Vec<Row<'_>> {
        let rows = self.peers.iter().map(|peer| Row {
            name: &peer.plan.name,
            is_connected: peer.is_greeted(),
            why: peer.why.as_deref().filter(|_| !peer.is_greeted()),
            phase: peer.phase(),
            news: peer.status.as_ref().map_or("", |status| &status.news),
            fate: peer.fate.as_ref(),
            offset_ns: peer.known.map(|known| known.offset_ns),
            heard: peer.status.as_ref().map(|_| now.since(peer.spoke)),
        });
        rows.collect()
    }

    /// What came of the run, once nothing more is to come.
    pub fn report(&self) -> Option<Report> {
        let agent = |peer: &Peer| {
            let fate = match (&peer.fate, self.is_let_go && !peer.is_over) {
                (Some(fate), _) => fate.clone(),
                (None, true) => Fate::LetGo,
                (None, false) => return None,
            };
            Some(AgentReport {
                name: peer.plan.name.clone(),
                host: peer.facts.as_ref().map(|facts| shown(&facts.host)),
                fate,
                offset_ns: peer.known.map(|known| known.offset_ns),
                offset_bound: peer.known.map(|known| known.bound),
            })
        };
        let replaced = || Fate::Refused { why: "another coordinator has this run now".to_owned() };
        let is_done = self.peers.iter().all(|peer| peer.is_over);
        if !is_done && !self.is_let_go && !self.is_replaced {
            return None;
        }
        let agents = self.peers.iter().map(|peer| {
            agent(peer).unwrap_or_else(|| AgentReport {
                name: peer.plan.name.clone(),
                host: None,
                fate: replaced(),
                offset_ns: None,
                offset_bound: None,
            })
        });
        let agents: Vec<AgentReport> = agents.collect();
        let fates = agents.iter().map(|agent| (agent.name.as_str(), &agent.fate));
        let (verdict, reasons) = whole(fates);
        let (skew, skew_bound) = self.skew().unzip();
        Some(Report { verdict, reasons, agents, skew, skew_bound })
    }

    /// How far apart hosts began to collect, and by how much that is wrong.
    fn skew(&self) -> Option<(Span, Span)> {
        let collected: Vec<(Time, Span)> = self.peers.iter().filter_map(|p| p.collected).collect();
        let times = || collected.iter().map(|(at, _)| *at);
        let mut bounds: Vec<Span> = collected.iter().map(|(_, bound)| *bound).collect();
        bounds.sort_unstable();
        let [.., less, most] = bounds.as_slice() else {
            return None;
        };
        Some((times().max()?.since(times().min()?), *most + *less))
    }

    fn status(&self, host: usize) -> Option<&Status> {
        self.peers[host].status.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_why_its_host_is_not_connected_while_that_is_tried_again() {
        let limits = Limits {
            wait: Span::seconds(60),
            max_skew: Span::seconds(1),
            same_machine: false,
            reach: Span::seconds(60),
            lasts: Span::seconds(60),
            bytes_max: 1 << 20,
        };
        let host = ["MAIL1", "run-1", ""].map(str::to_owned);
        let [name, run, scenario] = host;
        let plan = Plan {
            program: Program { version: "1".to_owned(), commit: None },
            coordinator: 1,
            replace: false,
            hosts: vec![HostPlan { name, run, scenario }],
            limits,
        };
        let mut coordinator = Coordinator::new(plan, Time::ZERO);
        let why =
            |coordinator: &Coordinator| coordinator.rows(Time::ZERO)[0].why.map(str::to_owned);
        coordinator.tick(Time::ZERO);
        assert_eq!(coordinator.deeds(), [Deed::Connect(0)]);
        assert_eq!(why(&coordinator), None, "nothing has failed yet");
        coordinator.lost(0, "ssh: no route to a1".to_owned(), Time::ZERO);
        let later = Time::ZERO + Span::seconds(20);
        coordinator.tick(later);
        assert_eq!(coordinator.deeds(), [Deed::Connect(0)], "it is tried again");
        coordinator.connected(0, later);
        assert_eq!(why(&coordinator).as_deref(), Some("ssh: no route to a1"));
        assert_eq!(coordinator.rows(Time::ZERO)[0].fate, None);
        coordinator.peers[0].greeted();
        assert_eq!(why(&coordinator), None);
    }
}
