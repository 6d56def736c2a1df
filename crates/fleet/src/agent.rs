//! A host's side: it holds the test until all hosts are there, and lets it go on without anybody.
//!
//! ```text
//!   ToAgent ---> Agent ---> Order: check, prepare, begin at, collect at, cut, stop
//!                  ^   <--- Progress: checked, ready, warm, collecting, closing, ended
//!                  '------- beat: where it stands, every two seconds and at every change
//! ```
//!
//! Before the collection's instant a host that nobody speaks to waits, then ends in order. After
//! it, the host finishes and keeps its folder.

use std::mem;

use brunt_units::{Span, Time};

use crate::checks::Facts;
use crate::message::{End, FromAgent, How, Phase, Standstill, Status, Task, ToAgent};
use crate::{BEAT, SILENCE};

/// What the test is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    Check(Box<Task>),
    Prepare,
    Begin {
        at: Time,
    },
    Collect {
        at: Time,
    },
    /// Ends the collection, closes and verifies.
    Cut,
    /// Ends in order.
    Stop,
    /// Sends the list of files.
    List,
    /// Sends a piece of a file.
    Read {
        file: u16,
        offset: u64,
    },
    /// Nobody needs this agent any more.
    Leave,
}

/// How far the test is.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    Checked(Box<Facts>),
    Ready,
    Warm,
    /// It began to collect then, on this host's clock.
    Collecting {
        at: Time,
    },
    Closing,
    Ended {
        how: How,
        has_folder: bool,
    },
    /// Its last news.
    News(String),
}

/// An agent; see the [module](self).
#[derive(Clone, Debug)]
pub struct Agent {
    wait: Span,
    status: Status,
    facts: Option<Facts>,
    /// The test was asked to look at the host.
    has_test: bool,
    coordinator: Option<u64>,
    /// When somebody was last heard, and when this phase began.
    heard: Time,
    since: Time,
    /// When the engine last did something, and when time was last looked at.
    alive: Time,
    /// Why the test was told to end.
    reason: Option<How>,
    told: Option<Time>,
    orders: Vec<Order>,
    said: Vec<FromAgent>,
}

impl Agent {
    /// An agent that waits for `wait` when nobody speaks to it, until its task says for how long.
    pub fn new(wait: Span, now: Time) -> Self {
        Self {
            wait,
            status: Status::default(),
            facts: None,
            has_test: false,
            coordinator: None,
            heard: now,
            since: now,
            alive: now,
            reason: None,
            told: None,
            orders: Vec::new(),
            said: Vec::new(),
        }
    }

    /// Serves what a run left that is over.
    pub fn ended(status: Status, now: Time) -> Self {
        Self { status, ..Self::new(Span::ZERO, now) }
    }

    pub fn status(&self) -> &Status {
        &self.status
    }

    /// A coordinator has connected; the one before, if it is another one, is to be told.
    pub fn connected(&mut self, coordinator: u64, now: Time) -> Option<FromAgent> {
        let before = self.coordinator.replace(coordinator);
        self.heard = now;
        self.told = None;
        self.said.clear();
        before.filter(|before| *before != coordinator).map(|_| FromAgent::Replaced)
    }

    /// What is to be done. The caller hands orders to the test, and answers `List` and `Read`.
    pub fn orders(&mut self) -> Vec<Order> {
        mem::take(&mut self.orders)
    }

    /// What is to be said to the coordinator, if there is one.
    pub fn said(&mut self) -> Vec<FromAgent> {
        mem::take(&mut self.said)
    }

