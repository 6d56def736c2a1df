//! A small server in virtual time, and the outcome of a test on it.

#![allow(dead_code, reason = "every test program uses a part of it")]

mod silent;

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use brunt_ese::format::stamp::RunId;
use brunt_qualify::error::RunError;
use brunt_qualify::phases::run::run_among;
use brunt_qualify::phases::simulation::simulate;
use brunt_qualify::phases::test_run::TestRun;
use brunt_qualify::plan::{DatabasePlan, EnginePlan, InstancePlan, LoadPlan, Plan};
use brunt_qualify::result::{Surroundings, result};
use brunt_qualify::rules::RuleId;
use brunt_qualify::sampling::Collected;
use brunt_qualify::shards::Meeting;
use brunt_report::result::{self, Backend, Machine, Origin, Outcome, Rule};
use brunt_report::{Counters, RunResult};
use brunt_run::{
    FORMAT, Folded, Listener, News, Record, Recorded, Sample, Standing, Stop, Writer, fold,
};
use brunt_units::{ByteSize, PageSize, Span, Time};
use brunt_workload::profile::Version;
use brunt_world_virtual::{
    Delay, Digest, Journal, Request, RequestDigest, Store, VirtualOptions, VirtualVolume,
    VirtualWorld,
};

pub(crate) const DATABASE_SIZE: ByteSize = ByteSize::mib(4);

/// Two instances of one small database each, and a test of twenty seconds.
pub(crate) fn plan() -> Plan {
    let profile = Version::Exchange2013.profile();
    Plan {
        name: "small".to_owned(),
        duration: Span::seconds(20),
        sessions: 4,
        engine: EnginePlan {
            page: PageSize::KIB_4,
            log_file: ByteSize::kib(256),
            log_buffer: ByteSize::kib(64),
            cache_min: ByteSize::kib(256),
            cache_max: ByteSize::mib(1),
            // The default of one percent of so few frames is two.
            start_percent: 10,
            stop_percent: 20,
            checkpoint_depth: ByteSize::mib(1),
            extension_pages: 16,
            ..EnginePlan::of(profile, 2)
        },
        load: LoadPlan {
            // About a hundred times the default cost, so that the test has thousands of operations
            // and not millions.
            cost: Span::millis(5),
            ..LoadPlan::of(profile)
        },
        run: RunId(77),
        epoch_ms: 1_700_000_000_000,
        ..Plan::new(profile.version, instances(2))
    }
}

/// The latency of an I/O, by time of submission.
type Latency = Box<dyn FnMut(Time, &Request) -> Span>;

/// The machine of a test.
pub(crate) struct Small {
    pub(crate) seed: u64,
    pub(crate) store: Store,
    /// The latency of an I/O, by time of submission.
    pub(crate) latency: Latency,
    /// Space for files.
    pub(crate) room: ByteSize,
    /// When the user stops the test, from its beginning.
    pub(crate) stop_after: Option<Span>,
    /// When the machine crashes.
    pub(crate) abandon_after: Option<Span>,
    /// When the volume stops answering, from the beginning.
    pub(crate) names_hang_after: Option<Span>,
    /// A foreign file.
    pub(crate) foreign: Option<&'static str>,
    /// Whether all changes of files are recorded.
    pub(crate) recording: bool,
    /// Where it meets other hosts.
    pub(crate) meeting: Option<Arc<dyn Meeting>>,
}

/// The outcome of a test.
pub(crate) struct Left {
    /// The test itself; an error also after a crash.
    pub(crate) run: Result<TestRun, RunError>,
    pub(crate) news: Vec<News>,
    /// The time of each news item.
    pub(crate) told_at: Vec<Time>,
    /// Rows of `counters.csv`.
    pub(crate) counters: String,
    /// The records of all samples.
    pub(crate) records: Vec<Record>,
    pub(crate) store: Store,
    pub(crate) digest: Digest,
    /// The recorded changes of files.
    pub(crate) journal: Option<Journal>,
    pub(crate) requests: Vec<RequestDigest>,
}

#[derive(Default)]
struct Notebook(RefCell<Vec<(Time, News)>>, RefCell<String>, RefCell<Vec<Record>>);

impl Listener for Notebook {
    fn tell(&self, at: Time, news: &News) {
        let worth = !matches!(news, News::Testing(_) | News::VerifyingRecords { .. });
        if worth {
            self.0.borrow_mut().push((at, news.clone()));
        }
    }

    fn recorded(&self, recorded: &Recorded) {
        let mut rows = Counters::new();
        rows.add_sample(&recorded.sample);
        self.1.borrow_mut().push_str(&rows.take());
        let standing = Standing::clone(&recorded.standing);
        let sample = Sample::clone(&recorded.sample);
        let records = [Record::Standing(Box::new(standing)), Record::Sample(sample)];
        self.2.borrow_mut().extend(records);
    }
}

