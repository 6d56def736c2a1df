//! One server of a simulation.

use std::future::Future;
use std::path::Path;
use std::rc::Rc;

use brunt_ese::format::stamp::RunId;
use brunt_ese::policy::preread::IN_FLIGHT_RECOVERY;
use brunt_qualify::error::RunError;
use brunt_qualify::phases::run::run;
use brunt_qualify::phases::simulation::simulate;
use brunt_qualify::phases::test_run::TestRun;
use brunt_qualify::plan::{CopyPlan, DatabasePlan, InstancePlan, Plan};
use brunt_qualify::result::{self, Beneath, Surroundings, VolumeUse, result, unfinished};
use brunt_report::result::{
    Backend, BusyPart, Durability, Machine, Origin, RunResult, Sample, Volume, World as Kind,
    WriteCache,
};
use brunt_run::{Folded, Listener, News, Recorded, Stop};
use brunt_scenario::{Document, ModelledScenario, VolumePlan};
use brunt_units::{ByteSize, Span, Time};
use brunt_workload::keys::Mixer;
use brunt_world::World;

use crate::errors;
use crate::gauge::Gauge;
use crate::halves::Series;
use crate::replicas::Recovered;
use crate::storage::Storage;
use crate::{EPOCH, Engine, Program};

/// One server and its plan.
pub(crate) struct Server {
    number: usize,
    name: String,
    /// Of the whole test, for which it is judged.
    pub(crate) plan: Plan,
    /// What is simulated of it: with several seeds, an equal part for each.
    pub(crate) part: Plan,
}

impl Server {
    /// Server number `number` in a simulation with `seed`, one of `seeds`; `read_files` says
    /// whether its files are read after the test.
    pub(crate) fn new(
        scenario: &ModelledScenario,
        number: usize,
        read_files: bool,
        (seed, seeds): (u64, usize),
    ) -> Self {
        let plan = Plan { read_files, ..plan_of(scenario, number, seed) };
        Self {
            number,
            name: scenario.servers[number].clone(),
            part: Plan { duration: Span(plan.duration.0.div_euclid(seeds as u64)), ..plan.clone() },
            plan,
        }
    }

