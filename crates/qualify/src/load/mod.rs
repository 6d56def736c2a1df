//! The sessions of a server, and the pace they keep.
//!
//! With a target the sessions are paced: a [`Pacer`] measures in every window how many I/Os an
//! operation costs, and sets the rate of operations. Without a target they follow the scenario.
//! Either way, databases must not outgrow their reserve (`growth`).

pub(crate) mod punctuality;
pub(crate) mod replication;
pub mod sessions;

use std::rc::Rc;

use brunt_ese::meter::MeterBoard;
use brunt_stats::Meter;
use brunt_units::{Span, Time};
use brunt_workload::keys::{Population, RECENT};
use brunt_workload::operations::Workload;
use brunt_workload::pacing::Pacer;
use brunt_workload::session::{PoolShape, Scheduler, Scheduling};
use brunt_world::World;

use crate::load::sessions::Sessions;
use crate::phases::growth::{Forecast, Growing, Reserve};
use crate::plan::Plan;
use crate::server::{Records, Server, Table};

/// The longest window over which I/Os and operations are counted before the rate is adjusted. It is
/// short compared with the samples of a short test; otherwise the first sample would show the pace
/// before it was found.
const WINDOW_MAX: Span = Span::seconds(2);

/// Without a target, a rate is measured over at least this long.
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
    /// Number of pools started so far.
    pools: u32,
    pacer: Option<Pacer>,
    window: Span,
    mark: Mark,
    /// The share of the pace that is wanted.
    share: f64,
    /// Operations per second in the last window.
    rate: Option<f64>,
    reserve: Reserve,
    /// Why nothing more may be inserted; `None` while inserts are allowed.
    pub(crate) outgrown: Option<String>,
}

impl<T: Table> Load<T> {
    /// Starts `sessions` sessions on `server`, whose records are `populations`.
    pub(crate) fn start(
        world: &World,
        plan: &Plan,
        server: &Rc<Server<T>>,
        populations: Vec<Population>,
        sessions: u32,
    ) -> Self {
        let now = world.clock.now();
        let pacer = plan.target.map(|target| Pacer::new(target.offered()));
        let begin = Begin { pool: 0, sessions, pacer };
        Self {
            sessions: begin.sessions(world, plan, server, populations),
            pools: 1,
            pacer,
            window: WINDOW_MAX.min(Span(plan.sample_interval().0.div_euclid(3))),
            mark: mark(now, server.board(), 0),
            share: 1.0,
            rate: None,
            reserve: Reserve::new(plan, &server.file_sizes()),
            outgrown: None,
        }
    }

    /// Continues with another pool of `sessions` sessions, paced or in a closed loop. The previous
    /// sessions must have ended.
    pub(crate) fn restart(
        &mut self,
        world: &World,
        plan: &Plan,
        server: &Rc<Server<T>>,
        sessions: u32,
        pacer: Option<Pacer>,
    ) {
        let populations = self.sessions.with_workload(|workload| workload.populations().to_vec());
        let begin = Begin { pool: self.pools, sessions, pacer };
        let former =
            std::mem::replace(&mut self.sessions, begin.sessions(world, plan, server, populations));
        self.sessions.inherit(&former);
        (self.pools, self.pacer) = (self.pools + 1, pacer);
        self.rebase(world.clock.now());
    }

    /// The pacer; `None` without a target.
    pub(crate) fn pacer(&self) -> Option<Pacer> {
        self.pacer
    }

    /// Paces sessions to `share` of their pace from now on.
    pub(crate) fn pace_to(&mut self, share: f64) {
        self.share = share;
        if let Some(pacer) = self.pacer {
            self.sessions.set_scheduling(paced(pacer, share));
        }
    }

    /// Operations that have ended.
    pub(crate) fn operations(&self) -> u64 {
        let log = self.sessions.log();
        log.committed + log.rolled_back
    }

    /// Begins a new window; the counters were just reset.
    pub(crate) fn rebase(&mut self, now: Time) {
        self.mark = mark(now, self.sessions.target().board(), self.operations());
    }

    /// Adjusts the rate when a window is over. Call it regularly.
    pub(crate) fn keep_pace(&mut self, now: Time) {
        if now - self.mark.at < self.window {
            return;
        }
        let log = self.sessions.log();
        let operations = log.committed + log.rolled_back;
        let next = mark(now, self.sessions.target().board(), operations);
        let done = (next.operations - self.mark.operations) as f64;
        self.rate = Some(done / (now - self.mark.at).as_seconds());
        // Counters restart from zero with the collection.
        if let Some(pacer) = self.pacer.as_mut().filter(|_| next.ios >= self.mark.ios) {
            let operations = next.operations - self.mark.operations;
            pacer.observe(next.ios - self.mark.ios, operations);
            self.sessions.set_scheduling(paced(*pacer, self.share));
        }
        self.mark = next;
    }

