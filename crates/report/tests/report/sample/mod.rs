//! A made-up run with every part of a result filled, for the tests and the example.
//!
//! Numbers come from a fixed sequence, so the run is the same every time.

use brunt_report::parts::Parts;
use brunt_report::result::*;
use brunt_report::{Event, Run, RunResult, Timestamp};
use brunt_stats::{Meter, Reading};
use brunt_units::Span;

const STARTED: Timestamp = Timestamp { unix_seconds: 1_795_284_903 };
const SAMPLES: u64 = 80;
const TARGET: f64 = 240.0;
const SAMPLE: Span = Span::seconds(15);

/// A run that passes, or one whose second database is too slow from the middle on.
pub(crate) fn run(passes: bool) -> Run {
    let mut server = Load::new(passes);
    let samples: Vec<_> = (0..SAMPLES).map(|at| server.sample(at)).collect();
    let length = Span(SAMPLE.0 * SAMPLES);
    let rules = rules(&server);
    let result = RunResult {
        schema: SCHEMA.to_owned(),
        scenario: "sample".to_owned(),
        world: World::Real,
        verdict: Verdict::of(&rules),
        qualifies: false,
        reasons: vec!["measured for 1,200 s, not for two hours".to_owned()],
        rules,
        times: Times {
            started: STARTED,
            collection_started: Some(STARTED.after(41)),
            collection_ended: Some(STARTED.after(1241)),
            ended: Some(STARTED.after(1263)),
            collection_s: length.as_seconds(),
        },
        origin: Origin {
            command: "brunt run examples/sample.toml --seed 7".to_owned(),
            version: "0.1.0".to_owned(),
            commit: Some("1b7112e".to_owned()),
            seed: 7,
            run_id: "8d1f3c5ab2e94706".to_owned(),
        },
        drill: None,
        mail: None,
        fleet: None,
        storage: Storage {
            test: TestKind::Performance.into(),
            achieved_iops: Some(server.transactional_per_s(length)),
            target_iops: Some(TARGET),
            bottlenecks: Vec::new(),
            database_bytes_initial: Some(2 << 35),
            database_bytes_final: Some((2 << 35) + (41 << 20)),
            database_files: 2,
            integrity: Some(Integrity {
                records: 250_000,
                records_checked: 250_000,
                versions_known: 250_000,
                ..Integrity::default()
            }),
            content: vec![ContentNumbers {
                block_bytes: 4096,
                blocks: 2_048,
                compressible_percent: 1.25,
                duplicate_percent: 0.0,
                inside_percent: 0.0,
            }],
            faults: Vec::new(),
            states: Vec::new(),
            precision: None,
            servers: vec![server.result(length)],
            details: Details {
                tuning: None,
                sentence: sentence(passes).to_owned(),
                setup: setup(),
                distributions: server.distributions(),
                found: Vec::new(),
                model: None,
            },
        },
    };
    Run {
        result,
        scenario: SCENARIO.to_owned(),
        events: events(),
        samples,
        parts: Parts::default(),
    }
}

const SCENARIO: &str = "[test]\nkind = \"performance\"\nduration = \"20min\"\nseed = 7\n\n[[instance]]\nlog = \"/data/log1\"\ndatabases = [\"/data/db1/sample1.edb\"]\n";

fn sentence(passes: bool) -> &'static str {
    if passes {
        "This storage carries the load with room to spare: its slowest database read took 4.1 ms on average, a fifth of what is allowed."
    } else {
        "This storage does not carry the load: reads of database DB2 took longer than 20 ms on average; the logs were fast enough."
    }
}

/// Random numbers from a fixed sequence.
struct Dice(u64);

impl Dice {
    /// From 0 to 1.
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A latency around `millis` with a long tail.
    fn latency(&mut self, millis: f64) -> Span {
        let tail = if self.roll() < 0.01 { 6.0 } else { 1.0 };
        Span::from_seconds(millis * tail * (0.35 + 0.65 * -(1.0 - self.roll()).ln()) / 1000.0)
    }
}

struct Load {
    dice: Dice,
    operation_dice: Dice,
    passes: bool,
    reads: [Meter; 2],
    writes: [Meter; 2],
    logs: [Meter; 2],
    operations: [Meter; 2],
    worst_read_ms: f64,
}

