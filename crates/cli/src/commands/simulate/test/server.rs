//! One server of a simulation.

use std::future::Future;
use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};

use brunt_ese::format::stamp::RunId;
use brunt_qualify::error::RunError;
use brunt_qualify::plan::{DatabasePlan, EnginePlan, InstancePlan, Plan};
use brunt_qualify::progress::{Listener, News, Stop};
use brunt_qualify::result::{Surroundings, VolumeUse, result};
use brunt_qualify::sampling::Recorded;
use brunt_qualify::test_run::TestRun;
use brunt_report::result::{
    Backend, Durability, Machine, RunResult, Volume, World as Kind, WriteCache,
};
use brunt_report::{FolderError, RunFolder};
use brunt_units::{Span, Time};
use brunt_workload::keys::Mixer;
use brunt_world::World;

use super::gauge::Gauge;
use super::{EPOCH, Record, predicted};
use crate::commands::run::{Recorder, Watch, plan, test_log};
use crate::commands::simulate::{Engine, SimulateError};
use crate::output::Output;
use crate::version;
use brunt_scenario::{ModelledScenario, VolumePlan};

/// One server: what it does, and who watches it, if anybody does.
pub(super) struct Server {
    number: usize,
    name: String,
    pub(super) plan: Plan,
    watch: Option<Rc<Watch>>,
    checksum: bool,
}

impl Server {
    /// The server numbered `number`, whose tables are kept in the folder of `record`, or in one of its own in there when there
    /// are several. Only the first is shown on the screen.
    pub(super) fn new(
        scenario: &ModelledScenario,
        number: usize,
        record: &Record<'_>,
    ) -> Result<Self, SimulateError> {
        let name = scenario.servers[number].clone();
        let plan = plan_of(scenario, number);
        let (watch, checksum) = match record {
            Record::In { folder, output } => {
                let watch = watch(scenario, number, &plan, folder, output)?;
                (Some(Rc::new(watch)), true)
            }
            Record::Nowhere { checksum } => (None, *checksum),
        };
        Ok(Self {
            number,
            name,
            plan,
            watch,
            checksum,
        })
    }

    /// The test, as a task of `world`.
    pub(super) fn task(
        &self,
        engine: Engine,
        world: &World,
        gauge: Rc<Gauge>,
        stop: Stop,
    ) -> impl Future<Output = Result<TestRun, RunError>> + 'static {
        let world = World {
            random: world.random.part(&self.name),
            ..world.clone()
        };
        let plan = self.plan.clone();
        let stop_here = Stop::default();
        let ears = Ears {
            watch: self.watch.clone(),
            gauge,
            asked: stop,
            stop: stop_here.clone(),
            checksum: self.checksum,
        };
        let stop = stop_here;
        async move {
            match engine {
                Engine::Twin => {
                    brunt_qualify::simulation::simulate(&world, &plan, &ears, &stop).await
                }
                Engine::Bytes => brunt_qualify::run::run(&world, &plan, &ears, &stop).await,
            }
        }
    }

    /// What came of it.
    pub(super) fn result(&self, scenario: &ModelledScenario, run: &TestRun) -> RunResult {
        let result = result(&self.plan, run, &self.surroundings(scenario));
        if let Some(watch) = &self.watch {
            watch.log_all(run.ended, test_log::ending(&result));
        }
        predicted(result)
    }

    /// Everything it recorded is in its tables.
    ///
    /// # Errors
    /// [`FolderError`] for what could not be written.
    pub(super) fn end(self) -> Result<(), FolderError> {
        self.watch.map_or(Ok(()), |watch| watch.end())
    }

    fn surroundings(&self, scenario: &ModelledScenario) -> Surroundings {
        let volumes = scenario.volumes.iter();
        let own = volumes.filter(|volume| volume.server == self.number);
        let logs = self.plan.instances.iter();
        Surroundings {
            world: Kind::Virtual,
            machine: machine(&self.name),
            host: Vec::new(),
            backend: Backend {
                name: "modelled storage".to_owned(),
                remark: String::new(),
                direct: true,
                volumes: Vec::new(),
            },
            volumes: own.map(|volume| self.volume(scenario, volume)).collect(),
            durability: logs.map(|log| durability(&log.log)).collect(),
            origin: version::origin(command(scenario), self.plan.seed, self.plan.run.to_string()),
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
                file_system: "1 MiB extents".to_owned(),
                device: format!("{}, {}", array.name, array.design.lun_names()[volume.lun]),
                device_reads: None,
                engine_reads: 0,
                stack: Vec::new(),
            },
            bytes: Some(volume.bytes),
            device_read: None,
            databases: databases
                .filter(|(_, database)| database.path.starts_with(&path))
                .map(|(at, _)| at)
                .collect(),
            logs: logs
                .filter(|(_, instance)| instance.log.starts_with(&path))
                .map(|(at, _)| at)
                .collect(),
        }
    }
}

