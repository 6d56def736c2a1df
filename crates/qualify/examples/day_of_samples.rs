//! The cost of a day of samples: `day_of_samples FOLDER [SAMPLES] [INSTANCES]` counts made-up I/O
//! in the engine's counters, closes interval after interval as a test does, and writes the tables
//! of a run folder.
//!
//! Prints one line of JSON: the processor time of counting and sampling, as a share of the length
//! of such a test, and resident memory after a tenth of the samples and at the end.

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use brunt_ese::meter::MeterBoard;
use brunt_qualify::plan::{DatabasePlan, InstancePlan, Plan};
use brunt_qualify::result::{Surroundings, unfinished};
use brunt_qualify::sampling::Sampler;
use brunt_report::Counters;
use brunt_report::result::{Backend, Machine, Origin, World};
use brunt_run::{FORMAT, Head, Record, Sample, Standing, Writer};
use brunt_stats::{LatencyLog, OperationLatencies};
use brunt_units::{ByteSize, Span, Time};
use brunt_workload::profile::Version;

/// I/Os of each instance per second: database reads, database writes, log writes, maintenance
/// reads, operations. Forty instances give about 2,600 database I/Os per second.
const PER_SECOND: [u64; 5] = [40, 25, 16, 10, 30];
const INTERVAL_S: u64 = 15;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let folder = PathBuf::from(words.next().ok_or("name a folder to make")?);
    let mut number = |usual: u64| words.next().map_or(Ok(usual), |word| word.parse::<u64>());
    let (samples, instances) = (number(5_760)?, number(40)?);
    fs::create_dir(&folder)?;
    let plan = plan(samples, usize::try_from(instances)?);
    let board = MeterBoard::new(plan.instances.len(), plan.instances.len());
    let begun = processor_seconds()?;
    let mut day = Day {
        sampler: Sampler::start(&plan, Time::ZERO + Span::seconds(40), &board),
        board,
        dice: 1,
        instances: plan.instances.len(),
        latency_log: LatencyLog::new(plan.epoch_ms.div_euclid(1_000)),
        journal: Writer::new(&plan.run.to_string()),
    };
    let outline = unfinished(&plan, Time::ZERO, &surroundings(&plan));
    let head = Head {
        run_id: plan.run.to_string(),
        began_unix_s: plan.epoch_ms.div_euclid(1_000),
        scenario: scenario(samples, &plan),
        outline: outline.to_json(),
    };
    fs::write(folder.join("result.json"), &head.outline)?;
    fs::write(folder.join("scenario.toml"), &head.scenario)?;
    fs::write(folder.join("counters.csv"), Counters::HEAD)?;
    fs::write(folder.join("journal"), FORMAT)?;
    let head = day.journal.bytes(Time::ZERO, &Record::Head(Box::new(head)));
    append(&folder.join("journal"), &head)?;
    let mut early = 0;
    for sample in 0..samples {
        day.sample(&folder)?;
        if sample == samples.div_euclid(10) {
            early = resident_bytes()?;
        }
    }
    let processor = processor_seconds()? - begun;
    let late = resident_bytes()?;
    let bytes = |name: &str| fs::metadata(folder.join(name)).map(|file| file.len());
    let line = format!(
        "{{\"samples\":{samples},\"instances\":{instances},\"processor_share\":{:.6},\"resident_bytes_early\":{early},\"resident_bytes_late\":{late},\"counters_bytes\":{},\"latency_bytes\":{},\"journal_bytes\":{}}}\n",
        processor / (samples * INTERVAL_S) as f64,
        bytes("counters.csv")?,
        bytes("latency.hlog")?,
        bytes("journal")?,
    );
    std::io::stdout().write_all(line.as_bytes())?;
    Ok(())
}

struct Day {
    sampler: Sampler,
    board: MeterBoard,
    dice: u64,
    instances: usize,
    latency_log: LatencyLog,
    journal: Writer,
}

impl Day {
    /// A latency around `micros` with a long tail.
    fn latency(&mut self, micros: u64) -> Span {
        self.dice = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let roll = (self.dice >> 40) | 1;
        // The number of leading zeroes of a random number is distributed like the logarithm of a
        // latency.
        let tail = 1 + u64::from((roll << 40).leading_zeros());
        Span::micros(micros.div_euclid(2) + (micros * tail * (roll & 255)).div_euclid(256))
    }

