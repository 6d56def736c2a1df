//! A test of mail servers on modelled storage, in virtual time.
//!
//! ```text
//!   scenario -> plan of each server ----------------> qualify, one task for each server --> results -> together
//!            -> arrays -> devices of one virtual world --^      | listeners: watch, gauge      -> model
//! ```
//!
//! * [`storage`]: the world, with the scenario's arrays beneath the servers' folders.
//! * [`server`]: one server of it: plan, watch, task, result.
//! * [`gauge`]: what is measured on the arrays while servers collect; [`model`]: the same as numbers of the result.
//! * [`session_time`]: where the time of sessions went.
//! * [`folder`]: what is left behind; [`words`]: what is said at the end.
//!
//! Time begins at [`EPOCH`] in every simulation, and nothing of this machine enters it: equal scenarios and seeds give equal
//! results, but for how long it took.

mod folder;
mod gauge;
mod model;
mod server;
mod session_time;
mod storage;
mod words;

use std::rc::Rc;
use std::time::{Instant, SystemTime};

use brunt_qualify::error::RunError;
use brunt_qualify::progress::Stop;
use brunt_qualify::test_run::TestRun;
use brunt_report::result::{Model, RunResult};
use brunt_report::{Run, RunFolder, TogetherError, report_html, together};
use brunt_units::ByteSize;
use brunt_world_real::facts::memory_available;

use super::{Engine, SimulateArgs, SimulateError};
use crate::closing::exit;
use crate::commands::run::timestamp;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::output::Output;
use brunt_scenario::ModelledScenario;
use gauge::Gauge;
use server::Server;
use storage::Storage;

/// When virtual time begins: 2000-01-01T00:00:00Z, in milliseconds from the Unix epoch.
const EPOCH: u64 = 946_684_800_000;

/// Where a simulation is recorded and shown.
pub(super) enum Record<'a> {
    /// In a folder, and on the screen.
    In {
        folder: &'a RunFolder,
        output: &'a Output,
    },
    /// Nobody looks; files are read after the test only if that is wanted.
    Nowhere { checksum: bool },
}

/// Runs the test of `scenario` and says what came of it.
///
/// # Errors
/// [`SimulateError`] when it did not come to a test, or nothing can be written.
pub(super) fn run(
    args: &SimulateArgs,
    scenario: &ModelledScenario,
    output: &Output,
) -> Result<Exit, SimulateError> {
    let interrupt = Interrupt::listen()?;
    let stop = Stop::from(interrupt.flag());
    let begun = timestamp(SystemTime::now());
    let folder = RunFolder::create(&args.out, begun, &scenario.scenario.name)?;
    output.talk(&words::opening(scenario, args.engine));
    let record = Record::In {
        folder: &folder,
        output,
    };
    let simulated = simulate(scenario, args.engine, &record, &stop)
        .and_then(|simulated| folder::write(&folder, scenario, simulated));
    let whole = match simulated {
        Ok(whole) => whole,
        Err(error) => {
            folder.discard();
            return Err(error);
        }
    };
    let result = &whole.result;
    folder.write("report.html", report_html(&whole).as_bytes())?;
    if args.json {
        output.data(result.to_json().trim_end());
    } else {
        output.talk("");
        output.show(&words::closing(result, folder.path(), output));
    }
    Ok(exit(result.verdict))
}

/// What came of each server, and of the storage.
pub(super) struct Simulated {
    results: Vec<RunResult>,
    model: Model,
}

impl Simulated {
    /// All servers as one result, without what they recorded over time.
    pub(super) fn into_result(self) -> Result<RunResult, TogetherError> {
        let runs = self.results.into_iter().map(|result| Run {
            result,
            scenario: String::new(),
            events: Vec::new(),
            samples: Vec::new(),
        });
        let mut result = together(runs.collect())?.result;
        result.details.model = Some(Box::new(self.model));
        Ok(result)
    }
}

/// The whole simulation.
pub(super) fn simulate(
    scenario: &ModelledScenario,
    engine: Engine,
    record: &Record<'_>,
    stop: &Stop,
) -> Result<Simulated, SimulateError> {
    let clock = Instant::now();
    if engine == Engine::Bytes {
        has_room(scenario)?;
    }
    let mut storage = storage::build(scenario)?;
    let gauge = Rc::new(Gauge::new(storage.arrays.clone()));
    let mut servers = Vec::new();
    for number in 0..scenario.servers.len() {
        servers.push(Server::new(scenario, number, record)?);
    }
    let runs = carry_out(engine, &mut storage, &servers, &gauge, stop)?;
    let readings = gauge.readings();
    let mut results = Vec::new();
    let mut times = Vec::new();
    for (server, run) in servers.iter().zip(&runs) {
        times.push(session_time::of(&server.plan, run));
        results.push(server.result(scenario, run));
    }
    let model = Model {
        engine: engine.word().to_owned(),
        scheduling: scheduling(scenario),
        measured_s: gauge.measured().as_seconds(),
        wall_seconds: clock.elapsed().as_secs_f64(),
        request_digest: format!("{:016x}", storage.digest(scenario).value()),
        sessions: session_time::mean(&times),
        arrays: model::arrays(scenario, &readings),
    };
    for server in servers {
        server.end()?;
    }
    Ok(Simulated { results, model })
}

/// Whether this machine can keep every byte of the databases.
fn has_room(scenario: &ModelledScenario) -> Result<(), SimulateError> {
    let databases = scenario.scenario.databases();
    let each: u64 = databases.map(|database| database.size.value.get()).sum();
    let needed = ByteSize::bytes(each.saturating_mul(scenario.servers.len() as u64));
    match memory_available() {
        Some(there) if needed > there => Err(SimulateError::TooLarge { needed, there }),
        _ => Ok(()),
    }
}

/// One task for each server, all in one world.
fn carry_out(
    engine: Engine,
    storage: &mut Storage,
    servers: &[Server],
    gauge: &Rc<Gauge>,
    stop: &Stop,
) -> Result<Vec<TestRun>, RunError> {
    let world = storage.world.world.clone();
    let tasks = servers
        .iter()
        .map(|server| {
            let task = server.task(engine, &world, Rc::clone(gauge), stop.clone());
            world.spawner.spawn(task)
        })
        .collect::<Vec<_>>();
    storage.world.executor.block_on(async move {
        let mut runs = Vec::new();
        for task in tasks {
            runs.push(task.await);
        }
        runs.into_iter().collect()
    })
}

/// How sessions were held back, in the words of a scenario.
fn scheduling(scenario: &ModelledScenario) -> String {
    let test = &scenario.scenario.test;
    match (&test.target_io_per_s, test.operations_per_s) {
        (Some(_), _) => "paced at the target".to_owned(),
        (None, Some(rate)) => format!("paced at {rate} operations per second"),
        (None, None) => test.scheduling.to_string(),
    }
}

/// A prediction never counts as a qualification.
fn predicted(mut result: RunResult) -> RunResult {
    result.qualifies = false;
    let reason = "it is a prediction, made on modelled storage";
    result.reasons.insert(0, reason.to_owned());
    result
}