    /// The test as a task of the world of `storage`.
    pub(crate) fn task(
        &self,
        engine: Engine,
        storage: &Storage,
        listener: Rc<dyn Listener>,
        (gauge, series): (Rc<Gauge>, Rc<Series>),
        stop: &Stop,
    ) -> impl Future<Output = Result<TestRun, RunError>> + 'static {
        let world = storage.world.world.clone();
        let world = World { random: world.random.part(&self.name), ..world };
        let arrays = storage.arrays.clone();
        let assume = move || {
            for array in &arrays {
                array.device().assume_written();
            }
        };
        let (number, plan, stop) = (self.number, self.part.clone(), stop.clone());
        async move {
            let listeners =
                ServerListener { server: number, listener, gauge: &gauge, series: &series };
            let run = match engine {
                Engine::Twin => simulate(&world, &plan, &listeners, &stop, assume).await,
                Engine::Bytes => run(&world, &plan, &listeners, &stop).await,
            };
            gauge.test_ended(world.clock.now());
            series.ended();
            run
        }
    }

    /// The outcome of the server; `busiest` is the busiest part of the storage, `replicas` are
    /// those of all servers.
    pub(crate) fn result(
        &self,
        scenario: &ModelledScenario,
        program: &Program,
        busiest: Option<BusyPart>,
        replicas: &[Recovered],
        run: &TestRun,
    ) -> RunResult {
        let outcome = |one: &Recovered| one.outcome(self.number);
        let surroundings = Surroundings {
            busiest,
            replicas: replicas.iter().filter_map(outcome).collect(),
            ..self.surroundings(scenario, program)
        };
        let reasons = errors::reasons(self.plan.kind, scenario);
        predicted(result(&self.plan, run, &surroundings), reasons)
    }

    /// What the run folder has until there is a result.
    pub(crate) fn outline(&self, scenario: &ModelledScenario, program: &Program) -> RunResult {
        let surroundings = self.surroundings(scenario, program);
        predicted(unfinished(&self.plan, Time::ZERO, &surroundings), Vec::new())
    }

    fn surroundings(&self, scenario: &ModelledScenario, program: &Program) -> Surroundings {
        let volumes = scenario.volumes.iter();
        let own = volumes.filter(|volume| volume.server == self.number);
        let logs = self.plan.instances.iter();
        Surroundings {
            world: Kind::Virtual,
            machine: machine(&self.name),
            host: Vec::new(),
            phases: Vec::new(),
            mounts: Vec::new(),
            busiest: None,
            system_log: None,
            io_limits: None,
            replicas: Vec::new(),
            setup: Vec::new(),
            cached_writes: Vec::new(),
            backend: Backend {
                name: "modelled storage".to_owned(),
                remark: String::new(),
                direct: true,
                volumes: Vec::new(),
            },
            volumes: own.map(|volume| self.volume(scenario, volume)).collect(),
            durability: logs.map(|log| self.durability(scenario, &log.log)).collect(),
            origin: Origin {
                command: program.command.clone(),
                version: program.version.clone(),
                commit: program.commit.clone(),
                seed: self.plan.seed,
                run_id: self.plan.run.to_string(),
            },
        }
    }

    /// How writes of the log in the folder `log` become durable: in the cache of its array, if that
    /// takes writes.
    fn durability(&self, scenario: &ModelledScenario, log: &Path) -> Durability {
        let volumes = scenario.volumes.iter();
        let below = volumes.filter(|volume| {
            let path = scenario.path_of(self.number, &volume.path);
            volume.server == self.number && log.starts_with(path)
        });
        let volume = below.max_by_key(|volume| volume.path.components().count());
        let arrays = volume.map(|volume| scenario.arrays[volume.array].design.arrays());
        let caches = arrays.iter().flatten().filter_map(|array| array.cache);
        let room = ByteSize::bytes(caches.map(|cache| cache.write.get()).sum());
        let (method, write_cache) = match room.get() == 0 {
            true => {
                ("acknowledged by the drives of the array".to_owned(), WriteCache::WriteThrough)
            }
            false => (
                format!("acknowledged by the array's write cache of {room}"),
                WriteCache::WriteBack,
            ),
        };
        Durability {
            path: log.display().to_string(),
            method,
            write_cache,
            fua: None,
            log_latency_ms_mean: None,
            flush_share: None,
        }
    }

    fn volume(&self, scenario: &ModelledScenario, volume: &VolumePlan) -> VolumeUse {
        let array = &scenario.arrays[volume.array];
        let path = scenario.path_of(self.number, &volume.path);
        let databases = self.plan.databases().enumerate();
        let logs = self.plan.instances.iter().enumerate();
        VolumeUse {
            volume: Volume {
                mount: path.display().to_string(),
                file_system: "modelled, in extents of 1 MiB".to_owned(),
                device: format!("{}, {}", array.name, array.design.lun_names()[volume.lun]),
                device_reads: None,
                engine_reads: 0,
                stack: Vec::new(),
                redundancy: Vec::new(),
            },
            bytes: Some(volume.bytes),
            device_read: None,
            device_written: None,
            databases: databases
                .filter(|(_, database)| database.path.starts_with(&path))
                .map(|(at, _)| at)
                .collect(),
            logs: logs
                .filter(|(_, instance)| instance.log.starts_with(&path))
                .map(|(at, _)| at)
                .collect(),
            beneath: Beneath::Devices,
        }
    }
}

/// The listeners of a server: the gauge on the arrays, the series of samples, and the caller's
/// listener.
struct ServerListener<'a> {
    server: usize,
    listener: Rc<dyn Listener>,
    gauge: &'a Gauge,
    series: &'a Series,
}

/// How often servers report a running test: gathering its state four times a second would take a
/// tenth of the time.
const TELL: Span = Span::seconds(5);

impl Listener for ServerListener<'_> {
    fn tell(&self, at: Time, news: &News) {
        self.gauge.observe(at, news);
        if matches!(news, News::CollectionEnded) {
            self.series.ended();
        }
        self.listener.tell(at, news);
    }

    fn wants_news_every(&self) -> Span {
        TELL
    }

    fn has_enough(&self) -> bool {
        self.series.is_enough()
    }

    fn recorded(&self, recorded: &Recorded) {
        let rows = self.gauge.sampled(self.server, recorded);
        match rows.is_empty() {
            true => self.listener.recorded(recorded),
            false => self.listener.recorded(&recorded.with(rows)),
        }
        self.series.sampled(self.server, recorded);
    }
}

