//! Failover rehearsals in virtual time: mail servers on a pair of arrays, a timeline, and what
//! became of everything acknowledged.
//!
//! ```text
//!   sites        hosts, volumes and the pair of both          mirror   the files of the side that does not serve
//!   mail_server  at one site or the other                     roles    which side serves
//!   pair         all of it, as the conductor has it           prove    both sites stop at one instant, by seed
//!   controls     the same on a replica that is broken
//! ```
//!
//! With the engine itself (`bytes`) the survivor is read record by record. With its twin, which has
//! no content, what survives follows from where its logs end at the other side.

mod controls;
mod mail_server;
mod mirror;
mod outcome;
mod pair;
mod prove;
mod roles;
mod sites;
mod unable;

use std::rc::Rc;

use brunt_array::{Control, Incident, PairIncident, Scheduled, Site, SystemError};
use brunt_drill::{CourseError, Rehearsed, conduct};
use brunt_qualify::server::{Records, Twin};
use brunt_report::result::{DrillReplication, RunResult};
use brunt_run::{Listener, Stop};
use brunt_scenario::ModelledScenario;
use brunt_units::{ByteSize, Span, Time};

pub use outcome::outline;
pub use prove::{PairCoverage, PairProof, PairProven, PairViolation};

use mail_server::MailServer;
pub(crate) use mail_server::{DrillEngine, open_records};
use pair::{ArrayPair, CoursePlan};
use sites::{TwoSites, pair_of, plan_at};
pub use unable::Unable;

use crate::{Engine, Program};

/// How a scenario is rehearsed.
#[derive(Clone, Debug)]
pub struct DrillOptions {
    /// The engine; `None`: the engine itself where its databases are small, otherwise its twin.
    pub engine: Option<Engine>,
    /// Whether the replica is broken on purpose, too.
    pub controls: bool,
    pub program: Program,
}

/// Why there was no drill.
#[derive(Debug, thiserror::Error)]
pub enum DrillError {
    /// The scenario replicates nothing.
    #[error(
        "there is nothing to rehearse: the scenario has no [replication]\n  examples/two-sites.toml has one, with its [link] and a timeline"
    )]
    NoPair,
    /// Its servers have passive copies, and a drill moves them without.
    #[error(
        "a drill follows no [[copy]]\n  `brunt simulate` does; take these tables out to rehearse"
    )]
    Copies,
    /// One group is to fail over without the others.
    #[error(
        "the failover at {0} is that of one group\n  a drill fails every group over: leave `group` out"
    )]
    OneGroup(Span),
    /// An array cannot be built.
    #[error(transparent)]
    Arrays(#[from] SystemError),
    /// It could not be carried through.
    #[error(transparent)]
    Broken(#[from] CourseError),
    /// It was asked to stop.
    #[error("stopped")]
    Stopped,
}

/// Databases up to this size, all together, are rehearsed with every byte.
const BYTES_MAX: ByteSize = ByteSize::bytes(1 << 30);

/// The engine that rehearses `scenario`.
pub fn engine_of(scenario: &ModelledScenario, options: &DrillOptions) -> Engine {
    options.engine.unwrap_or_else(|| {
        let databases = scenario.scenario.databases();
        let each: u64 = databases.map(|database| database.size.get()).sum();
        match each.saturating_mul(scenario.servers.len() as u64) <= BYTES_MAX.get() {
            true => Engine::Bytes,
            false => Engine::Twin,
        }
    })
}

/// Rehearses `scenario`.
///
/// # Errors
/// [`DrillError`] when there was no drill.
pub fn drill(
    scenario: &ModelledScenario,
    options: &DrillOptions,
    listener: &Rc<dyn Listener>,
    stop: &Stop,
) -> Result<RunResult, DrillError> {
    pair_of(scenario)?;
    if !scenario.scenario.copies.is_empty() {
        return Err(DrillError::Copies);
    }
    if let Some(at) = failover_of_one_group(&scenario.arrays[0].incidents) {
        return Err(DrillError::OneGroup(Span(at.0)));
    }
    let engine = engine_of(scenario, options);
    let plan = CoursePlan {
        drill: scenario.drill,
        timeline: scenario.arrays[0].incidents.clone(),
        warm_up: scenario.scenario.plan().warm_up_min,
        patience: scenario.scenario.plan().duration,
    };
    let course = || -> Result<Rehearsed, DrillError> {
        let mut rehearsed = rehearse(scenario, engine, plan, None, listener, stop)?;
        if options.controls && scenario.drill.controls {
            rehearsed.evidence.controls = controls::all(scenario, engine, listener, stop)?;
        }
        Ok(rehearsed)
    };
    let rehearsed = course();
    // What a stop has broken off says nothing about the replica.
    if stop.is_asked() {
        return Err(DrillError::Stopped);
    }
    Ok(outcome::result(scenario, options, engine, rehearsed?))
}

/// When one group is to fail over without the others. Hosts of a drill work at one site.
fn failover_of_one_group(timeline: &[Scheduled]) -> Option<Time> {
    let of_one = |one: &&Scheduled| {
        let Incident::Pair(what) = &one.incident else {
            return false;
        };
        matches!(what, PairIncident::FailOver { group: Some(_), .. })
    };
    timeline.iter().find(of_one).map(|one| one.at)
}

/// One course of `plan`; `control` breaks the replica.
fn rehearse(
    scenario: &ModelledScenario,
    engine: Engine,
    plan: CoursePlan,
    control: Option<Control>,
    listener: &Rc<dyn Listener>,
    stop: &Stop,
) -> Result<Rehearsed, DrillError> {
    match engine {
        Engine::Bytes => course::<Records>(scenario, plan, control, listener, stop),
        Engine::Twin => course::<Twin>(scenario, plan, control, listener, stop),
    }
}

fn course<T: DrillEngine>(
    scenario: &ModelledScenario,
    plan: CoursePlan,
    control: Option<Control>,
    listener: &Rc<dyn Listener>,
    stop: &Stop,
) -> Result<Rehearsed, DrillError> {
    let seed = scenario.scenario.test.seed;
    let mut built = TwoSites::build(scenario, seed, control)?;
    let servers = scenario.servers.iter().enumerate().map(|(number, name)| {
        let plans =
            [Site::Source, Site::Destination].map(|site| plan_at(scenario, site, number, seed));
        MailServer::<T>::new(number, name, plans)
    });
    let pair = ArrayPair::new(built.sites(), plan, servers.collect(), listener, stop);
    let rehearsed = built.made.executor.block_on(async move {
        conduct(&pair, &pair.timetable()).await?;
        let replication = written(&pair.sites.replication());
        let struck = pair.sites.struck();
        Ok::<_, CourseError>(pair.rehearsal.into_rehearsed(replication, struck))
    });
    Ok(rehearsed?)
}

fn written(replication: &brunt_array::ReplicationState) -> DrillReplication {
    DrillReplication {
        whl_peak_bytes: replication.log_peak.get(),
        merge_s: replication.longest_resumption.map(Span::as_seconds),
        link_bytes: replication.link_bytes,
    }
}