impl Load {
    fn new(passes: bool) -> Self {
        Self {
            dice: Dice(99),
            operation_dice: Dice(7),
            passes,
            reads: Default::default(),
            writes: Default::default(),
            logs: Default::default(),
            operations: Default::default(),
            worst_read_ms: 0.0,
        }
    }

    fn sample(&mut self, at: u64) -> Sample {
        let slow = !self.passes && 2 * at > SAMPLES;
        let mut flows = [const { Vec::new() }; 3];
        for database in 0..2 {
            let wave = 1.0 + 0.12 * (at as f64 / 6.0).sin() + 0.05 * self.dice.roll();
            let (pace, read_ms) = if slow && database == 1 { (0.4, 74.0) } else { (1.0, 3.9) };
            let all = [
                (&mut self.reads[database], 75.0 * wave * pace, read_ms, 32_768),
                (&mut self.writes[database], 46.0 * wave * pace, 1.6, 33_510),
                (&mut self.logs[database], 23.0 * wave * pace, 0.31, 9_216),
            ];
            for ((meter, per_s, millis, bytes), flow) in all.into_iter().zip(&mut flows) {
                for _ in 0..count(per_s * SAMPLE.as_seconds()) {
                    meter.record(self.dice.latency(millis), bytes);
                }
                flow.push(meter.close_interval());
            }
            for _ in 0..count(60.0 * wave * pace * SAMPLE.as_seconds()) {
                let latency = self.operation_dice.latency(1.3 * read_ms);
                self.operations[database].record(latency, 0);
            }
            self.operations[database].close_interval();
        }
        let [reads, writes, logs] = flows.map(|readings| together(&readings));
        self.worst_read_ms = self.worst_read_ms.max(reads.latency_ms_mean.unwrap());
        Sample {
            begin_s: (SAMPLE * at).as_seconds(),
            length_s: SAMPLE.as_seconds(),
            database_reads: reads,
            database_writes: writes,
            log_writes: logs,
            page_fault_stalls_per_s: 0.0,
            cache_bytes: 500 << 20,
        }
    }

    fn numbers(meter: &Meter, length: Span) -> IoNumbers {
        IoNumbers::new(&meter.total(), length)
    }

    fn transactional_per_s(&self, length: Span) -> f64 {
        let meters = self.reads.iter().chain(&self.writes);
        meters.map(|meter| Self::numbers(meter, length).per_s).sum()
    }

    fn result(&self, length: Span) -> Server {
        Server {
            name: "mail-store-7".to_owned(),
            instances: (0..2).map(|at| self.instance(at, length)).collect(),
            phases: Vec::new(),
            host: host(),
            checksum: (1..=2).map(verified).collect(),
            backup: Vec::new(),
            copies: Vec::new(),
            restore: None,
            recovery: Vec::new(),
            details: ServerDetails {
                machine: machine(),
                backend: backend(),
                durability: (1..=2).map(durability).collect(),
            },
        }
    }

    fn instance(&self, at: usize, length: Span) -> Instance {
        let number = at + 1;
        let details = InstanceDetails {
            log: LogNumbers {
                writes: Self::numbers(&self.logs[at], length),
                ..LogNumbers::none(&format!("/data/log{number}"))
            },
            databases: vec![DatabaseNumbers {
                reads: Self::numbers(&self.reads[at], length),
                writes: Self::numbers(&self.writes[at], length),
                maintenance_reads: maintenance(length),
                ..DatabaseNumbers::none(
                    &format!("DB{number}"),
                    &format!("/data/db{number}/sample{number}.edb"),
                )
            }],
        };
        let counts = Counts {
            transactions: Some(91_044),
            batches: Some(5_690),
            page_fault_stalls_per_s: None,
        };
        let measured = Measured {
            db_reads: self.reads[at].latencies().clone(),
            db_writes: self.writes[at].latencies().clone(),
            log_writes: self.logs[at].latencies().clone(),
            operations: self.operations[at].latencies().clone(),
        };
        Instance::new(&format!("Instance {number}"), details, true, counts, &measured)
    }

