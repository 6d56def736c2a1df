//! The course of a test on servers of our own: what `brunt-load` runs, with hands that can kill.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use brunt_load::{Disturbance, Drain, Progress, Queue};
use brunt_mail::incident::{Deed, Part, WRITES_WITHIN};
use brunt_report::grouped;
use brunt_servers::MailSystem;
use brunt_units::{Span, Time};
use brunt_world::World;
use brunt_world_real::facts::thread_use;

use super::LoadListener;
use super::attendant::Attendant;
use super::hops::Way;
use super::usage::Sample;

/// How often a relay is asked what it holds.
const ASK: Span = Span::millis(250);
/// How long a relay may take to hand everything on after the end of sending: mail that was put off
/// is tried again within eight seconds.
const DRAINS_WITHIN: Span = Span::seconds(40);
/// The interval at which a relay is asked to retry deferred messages.
const FLUSH_EVERY: u32 = 8;
/// How often it is looked how far sending is.
pub(super) const LOOK: Span = Span::millis(100);

/// How often it is looked at what servers use.
const SAMPLE: Span = Span::seconds(1);
/// After a look, this many times its processor time passes before the next.
const SAMPLE_REST: u64 = 50;

/// What was done to a server.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) deed: Deed,
    pub(super) what: String,
    pub(super) from: Time,
    /// When it was ready again; nothing where it did not come back.
    pub(super) until: Option<Time>,
}

/// What the hands of a course know when it has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Deeds {
    pub(super) done: Vec<Done>,
    /// Incidents that could not happen, and why.
    pub(super) left_out: Vec<String>,
    /// Why a server did not come back.
    pub(super) broken: Option<String>,
    /// Whether power cuts lost what nobody had synced; nothing where there was none.
    pub(super) cut_loses: Option<bool>,
    /// The queue as it was seen last.
    pub(super) queue: Option<brunt_servers::Queue>,
    /// What servers, storage and brunt had used, again and again.
    pub(super) samples: Vec<Sample>,
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
    /// Relays of ours between two places, for connections that something is done to.
    pub(super) hops: Rc<Vec<Way>>,
    /// The most deliveries that can be under way between two servers.
    pub(super) between: u32,
    pub(super) deeds: Rc<RefCell<Deeds>>,
    /// How many deliveries were accepted at each look of the last seconds.
    pub(super) accepted: Rc<RefCell<VecDeque<(Time, u64)>>>,
    /// Messages that are put into mailboxes before.
    pub(super) fill: u64,
    /// The device that holds the servers' folder.
    pub(super) device: Option<String>,
    /// How long mail is sent, where no number of messages ends it.
    pub(super) lasts: Option<Span>,
}

impl Hands {
    /// Says how far sending is until it ends. Breaks nothing.
    pub(super) fn watch(&self, inner: Option<Disturbance>) -> Disturbance {
        let hands = self.clone();
        Box::new(move |progress: Rc<Progress>| {
            Box::pin(async move {
                let watched = Rc::clone(&progress);
                let watcher = hands.clone();
                let watching = hands.world.spawner.spawn(async move {
                    watcher.watch_filling(&watched).await;
                    let remember = |accepted| watcher.remember(accepted);
                    tell(&watcher.world, &watcher.listener, watcher.lasts, (&watched, &remember))
                        .await;
                });
                let sampler = hands.clone();
                let over = Rc::clone(&progress);
                let sampling =
                    hands.world.spawner.spawn(async move { sampler.sample(&over).await });
                let faults = match inner {
                    Some(inner) => inner(progress).await,
                    None => Vec::new(),
                };
                watching.await;
                sampling.await;
                faults
            })
        })
    }

    fn remember(&self, accepted: u64) {
        let now = self.world.clock.now();
        let mut looks = self.accepted.borrow_mut();
        looks.push_back((now, accepted));
        // The last one before the span is its beginning.
        while looks.get(1).is_some_and(|(at, _)| *at + WRITES_WITHIN <= now) {
            looks.pop_front();
        }
    }

    /// Deliveries that were accepted in the last seconds.
    pub(super) fn recent(&self) -> u32 {
        let looks = self.accepted.borrow();
        let [first, last] = [looks.front(), looks.back()].map(|look| look.map_or(0, |look| look.1));
        u32::try_from(last - first).unwrap_or(u32::MAX)
    }

    /// Says how far filling is, until sending begins.
    async fn watch_filling(&self, progress: &Progress) {
        if self.fill == 0 {
            return;
        }
        self.listener.step(&format!("filling mailboxes with {} messages", grouped(self.fill)));
        let began = self.world.clock.now();
        while !progress.has_begun() && !progress.is_over() {
            let share = f64::from(progress.finished()) / self.fill as f64;
            self.listener.progress(share, progress.accepted(), true);
            self.world.sleep(LOOK).await;
        }
        let took = self.world.clock.now().since(began);
        let messages = grouped(progress.accepted());
        self.listener.step(&format!("mailboxes are filled: {messages} messages in {took}"));
    }

    /// Looks at what is used, until sending ends.
    async fn sample(&self, progress: &Progress) {
        progress.beginning().await;
        while !progress.is_over() {
            let look = |system: &mut MailSystem| {
                let before = thread_use().unwrap_or_default();
                (system.usage(), thread_use().unwrap_or_default() - before)
            };
            let (parts, cost) = self.attendant.order(&self.world, look).await;
            let now = self.world.clock.now();
            let sample = Sample::now(now, parts, self.device.as_deref());
            self.deeds.borrow_mut().samples.push(sample);
            // What looking costs must not count.
            let next = now + SAMPLE.max(cost * SAMPLE_REST);
            while self.world.clock.now() < next && !progress.is_over() {
                self.world.sleep(LOOK).await;
            }
        }
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
    (progress, each): (&Progress, &dyn Fn(u64)),
) {
    let mut began = world.clock.now();
    while !progress.is_over() {
        let is_filling = !progress.has_begun();
        if is_filling {
            began = world.clock.now();
        }
        let passed = world.clock.now().since(began);
        let share = match (lasts, progress.goal()) {
            (Some(lasts), _) => passed.as_seconds() / lasts.as_seconds().max(1.0),
            (None, goal) => {
                let goal = goal.unwrap_or_default().max(1);
                f64::from(progress.finished()) / f64::from(goal)
            }
        };
        listener.progress(share, progress.accepted(), is_filling);
        each(progress.accepted());
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
