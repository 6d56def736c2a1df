//! What follows from what hosts have said, and from time.

use brunt_report::result::Verdict;
use brunt_units::{Span, Time};

use super::peer::{Need, Peer};
use super::{Coordinator, Course, Deed, Ending};
use crate::checks::{Facts, conflicts, digest};
use crate::fate::{Fate, shown};
use crate::fetch::Arrived;
use crate::frame::frame;
use crate::message::{Admission, FromAgent, Greeting, How, Phase, Status, Task, ToAgent};

/// From the decision to the instant: hosts hear of it in time although a connection is made again.
const LEAD: Span = Span::seconds(3);

/// Wall clocks that differ by this much are worth a word: logs of hosts are hard to compare.
const WALL: Span = Span::seconds(2);

impl Coordinator {
    /// Time has passed. Called ten times a second.
    pub fn tick(&mut self, now: Time) {
        if self.is_replaced || self.is_let_go {
            return;
        }
        for host in 0..self.peers.len() {
            match self.peers[host].tend(now) {
                Some(Need::Connect) => self.deeds.push(Deed::Connect(host)),
                Some(Need::Close) => self.deeds.push(Deed::Close(host)),
                None => {}
            }
        }
        self.advance(now);
        self.compare_beginnings(now);
        self.give_up(now);
        self.choose_ending();
        for host in 0..self.peers.len() {
            self.order(host, now);
            self.finish(host);
        }
    }

    /// Takes a message of `host`.
    pub(super) fn take(&mut self, host: usize, content: &[u8], now: Time) {
        if !self.peers[host].is_greeted() {
            match Greeting::read(content) {
                Some(greeting) => self.greet(host, greeting),
                None => self.misunderstood(host, now),
            }
            return;
        }
        match FromAgent::read(content) {
            None => self.misunderstood(host, now),
            Some(FromAgent::Facts(facts)) => self.peers[host].facts = Some(*facts),
            Some(FromAgent::Status(status)) => self.hear(host, *status, now),
            Some(FromAgent::Pong { number, at }) => {
                self.peers[host].pong(number, at, now);
                self.ping(host, now);
            }
            Some(FromAgent::Silent { lasted }) => self.silent(host, lasted),
            Some(FromAgent::Replaced) => self.is_replaced = true,
            Some(FromAgent::Files(files)) => {
                let listed = self.peers[host].folder.list(files, self.plan.limits.bytes_max);
                self.keep(host, listed);
            }
            Some(FromAgent::Piece { file, offset, bytes }) => {
                let arrived = self.peers[host].folder.piece(file, offset, bytes);
                self.keep(host, arrived.map(Vec::from_iter));
            }
            Some(FromAgent::Unread { why, .. }) => self.keep(host, Err(why)),
        }
    }

    fn misunderstood(&mut self, host: usize, now: Time) {
        self.peers[host].lost("it said something else than brunt does".to_owned(), now);
        self.deeds.push(Deed::Close(host));
    }

    fn greet(&mut self, host: usize, greeting: Greeting) {
        let peer = &mut self.peers[host];
        let refused = match greeting.admission {
            Admission::Refused { why } => Some(why),
            _ if greeting.program != self.plan.program => {
                let (there, here) = (&greeting.program, &self.plan.program);
                Some(format!("there is brunt {there}, here is {here}"))
            }
            Admission::Begun => {
                if peer.phase() > Phase::Checked {
                    // The host has lost what it knew of the run.
                    peer.fate.get_or_insert(Fate::Restarted);
                }
                peer.begins();
                None
            }
            Admission::Attached | Admission::Served => None,
        };
        match refused {
            Some(why) => {
                peer.fate.get_or_insert(Fate::Refused { why });
                peer.is_over = true;
            }
            None => peer.greeted(),
        }
    }