/// The watch over a server.
fn watch(
    scenario: &ModelledScenario,
    number: usize,
    plan: &Plan,
    folder: &RunFolder,
    output: &Output,
) -> Result<Watch, FolderError> {
    let own = match scenario.servers.len() {
        1 => folder.clone(),
        _ => folder.within(&scenario.servers[number])?,
    };
    let output = match number {
        0 => output.clone(),
        _ => output.hushed(),
    };
    let recorder = Recorder::of_model(&own)?;
    let watch = Watch::in_virtual_time(&output, plan, recorder);
    watch.log_all(Time::ZERO, test_log::beginning(plan, &command(scenario)));
    Ok(watch)
}

/// Who hears a server: the gauge on the arrays, and the watch, if there is one.
struct Ears {
    watch: Option<Rc<Watch>>,
    gauge: Rc<Gauge>,
    /// Somebody may ask all servers to end.
    asked: Stop,
    /// Asks this one.
    stop: Stop,
    /// Whether the test goes on when it comes to reading files.
    checksum: bool,
}

/// How often servers tell of a test under way: what is slow to gather and told four times a second would take a tenth of the time.
const TELL: Span = Span::seconds(5);

impl Listener for Ears {
    fn tell(&self, at: Time, news: &News) {
        self.gauge.hear(at, news);
        let is_reading = matches!(news, News::VerifyingFiles { .. });
        if self.asked.is_asked() || (is_reading && !self.checksum) {
            self.stop.ask();
        }
        if let Some(watch) = &self.watch {
            watch.tell(at, news);
        }
    }

    fn wants_news_every(&self) -> Span {
        TELL
    }

    fn recorded(&self, recorded: &Recorded) {
        if let Some(watch) = &self.watch {
            watch.recorded(recorded);
        }
    }
}

/// What repeats it, apart from this machine's paths.
fn command(scenario: &ModelledScenario) -> String {
    format!("brunt simulate {}.toml", scenario.scenario.name)
}

fn plan_of(scenario: &ModelledScenario, number: usize) -> Plan {
    let epoch = UNIX_EPOCH + Duration::from_millis(EPOCH);
    let plan = plan::plan(&scenario.scenario, false, epoch);
    let path = |path: &std::path::Path| scenario.path_of(number, path);
    let instances = plan.instances.iter().map(|instance| InstancePlan {
        name: instance.name.clone(),
        log: path(&instance.log),
        databases: instance
            .databases
            .iter()
            .map(|database| DatabasePlan {
                path: path(&database.path),
                ..database.clone()
            })
            .collect(),
    });
    let copy_to = plan.copy_to.as_deref().map(path);
    Plan {
        instances: instances.collect(),
        twin: scenario.twin,
        copy_to,
        // What this machine's devices have for sectors does not matter here.
        engine: EnginePlan {
            log_segment: 512,
            ..plan.engine
        },
        run: RunId(Mixer::new(plan.seed).key(number as u64)),
        epoch_ms: EPOCH,
        ..plan
    }
}

fn machine(name: &str) -> Machine {
    Machine {
        name: name.to_owned(),
        operating_system: String::new(),
        kernel: String::new(),
        processor: String::new(),
        processors: 0,
        memory_bytes: 0,
    }
}

fn durability(log: &std::path::Path) -> Durability {
    Durability {
        path: log.display().to_string(),
        method: "a write that the array has answered".to_owned(),
        write_cache: WriteCache::WriteThrough,
        fua: None,
        log_latency_ms_mean: None,
        flush_share: None,
    }
}
