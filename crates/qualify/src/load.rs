//! Sessions at work on a server, and who keeps their pace.
//!
//! With a target the sessions are paced: a [`Pacer`] learns from every window of the run how many I/Os an operation costs, and
//! sets the rate of operations. Without one, they do what the scenario says.

use std::rc::Rc;

use brunt_ese::meter::MeterBoard;
use brunt_units::{Span, Time};
use brunt_workload::keys::{Population, RECENT};
use brunt_workload::operations::Workload;
use brunt_workload::pacing::Pacer;
use brunt_workload::session::{PoolShape, Scheduler, Scheduling};
use brunt_world::World;

use crate::plan::Plan;
use crate::server::{Records, Server, Table};
use crate::sessions::Sessions;

/// How long I/Os and operations are counted before the rate follows, at most.
const WINDOW_MAX: Span = Span::seconds(5);

/// Without a target, a rate is taken over at least this long.
pub(crate) const RATE_MIN: Span = Span::seconds(1);

/// I/Os and operations at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    ios: u64,
    operations: u64,
    at: Time,
}

/// Sessions and their pace.
pub(crate) struct Load<T: Table = Records> {
    pub(crate) sessions: Rc<Sessions<Rc<Server<T>>>>,
    pacer: Option<Pacer>,
    window: Span,
    mark: Mark,
    /// Operations per second in the last window.
    rate: Option<f64>,
}

impl<T: Table> Load<T> {
    /// Starts so many sessions on `server`, whose records are `populations`.
    pub(crate) fn start(
        world: &World,
        plan: &Plan,
        server: &Rc<Server<T>>,
        populations: Vec<Population>,
        sessions: u32,
    ) -> Self {
        let load = &plan.load;
        let instances = u32::try_from(plan.instances.len()).expect("fewer than 256 instances");
        let shape = PoolShape {
            sessions,
            instances,
            batch: load.batch,
            choice: load.choice,
        };
        let streams = world.random.part("load");
        let workload = Workload::new(shape, load.mix, populations, RECENT, streams);
        let pacer = plan.target.map(|target| Pacer::new(target.offered()));
        let scheduling = pacer.map_or(load.scheduling, paced);
        let now = world.clock.now();
        let scheduler = Scheduler::new(scheduling, instances, now);
        let target = Rc::clone(server);
        let cost = load.cost;
        Self {
            sessions: Sessions::start(world, target, workload, scheduler, sessions, cost),
            pacer,
            window: WINDOW_MAX.min(plan.sample_interval()),
            mark: mark(now, server.board(), 0),
            rate: None,
        }
    }

    /// Lets the rate follow, when a window is over. To be called now and then.
    pub(crate) fn keep_pace(&mut self, now: Time) {
        if now - self.mark.at < self.window {
            return;
        }
        let log = self.sessions.log();
        let operations = log.committed + log.rolled_back;
        let next = mark(now, self.sessions.target().board(), operations);
        let done = (next.operations - self.mark.operations) as f64;
        self.rate = Some(done / (now - self.mark.at).as_seconds());
        // Counters begin anew with the collection.
        if let Some(pacer) = self.pacer.as_mut().filter(|_| next.ios >= self.mark.ios) {
            let operations = next.operations - self.mark.operations;
            pacer.observe(next.ios - self.mark.ios, operations);
            self.sessions.set_scheduling(paced(*pacer));
        }
        self.mark = next;
    }

    /// Whether the pace has found its place, if there is one.
    pub(crate) fn is_settled(&self) -> bool {
        self.pacer.is_none_or(|pacer| pacer.is_settled())
    }

    /// Operations per second: what the pace asks for, or else what the last window had.
    pub(crate) fn operations_per_s(&self, now: Time) -> Option<f64> {
        let log = self.sessions.log();
        let operations = log.committed + log.rolled_back - self.mark.operations;
        let span = now - self.mark.at;
        let running = (span >= RATE_MIN).then(|| operations as f64 / span.as_seconds());
        let asked = self.pacer.map(|pacer| pacer.rate());
        asked.or(self.rate).or(running)
    }
}

fn paced(pacer: Pacer) -> Scheduling {
    Scheduling::Paced { rate: pacer.rate() }
}

fn mark(at: Time, board: &MeterBoard, operations: u64) -> Mark {
    let ios = board.with(|meters| {
        let databases = meters.databases.iter();
        let streams = databases.flat_map(|database| [&database.reads, &database.writes]);
        streams
            .map(|meter| meter.latencies().count() + meter.running().count())
            .sum()
    });
    Mark {
        ios,
        operations,
        at,
    }
}