    fn hear(&mut self, host: usize, status: Status, now: Time) {
        let peer = &mut self.peers[host];
        peer.spoke = now;
        if let Some(still) = status.still {
            let begun = status.begin.unwrap_or(still.began);
            let at = still.began.since(begun);
            peer.fate.get_or_insert(Fate::Silent { at, lasted: still.lasted });
        }
        let by = status.collected.zip(status.collect).map_or(Span::ZERO, |(at, due)| at.since(due));
        if by > self.plan.limits.max_skew {
            peer.fate.get_or_insert(Fate::Late { by });
        }
        let known = peer.estimate(now);
        // A run that is under way is gone on with.
        if status.phase >= Phase::Preparing && status.end.is_none() {
            self.course = self.course.max(Course::Preparing);
        }
        if let Some(known) = known {
            let (begin, collect) = (status.begin, status.collect);
            if let (Some(at), Course::Checking | Course::Preparing) = (begin, self.course) {
                self.course = Course::Beginning(known.here(at));
            }
            if let (Some(at), true) = (collect, !matches!(self.course, Course::Collecting(_))) {
                self.course = Course::Collecting(known.here(at));
            }
        }
        let peer = &mut self.peers[host];
        peer.status = Some(status);
        if let Some(fate) = self.fate_of(host) {
            self.peers[host].fate.get_or_insert(fate);
        }
    }

    /// A host that was held up began later than the others, although it knew the instant.
    fn compare_beginnings(&mut self, now: Time) {
        let mut is_new = false;
        for peer in &mut self.peers {
            if let (None, Some(at), Some(known)) =
                (peer.collected, peer.collected_there(), peer.estimate(now))
            {
                peer.collected = Some((known.here(at), known.bound));
                is_new = true;
            }
        }
        if !is_new {
            return;
        }
        let began = |peer: &Peer| peer.collected.map(|(at, _)| at);
        let first = self.peers.iter().filter_map(began).min();
        for peer in &mut self.peers {
            let by = began(peer).zip(first).map_or(Span::ZERO, |(at, first)| at.since(first));
            if by > self.plan.limits.max_skew {
                peer.fate.get_or_insert(Fate::Late { by });
            }
        }
    }

    /// What happened to a host that has ended otherwise than with a verdict.
    fn fate_of(&self, host: usize) -> Option<Fate> {
        let end = self.status(host)?.end.as_ref()?;
        Some(match end.how.clone() {
            How::Complete(_) => return None,
            How::Stopped => Fate::Stopped,
            How::GaveUp { why } => Fate::GaveUp { why },
            How::Cut => Fate::WithOthers,
            How::Broke { why } => Fate::Broke { why },
            How::NotBegun { why } => Fate::Refused { why },
            How::Late { by } => Fate::Late { by },
            How::Killed { why } => Fate::Killed { why },
            How::Restarted => Fate::Restarted,
        })
    }

    /// Somebody on the host says that its agent is silent.
    fn silent(&mut self, host: usize, lasted: Span) {
        let is_load =
            matches!(self.peers[host].phase(), Phase::Warming | Phase::Warm | Phase::Collecting);
        if is_load {
            let course = self.course;
            let peer = &mut self.peers[host];
            let begun = match course {
                Course::Beginning(at) | Course::Collecting(at) => at,
                _ => peer.spoke,
            };
            let at = peer.spoke.since(begun);
            peer.fate.get_or_insert(Fate::Silent { at, lasted });
        }
    }

    fn keep(&mut self, host: usize, arrived: Result<Vec<Arrived>, String>) {
        match arrived {
            Ok(arrived) => self.deeds.extend(arrived.into_iter().map(|piece| Deed::Keep {
                host,
                name: piece.name,
                offset: piece.offset,
                bytes: piece.bytes,
            })),
            Err(why) => {
                let peer = &mut self.peers[host];
                peer.fate.get_or_insert(Fate::NotFetched { why });
                peer.is_over = true;
            }
        }
        // The next piece is asked for at once.
        self.fetch(host);
    }

