//! All servers of a scenario in one world, with one seed: a whole simulation, or a half of one.

use std::cell::RefCell;
use std::rc::Rc;

use brunt_qualify::error::RunError;
use brunt_qualify::phases::portion::Portion;
use brunt_qualify::phases::test_run::TestRun;
use brunt_qualify::plan::Plan;
use brunt_qualify::precision::Moment;
use brunt_report::result::{Precision, StateNumbers, StateSpan};
use brunt_run::{Listener, News, Recorded, Stop};
use brunt_scenario::ModelledScenario;
use brunt_units::{Span, Time};
use brunt_world_virtual::Digest;

use crate::gauge::parts::Names;
use crate::gauge::{Gauge, Reading};
use crate::halves::{self, Exchange, Series};
use crate::replicas::{Recovered, Replicas};
use crate::server::Server;
use crate::storage::{self, Storage};
use crate::{LabError, Options};

/// Servers and arrays in one world.
pub(crate) struct Part {
    pub(crate) servers: Vec<Server>,
    storage: Storage,
    pub(crate) replicas: Option<Rc<Replicas>>,
    number: usize,
}

/// What a part, or all of them, measured.
pub(crate) struct Measured {
    /// In the scenario's order.
    pub(crate) runs: Vec<TestRun>,
    /// Of each array.
    pub(crate) readings: Vec<Reading>,
    /// Measured virtual time.
    pub(crate) length: Span,
    pub(crate) digest: Digest,
    pub(crate) states: Vec<StateNumbers>,
    pub(crate) spans: Vec<StateSpan>,
    /// The newest replicas of volumes, recovered.
    pub(crate) replicas: Vec<Recovered>,
    /// The samples of each part.
    moments: Vec<Vec<Moment>>,
}

impl Part {
    /// The part of `scenario` for the seed with this number of `seeds`.
    ///
    /// # Errors
    /// [`LabError`] when an array cannot be built.
    pub(crate) fn build(
        scenario: &ModelledScenario,
        options: &Options,
        seeds: &[u64],
        number: usize,
    ) -> Result<Self, LabError> {
        let seed = seeds[number];
        // Reading files takes as long in each part, and says the same.
        let read_files = options.read_files && number == 0;
        let servers = 0..scenario.servers.len();
        let mut servers: Vec<Server> =
            servers.map(|at| Server::new(scenario, at, read_files, (seed, seeds.len()))).collect();
        let storage = storage::build(scenario, seed)?;
        // One half has replicas enough.
        let replicas = (number == 0).then(|| {
            let plans = servers.iter_mut().map(|server| &mut server.part);
            let (engine, machine) = (options.engine, &storage.world.machine);
            Replicas::follow(scenario, plans.collect(), engine, &storage.arrays, machine)
        });
        Ok(Self { storage, servers, replicas: replicas.flatten().map(Rc::new), number })
    }

    /// Runs one task for each server, all in one world.
    ///
    /// # Errors
    /// [`LabError`] when no test was possible.
    pub(crate) fn run(
        &mut self,
        scenario: &ModelledScenario,
        options: &Options,
        listeners: &[Rc<dyn Listener>],
        exchange: Option<Exchange>,
        stop: &Stop,
    ) -> Result<Measured, LabError> {
        let names = Names::of(&scenario.arrays);
        let gauge = Gauge::new(self.storage.arrays.clone(), names, self.replicas.clone());
        let gauge = Rc::new(gauge);
        let plan = &self.servers[0].part;
        let first = Rc::clone(&listeners[0]);
        let series = Rc::new(Series::new(scenario, plan, self.number, exchange, first));
        let spawner = self.storage.world.world.spawner.clone();
        let servers = self.servers.iter().zip(listeners);
        let tasks = servers
            .map(|(server, listener)| {
                let ears = (Rc::clone(&gauge), Rc::clone(&series));
                let listener = Rc::clone(listener);
                spawner.spawn(server.task(options.engine, &self.storage, listener, ears, stop))
            })
            .collect::<Vec<_>>();
        let runs: Result<_, RunError> = self.storage.world.executor.block_on(async move {
            let mut runs = Vec::new();
            for task in tasks {
                runs.push(task.await);
            }
            runs.into_iter().collect()
        });
        // Whatever came of it, the other half need not wait.
        series.ended();
        let (runs, readings) = (runs?, gauge.readings());
        let replicas = match &self.replicas {
            Some(replicas) if !stop.is_asked() => {
                let plans: Vec<&Plan> = self.servers.iter().map(|server| &server.part).collect();
                replicas.recover(scenario, &plans)
            }
            _ => Vec::new(),
        };
        Ok(Measured {
            runs,
            readings,
            replicas,
            length: gauge.measured(),
            digest: self.storage.digest(scenario),
            states: gauge.states.numbers(),
            spans: gauge.spans(),
            moments: vec![series.moments()],
        })
    }
}

