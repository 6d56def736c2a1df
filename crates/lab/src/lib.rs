//! Mail servers on modelled storage, in virtual time: built from a scenario, run, and measured.
//!
//! ```text
//!   scenario -> plan of each server ----------------> qualify, one task for each server --> results -> together
//!            -> arrays -> devices of a virtual world ----^      | listeners: caller's, gauge    -> model
//!            -> the same with another seed, on another thread   | series of samples             -> precision
//! ```
//!
//! * `part`: all servers in one world, with one seed; `halves`: two of them, until they know
//!   enough.
//! * `device`: an array beneath the files of a virtual world.
//! * `storage`: the world, with the scenario's arrays under the servers' folders.
//! * `server`: one server of it: plan, task, result; `errors`: how far predictions were from
//!   published tests.
//! * `gauge`: measurements of the arrays while servers collect; `model`: the same as numbers of the
//!   result; `pages`: those of LUNs in pages.
//! * `states`: the load while groups were whole, degraded, rebuilding.
//! * `session_time`: where the time of sessions went.
//! * [`Points`]: one scenario with many values; [`search`]: the largest number of mailboxes that
//!   passes; [`Crew`]: who computes points, and [`batch`]: those that are computed in parts.
//! * [`distance`]: the longest round trip between two sites that keeps every limit.
//! * `replicas`: the newest replica of volumes, recovered after the test.
//! * `writes`: writes of hosts under way, for `drill` and `replicas`, which keep their content
//!   elsewhere.
//! * [`load`]: what is said of raw load on arrays, without mail servers.
//! * [`drill()`]: failover rehearsals on a pair of arrays.
//! * [`Headline`]: the figures that published tests print.
//!
//! The lab prints nothing, writes no file and knows no terminal: the caller supplies a [`Listener`]
//! for each server.
//!
//! Time begins with the year 2000 in every simulation, and nothing of this machine enters it: equal
//! scenarios and seeds give equal results, except for the running time.

pub mod batch;
mod crew;
mod device;
pub mod distance;
mod drill;
mod errors;
mod gauge;
mod halves;
mod headline;
pub mod load;
mod model;
mod pages;
mod part;
mod points;
mod replicas;
pub mod search;
mod server;
mod session_time;
mod states;
mod storage;
mod writes;

use std::rc::Rc;
use std::thread;
use std::time::Instant;

use brunt_array::SystemError;
use brunt_qualify::error::RunError;
use brunt_qualify::plan::Plan;
use brunt_report::parts::Parts;
use brunt_report::result::{Model, Precision, RunResult, StateNumbers};
use brunt_report::{FolderError, Run, TogetherError, together};
use brunt_run::{Listener, Silence, Standing, Stop};
use brunt_scenario::ModelledScenario;
use brunt_units::{ByteSize, Time};
use brunt_world_real::facts::memory_available;
use serde::{Deserialize, Serialize};

pub use crew::Crew;
pub use drill::{
    DrillError, DrillOptions, PairCoverage, PairProof, PairProven, PairViolation, Unable, drill,
    engine_of, outline as drill_outline,
};
pub use errors::{doubts, known_error};
pub use headline::{Headline, LogFigures};
pub use model::too_late;
pub use pages::{group_name, numbers};
pub use points::{Judged, Points, Told, Tried, predict_to_an_answer};
pub use server::unfinished_result;

use batch::Disagreement;
use halves::Exchange;
use part::{Measured, Part, Second};

/// The beginning of virtual time: 2000-01-01T00:00:00Z, in milliseconds from the Unix epoch.
const EPOCH: u64 = 946_684_800_000;

/// The implementation of the mail server's engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Its twin, without content: for databases of any size.
    #[default]
    Twin,
    /// The engine itself, with every byte: for small databases.
    Bytes,
}

impl Engine {
    /// Its name in results.
    pub fn word(self) -> &'static str {
        match self {
            Self::Twin => "twin",
            Self::Bytes => "bytes",
        }
    }
}

/// The simulating program, as named in results; nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub version: String,
    /// The commit it was built from, if known.
    pub commit: Option<String>,
    /// The command that repeats the simulation.
    pub command: String,
}