    /// Goes on when all hosts are there.
    fn advance(&mut self, now: Time) {
        if self.ending.is_some() {
            return;
        }
        let (wanted, at) = match self.course {
            Course::Checking => (Phase::Checked, 0),
            Course::Preparing => (Phase::Ready, 1),
            Course::Beginning(_) => (Phase::Warm, 2),
            Course::Collecting(_) => return,
        };
        let is_there = |status: Option<&Status>| status.is_some_and(|one| one.phase >= wanted);
        let there: Vec<bool> =
            (0..self.peers.len()).map(|host| is_there(self.status(host))).collect();
        if there.contains(&true) {
            self.first[at].get_or_insert(now);
        }
        let half = Span(self.plan.limits.max_skew.0 >> 1);
        let clocks = self.peers.iter_mut().map(|peer| peer.estimate(now));
        let known: Vec<bool> =
            clocks.map(|clock| clock.is_some_and(|clock| clock.bound <= half)).collect();
        let is_connected = self.peers.iter().all(Peer::is_greeted);
        if there.iter().chain(&known).all(|one| *one) && is_connected {
            match self.course {
                Course::Checking => self.check(),
                Course::Preparing => self.course = Course::Beginning(now + LEAD),
                _ => self.course = Course::Collecting(now + LEAD),
            }
            return;
        }
        let is_over = self.first[at].is_some_and(|first| now.since(first) > self.plan.limits.wait);
        let limits = self.plan.limits.clone();
        for (host, peer) in self.peers.iter_mut().enumerate().filter(|_| is_over) {
            let fate = match (there[host], known[host], peer.known) {
                (true, true, _) => continue,
                (true, false, Some(known)) if peer.is_measured() => {
                    Fate::Skew { bound: known.bound * 2, max: limits.max_skew }
                }
                _ => Fate::NotReady { within: limits.wait },
            };
            peer.fate.get_or_insert(fate);
        }
    }

    /// All hosts have looked at themselves: whether they may begin together.
    fn check(&mut self) {
        let facts = self.peers.iter().map(|peer| peer.facts.as_ref());
        let Some(facts) = facts.collect::<Option<Vec<&Facts>>>() else {
            return;
        };
        let names = self.peers.iter().map(|peer| peer.plan.name.as_str());
        let hosts: Vec<(&str, &Facts)> = names.zip(facts.iter().copied()).collect();
        let mut found = conflicts(&hosts, self.plan.limits.same_machine);
        for (host, (peer, facts)) in self.peers.iter().zip(&facts).enumerate() {
            if facts.scenario != digest(&peer.plan.scenario) {
                let why = "its scenario is not the one that was sent".to_owned();
                found.push((host, Fate::Refused { why }));
            }
        }
        let mut advice: Vec<String> = hosts
            .iter()
            .flat_map(|(name, facts)| {
                facts.warnings.iter().map(move |w| shown(&format!("{name}: {w}")))
            })
            .collect();
        let walls = || facts.iter().map(|facts| facts.unix_ns);
        let apart = walls().max().unwrap_or(0) - walls().min().unwrap_or(0);
        if Span(apart) > WALL {
            advice.push(format!("wall clocks are up to {} apart", Span(apart)));
        }
        if !std::mem::replace(&mut self.has_advised, true) {
            self.deeds.extend(advice.into_iter().map(Deed::Advise));
        }
        if found.is_empty() {
            self.course = Course::Preparing;
        }
        for (host, fate) in found {
            self.peers[host].fate.get_or_insert(fate);
        }
    }

    /// Gives up hosts that cannot be asked: before anything has begun, and when nobody else is
    /// waited for.
    fn give_up(&mut self, now: Time) {
        let limits = &self.plan.limits;
        let is_new = |peer: &Peer| peer.phase() <= Phase::Checked;
        let has_begun = !self.peers.iter().all(is_new) || self.course > Course::Checking;
        if !has_begun {
            let is_unheard = |peer: &&mut Peer| peer.status.is_none() && !peer.is_over;
            for peer in self.peers.iter_mut().filter(is_unheard) {
                if now.since(peer.spoke) > limits.reach {
                    let why = peer.why_silent();
                    peer.fate.get_or_insert(Fate::NotReached { why });
                    peer.is_over = true;
                }
            }
        }
        let has_end = |peer: &Peer| peer.status.as_ref().is_some_and(|status| status.end.is_some());
        let patience = match (self.ending, self.peers.iter().any(has_end)) {
            (Some(_), _) => limits.reach,
            (None, true) => limits.wait,
            (None, false) => limits.lasts + limits.wait,
        };
        if self.peers.iter().any(|peer| now.since(peer.spoke) <= patience) {
            return;
        }
        for peer in self.peers.iter_mut().filter(|peer| !peer.is_over) {
            let why = peer.why_silent();
            let fate = match self.ending {
                Some(Ending::Stopped) => Fate::LetGo,
                _ if has_end(peer) => Fate::NotFetched { why },
                _ => Fate::Lost { why },
            };
            peer.fate.get_or_insert(fate);
            peer.is_over = true;
        }
    }