impl Measured {
    /// Adds the second half; `listeners` receive its tables.
    pub(crate) fn join(&mut self, second: Second, listeners: &[Rc<dyn Listener>]) {
        let servers = self.runs.iter_mut().zip(second.servers).zip(listeners);
        for ((run, (half, tables)), listener) in servers {
            let ended = run.collection_ended.unwrap_or(run.ended);
            let begun = tables.first().map_or(Time::ZERO, |first| first.sample.begin);
            for recorded in tables {
                let after = ended + (recorded.sample.begin - begun);
                listener.recorded(&recorded.moved_to(after));
            }
            run.join(half);
        }
        let readings = self.readings.iter_mut().zip(&second.readings);
        readings.for_each(|(own, other)| own.join(other));
        self.length += second.length;
        self.digest.mix(second.digest.value());
        self.moments.push(second.moments);
    }

    /// How well its figures are known.
    pub(crate) fn precision(
        &self,
        scenario: &ModelledScenario,
        servers: &[Server],
        seeds: &[u64],
    ) -> Option<Precision> {
        let run = self.runs.first()?;
        let collected = run.collected.as_ref()?;
        let steady_from = collected.begin.since(Time::ZERO);
        let length = (run.is_shortened, collected.length, steady_from);
        halves::numbers(scenario, &servers[0].plan, seeds, &self.moments, length)
    }
}

/// What a second half measured, without its world.
pub(crate) struct Second {
    /// Of each server: its measurements, and what it adds to the tables of the run folder.
    servers: Vec<(Portion, Vec<Recorded>)>,
    readings: Vec<Reading>,
    length: Span,
    digest: Digest,
    moments: Vec<Moment>,
}

impl Second {
    /// Simulates the second half of `scenario`, on the thread that calls.
    ///
    /// # Errors
    /// [`LabError`] when no test was possible.
    pub(crate) fn run(
        scenario: &ModelledScenario,
        options: &Options,
        seeds: &[u64],
        exchange: Exchange,
        stop: &Stop,
    ) -> Result<Self, LabError> {
        let mut part = Part::build(scenario, options, seeds, 1)?;
        let tables: Vec<Rc<Tables>> = part.servers.iter().map(|_| Rc::default()).collect();
        let listeners = tables.iter().cloned().map(|one| one as Rc<dyn Listener>);
        let listeners: Vec<_> = listeners.collect();
        let mut measured = part.run(scenario, options, &listeners, Some(exchange), stop)?;
        let halves = measured.runs.into_iter().map(Portion::from);
        let tables = tables.iter().map(|tables| tables.0.take());
        Ok(Self {
            servers: halves.zip(tables).collect(),
            readings: measured.readings,
            length: measured.length,
            digest: measured.digest,
            moments: measured.moments.remove(0),
        })
    }
}

/// Keeps what a server adds to the tables of the run folder.
#[derive(Default)]
struct Tables(RefCell<Vec<Recorded>>);

impl Listener for Tables {
    fn tell(&self, _: Time, _: &News) {}

    fn recorded(&self, recorded: &Recorded) {
        // The histograms are in the latency log, too.
        self.0.borrow_mut().push(Recorded { whole: Default::default(), ..recorded.clone() });
    }
}