impl Small {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            store: Store::new(),
            latency: Box::new(|_, _| Span::micros(200)),
            room: ByteSize::gib(1),
            stop_after: None,
            abandon_after: None,
            names_hang_after: None,
            foreign: None,
            recording: false,
            meeting: None,
        }
    }

    /// Runs `plan` on it.
    pub(crate) fn run(self, plan: &Plan) -> Left {
        self.run_as(plan, false)
    }

    /// Runs `plan` on it with the twin.
    pub(crate) fn simulate(self, plan: &Plan) -> Left {
        self.run_as(plan, true)
    }

    fn run_as(mut self, plan: &Plan, twin: bool) -> Left {
        if let Some(path) = self.foreign {
            self.store.put(Path::new(path), &[7; 8192]);
        }
        let options = VirtualOptions {
            store: self.store,
            devices: vec![Box::new(Delay(self.latency))],
            volumes: vec![VirtualVolume { bytes: self.room.get(), ..VirtualVolume::everything() }],
            ..VirtualOptions::new(self.seed)
        };
        let mut machine = VirtualWorld::new(options);
        let (mut world, plan) = (machine.world.clone(), plan.clone());
        if let Some(after) = self.names_hang_after {
            world.volume = silent::after(&world, after);
        }
        if self.recording {
            machine.machine.start_recording();
        }
        let notebook = Rc::new(Notebook::default());
        let news = Rc::clone(&notebook);
        let stop = Stop::default();
        let asked = stop.clone();
        let (stop_after, abandon_after) = (self.stop_after, self.abandon_after);
        let meeting = self.meeting;
        let run = machine.executor.block_on(async move {
            let own = world.clone();
            let test = world.spawner.spawn(async move {
                match twin {
                    true => simulate(&own, &plan, &*news, &stop, || {}).await,
                    false => run_among(&own, &plan, &*news, &stop, meeting.as_deref()).await,
                }
            });
            if let Some(span) = stop_after {
                world.sleep(span).await;
                asked.ask();
            }
            match abandon_after {
                Some(span) => {
                    world.sleep(span).await;
                    Err(RunError::Stopped)
                }
                None => test.await,
            }
        });
        let (told_at, news) = notebook.0.take().into_iter().unzip();
        Left {
            run,
            news,
            told_at,
            counters: notebook.1.take(),
            records: notebook.2.take(),
            store: machine.machine.store(),
            digest: machine.machine.digest(),
            journal: machine.machine.stop_recording(),
            requests: machine.machine.requests(),
        }
    }
}

impl Left {
    /// The journal of the first `records` records.
    pub(crate) fn folded(&self, records: usize) -> Folded {
        let mut writer = Writer::new("77");
        let mut bytes = FORMAT.as_bytes().to_vec();
        let head = Record::Head(Box::default());
        let records = self.records.iter().take(records);
        for record in std::iter::once(&head).chain(records) {
            bytes.extend(writer.bytes(Time::ZERO, record));
        }
        fold(&mut brunt_run::Journal::open(bytes.as_slice()).unwrap()).unwrap()
    }

    /// The written result.
    pub(crate) fn result(&self, plan: &Plan) -> RunResult {
        self.result_on(plan, |_| {})
    }

    /// The measurements.
    pub(crate) fn collected(&self) -> &Collected {
        self.run.as_ref().unwrap().collected.as_ref().unwrap()
    }

    /// The same, with changed surroundings.
    pub(crate) fn result_on(&self, plan: &Plan, tell: impl FnOnce(&mut Surroundings)) -> RunResult {
        let mut surroundings = Surroundings {
            world: result::World::Virtual,
            host: Vec::new(),
            phases: Vec::new(),
            mounts: Vec::new(),
            busiest: None,
            system_log: None,
            io_limits: None,
            replicas: Vec::new(),
            setup: Vec::new(),
            cached_writes: Vec::new(),
            machine: Machine {
                name: "virtual".to_owned(),
                operating_system: String::new(),
                kernel: String::new(),
                processor: String::new(),
                processors: 1,
                memory_bytes: 0,
                clock: None,
            },
            backend: Backend {
                name: "virtual".to_owned(),
                remark: String::new(),
                direct: true,
                volumes: Vec::new(),
            },
            volumes: Vec::new(),
            durability: Vec::new(),
            origin: Origin {
                commit: None,
                command: String::new(),
                version: String::new(),
                seed: plan.seed,
                run_id: plan.run.to_string(),
            },
        };
        tell(&mut surroundings);
        result(plan, self.run.as_ref().unwrap(), &surroundings)
    }
}

/// A number of instances of one small database each.
pub(crate) fn instances(count: usize) -> Vec<InstancePlan> {
    let instance = |number: usize| InstancePlan {
        name: format!("Instance {number}"),
        log: format!("log{number}").into(),
        databases: vec![DatabasePlan {
            name: format!("DB{number}"),
            path: format!("db/{number}.edb").into(),
            size: DATABASE_SIZE,
        }],
    };
    (1..=count).map(instance).collect()
}

pub(crate) fn outcome(result: &RunResult, id: RuleId) -> Outcome {
    rule(result, id).outcome
}

pub(crate) fn rule(result: &RunResult, id: RuleId) -> &Rule {
    let rule = result.rules.iter().find(|rule| id.is(rule));
    rule.expect("the rule is in the list")
}

/// Checks that a rule did not hold. `rules.rs` looks for the calls.
pub(crate) fn fails(result: &RunResult, id: RuleId, wanted: Outcome) {
    assert!(matches!(wanted, Outcome::Failed | Outcome::Advisory));
    assert_eq!(outcome(result, id), wanted, "{:?}", rule(result, id));
}

/// The rules that did not hold, as displayed.
pub(crate) fn failed(result: &RunResult) -> Vec<String> {
    let rules = result.rules.iter();
    let failed = rules.filter(|rule| rule.outcome == Outcome::Failed);
    failed.map(|rule| format!("{}: {:?} ({})", rule.title, rule.measured, rule.remark)).collect()
}