    /// The coordinator says `message`.
    pub fn hear(&mut self, message: ToAgent, now: Time) {
        self.heard = now;
        match message {
            ToAgent::Check(task) => match &self.facts {
                Some(facts) => self.said.push(FromAgent::Facts(Box::new(facts.clone()))),
                None if self.status.phase == Phase::Checking && !self.has_test => {
                    self.has_test = true;
                    self.wait = task.wait;
                    self.orders.push(Order::Check(task));
                }
                None => {}
            },
            ToAgent::Prepare if self.status.phase == Phase::Checked => {
                self.enter(Phase::Preparing, now);
                self.orders.push(Order::Prepare);
            }
            ToAgent::Begin { at } if self.status.phase == Phase::Ready => {
                if self.status.begin.is_none() && self.is_in_time(at, now) {
                    self.status.begin = Some(at);
                    self.orders.push(Order::Begin { at });
                    self.told = None;
                }
            }
            ToAgent::Collect { at } if self.status.phase == Phase::Warm => {
                if self.status.collect.is_none() && self.is_in_time(at, now) {
                    self.status.collect = Some(at);
                    self.orders.push(Order::Collect { at });
                    self.told = None;
                }
            }
            ToAgent::Cut => self.end(How::Cut),
            ToAgent::Stop => self.end(How::Stopped),
            ToAgent::Ping { number } => self.said.push(FromAgent::Pong { number, at: now }),
            ToAgent::List => self.orders.push(Order::List),
            ToAgent::Read { file, offset } => self.orders.push(Order::Read { file, offset }),
            ToAgent::Dismiss if self.status.phase == Phase::Ended => {
                self.orders.push(Order::Leave);
            }
            // It comes too late, or too early: the status says so.
            ToAgent::Prepare
            | ToAgent::Begin { .. }
            | ToAgent::Collect { .. }
            | ToAgent::Dismiss => {}
        }
    }

    /// An instant that has passed is missed.
    fn is_in_time(&mut self, at: Time, now: Time) -> bool {
        if at < now {
            self.end(How::Late { by: now.since(at) });
        }
        at >= now
    }

    /// The test has come to `progress`.
    pub fn progress(&mut self, progress: Progress, now: Time) {
        self.look(now);
        self.alive = now;
        if self.status.end.is_some() {
            return;
        }
        match progress {
            Progress::News(news) => self.status.news = news,
            Progress::Checked(facts) => {
                self.said.push(FromAgent::Facts(facts.clone()));
                self.facts = Some(*facts);
                self.enter(Phase::Checked, now);
            }
            Progress::Ready => self.enter(Phase::Ready, now),
            Progress::Warm => self.enter(Phase::Warm, now),
            Progress::Collecting { at } => {
                self.status.collected = Some(at);
                self.enter(Phase::Collecting, now);
            }
            Progress::Closing => self.enter(Phase::Closing, now),
            Progress::Ended { how, has_folder } => {
                let how = self.how(how);
                self.status.end = Some(End { how, at: Some(now), has_folder });
                self.enter(Phase::Ended, now);
            }
        }
    }

    /// What it was told to end for is why it ended. What broke by itself did so all the same.
    fn how(&mut self, how: How) -> How {
        match (how, self.reason.take()) {
            (broke @ How::Broke { .. }, _) => broke,
            (how, reason) => reason.unwrap_or(how),
        }
    }

    /// Time has passed. Called at least once a second; the caller's own standstill is a host's.
    pub fn tick(&mut self, now: Time) {
        self.look(now);
        let alone = now.since(self.heard.max(self.since));
        let waits = match self.status.phase {
            Phase::Checking | Phase::Checked => true,
            Phase::Ready => self.status.begin.is_none(),
            Phase::Warm => self.status.collect.is_none(),
            _ => false,
        };
        if waits && alone > self.wait {
            let why = format!("the coordinator said nothing for {}", self.wait);
            self.end(How::NotBegun { why });
        }
        if self.status.phase == Phase::Ready && self.status.begin.is_some_and(|at| at <= now) {
            self.enter(Phase::Warming, now);
        }
        if self.told.is_none_or(|told| now.since(told) >= BEAT) {
            self.told = Some(now);
            self.said.push(FromAgent::Status(Box::new(self.status.clone())));
        }
    }

    /// Notes a standstill while sessions work.
    fn look(&mut self, now: Time) {
        let lasted = now.since(self.alive);
        let is_load = matches!(self.status.phase, Phase::Warming | Phase::Warm | Phase::Collecting);
        let is_longer = self.status.still.is_none_or(|still| still.lasted < lasted);
        if is_load && lasted >= SILENCE && is_longer {
            self.status.still = Some(Standstill { began: self.alive, lasted });
        }
    }

    fn enter(&mut self, phase: Phase, now: Time) {
        // The test may be ahead of what this has seen of it, never behind.
        if phase > self.status.phase {
            self.status.phase = phase;
            self.since = now;
            self.told = None;
        }
    }