/// How a scenario is simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub engine: Engine,
    /// Whether files are read after the test.
    pub read_files: bool,
    /// Whether it is simulated in one piece, as it would be run, also where two halves would do.
    pub in_one_piece: bool,
    pub program: Program,
}

/// Why nothing was simulated.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The arrays cannot be built.
    #[error(transparent)]
    Arrays(#[from] SystemError),
    /// No test was possible.
    #[error(transparent)]
    Test(#[from] RunError),
    /// The servers ran different tests.
    #[error(transparent)]
    Together(#[from] TogetherError),
    /// Records of points cannot be read or written.
    #[error(transparent)]
    Shelf(#[from] FolderError),
    /// Two attempts of a point differ.
    #[error(transparent)]
    Disagreement(#[from] Box<Disagreement>),
    /// The engine itself was requested, but its databases do not fit into memory.
    #[error(
        "`--engine bytes` keeps every byte in memory: databases of {needed}, and {there} is free\n  make `database_size` smaller, or leave `--engine` out: the twin keeps none"
    )]
    TooLarge {
        /// Bytes of all databases of all servers.
        needed: ByteSize,
        /// Available memory.
        there: ByteSize,
    },
}

/// The outcome of one server.
#[derive(Clone, Debug)]
pub struct ServerRun {
    /// Its result; a prediction never counts as a qualification.
    pub result: RunResult,
    /// When it ended.
    pub ended: Time,
    /// What it knows of itself besides.
    pub standing: Standing,
}

/// The outcome of all servers, and of the storage.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// In the scenario's order.
    pub servers: Vec<ServerRun>,
    /// Numbers that only modelled storage has.
    pub model: Model,
    /// The load by the state of the groups of drives; empty when all were whole throughout.
    pub states: Vec<StateNumbers>,
    /// How well the figures are known, over all servers; `None` for a test without load, or a short
    /// one.
    pub precision: Option<Precision>,
}

impl Simulated {
    /// Combines all servers into one result, without their samples over time.
    ///
    /// # Errors
    /// [`LabError::Together`] when they ran different tests.
    pub fn into_result(self) -> Result<RunResult, LabError> {
        let runs = self.servers.into_iter().map(|server| Run {
            result: server.result,
            scenario: String::new(),
            events: Vec::new(),
            samples: Vec::new(),
            parts: Parts::default(),
        });
        let mut result = together(runs.collect(), None)?.result;
        result.storage.states = self.states;
        result.storage.precision = self.precision;
        result.storage.details.model = Some(Box::new(self.model));
        Ok(result)
    }
}

/// The servers of a scenario, and the storage under them.
pub struct Lab<'a> {
    scenario: &'a ModelledScenario,
    options: Options,
    /// One, or one of each half.
    seeds: Vec<u64>,
    first: Part,
    begun: Instant,
}

