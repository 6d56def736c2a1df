//! The course of a test on servers of our own: what `brunt-load` runs, with hands that can kill.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use brunt_load::{Drain, Queue};
use brunt_mail::incident::{Deed, Part};
use brunt_servers::MailSystem;
use brunt_units::{Span, Time};

use super::DRAINS_WITHIN;
use super::attendant::Attendant;
use super::hops::Way;
use super::watcher::Watcher;

/// How often a relay is asked what it holds.
const ASK: Span = Span::millis(250);
/// The interval at which a relay is asked to retry deferred messages.
const FLUSH_EVERY: u32 = 8;
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
    /// Whether power cuts lost what was not synced; nothing where there was none.
    pub(super) cut_loses: Option<bool>,
    /// The queue as it was seen last.
    pub(super) queue: Option<brunt_servers::Queue>,
    /// Why the relay put mail off, the first time it was seen.
    pub(super) reason: Option<String>,
}

/// Hands of a course.
#[derive(Clone)]
pub(super) struct Hands {
    pub(super) watcher: Watcher,
    pub(super) attendant: Rc<Attendant>,
    /// The names of the servers, by part.
    pub(super) names: Vec<(Part, &'static str)>,
    /// Relays of ours between two places, for connections that something is done to.
    pub(super) hops: Rc<Vec<Way>>,
    /// The most deliveries that can be under way between two servers.
    pub(super) between: u32,
    pub(super) deeds: Rc<RefCell<Deeds>>,
}

impl Hands {
    /// Waits for the relay, if there is one.
    pub(super) fn drain(&self, has_relay: bool) -> Drain {
        match has_relay {
            false => Drain::Nothing,
            true => Drain::Queue {
                queue: Rc::new(RelayQueue { hands: self.clone(), asked: RefCell::new(0) }),
                every: ASK,
                deadline: Span::seconds(DRAINS_WITHIN.as_secs()),
            },
        }
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
            let hands = &self.hands;
            if asked == 0 {
                hands.watcher.listener.step("waiting until the queue is empty");
            }
            // Each look costs the relay a little; a flush makes it try everything again.
            let look = match asked.is_multiple_of(FLUSH_EVERY) {
                true => |system: &mut MailSystem| system.drain(Duration::ZERO),
                false => |system: &mut MailSystem| system.queue(),
            };
            let queue = hands.attendant.order(&hands.watcher.world, look).await.ok()?;
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