pub(crate) fn plan_of(scenario: &ModelledScenario, number: usize, seed: u64) -> Plan {
    let mut plan = scenario.scenario.plan();
    plan.engine.recovery_reads.get_or_insert(IN_FLIGHT_RECOVERY);
    let path = |path: &Path| scenario.path_of(number, path);
    let at_home = |instance: &InstancePlan| InstancePlan {
        name: instance.name.clone(),
        log: path(&instance.log),
        databases: instance
            .databases
            .iter()
            .map(|database| DatabasePlan { path: path(&database.path), ..database.clone() })
            .collect(),
    };
    let instances = plan.instances.iter().map(at_home);
    let passive =
        plan.passive.iter().map(|copy| CopyPlan { files: at_home(&copy.files), ..copy.clone() });
    let copy_to = plan.copy_to.as_deref().map(path);
    Plan {
        instances: instances.collect(),
        passive: passive.collect(),
        // A modelled server has no cores to divide.
        shards: 1,
        twin: scenario.twin,
        copy_to,
        seed,
        run: run_of(seed, number),
        epoch_ms: EPOCH,
        ..plan
    }
}

/// The run of server `number`. The contents of its records follow from it, so equal seeds need
/// equal ones in later versions, too. Zero would be no run.
fn run_of(seed: u64, number: usize) -> RunId {
    RunId(Mixer::new(seed).key(number as u64).max(1))
}

/// The result of one server of a simulation that did not end, by what its journal says, and its
/// samples. `outline` is what [`Lab::outlines`](crate::Lab::outlines) made of it; `None` when it is
/// not of `scenario`.
pub fn unfinished_result(
    scenario: &str,
    folded: &Folded,
    outline: &RunResult,
) -> Option<(RunResult, Vec<Sample>)> {
    let document = Document::new("scenario.toml", scenario, Path::new("/")).ok()?;
    let scenario = document.modelled_test(&[]).ok()?;
    let name = &outline.storage.servers.first()?.name;
    let number = scenario.servers.iter().position(|server| server == name)?;
    let plan = plan_of(&scenario, number, outline.origin.seed);
    let (result, samples) = result::unfinished_result(&plan, folded, outline);
    Some((predicted(result, errors::reasons(plan.kind, &scenario)), samples))
}

/// A prediction never counts as a qualification.
fn predicted(mut result: RunResult, reasons: Vec<String>) -> RunResult {
    result.qualifies = false;
    result.reasons.splice(0..0, reasons);
    result
}

fn machine(name: &str) -> Machine {
    Machine {
        name: name.to_owned(),
        operating_system: String::new(),
        kernel: String::new(),
        processor: String::new(),
        processors: 0,
        memory_bytes: 0,
        clock: None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use brunt_ese::policy::preread::IN_FLIGHT;

    use super::*;

    /// Predictions read ahead in recoveries as published tests did, real storage as ESE does; a
    /// scenario may override this.
    #[test]
    fn recoveries_read_ahead_as_fitted_in_predictions_only() {
        let example = include_str!("../../../examples/mail-on-array.toml");
        let reads = |text: &str| {
            let document = Document::new("m.toml", text, Path::new(".")).unwrap();
            let scenario = document.modelled_test(&[]).unwrap();
            let real = scenario.scenario.plan().cache_options().recovery_reads;
            (real, plan_of(&scenario, 0, 1).cache_options().recovery_reads)
        };
        assert_eq!(reads(example), (IN_FLIGHT, IN_FLIGHT_RECOVERY));
        let said = example.replace("[profile]\n", "[profile]\nrecovery_reads = 20\n");
        assert_eq!(reads(&said), (20, 20));
    }

    #[test]
    fn every_server_has_a_run_of_its_own() {
        for seed in 0..100 {
            let runs: Vec<u64> = (0..16).map(|number| run_of(seed, number).0).collect();
            assert!(!runs.contains(&0), "seed {seed}");
            let mut distinct = runs.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), runs.len(), "seed {seed}");
        }
        assert_eq!(run_of(1, 0), RunId(Mixer::new(1).key(0)));
    }
}