    fn end(&mut self, why: How) {
        if self.status.phase == Phase::Ended {
            return;
        }
        let order = match (&why, self.status.phase) {
            (How::Cut | How::Late { .. }, Phase::Warming | Phase::Warm | Phase::Collecting) => {
                Order::Cut
            }
            // It verifies what it has; only the user keeps it from that.
            (How::Stopped, Phase::Closing) => return self.orders.push(Order::Stop),
            (_, Phase::Closing) => return,
            _ => Order::Stop,
        };
        if !self.has_test {
            self.status.end = Some(End { how: why, at: Some(self.heard), has_folder: false });
            self.enter(Phase::Ended, self.heard);
            return;
        }
        if self.reason.is_none() || matches!(why, How::Stopped) {
            self.reason = Some(why);
            self.orders.push(order);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::seconds(seconds)
    }

    fn checked() -> Agent {
        let mut agent = Agent::new(Span::seconds(1), at(0));
        let task = Box::new(Task { wait: Span::seconds(60), ..Task::default() });
        agent.hear(ToAgent::Check(task.clone()), at(1));
        assert_eq!(agent.orders(), [Order::Check(task)]);
        agent.progress(Progress::Checked(Box::default()), at(2));
        agent
    }

    fn warm() -> Agent {
        let mut agent = checked();
        agent.hear(ToAgent::Prepare, at(3));
        agent.progress(Progress::Ready, at(4));
        agent.hear(ToAgent::Begin { at: at(6) }, at(5));
        agent.tick(at(6));
        agent.progress(Progress::Warm, at(7));
        agent.orders();
        agent
    }

    #[test]
    fn orders_come_once_and_in_their_order() {
        let mut agent = checked();
        agent.hear(ToAgent::Begin { at: at(9) }, at(3));
        assert_eq!(agent.orders(), [], "it is not ready");
        agent.hear(ToAgent::Prepare, at(3));
        agent.hear(ToAgent::Prepare, at(3));
        assert_eq!(agent.orders(), [Order::Prepare]);
        agent.progress(Progress::Ready, at(4));
        agent.hear(ToAgent::Begin { at: at(9) }, at(5));
        agent.hear(ToAgent::Begin { at: at(99) }, at(5));
        assert_eq!(agent.orders(), [Order::Begin { at: at(9) }]);
        assert_eq!(agent.status().begin, Some(at(9)));
    }

    #[test]
    fn an_instant_that_has_passed_is_missed() {
        let mut agent = warm();
        agent.hear(ToAgent::Collect { at: at(8) }, at(9));
        assert_eq!(agent.orders(), [Order::Cut]);
        agent.progress(Progress::Ended { how: How::Stopped, has_folder: true }, at(10));
        let end = agent.status().end.clone().unwrap();
        assert_eq!(end.how, How::Late { by: Span::seconds(1) });
    }

    #[test]
    fn it_waits_for_the_instant_and_then_needs_nobody() {
        let mut agent = warm();
        agent.tick(at(66));
        assert_eq!(agent.orders(), [], "it heard something after five seconds");
        agent.tick(at(68));
        assert_eq!(agent.orders(), [Order::Stop]);
        let mut agent = warm();
        agent.hear(ToAgent::Collect { at: at(9) }, at(8));
        agent.progress(Progress::Collecting { at: at(9) }, at(9));
        agent.orders();
        agent.progress(Progress::News(String::new()), at(999));
        agent.tick(at(1_000));
        assert_eq!(agent.orders(), []);
    }

    #[test]
    fn an_engine_that_does_nothing_is_noted_while_sessions_work() {
        let mut agent = warm();
        agent.tick(at(9));
        assert_eq!(agent.status().still, None);
        agent.tick(at(12));
        let still = agent.status().still.unwrap();
        assert_eq!((still.began, still.lasted), (at(7), Span::seconds(5)));
        agent.progress(Progress::Closing, at(13));
        agent.tick(at(99));
        assert_eq!(agent.status().still.unwrap().lasted, Span::seconds(6));
    }

    #[test]
    fn another_coordinator_takes_it_over() {
        let mut agent = Agent::new(Span::seconds(60), at(0));
        assert_eq!(agent.connected(1, at(0)), None);
        assert_eq!(agent.connected(1, at(1)), None, "it came back");
        assert_eq!(agent.connected(2, at(2)), Some(FromAgent::Replaced));
    }
}
