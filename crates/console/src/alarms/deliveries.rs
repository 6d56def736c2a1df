//! Runs the commands of alarms, one after the other, on a thread of its own: who follows runs never
//! waits for them.
//!
//! What is to be done next is decided by the [`Outbox`]; here is the clock, and the command. When
//! this is dropped, the command that runs comes to its end, within its time-out, and what has not
//! been delivered is told.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use brunt_host::exec::{self, Command};
use brunt_scenario::AlarmPlan;
use brunt_units::Time;

use super::machine::Alarms;
use super::notice::Notice;
use super::outbox::{Next, Outbox, Patience, Then};

/// Delivers notices by the commands of their alarms.
#[derive(Debug)]
pub struct Deliveries {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<()>>,
}

/// What became of the notices so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub delivered: u64,
    /// Not delivered yet, the one that is being tried included.
    pub waiting: u64,
    /// Tried for the last time, or there was no room for them.
    pub given_up: u64,
    /// The last failure in words; nothing once something was delivered after it.
    pub failure: Option<String>,
}

#[derive(Debug)]
struct Desk {
    state: Mutex<DeskState>,
    changed: Condvar,
    begun: Instant,
}

#[derive(Debug)]
struct DeskState {
    outbox: Outbox,
    standing: Standing,
    is_closing: bool,
}

impl Deliveries {
    /// Begins to deliver what `alarms` will tell. `tell` hears of every failure, in a sentence.
    pub fn begin(
        alarms: &Alarms,
        patience: Patience,
        tell: impl FnMut(&str) + Send + 'static,
    ) -> Self {
        let state = DeskState {
            outbox: Outbox::new(patience),
            standing: Standing::default(),
            is_closing: false,
        };
        let desk =
            Desk { state: Mutex::new(state), changed: Condvar::new(), begun: Instant::now() };
        let (desk, plans) = (Arc::new(desk), alarms.plans().to_vec());
        let own = Arc::clone(&desk);
        let thread = thread::spawn(move || work(&own, &plans, tell));
        Self { desk, thread: Some(thread) }
    }

    /// Takes `notice`, and never waits.
    pub fn deliver(&self, notice: Notice) {
        let mut state = self.desk.lock();
        if !state.outbox.push(notice) {
            state.standing.given_up += 1;
            state.standing.failure = Some("too many notices wait: one was given up".to_owned());
        }
        self.desk.changed.notify_all();
    }

    pub fn standing(&self) -> Standing {
        self.desk.lock().shown()
    }

    /// Waits until nothing waits any more.
    pub fn settle(&self) -> Standing {
        let state = self.desk.lock();
        let settled = self.desk.changed.wait_while(state, |state| state.outbox.len() > 0);
        settled.expect("nobody panics with it").shown()
    }
}

impl Drop for Deliveries {
    fn drop(&mut self) {
        self.desk.lock().is_closing = true;
        self.desk.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // That it panicked was said by itself.
            let _ = thread.join();
        }
    }
}

impl DeskState {
    fn shown(&self) -> Standing {
        Standing { waiting: self.outbox.len() as u64, ..self.standing.clone() }
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, DeskState> {
        self.state.lock().expect("nobody panics with it")
    }

    fn now(&self) -> Time {
        Time(u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// What is to be tried now; nothing when the end has come.
    fn next(&self) -> Option<(u64, Box<Notice>)> {
        let mut state = self.lock();
        loop {
            if state.is_closing {
                return None;
            }
            let now = self.now();
            let wait = match state.outbox.next(now) {
                Next::Deliver(number, notice) => return Some((number, notice)),
                Next::Wait(due) => Some(due.since(now)),
                Next::Nothing => None,
            };
            state = match wait {
                None => self.changed.wait(state).expect("nobody panics with it"),
                Some(wait) => {
                    let waited = self.changed.wait_timeout(state, Duration::from_nanos(wait.0));
                    waited.expect("nobody panics with it").0
                }
            };
        }
    }

    /// Notes how a try ended, and returns what is to be said of it.
    fn note(&self, number: u64, name: &str, failure: Option<String>) -> Option<String> {
        let now = self.now();
        let mut state = self.lock();
        let said = match failure {
            None => {
                state.outbox.delivered(number);
                state.standing.delivered += 1;
                None
            }
            Some(why) => {
                let then = match state.outbox.failed(number, now) {
                    Then::Again(wait) => format!("it is tried again in {wait}"),
                    Then::GivenUp => {
                        state.standing.given_up += 1;
                        "it was given up".to_owned()
                    }
                };
                Some(format!("an alarm was not delivered: {name} {why}; {then}"))
            }
        };
        state.standing.failure.clone_from(&said);
        self.changed.notify_all();
        said
    }
}

fn work(desk: &Desk, plans: &[AlarmPlan], mut tell: impl FnMut(&str)) {
    while let Some((number, notice)) = desk.next() {
        let plan = &plans[notice.alarm];
        let name = plan.run.value.first().map_or("", String::as_str);
        let tried = exec::run_here(&command(plan, &notice));
        let failure = tried.err().map(|failure| failure.to_string());
        if let Some(said) = desk.note(number, name, failure) {
            tell(&said);
        }
    }
    match desk.lock().outbox.len() {
        0 => {}
        1 => tell("an alarm was not delivered before the end"),
        waiting => tell(&format!("{waiting} alarms were not delivered before the end")),
    }
}

fn command(plan: &AlarmPlan, notice: &Notice) -> Command {
    let mut environment = exec::usual_environment();
    environment.extend(notice.environment());
    Command {
        argv: plan.run.value.clone(),
        environment,
        input: format!("{}\n", notice.to_json()).into_bytes(),
        timeout: plan.timeout,
    }
}