impl<'a> Lab<'a> {
    /// Builds the servers and arrays of `scenario`.
    ///
    /// # Errors
    /// [`LabError`] when they do not fit into memory, or an array cannot be built.
    pub fn build(scenario: &'a ModelledScenario, options: Options) -> Result<Self, LabError> {
        #[expect(
            clippy::disallowed_methods,
            reason = "the result says how long this machine took; nothing hangs on it"
        )]
        let begun = Instant::now();
        let seeds = halves::seeds(scenario, &options);
        if options.engine == Engine::Bytes {
            has_room(scenario, seeds.len() as u64)?;
        }
        Ok(Self {
            first: Part::build(scenario, &options, &seeds, 0)?,
            seeds,
            scenario,
            options,
            begun,
        })
    }

    /// The plan of what is simulated of each server with the first seed, in the scenario's order.
    pub fn plans(&self) -> impl Iterator<Item = &Plan> {
        self.first.servers.iter().map(|server| &server.part)
    }

    /// What is known of each server before it runs, in the scenario's order.
    pub fn outlines(&self) -> impl Iterator<Item = RunResult> {
        let servers = self.first.servers.iter();
        servers.map(|server| server.outline(self.scenario, &self.options.program))
    }

    /// Runs all servers in one world for each seed, side by side. Each of `listeners` receives the
    /// news of one server with the first seed, in the scenario's order, and the tables of both.
    ///
    /// # Errors
    /// [`LabError`] when no test was possible.
    ///
    /// # Panics
    /// When the number of listeners differs from that of the servers.
    pub fn run(
        mut self,
        listeners: Vec<Rc<dyn Listener>>,
        stop: &Stop,
    ) -> Result<Simulated, LabError> {
        assert_eq!(listeners.len(), self.first.servers.len(), "one for each server");
        let mut measured = self.carry_out(&listeners, stop)?;
        let (scenario, options, servers) = (self.scenario, &self.options, &self.first.servers);
        let mut arrays = model::arrays(scenario, &measured.readings);
        for one in &measured.replicas {
            arrays[one.array].replicas[one.set].recovered = Some(one.numbers.clone());
        }
        let busiest = model::busiest(&arrays);
        let precision = measured.precision(scenario, servers, &self.seeds);
        let runs = measured.runs.drain(..).zip(servers);
        let (servers, times): (Vec<_>, Vec<_>) = runs
            .map(|(run, server)| {
                let time = session_time::of(&server.plan, &run);
                let busiest = busiest.clone();
                let result =
                    server.result(scenario, &options.program, busiest, &measured.replicas, &run);
                let (ended, standing) = (run.ended, run.standing_at_end());
                (ServerRun { result, ended, standing }, time)
            })
            .unzip();
        let model = Model {
            engine: options.engine.word().to_owned(),
            scheduling: scheduling(scenario),
            measured_s: measured.length.as_seconds(),
            wall_seconds: self.begun.elapsed().as_secs_f64(),
            request_digest: format!("{:016x}", measured.digest.value()),
            sessions: session_time::mean(&times),
            arrays,
            states: measured.spans,
        };
        Ok(Simulated { servers, model, states: measured.states, precision })
    }

    fn carry_out(
        &mut self,
        listeners: &[Rc<dyn Listener>],
        stop: &Stop,
    ) -> Result<Measured, LabError> {
        let (scenario, options, seeds) = (self.scenario, &self.options, &self.seeds[..]);
        if seeds.len() == 1 {
            return self.first.run(scenario, options, listeners, None, stop);
        }
        let (here, there) = Exchange::pair();
        let (first, second) = thread::scope(|scope| {
            let second = scope.spawn(move || Second::run(scenario, options, seeds, there, stop));
            let first = self.first.run(scenario, options, listeners, Some(here), stop);
            (first, second.join().expect("it does not panic"))
        });
        let mut measured = first?;
        measured.join(second?, listeners);
        Ok(measured)
    }
}

/// The predicted result of the test in `scenario`, over all servers, without listeners.
///
/// # Errors
/// [`LabError`] when it cannot be simulated.
pub fn predict(
    scenario: &ModelledScenario,
    options: Options,
    stop: &Stop,
) -> Result<RunResult, LabError> {
    let lab = Lab::build(scenario, options)?;
    let silence = lab.plans().map(|_| Rc::new(Silence) as Rc<dyn Listener>);
    let listeners = silence.collect();
    lab.run(listeners, stop)?.into_result()
}

/// Checks that this machine can hold every byte of the databases in memory.
fn has_room(scenario: &ModelledScenario, seeds: u64) -> Result<(), LabError> {
    let databases = scenario.scenario.databases();
    let each: u64 = databases.map(|database| database.size.get()).sum();
    let needed = ByteSize::bytes(each.saturating_mul(seeds * scenario.servers.len() as u64));
    match memory_available() {
        Some(there) if needed > there => Err(LabError::TooLarge { needed, there }),
        _ => Ok(()),
    }
}

/// How sessions were held back, in the terms of a scenario.
fn scheduling(scenario: &ModelledScenario) -> String {
    let test = &scenario.scenario.test;
    match (&test.target_io_per_s, test.operations_per_s) {
        (Some(_), _) => "paced at the target".to_owned(),
        (None, Some(rate)) => format!("paced at {rate} operations per second"),
        (None, None) => test.scheduling.to_string(),
    }
}