    fn sample(&mut self, folder: &Path) -> std::io::Result<()> {
        let mut operations = vec![OperationLatencies::default(); self.instances];
        for (at, operations) in operations.iter_mut().enumerate() {
            self.count(u8::try_from(at).expect("fewer than 256"), operations);
        }
        let due = self.sampler.due();
        let cache = 256 << 20;
        let standing = Standing::default();
        let recorded = self.sampler.close(due, &self.board, &operations, cache, standing);
        let sample = &recorded.sample;
        let mut rows = Counters::new();
        rows.add_sample(sample);
        append(&folder.join("counters.csv"), rows.take().as_bytes())?;
        for one in &sample.histograms {
            self.latency_log.add(&one.stream, one.begin, one.length, &one.latencies);
        }
        append(&folder.join("latency.hlog"), &self.latency_log.take())?;
        let record = Record::Sample(Sample::clone(sample));
        append(&folder.join("journal"), &self.journal.bytes(due, &record))
    }

    fn count(&mut self, at: u8, operations: &mut OperationLatencies) {
        let [reads, writes, logs, maintenance, all] = PER_SECOND.map(|rate| rate * INTERVAL_S);
        for _ in 0..reads {
            let latency = self.latency(4_000);
            self.board.database(at, |m| &mut m.reads, 32_768, latency);
        }
        for _ in 0..writes {
            let latency = self.latency(1_500);
            self.board.database(at, |m| &mut m.writes, 33_510, latency);
        }
        for _ in 0..logs {
            let latency = self.latency(300);
            self.board.log(at, |m| &mut m.writes, 9_216, latency);
        }
        for _ in 0..maintenance {
            let latency = self.latency(2_000);
            self.board.database(at, |m| &mut m.maintenance, 262_144, latency);
        }
        for _ in 0..all {
            let latency = self.latency(5_000);
            operations.record(Time::ZERO, Time::ZERO, Time::ZERO + latency);
        }
    }
}

fn append(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(bytes)
}

fn plan(samples: u64, instances: usize) -> Plan {
    let instance = |at: usize| InstancePlan {
        name: format!("Instance {}", at + 1),
        log: format!("/logs/{}", at + 1).into(),
        databases: vec![DatabasePlan {
            name: format!("DB{}", at + 1),
            path: format!("/data/{}.edb", at + 1).into(),
            size: ByteSize::gib(100),
        }],
    };
    Plan {
        name: "day".to_owned(),
        description: format!("{samples} samples of {instances} instances"),
        duration: Span::seconds(samples * INTERVAL_S),
        sessions: 8,
        epoch_ms: 1_700_000_000_000,
        ..Plan::new(Version::Exchange2013, (0..instances).map(instance).collect())
    }
}

/// The scenario of `plan`.
fn scenario(samples: u64, plan: &Plan) -> String {
    let mut text = format!(
        "name = \"day\"\n[test]\nduration = \"{}s\"\nsessions = 8\n[profile]\nversion = \"exchange-2013\"\n",
        samples * INTERVAL_S
    );
    for instance in &plan.instances {
        text.push_str(&format!(
            "[[instance]]\nname = \"{}\"\nlog = \"{}\"\ndatabases = [\"{}\"]\ndatabase_size = \"100 GiB\"\n",
            instance.name,
            instance.log.display(),
            instance.databases[0].path.display()
        ));
    }
    text
}

fn surroundings(plan: &Plan) -> Surroundings {
    Surroundings {
        world: World::Real,
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
            name: "made-up".to_owned(),
            operating_system: String::new(),
            kernel: String::new(),
            processor: String::new(),
            processors: 1,
            memory_bytes: 0,
            clock: None,
        },
        backend: Backend {
            name: "none".to_owned(),
            remark: String::new(),
            direct: true,
            volumes: Vec::new(),
        },
        volumes: Vec::new(),
        durability: Vec::new(),
        origin: Origin {
            commit: None,
            command: "day_of_samples".to_owned(),
            version: String::new(),
            seed: plan.seed,
            run_id: plan.run.to_string(),
        },
    }
}

/// Processor time of this process; `proc_pid_stat(5)`, in hundredths of a second.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(") ").ok_or("no fields")?;
    let ticks = fields.split(' ').skip(11).take(2);
    let ticks: Result<Vec<u64>, _> = ticks.map(str::parse).collect();
    Ok(ticks?.iter().sum::<u64>() as f64 / 100.0)
}

/// Memory of this process; `proc_pid_status(5)`.
fn resident_bytes() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kibibytes.ok_or("no VmRSS")?.parse::<u64>()? * 1024)
}
