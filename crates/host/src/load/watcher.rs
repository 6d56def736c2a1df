//! What watches a course: it says how far filling and sending are, and looks at what is used, again
//! and again. The same for servers that were started for the test and for those of the user.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use brunt_load::{Disturbance, Progress};
use brunt_mail::incident::{Part, WRITES_WITHIN};
use brunt_report::grouped;
use brunt_servers::{MailSystem, Usage};
use brunt_units::{Span, Time};
use brunt_world::World;
use brunt_world_real::facts::thread_use;

use super::LoadListener;
use super::attendant::Attendant;
use super::demand::Demand;
use super::usage::Sample;

/// How often it is looked how far sending is.
pub(super) const LOOK: Span = Span::millis(100);
/// How often it is looked at what is used.
const SAMPLE: Span = Span::seconds(1);
/// After a look, this many times its processor time passes before the next.
const SAMPLE_REST: u64 = 50;

/// Who watches.
#[derive(Clone)]
pub(super) struct Watcher {
    pub(super) world: World,
    pub(super) listener: Rc<dyn LoadListener>,
    /// Messages that are put into mailboxes before.
    fill: u64,
    /// How long mail is sent, where no number of messages ends it.
    pub(super) lasts: Option<Span>,
    /// Servers that were started for the test, and the device that holds their folder.
    servers: Option<(Rc<Attendant>, Option<String>)>,
    /// How many deliveries were accepted at each look of the last seconds.
    accepted: Rc<RefCell<VecDeque<(Time, u64)>>>,
    samples: Rc<RefCell<Vec<Sample>>>,
}

impl Watcher {
    pub(super) fn new(
        world: &World,
        listener: &Rc<dyn LoadListener>,
        (demand, users): (&Demand, u32),
        servers: Option<(Rc<Attendant>, Option<String>)>,
    ) -> Self {
        Self {
            world: world.clone(),
            listener: Rc::clone(listener),
            fill: demand.fill(users),
            lasts: demand.lasts(),
            servers,
            accepted: Rc::default(),
            samples: Rc::default(),
        }
    }

    /// Watches, while `inner` does something to the servers.
    pub(super) fn watch(&self, inner: Option<Disturbance>) -> Disturbance {
        let own = self.clone();
        Box::new(move |progress: Rc<Progress>| {
            Box::pin(async move {
                let (teller, watched) = (own.clone(), Rc::clone(&progress));
                let telling = own.world.spawner.spawn(async move {
                    teller.tell_filling(&watched).await;
                    teller.tell(&watched).await;
                });
                let (sampler, sampled) = (own.clone(), Rc::clone(&progress));
                let sampling =
                    own.world.spawner.spawn(async move { sampler.sample(&sampled).await });
                if let Some(inner) = inner {
                    inner(progress).await;
                }
                telling.await;
                sampling.await;
            })
        })
    }

    /// Deliveries that were accepted in the last seconds.
    pub(super) fn recent(&self) -> u32 {
        let looks = self.accepted.borrow();
        let [first, last] = [looks.front(), looks.back()].map(|look| look.map_or(0, |look| look.1));
        u32::try_from(last - first).unwrap_or(u32::MAX)
    }

    /// What was used at each look.
    pub(super) fn samples(&self) -> Vec<Sample> {
        self.samples.borrow().clone()
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

    /// Says how far filling is, until sending begins.
    async fn tell_filling(&self, progress: &Progress) {
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

    /// Says how far sending is until it ends.
    async fn tell(&self, progress: &Progress) {
        let mut began = self.world.clock.now();
        while !progress.is_over() {
            let is_filling = !progress.has_begun();
            if is_filling {
                began = self.world.clock.now();
            }
            let passed = self.world.clock.now().since(began);
            let share = match (self.lasts, progress.goal()) {
                (Some(lasts), _) => passed.as_seconds() / lasts.as_seconds().max(1.0),
                (None, goal) => {
                    let goal = goal.unwrap_or_default().max(1);
                    f64::from(progress.finished()) / f64::from(goal)
                }
            };
            self.listener.progress(share, progress.accepted(), is_filling);
            self.remember(progress.accepted());
            self.world.sleep(LOOK).await;
        }
    }

    /// Looks at what is used, until sending ends.
    async fn sample(&self, progress: &Progress) {
        progress.beginning().await;
        while !progress.is_over() {
            let (parts, cost) = self.used_by_servers().await;
            let now = self.world.clock.now();
            let device = self.servers.as_ref().and_then(|(_, device)| device.as_deref());
            self.samples.borrow_mut().push(Sample::now(now, parts, device));
            // What looking costs must not count.
            let next = now + SAMPLE.max(cost * SAMPLE_REST);
            while self.world.clock.now() < next && !progress.is_over() {
                self.world.sleep(LOOK).await;
            }
        }
    }

    /// What servers of our own have used, and what it cost to look.
    async fn used_by_servers(&self) -> (Vec<(Part, Usage)>, Span) {
        let Some((attendant, _)) = &self.servers else {
            return (Vec::new(), Span::ZERO);
        };
        let look = |system: &mut MailSystem| {
            let before = thread_use().unwrap_or_default();
            (system.usage(), thread_use().unwrap_or_default() - before)
        };
        attendant.order(&self.world, look).await
    }
}
