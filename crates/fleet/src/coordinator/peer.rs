//! One host as the coordinator knows it: its connection, its clock, its status, its folder.

use brunt_units::{Span, Time};

use super::{HostPlan, Plan};
use crate::checks::Facts;
use crate::clock::{Estimate, Offsets};
use crate::fate::Fate;
use crate::fetch::Folder;
use crate::frame::{FIRST, FrameError, Frames, frame};
use crate::message::{Hello, Phase, Status, ToAgent};
use crate::{BEAT, SILENCE};

/// From a lost connection to the next one: at first, and at most.
const AGAIN: Span = Span::millis(500);
const AGAIN_MAX: Span = Span::seconds(10);

/// A launcher that has not greeted within this time is started again: logins take seconds.
const DIALS: Span = Span::seconds(30);

/// Round trips in a row, at the beginning of a connection.
const BURST: u32 = 16;

/// The way to a host.
#[derive(Debug)]
enum Link {
    Down { until: Time },
    Dialing { since: Time },
    Up { frames: Box<Frames>, is_greeted: bool, since: Time, heard: Time },
}

/// What was sent on this connection.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pub(super) check: bool,
    pub(super) prepare: bool,
    pub(super) begin: bool,
    pub(super) collect: bool,
    pub(super) end: bool,
}

/// What a connection needs.
pub(super) enum Need {
    Connect,
    Close,
}

pub(super) struct Peer {
    pub(super) plan: HostPlan,
    link: Link,
    again: Span,
    clock: Offsets,
    /// What was known of its clock when it was last needed.
    pub(super) known: Option<Estimate>,
    ping: u64,
    pinged: Time,
    burst: u32,
    /// Questions under way.
    asked: Option<(u64, Time)>,
    pub(super) facts: Option<Facts>,
    pub(super) status: Option<Status>,
    /// When it last said where it stands.
    pub(super) spoke: Time,
    /// Why the connection was lost last, or could not be made.
    pub(super) why: Option<String>,
    pub(super) sent: Sent,
    pub(super) folder: Folder,
    /// When it began to collect, on the coordinator's clock, and how wrong that is.
    pub(super) collected: Option<(Time, Span)>,
    pub(super) fate: Option<Fate>,
    /// Nothing more is wanted of it.
    pub(super) is_over: bool,
}

impl Peer {
    pub(super) fn new(plan: HostPlan, now: Time) -> Self {
        Self {
            plan,
            link: Link::Down { until: now },
            again: AGAIN,
            clock: Offsets::default(),
            known: None,
            ping: 0,
            pinged: now,
            burst: 0,
            asked: None,
            facts: None,
            status: None,
            spoke: now,
            why: None,
            sent: Sent::default(),
            folder: Folder::default(),
            collected: None,
            fate: None,
            is_over: false,
        }
    }

    pub(super) fn is_greeted(&self) -> bool {
        matches!(self.link, Link::Up { is_greeted: true, .. })
    }

    pub(super) fn phase(&self) -> Phase {
        self.status.as_ref().map_or(Phase::Checking, |status| status.phase)
    }

    /// Why nothing is heard of it.
    pub(super) fn why_silent(&self) -> String {
        self.why.clone().unwrap_or_else(|| "it was not reached yet".to_owned())
    }

    /// When it began to collect, on its clock as that is today.
    pub(super) fn collected_there(&self) -> Option<Time> {
        let status = self.status.as_ref().filter(|status| !status.is_of_another_boot);
        status.and_then(|status| status.collected)
    }

    /// The first bytes to send.
    pub(super) fn connected(&mut self, plan: &Plan, now: Time) -> Vec<u8> {
        let frames = Box::default();
        self.link = Link::Up { frames, is_greeted: false, since: now, heard: now };
        self.sent = Sent::default();
        self.asked = None;
        self.burst = BURST;
        self.folder.reconnected();
        let hello = Hello {
            program: plan.program.clone(),
            run: self.plan.run.clone(),
            coordinator: plan.coordinator,
        };
        [FIRST, &frame(&hello.to_content())].concat()
    }

    /// Takes bytes; `false` when they are of a connection that was given up.
    pub(super) fn takes(&mut self, bytes: &[u8], now: Time) -> bool {
        match &mut self.link {
            Link::Up { frames, heard, .. } => {
                *heard = now;
                frames.push(bytes);
                true
            }
            _ => false,
        }
    }

    pub(super) fn next_content(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        match &mut self.link {
            Link::Up { frames, .. } => frames.next_content(),
            _ => Ok(None),
        }
    }

    pub(super) fn greeted(&mut self) {
        if let Link::Up { is_greeted, .. } = &mut self.link {
            *is_greeted = true;
        }
    }

    pub(super) fn lost(&mut self, why: String, now: Time) {
        if !matches!(self.link, Link::Down { .. }) {
            self.link = Link::Down { until: now + self.again };
            self.again = AGAIN_MAX.min(self.again * 2);
            self.why = Some(why);
        }
    }

    /// Makes a connection, and gives up one that is silent: its other end may be gone without a
    /// word.
    pub(super) fn tend(&mut self, now: Time) -> Option<Need> {
        match &self.link {
            Link::Down { until } if *until <= now && !self.is_over => {
                self.link = Link::Dialing { since: now };
                Some(Need::Connect)
            }
            Link::Dialing { since } if now.since(*since) > DIALS => {
                self.lost(format!("no connection within {DIALS}"), now);
                Some(Need::Close)
            }
            Link::Up { is_greeted, since, heard, .. } => {
                // A door says within that time that its agent is silent.
                let patience = if *is_greeted { SILENCE + BEAT } else { DIALS };
                let is_silent = now.since(*heard) > patience;
                if *is_greeted && now.since(*since) > SILENCE {
                    self.again = AGAIN;
                }
                if self.is_over {
                    self.link = Link::Down { until: now };
                    return Some(Need::Close);
                }
                is_silent.then(|| {
                    self.lost(format!("nothing was heard for {patience}"), now);
                    Need::Close
                })
            }
            _ => None,
        }
    }

    /// The next question for the time there, if it is time for one.
    pub(super) fn ping(&mut self, now: Time) -> Option<ToAgent> {
        let is_due = now.since(self.pinged) >= BEAT || (self.burst > 0 && self.asked.is_none());
        if !self.is_greeted() || !is_due {
            return None;
        }
        self.burst = self.burst.saturating_sub(1);
        self.ping += 1;
        self.pinged = now;
        self.asked = Some((self.ping, now));
        Some(ToAgent::Ping { number: self.ping })
    }

    pub(super) fn pong(&mut self, number: u64, there: Time, now: Time) {
        if let Some((_, sent)) = self.asked.take_if(|(asked, _)| *asked == number) {
            self.clock.add(sent, there, now);
        }
    }

    /// What is known of its clock.
    pub(super) fn estimate(&mut self, now: Time) -> Option<Estimate> {
        let estimate = self.clock.estimate(now);
        self.known = estimate.or(self.known);
        estimate
    }

    /// Its agent has begun: what was known of it was another one's.
    pub(super) fn begins(&mut self) {
        self.clock.clear();
        self.facts = None;
        self.status = None;
    }

    /// Whether enough round trips were made to say how well its clock is known.
    pub(super) fn is_measured(&self) -> bool {
        self.burst == 0 && self.clock.last().is_some()
    }
}
