//! Servers that serve without being tested: for drills, in which they are killed and begin again
//! elsewhere.
//!
//! ```text
//!   create -> Serving ... killed | stopped        at the other site: recovered -> first operation -> Serving ...
//! ```
//!
//! A drill owns the order of these and its own time; rules about the storage are those of a test.

use std::rc::Rc;

use brunt_ese::error::EngineError;
use brunt_run::{Interval, Listener, Stop};
use brunt_stats::{Latencies, Reading};
use brunt_units::Span;
use brunt_workload::keys::{Population, Record};
use brunt_workload::mix::{Commit, Kind};
use brunt_workload::operations::Operation;
use brunt_world::World;

use crate::error::RunError;
use crate::load::Load;
use crate::load::sessions::{Log, Target};
use crate::phases::creation;
use crate::phases::places;
use crate::plan::Plan;
use crate::server::{Records, Server, Table};
use crate::truth::oracle::Oracle;
use crate::truth::records::{Compared, Contents, StoredFields};
use crate::truth::survey::survey;

/// Creates the databases of `plan` and opens them.
///
/// # Errors
/// [`RunError`] when there are files already, or a database cannot be created.
pub async fn create(
    world: &World,
    plan: &Plan,
    listener: &dyn Listener,
    stop: &Stop,
) -> Result<(Rc<Server>, Vec<Population>), RunError> {
    let decisions = places::decide(world, plan).await?;
    creation::create(world, plan, &decisions, listener, stop).await?;
    let databases = plan.databases().count();
    let oracles = vec![Oracle::fresh(databases); databases];
    let server = Rc::new(Server::open(world, plan, listener, Some(oracles)).await?);
    let populations = survey(world, &server, listener).await?;
    Ok((server, populations))
}

/// A server with sessions at work.
pub struct Serving<T: Table = Records> {
    world: World,
    plan: Plan,
    server: Rc<Server<T>>,
    load: Load<T>,
}

impl<T: Table> Serving<T> {
    /// Lets the sessions of `plan` work on `server`, whose records are `populations`.
    pub fn begin(
        world: &World,
        plan: &Plan,
        server: &Rc<Server<T>>,
        populations: Vec<Population>,
    ) -> Self {
        if let Some(throttle) = plan.throttle() {
            server.maintain(throttle);
        }
        Self {
            world: world.clone(),
            plan: plan.clone(),
            server: Rc::clone(server),
            load: Load::start(world, plan, server, populations, plan.sessions),
        }
    }

    pub fn server(&self) -> &Rc<Server<T>> {
        &self.server
    }

    /// Counts and findings of the sessions.
    pub fn log(&self) -> Log {
        self.load.sessions.log()
    }

    /// Regular care for the pace and the growth of databases. Why nothing more may be inserted, if
    /// so.
    pub fn tend(&mut self) -> Option<String> {
        self.load.keep_pace(self.world.clock.now());
        // What is noted of growth is of no interest here.
        let _ = self.load.watch_growth(&self.plan);
        self.load.outgrown.clone()
    }

    /// Reduces a paced load to `share` of its pace, or gives it back with 1.
    pub fn pace_to(&mut self, share: f64) {
        self.load.pace_to(share);
    }

    /// Ends the sessions, and keeps the server open.
    pub async fn suspend(&self) {
        self.load.sessions.stop().await;
    }

    /// Whether no session works.
    pub fn is_suspended(&self) -> bool {
        self.load.sessions.is_over()
    }

    /// Lets sessions work again after [`Self::suspend`].
    pub fn resume(&mut self) {
        let pacer = self.load.pacer();
        let (world, plan, sessions) = (&self.world, &self.plan, self.plan.sessions);
        self.load.restart(world, plan, &self.server, sessions, pacer);
    }

    /// Closes the interval since the last call.
    pub fn interval(&self) -> Interval {
        self.server.board().with(|meters| {
            let mut interval = Interval::default();
            let databases = &mut meters.databases;
            let reads = databases.iter_mut().map(|one| &mut one.reads);
            interval.reads = close(reads);
            let writes = databases.iter_mut().map(|one| &mut one.writes);
            interval.writes = close(writes);
            let logs = meters.logs.iter_mut().map(|one| &mut one.writes);
            interval.log_writes = close(logs);
            interval
        })
    }

    /// The records now, as a kill would leave them.
    pub fn populations(&self) -> Vec<Population> {
        self.load.sessions.with_workload(|workload| {
            let own = workload.populations().iter();
            own.map(Population::left).collect()
        })
    }

    /// Ends the sessions and closes the server; its databases then need no log.
    ///
    /// # Errors
    /// The first error of the engine.
    pub async fn stop(&self) -> Result<(), EngineError> {
        self.suspend().await;
        self.server.close().await
    }

    /// Gives the server back; sessions that are killed or stopped have no other use for it.
    pub fn into_server(self) -> Rc<Server<T>> {
        self.server
    }
}

fn close<'m>(meters: impl Iterator<Item = &'m mut brunt_stats::Meter>) -> Reading {
    let mut all = Latencies::default();
    let mut bytes = 0;
    for meter in meters {
        all.merge(meter.running());
        bytes += meter.close_interval().bytes;
    }
    Reading::of(&all, bytes)
}

/// Serves one operation: the read of `record` in database `database` of the plan.
///
/// # Errors
/// When it cannot be served.
pub async fn serve_one<T: Table>(
    server: &Server<T>,
    plan: &Plan,
    database: usize,
    record: Record,
) -> Result<(), EngineError> {
    let databases = plan.databases().count();
    let each = databases.div_euclid(plan.instances.len()).max(1);
    let small = |number: usize| u32::try_from(number).expect("few databases");
    let operation = Operation {
        session: 0,
        instance: small(database.div_euclid(each)),
        database: small(database),
        kind: Kind::Read,
        record,
        commit: Commit::Lazy,
    };
    server.perform(&operation).await.map(drop)
}

/// The version of record `number` of database `database` of log stream `stream`; that of no record
/// when its bytes are no version's.
///
/// # Errors
/// When it cannot be read.
///
/// # Panics
/// When the plan has no such database.
pub async fn version_of(
    server: &Server,
    (stream, database, number): (usize, u8, u64),
) -> Result<Option<u32>, EngineError> {
    let mut tables = server.tables().iter();
    let table = tables.find(|one| one.instance_number() == stream && one.database() == database);
    let table = table.expect("a database of the plan");
    let record = table.contents().mixer().record(number);
    let instance = server.instance_of(table);
    let id = Contents::id(record);
    let Some(message) = instance.read_message(table.messages(), id, true).await? else {
        return Ok(None);
    };
    let stored = StoredFields::from(&message);
    Ok(Some(match table.contents().compare(record, &stored) {
        Compared::Version(version) => version,
        Compared::Wrong => u32::MAX,
    }))
}

/// How often a serving server is to be tended.
pub const TICK: Span = super::run::TICK;
