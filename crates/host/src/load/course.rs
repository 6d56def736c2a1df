//! The course of a test on servers of our own: what `brunt-load` runs, with hands that can kill.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use brunt_load::{Disturbance, Drain, Progress, Queue};
use brunt_mail::{Fault, FaultKind};
use brunt_servers::{Part, ServerError};
use brunt_units::{Span, Time};
use brunt_world::World;

use super::LoadListener;
use super::attendant::Attendant;

/// How often a relay is asked what it holds.
const ASK: Span = Span::millis(250);
/// How long a relay may take to hand everything on after the end of sending: mail that was put off
/// is tried again within eight seconds.
const DRAINS_WITHIN: Span = Span::seconds(40);
/// The interval at which a relay is asked to retry deferred messages.
const FLUSH_EVERY: u32 = 8;
/// How often it is looked how far sending is.
const LOOK: Span = Span::millis(100);

/// What was done to a server.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) what: String,
    pub(super) from: Time,
    /// When it was ready again; nothing where it did not come back.
    pub(super) until: Option<Time>,
}

/// What the hands of a course know when it has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Deeds {
    pub(super) done: Vec<Done>,
    /// Why a server did not come back.
    pub(super) broken: Option<String>,
    /// The queue as it was seen last.
    pub(super) queue: Option<brunt_servers::Queue>,
    /// Why the relay put mail off, the first time it was seen.
    pub(super) reason: Option<String>,
}

/// Hands of a course.
#[derive(Clone)]
pub(super) struct Hands {
    pub(super) world: World,
    pub(super) attendant: Rc<Attendant>,
    pub(super) listener: Rc<dyn LoadListener>,
    /// The names of the servers, by part.
    pub(super) names: Vec<(Part, &'static str)>,
    /// The most deliveries that can be under way between two servers.
    pub(super) between: u32,
    pub(super) deeds: Rc<RefCell<Deeds>>,
    /// How long mail is sent, where no number of messages ends it.
    pub(super) lasts: Option<Span>,
}

impl Hands {
    /// Kills each server once in the middle of `messages`, or of the time that it lasts, the store
    /// first, and starts it again.
    pub(super) fn kill_in_the_middle(&self, messages: Option<u32>) -> Disturbance {
        let hands = self.clone();
        Box::new(move |progress: Rc<Progress>| {
            Box::pin(async move {
                // Sending that ended early has nothing in the middle any more.
                let is_half = match messages {
                    Some(messages) => progress.reached(messages.div_ceil(2)).await,
                    None => {
                        let lasts = hands.lasts.unwrap_or(Span::ZERO);
                        hands.world.sleep(Span(lasts.0.div_euclid(2))).await;
                        !progress.is_over()
                    }
                };
                match is_half {
                    true => hands.kill_each().await,
                    false => Vec::new(),
                }
            })
        })
    }

    async fn kill_each(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (part, name) in &self.names {
            let from = self.world.clock.now();
            self.listener.step(&format!("kill -9 of all processes of {name}"));
            let killed = self.attendant.kill(&self.world, *part).await;
            let started = match killed {
                Ok(()) => self.attendant.start(&self.world, *part).await,
                Err(error) => Err(error),
            };
            let until = self.world.clock.now();
            faults.push(Fault { kind: FaultKind::Kill, from, until, in_flight: self.between });
            let is_back = self.note(name, from, until, started);
            if !is_back {
                break;
            }
        }
        faults
    }

    fn note(&self, name: &str, from: Time, until: Time, started: Result<(), ServerError>) -> bool {
        let mut deeds = self.deeds.borrow_mut();
        let what = format!("{name} killed");
        let took = until.since(from);
        match started {
            Ok(()) => {
                self.listener.step(&format!("{name} is ready again after {took}"));
                deeds.done.push(Done { what, from, until: Some(until) });
                true
            }
            Err(error) => {
                self.listener.step(&format!("{name} does not come back: {error}"));
                deeds.done.push(Done { what, from, until: None });
                deeds.broken = Some(error.to_string());
                false
            }
        }
    }

    /// Says how far sending is until it ends. Breaks nothing.
    pub(super) fn watch(&self, inner: Option<Disturbance>) -> Disturbance {
        let hands = self.clone();
        Box::new(move |progress: Rc<Progress>| {
            Box::pin(async move {
                let watched = Rc::clone(&progress);
                let watcher = hands.clone();
                let watching = hands.world.spawner.spawn(async move {
                    tell(&watcher.world, &watcher.listener, watcher.lasts, &watched).await;
                });
                let faults = match inner {
                    Some(inner) => inner(progress).await,
                    None => Vec::new(),
                };
                watching.await;
                faults
            })
        })
    }

    /// Waits for the relay, if there is one.
    pub(super) fn drain(&self, has_relay: bool) -> Drain {
        match has_relay {
            false => Drain::Nothing,
            true => Drain::Queue {
                queue: Rc::new(RelayQueue { hands: self.clone(), asked: RefCell::new(0) }),
                every: ASK,
                deadline: DRAINS_WITHIN,
            },
        }
    }
}

/// Says how far sending is until it ends.
pub(super) async fn tell(
    world: &World,
    listener: &Rc<dyn LoadListener>,
    lasts: Option<Span>,
    progress: &Progress,
) {
    let began = world.clock.now();
    while !progress.is_over() {
        let passed = world.clock.now().since(began);
        let share = match (lasts, progress.goal()) {
            (Some(lasts), _) => passed.as_seconds() / lasts.as_seconds().max(1.0),
            (None, goal) => {
                let goal = goal.unwrap_or_default().max(1);
                f64::from(progress.finished()) / f64::from(goal)
            }
        };
        listener.progress(share, progress.accepted());
        world.sleep(LOOK).await;
    }
}

/// The queue of the relay.
struct RelayQueue {
    hands: Hands,
    asked: RefCell<u32>,
}

impl Queue for RelayQueue {
    fn waiting(&self) -> Pin<Box<dyn Future<Output = Option<u64>> + '_>> {
        Box::pin(async move {
            let asked = self.asked.replace_with(|asked| *asked + 1);
            if asked == 0 {
                self.hands.listener.step("waiting until the queue is empty");
            }
            // Each look costs the relay a little; a flush makes it try everything again.
            let patience = asked.is_multiple_of(FLUSH_EVERY).then_some(Duration::ZERO);
            let hands = &self.hands;
            let queue = match patience {
                Some(patience) => hands.attendant.drain(&hands.world, patience).await,
                None => hands.attendant.order(&hands.world, |system| system.queue()).await,
            };
            let queue = queue.ok()?;
            let mut deeds = hands.deeds.borrow_mut();
            if deeds.reason.is_none() {
                deeds.reason.clone_from(&queue.reason);
            }
            let messages = queue.messages;
            deeds.queue = Some(queue);
            Some(messages)
        })
    }
}