    /// Watches the growth of databases. Call it regularly. Returns a note for the test log, if
    /// there is one.
    pub(crate) fn watch_growth(&mut self, plan: &Plan) -> Option<String> {
        let sizes = self.sessions.target().file_sizes();
        let reserve = &mut self.reserve;
        let growing = self.sessions.with_workload(|workload| reserve.watch(plan, &sizes, workload));
        match growing {
            Growing::On => None,
            Growing::Held(note) => Some(note),
            Growing::Over(why) => {
                self.outgrown.get_or_insert(why);
                None
            }
        }
    }

    /// From now on as many records are deleted as inserted, so that databases do not grow.
    pub(crate) fn hold(&self) {
        self.sessions.with_workload(|workload| {
            for database in 0..workload.populations().len() {
                let records = workload.populations()[database].len();
                workload.hold(database, Some(records));
            }
        });
    }

    /// Ends [`Load::hold`]: databases grow again, unless they have reached their limit.
    pub(crate) fn let_go(&self) {
        if self.reserve.holds() {
            return;
        }
        self.sessions.with_workload(|workload| {
            for database in 0..workload.populations().len() {
                workload.hold(database, None);
            }
        });
    }

    /// How databases will grow at this rate.
    pub(crate) fn forecast(&self, plan: &Plan, operations_per_s: f64) -> Forecast {
        let sizes = self.sessions.target().file_sizes();
        self.reserve.forecast(plan, &sizes, operations_per_s)
    }

    /// Whether the sessions have stopped or will stop.
    pub(crate) fn is_over(&self) -> bool {
        self.outgrown.is_some() || self.sessions.is_over()
    }

    /// Whether the pace has settled; true without a target.
    pub(crate) fn is_settled(&self) -> bool {
        self.pacer.is_none_or(|pacer| pacer.is_settled())
    }

    /// Finds the pace anew: from now on operations cost something else.
    pub(crate) fn forget_pace(&mut self) {
        self.pacer.iter_mut().for_each(Pacer::forget);
    }

    /// Operations per second: the rate of the pacer, or else that of the last window.
    pub(crate) fn operations_per_s(&self, now: Time) -> Option<f64> {
        let log = self.sessions.log();
        let operations = log.committed + log.rolled_back - self.mark.operations;
        let span = now - self.mark.at;
        let running = (span >= RATE_MIN).then(|| operations as f64 / span.as_seconds());
        let asked = self.pacer.map(|pacer| pacer.rate());
        asked.or(self.rate).or(running)
    }
}

/// The settings of a new pool.
struct Begin {
    /// The pool's number in the test.
    pool: u32,
    sessions: u32,
    pacer: Option<Pacer>,
}

impl Begin {
    fn sessions<T: Table>(
        &self,
        world: &World,
        plan: &Plan,
        server: &Rc<Server<T>>,
        populations: Vec<Population>,
    ) -> Rc<Sessions<Rc<Server<T>>>> {
        let load = &plan.load;
        let instances = u32::try_from(plan.instances.len()).expect("fewer than 256 instances");
        let shape = PoolShape {
            sessions: self.sessions,
            instances,
            batch: load.batch,
            choice: load.choice,
        };
        // Each pool has its own random streams; otherwise the second would ask for the records that
        // the first has left in the cache.
        let streams = match self.pool {
            0 => world.random.part("load"),
            pool => world.random.part(&format!("load/{pool}")),
        };
        let workload = Workload::new(shape, load.mix, populations, RECENT, streams)
            .reading_again(load.reads_again_percent);
        let paced = |pacer| paced(pacer, 1.0);
        let scheduling = self.pacer.map_or(load.scheduling, paced);
        let scheduler = Scheduler::new(scheduling, instances, world.clock.now());
        let server = Rc::clone(server);
        Sessions::start(world, server, workload, scheduler, self.sessions, load.cost)
    }
}

fn paced(pacer: Pacer, share: f64) -> Scheduling {
    Scheduling::Paced { rate: pacer.rate() * share }
}

fn mark(at: Time, board: &MeterBoard, operations: u64) -> Mark {
    let ios = board.with(|meters| {
        let databases = meters.databases.iter();
        let streams = databases.flat_map(|database| [&database.reads, &database.writes]);
        streams.map(Meter::count).sum()
    });
    Mark { ios, operations, at }
}