    fn distributions(&self) -> Vec<Distribution> {
        let spread = |name, meters: &[Meter; 2]| {
            let mut all = meters[0].latencies().clone();
            all.merge(meters[1].latencies());
            Distribution::new(name, &all)
        };
        vec![
            spread("database read", &self.reads),
            spread("database write", &self.writes),
            spread("log write", &self.logs),
            spread("operation, from its intended start", &self.operations),
        ]
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a few thousand")]
fn count(number: f64) -> u64 {
    number as u64
}

fn together(readings: &[Reading]) -> Flow {
    let numbers: Vec<_> = readings.iter().map(|r| IoNumbers::new(r, SAMPLE)).collect();
    let all = IoNumbers::together(&numbers);
    let worst =
        |of: fn(&IoNumbers) -> Option<f64>| numbers.iter().filter_map(of).fold(0.0, f64::max);
    Flow {
        per_s: all.per_s,
        bytes_per_s: all.bytes as f64 / SAMPLE.as_seconds(),
        latency_ms_mean: all.latency_ms_mean,
        latency_ms_p50: Some(worst(|n| n.latency_ms_p50)),
        latency_ms_p99: Some(worst(|n| n.latency_ms_p99)),
        latency_ms_p999: readings.iter().filter_map(|r| r.p999).max().map(Span::as_millis),
        latency_ms_max: all.latency_ms_max,
    }
}

fn maintenance(length: Span) -> IoNumbers {
    let latency = Some(Span::micros(1_870));
    let count = count(9.8 * length.as_seconds());
    let reading = Reading {
        count,
        bytes: count * 262_144,
        mean: latency,
        p50: latency,
        p99: latency,
        p999: latency,
        max: latency,
    };
    IoNumbers::new(&reading, length)
}

fn limit(id: &'static str, title: &'static str) -> RuleName {
    let group = Group::Limits;
    RuleName { id, group, title }
}

fn rules(server: &Load) -> Vec<Rule> {
    let length = Span(SAMPLE.0 * SAMPLES);
    let mean = |meter: &Meter| meter.total().mean.map(Span::as_millis);
    let slowest = |meters: &[Meter; 2]| meters.iter().filter_map(mean).reduce(f64::max);
    let mut rules = vec![
        Rule::at_most(
            limit("database-read-average", "database read, average"),
            "ms",
            20.0,
            slowest(&server.reads),
        ),
        Rule::at_most(
            limit("database-read-worst", "database read, worst sample"),
            "ms",
            100.0,
            Some(server.worst_read_ms),
        ),
        Rule::at_most(
            limit("log-write-average", "log write, average"),
            "ms",
            10.0,
            slowest(&server.logs),
        ),
        Rule::at_least(
            limit("achieved-of-target", "achieved of target"),
            "%",
            95.0,
            Some(server.transactional_per_s(length) * 100.0 / TARGET),
        )
        .advisory(),
        Rule::at_most(
            limit("page-fault-stalls", "page-fault stalls, average"),
            "/s",
            1.0,
            Some(0.004),
        ),
        Rule::at_most(limit("bad-pages", "bad pages"), "pages", 0.0, Some(0.0))
            .with_remark("2,097,152 verified, 0 corrected"),
        Rule::at_most(
            limit("difference-to-the-kernel-s-read-count", "difference to the kernel's read count"),
            "%",
            10.0,
            None,
        )
        .with_remark("the device keeps no count"),
    ];
    if !server.passes {
        rules[0].remark = "DB2; over the limit from minute 10 on".to_owned();
    }
    rules
}

fn setup() -> Setup {
    Setup {
        description: "A made-up run <for & \"looking\">".to_owned(),
        profile: "exchange-2013".to_owned(),
        sessions: 8,
        session_scope: "server".to_owned(),
        sessions_each: 8,
        capacity_percent: None,
        mailboxes: None,
        throughput_percent: None,
        pace_iops: Some(600.0),
        page_bytes: 32_768,
        log_file_bytes: 1 << 20,
        log_buffer_bytes: 1_000_000,
        cache_bytes_min: 64 << 20,
        cache_bytes_max: 512 << 20,
        checkpoint_depth_bytes: 20 << 20,
        insert_percent: 40,
        delete_percent: 20,
        replace_percent: 5,
        read_percent: 35,
        lazy_commit_percent: 70,
        shards: 1,
        background_maintenance: true,
        copies: 1,
        circular_logging: true,
        limits: Limits {
            database_read_ms_mean: 20.0,
            database_read_ms_max: 100.0,
            log_write_ms_mean: 10.0,
            log_write_ms_max: 100.0,
        },
    }
}

fn verified(number: u64) -> VerifiedFile {
    VerifiedFile {
        file: format!("/data/db{number}/sample{number}.edb"),
        pages_seen: Some(1_048_576),
        pages_bad: Some(0),
        pages_correctable: Some(0),
        pages_wrong_number: Some(0),
        bytes: 1 << 35,
        bytes_read: Some(1 << 35),
        seconds: 18.4,
    }
}

fn machine() -> Machine {
    Machine {
        name: "mail-store-7".to_owned(),
        operating_system: "Debian GNU/Linux 13 (trixie)".to_owned(),
        kernel: "6.12.48".to_owned(),
        processor: "Made-up Processor 5000".to_owned(),
        processors: 16,
        memory_bytes: 64 << 30,
        clock: None,
    }
}

fn host() -> Vec<HostCounter> {
    let counter = |counter: &str, numbers: Option<[f64; 3]>| HostCounter {
        counter: counter.to_owned(),
        avg: numbers.map(|numbers| numbers[0]),
        min: numbers.map(|numbers| numbers[1]),
        max: numbers.map(|numbers| numbers[2]),
    };
    vec![
        counter("% Processor Time", Some([6.21, 3.4, 11.9])),
        counter("Available MBytes", Some([60_112.0, 60_004.0, 60_290.0])),
        counter("Free System Page Table Entries", None),
        counter("Database Page Fault Stalls/sec", Some([0.004, 0.0, 0.2])),
        counter("CPU temperature (°C)", None),
    ]
}

fn backend() -> Backend {
    let volume = |mount: &str, device: &str, reads, stack| Volume {
        mount: mount.to_owned(),
        file_system: "xfs".to_owned(),
        device: device.to_owned(),
        device_reads: Some(reads + 112),
        engine_reads: reads,
        stack,
        redundancy: Vec::new(),
    };
    Backend {
        name: "io_uring".to_owned(),
        remark: String::new(),
        direct: true,
        volumes: vec![
            volume("/data/db1", "sdb", 91_044, vec![drive()]),
            Volume {
                file_system: "nfs4".to_owned(),
                device_reads: None,
                ..volume("/data/db2", "server:/db2", 90_712, Vec::new())
            },
        ],
    }
}

fn drive() -> Device {
    Device {
        name: "sdb".to_owned(),
        made: "drive".to_owned(),
        is_leaf: true,
        model: Some("MADE-UP MU3450857SS".to_owned()),
        serial: Some("3SK1X5CV".to_owned()),
        firmware: None,
        capacity_bytes: Some(450_098_159_616),
        is_rotational: Some(true),
        write_cache: Some(WriteCache::WriteThrough),
        scheduler: Some("mq-deadline".to_owned()),
        queue_requests: Some(256),
        logical_sector_bytes: Some(512),
        physical_sector_bytes: Some(4_096),
    }
}

fn durability(number: u64) -> Durability {
    Durability {
        path: format!("/data/log{number}"),
        method: "write-through (O_DSYNC)".to_owned(),
        write_cache: WriteCache::WriteBack,
        fua: Some(true),
        log_latency_ms_mean: Some(0.31),
        flush_share: Some(0.42),
    }
}

fn events() -> Vec<Event> {
    let event = |seconds, text: &str| Event { at: STARTED.after(seconds), text: text.to_owned() };
    vec![
        event(0, "Test begins: performance, 20 min, 8 sessions, seed 7"),
        event(1, "Preparing 2 databases of 32 GiB"),
        event(22, "Preparation done"),
        event(
            22,
            "Operation mix: sessions 8, inserts 40 %, deletes 20 %, replaces 5 %, reads 35 %, lazy commits 70 %",
        ),
        event(23, "Attaining prerequisites: cache at least 460.8 of 512 MiB"),
        event(41, "Prerequisites attained, collection begins"),
        event(1241, "Collection ends after 80 samples"),
        event(1242, "Shutting down databases: Instance 1 (complete), Instance 2 (complete)"),
        event(1263, "Verified 2 databases, 41 logs passed"),
    ]
}