    /// Whether all are to end, because of what happened to one.
    fn choose_ending(&mut self) {
        let cause = self.peers.iter().filter_map(|peer| peer.fate.as_ref()).find_map(|fate| {
            match (fate, fate.outcome()) {
                (Fate::WithOthers, _) => None,
                (_, Some(Verdict::Error)) => Some(Ending::Nobody),
                (_, Some(Verdict::Invalid)) => Some(Ending::Early),
                // Somebody has stopped that host.
                (Fate::Stopped, _) => Some(Ending::Early),
                _ => None,
            }
        });
        self.ending = self.ending.or(cause);
    }

    fn send(&mut self, host: usize, message: &ToAgent) {
        self.deeds.push(Deed::Send(host, frame(&message.to_content())));
    }

    fn ping(&mut self, host: usize, now: Time) {
        if let Some(ping) = self.peers[host].ping(now) {
            self.send(host, &ping);
        }
    }

    /// Tells `host` what its status lacks.
    fn order(&mut self, host: usize, now: Time) {
        self.ping(host, now);
        if !self.peers[host].is_greeted() || self.peers[host].is_over {
            return;
        }
        if self.peers[host].facts.is_none() && !self.peers[host].sent.check {
            self.peers[host].sent.check = true;
            let plan = &self.peers[host].plan;
            let task = Task {
                server: plan.name.clone(),
                scenario: plan.scenario.clone(),
                replace: self.plan.replace,
                wait: self.plan.limits.wait,
            };
            self.send(host, &ToAgent::Check(Box::new(task)));
        }
        let Some(status) = self.peers[host].status.clone() else {
            return;
        };
        if let Some(ending) = self.ending {
            self.end(host, ending, &status);
        } else {
            self.lead(host, &status, now);
        }
        self.fetch(host);
    }

    fn end(&mut self, host: usize, ending: Ending, status: &Status) {
        let spares = ending == Ending::Nobody && status.phase >= Phase::Collecting;
        let sent = &mut self.peers[host].sent;
        if status.end.is_none() && !spares && !std::mem::replace(&mut sent.end, true) {
            let message = match ending {
                Ending::Stopped => ToAgent::Stop,
                Ending::Nobody | Ending::Early => ToAgent::Cut,
            };
            self.send(host, &message);
        }
    }

    fn lead(&mut self, host: usize, status: &Status, now: Time) {
        let known = self.peers[host].estimate(now);
        let sent = &mut self.peers[host].sent;
        let message = match (self.course, status.phase) {
            (Course::Preparing, Phase::Checked) if !sent.prepare => {
                sent.prepare = true;
                Some(ToAgent::Prepare)
            }
            (Course::Beginning(at) | Course::Collecting(at), Phase::Ready)
                if status.begin.is_none() && !sent.begin =>
            {
                known.map(|known| {
                    sent.begin = true;
                    ToAgent::Begin { at: known.there(at) }
                })
            }
            (Course::Collecting(at), Phase::Warm) if status.collect.is_none() && !sent.collect => {
                known.map(|known| {
                    sent.collect = true;
                    ToAgent::Collect { at: known.there(at) }
                })
            }
            _ => None,
        };
        if let Some(message) = message {
            self.send(host, &message);
        }
    }

    /// Asks for the next piece of the folder of a host that has ended.
    fn fetch(&mut self, host: usize) {
        let peer = &mut self.peers[host];
        let end = peer.status.as_ref().and_then(|status| status.end.as_ref());
        let has_folder = end.is_some_and(|end| end.has_folder);
        if !has_folder || peer.is_over || !peer.is_greeted() {
            return;
        }
        if let Some(message) = peer.folder.ask() {
            self.send(host, &message);
        }
    }

    /// A host that has ended and whose folder is here is dismissed.
    fn finish(&mut self, host: usize) {
        let peer = &mut self.peers[host];
        let Some(end) = peer.status.as_ref().and_then(|status| status.end.clone()) else {
            return;
        };
        let is_compared = peer.collected.is_some() || peer.collected_there().is_none();
        if peer.is_over || !is_compared || (end.has_folder && !peer.folder.is_whole()) {
            return;
        }
        if let How::Complete(verdict) = end.how {
            let fate = match end.has_folder {
                true => Fate::Complete(verdict),
                false => Fate::NotFetched { why: "it has none".to_owned() },
            };
            peer.fate.get_or_insert(fate);
        }
        let is_greeted = peer.is_greeted();
        peer.is_over = true;
        if is_greeted {
            self.send(host, &ToAgent::Dismiss);
        }
    }
}
