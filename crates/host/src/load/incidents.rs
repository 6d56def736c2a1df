//! What is done to servers of our own while mail is sent: a list of incidents, one after the other.

use std::rc::Rc;

use brunt_drill::sites::relay::Relay;
use brunt_load::{Disturbance, Progress};
use brunt_mail::incident::{
    Deed, Hop, Incident, Machine, Moment, Part, Processes, Service, UnderWay,
};
use brunt_servers::{Plan, ServerError};
use brunt_units::{Span, Time};

use super::course::{Done, Hands};
use super::watcher::LOOK;
use super::words;

/// Each server is killed once in the middle, the store first.
pub fn kill_each(plan: &Plan) -> Vec<Incident> {
    let relay = plan.relay.map(|_| Part::Relay);
    let kill = |part| Incident { at: Moment::Middle, deed: Deed::Kill(Processes::All(part)) };
    std::iter::once(Part::Store).chain(relay).map(kill).collect()
}

/// The power of all servers is cut in the middle.
pub fn power_cut() -> Vec<Incident> {
    vec![Incident { at: Moment::Middle, deed: Deed::PowerCut(Machine::Whole) }]
}

impl Hands {
    /// Does what `incidents` say, while `messages` are sent or until the time is over.
    pub(super) fn disturb(&self, incidents: Vec<Incident>, messages: Option<u32>) -> Disturbance {
        let hands = self.clone();
        Box::new(move |progress: Rc<Progress>| {
            Box::pin(async move {
                progress.beginning().await;
                let began = hands.watcher.world.clock.now();
                for Incident { at, deed } in incidents {
                    if !hands.reaches(at, (began, messages), &progress).await {
                        hands.leave_out(deed, "sending had ended");
                        continue;
                    }
                    let under_way =
                        UnderWay { between: hands.between, recent: hands.watcher.recent() };
                    let from = hands.watcher.world.clock.now();
                    hands.watcher.listener.step(&words::begins(deed, &hands.names));
                    let done = hands.act(deed).await;
                    if let Err(why @ ServerError::NoService { .. }) = done {
                        hands.leave_out(deed, &why.to_string());
                        continue;
                    }
                    let until = hands.watcher.world.clock.now();
                    progress.fault(deed.fault((from, until), under_way));
                    if !hands.note(deed, (from, until), done) {
                        break;
                    }
                }
            })
        })
    }

    /// Waits for a moment; `false` when sending ended before.
    async fn reaches(
        &self,
        at: Moment,
        (began, messages): (Time, Option<u32>),
        progress: &Progress,
    ) -> bool {
        let after = match (at, messages) {
            (Moment::Middle, Some(messages)) => {
                return progress.reached(messages.div_ceil(2)).await;
            }
            (Moment::Middle, None) => {
                Span(self.watcher.lasts.unwrap_or(Span::ZERO).0.div_euclid(2))
            }
            (Moment::After(span), _) => span,
        };
        while self.watcher.world.clock.now() < began + after && !progress.is_over() {
            self.watcher
                .world
                .sleep_until((self.watcher.world.clock.now() + LOOK).min(began + after))
                .await;
        }
        !progress.is_over()
    }

    async fn act(&self, deed: Deed) -> Result<(), ServerError> {
        let (world, attendant) = (&self.watcher.world, &self.attendant);
        match deed {
            Deed::Kill(Processes::All(part)) => {
                attendant.order(world, move |system| system.kill(part)).await?;
                self.start(&[part]).await
            }
            Deed::Kill(Processes::Of(service)) => {
                attendant.order(world, move |system| system.kill_service(service)).await?;
                match service {
                    Service::Master(part) => self.start(&[part]).await,
                    _ => attendant.order(world, move |system| system.greets(service.part())).await,
                }
            }
            Deed::Freeze(whom, span) => {
                attendant
                    .order(world, move |system| match whom {
                        Processes::All(part) => system.freeze(part),
                        Processes::Of(service) => system.freeze_service(service),
                    })
                    .await?;
                world.sleep(span).await;
                attendant.order(world, move |system| system.thaw(whom.part())).await
            }
            Deed::Restart(part) => {
                attendant.order(world, move |system| system.stop_part(part)).await?;
                self.start(&[part]).await
            }
            Deed::PowerCut(machine) => self.cut_power(machine).await,
            Deed::DiskFull(part, span) => {
                attendant.order(world, move |system| system.fill(part)).await?;
                world.sleep(span).await;
                attendant.order(world, move |system| system.free(part)).await
            }
            Deed::QuotaFull(span) => {
                attendant.order(world, |system| system.fill_mailboxes()).await?;
                world.sleep(span).await;
                attendant.order(world, |system| system.free_mailboxes()).await
            }
            Deed::Cut(hop) => {
                self.through(hop, Relay::sever);
                Ok(())
            }
            Deed::Slow(hop, delay, span) => {
                self.through(hop, |relay| relay.delay(delay));
                world.sleep(span).await;
                self.through(hop, |relay| relay.delay(Span::ZERO));
                Ok(())
            }
            Deed::HalfOpen(hop, span) => {
                self.through(hop, Relay::cut);
                world.sleep(span).await;
                // What was under way is not finished.
                self.through(hop, Relay::sever);
                self.through(hop, Relay::mend);
                Ok(())
            }
        }
    }

    fn through(&self, hop: Hop, act: impl Fn(&Relay)) {
        self.hops.iter().filter(|(of, _)| *of == hop).for_each(|(_, (relay, _))| act(relay));
    }

    async fn cut_power(&self, machine: Machine) -> Result<(), ServerError> {
        let parts: Vec<Part> =
            self.names.iter().map(|(part, _)| *part).filter(|part| machine.has(*part)).collect();
        let cut = parts.clone();
        let cut =
            self.attendant.order(&self.watcher.world, move |system| system.cut_power(&cut)).await?;
        let earlier = self.deeds.borrow().cut_loses.unwrap_or(true);
        self.deeds.borrow_mut().cut_loses = Some(earlier && cut.lost_unsynced);
        self.start(&parts).await
    }

    async fn start(&self, parts: &[Part]) -> Result<(), ServerError> {
        for part in parts.iter().copied() {
            self.attendant
                .order(&self.watcher.world, move |system| system.start_part(part))
                .await?;
        }
        Ok(())
    }

    fn note(&self, deed: Deed, (from, until): (Time, Time), done: Result<(), ServerError>) -> bool {
        let mut deeds = self.deeds.borrow_mut();
        let what = words::done(deed, &self.names);
        let (whose, is_many) = words::whose(deed, &self.names);
        match done {
            Ok(()) => {
                let (is, took) = (if is_many { "are" } else { "is" }, until.since(from));
                self.watcher.listener.step(&format!("{whose} {is} ready again after {took}"));
                deeds.done.push(Done { deed, what, from, until: Some(until) });
                true
            }
            Err(error) => {
                let does = if is_many { "do" } else { "does" };
                self.watcher.listener.step(&format!("{whose} {does} not come back: {error}"));
                deeds.done.push(Done { deed, what, from, until: None });
                deeds.broken = Some(error.to_string());
                false
            }
        }
    }

    fn leave_out(&self, deed: Deed, why: &str) {
        let text = format!("{} did not happen: {why}", words::done(deed, &self.names));
        self.watcher.listener.step(&text);
        self.deeds.borrow_mut().left_out.push(text);
    }
}
