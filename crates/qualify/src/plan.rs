//! The plan of a test: a scenario with every default filled in, independent of files and clocks.
//!
//! The reader of scenarios makes a [`Plan`], and everything here works from it. The functions at
//! the end translate the plan for the engine. They are the only place where figures of a profile
//! become options of the engine.

use std::path::PathBuf;

use brunt_ese::backup::Reads;
use brunt_ese::cache::CacheOptions;
use brunt_ese::format::stamp::RunId;
use brunt_ese::instance::{Circular, InstanceOptions};
use brunt_ese::log::{Durability, LogShape};
use brunt_ese::policy::available::Freeing;
use brunt_ese::policy::checkpoint::Pacing;
use brunt_ese::policy::preread::IN_FLIGHT;
use brunt_ese::policy::scan::Throttle;
pub use brunt_ese::twin::LogRecords;
use brunt_report::Timestamp;
use brunt_stats::SAMPLE_INTERVAL;
use brunt_units::{ByteSize, PageSize, Span, Time};
use brunt_workload::content::Shape;
use brunt_workload::mix::{Kind, Mix};
use brunt_workload::profile::{
    CheckpointPacing, InstanceChoice, LatencyLimits, Maintenance, Profile, SessionScope, Version,
};
use brunt_workload::session::Scheduling;
use brunt_world::fault::Fault;

use crate::goal::{Growth, Precision, Target, Tune};
use crate::kinds::{self, TestKind};
use crate::truth::witness::Hearing;

/// A test with every default resolved.
#[derive(Clone, Debug)]
pub struct Plan {
    pub kind: TestKind,
    /// The name in reports.
    pub name: String,
    /// Free text of the scenario.
    pub description: String,
    /// The version whose figures are the defaults.
    pub version: Version,
    /// Length of the collection.
    pub duration: Span,
    /// Minimum time that sessions run before the collection.
    pub warm_up_min: Span,
    /// Minimum volume that is written before the collection, as a multiple of the size of all
    /// databases.
    pub precondition: f64,
    /// Sessions in the pool; with [`Self::tune`], where the search for their number begins.
    pub sessions: u32,
    /// The goal of tuning; `None` without tuning.
    pub tune: Option<Tune>,
    /// For the report: the share of the volumes that sized the databases, if it did.
    pub capacity_percent: Option<u32>,
    /// For the report: the share of the maximum throughput that is asked for, in a throughput test.
    pub throughput_percent: Option<u32>,
    /// What the scenario's number of sessions counts.
    pub session_scope: SessionScope,
    /// When sessions begin, for hosts that must begin together.
    pub start_at: Option<Time>,
    /// Seed of all randomness.
    pub seed: u64,
    /// The rate to reach, if there is one.
    pub target: Option<Target>,
    /// Mailboxes behind the target, if the scenario names them.
    pub mailboxes: Option<u64>,
    /// What to do about databases that grow too large.
    pub growth: Growth,
    /// Log files of each instance that a recovery test replays.
    pub logs: u32,
    /// The folder for a backup; it exists. `None`: a backup test only reads.
    pub copy_to: Option<PathBuf>,
    /// Whether the backup is restored.
    pub restores: bool,
    /// Copies of each database, including its own; the logs are read once for each of the others
    /// that is not in [`Self::passive`].
    pub copies: u32,
    /// Passive copies of instances, which follow them during the test.
    pub passive: Vec<CopyPlan>,
    /// Sizes and settings of the engine.
    pub engine: EnginePlan,
    /// The work of the sessions.
    pub load: LoadPlan,
    /// The limits of a pass.
    pub limits: Limits,
    /// What the twin leaves out. The engine itself does all of it.
    pub twin: TwinPlan,
    /// The cache of the storage itself, if the scenario states it.
    pub array_cache: Option<ByteSize>,
    /// Threads that share the work; each has as many whole log streams as the others.
    pub shards: u32,
    /// The log streams, at least one.
    pub instances: Vec<InstancePlan>,
    /// Injected faults, active once the databases are open; a test with faults never qualifies.
    pub faults: Vec<Fault>,
    /// How well a prediction must know its figures to stop early; `None`: it runs for its whole
    /// length. Tests on real storage do.
    pub precision: Option<Precision>,
    /// What an interrupted run has done of this test, if it carries one on.
    pub carried: Option<Carried>,
    /// A witness of commits, in tests that kill the program.
    pub hearing: Hearing,
    /// Whether files are read after the test, and verified if they have content.
    pub read_files: bool,
    /// Replace existing databases by new ones.
    pub renew: bool,
    /// End the collection once a rule has failed that time cannot mend.
    pub abort_on_fail: bool,
    /// The run id that new files are marked with.
    pub run: RunId,
    /// Milliseconds from the Unix epoch to the beginning of the world's clock.
    pub epoch_ms: u64,
}

/// The part of a collection that an interrupted run has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// When that run began.
    pub started: Timestamp,
    /// When its collection began, on its clock.
    pub begin: Time,
    /// How much was collected.
    pub length: Span,
}

/// What the twin leaves out of the engine: see [`brunt_ese::twin`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TwinPlan {
    /// Whether branch pages are always in memory, so that they are never read.
    pub branches_in_memory: bool,
    /// Whether flush maps are never written.
    pub no_flush_maps: bool,
    /// What the log records of a change.
    pub log_records: LogRecords,
    /// How much of a new log file is formatted at a time; `None` for what the version does.
    pub log_format: Option<ByteSize>,
    /// Checksum reads in flight of a database; `None` for a share of those of the server.
    pub checksum_reads: Option<u32>,
}

/// Sizes and settings of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnginePlan {
    /// Bytes in a page.
    pub page: PageSize,
    pub log_file: ByteSize,
    /// Bytes in a log segment: 512, or 4,096 where the device has no smaller sectors.
    pub log_segment: usize,
    /// Log bytes of an instance that may wait in memory.
    pub log_buffer: ByteSize,
    /// Memory for pages of the whole server, taken at the start.
    pub cache_min: ByteSize,
    /// Memory for pages of the whole server, at most.
    pub cache_max: ByteSize,
    /// Freeing begins below this share of the cache, in percent.
    pub start_percent: u32,
    /// Freeing ends at this share, in percent.
    pub stop_percent: u32,
    /// How log writes become durable.
    pub durability: Durability,
    /// Log bytes of an instance that recovery may have to replay.
    pub checkpoint_depth: ByteSize,
    /// How dirty pages are written back.
    pub pacing: CheckpointPacing,
    /// Pages that a database grows by.
    pub extension_pages: u32,
    /// What happens to logs that recovery no longer needs.
    pub circular: Circular,
    /// Whether background maintenance runs.
    pub background_maintenance: bool,
    /// Its pace.
    pub maintenance: Maintenance,
    /// Reads in flight at each database during recovery; by default those of ESE.
    pub recovery_reads: Option<u32>,
}

/// The work of the sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadPlan {
    /// Shares of the operations.
    pub mix: Mix,
    /// Operations in a batch.
    pub batch: u32,
    /// How a session chooses its next instance.
    pub choice: InstanceChoice,
    /// How sessions are held back; a target replaces this by its own pace.
    pub scheduling: Scheduling,
    /// The sizes of records.
    pub shape: Shape,
    /// Reads that repeat the record their session touched last, in percent.
    pub reads_again_percent: u32,
    /// Computing time of an operation in a virtual world.
    pub cost: Span,
}

/// The limits of a pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Latencies.
    pub latency: LatencyLimits,
    /// Number of samples that may exceed the limit of a sample.
    pub excursions: u32,
    /// Page-fault stalls per second.
    pub stalls_per_s: f64,
    /// How far the achieved rate may stay below a target, in percent.
    pub margin_percent: u32,
    /// 99.9th percentile of database reads and of log writes.
    pub tail_device: Span,
    /// 99th percentile of operations, from their intended start.
    pub tail_operation: Span,
    /// Whether the two tail limits fail a test, or only advise.
    pub strict_tail: bool,
    /// Share by which databases may grow, in percent.
    pub reserve_percent: u32,
    /// How long a restore may take until the databases can be used; `None` without a limit.
    pub restore_within: Option<Span>,
}

/// One log stream and its databases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstancePlan {
    /// The name in reports.
    pub name: String,
    /// Folder of its logs and its checkpoint.
    pub log: PathBuf,
    /// Its databases; every instance has the same number of them, at least one.
    pub databases: Vec<DatabasePlan>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabasePlan {
    /// The name in reports.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Its initial size.
    pub size: ByteSize,
}

/// Maximum of page-fault stalls per second.
///
/// Source: the failure text of Jetstress 2013, "should be not higher than 1"
/// (exchangemaster.wordpress.com, July 2017).
const STALLS_PER_S: f64 = 1.0;

/// Log files that a recovery test replays. Source: `LogFilesToReplay` of Jetstress 2013.
pub const LOGS: u32 = 500;

/// Reads that the slowest hundredth of operations may need besides a log write. Our choice: a
/// record, its body, and an index entry.
const TAIL_READS: u64 = 3;

/// Computing time of an operation in virtual worlds. Assumed: only the order of magnitude matters
/// next to storage.
const OPERATION_COST: Span = Span::micros(25);

/// How long a lazy commit may wait in the log buffer. In ESE the caller decides; the value of
/// Jetstress is unknown. In all but idle tests a hard commit of another session comes first, so it
/// hardly matters.
const LAZY_WAIT: Span = Span::millis(100);

/// The pace of background maintenance in a version that has none.
const MAINTENANCE: Maintenance =
    Maintenance { batch: ByteSize::kib(256), sleep: Span::millis(100) };

/// Minimum number of samples, also in a short test.
const SAMPLES_MIN: u64 = 10;

/// The unit of `JET_paramLogBuffers`, in bytes.
const LOG_BUFFER_UNIT: u64 = 512;

impl EnginePlan {
    /// The settings of `profile` for `instances` instances. The log buffer is cut to one log file,
    /// as the engine does.
    pub fn of(profile: &Profile, instances: u64) -> Self {
        let all = |size: ByteSize| ByteSize::bytes(size.get() * instances);
        Self {
            page: profile.page_size.value,
            log_file: profile.log_file.value,
            log_segment: 512,
            log_buffer: log_buffer(profile).min(profile.log_file.value),
            cache_min: all(profile.cache_min.value),
            cache_max: all(profile.cache_max.value),
            start_percent: profile.start_percent.value,
            stop_percent: profile.stop_percent.value,
            durability: Durability::WriteThrough,
            checkpoint_depth: profile.checkpoint_depth.value,
            pacing: profile.checkpoint_pacing.value,
            extension_pages: profile.extension_pages.value,
            circular: circular(profile, profile.circular_logging.value),
            background_maintenance: profile.maintenance.value.is_some(),
            maintenance: profile.maintenance.value.unwrap_or(MAINTENANCE),
            recovery_reads: None,
        }
    }
}

impl LoadPlan {
    /// The load of `profile`: a closed loop without delays.
    pub fn of(profile: &Profile) -> Self {
        Self {
            mix: profile.mix.value,
            batch: profile.batch_operations.value,
            choice: profile.instance_choice.value,
            scheduling: Scheduling::None,
            shape: Shape {
                short: profile.short_pad.value,
                long: profile.long_pad.value,
                beside_percent: profile.beside_percent.value,
                ..Shape::JETSTRESS
            },
            reads_again_percent: profile.reads_again_percent.value,
            cost: OPERATION_COST,
        }
    }
}

impl LoadPlan {
    /// Whether any operation changes a database.
    pub fn writes(&self) -> bool {
        let changes = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Read);
        changes.map(|kind| self.mix.percent(kind)).sum::<u32>() > 0
    }
}

impl Limits {
    /// The limits of `profile` for tests of `kind`: strict, or lenient for stress.
    pub fn of(profile: &Profile, kind: TestKind) -> Self {
        let latency = kinds::Kind::of(kind).limits(profile);
        Self {
            latency,
            excursions: profile.excursions.value,
            stalls_per_s: STALLS_PER_S,
            margin_percent: profile.margin_percent.value,
            tail_device: latency.read_sample,
            tail_operation: latency.read_sample * TAIL_READS + latency.log_sample,
            strict_tail: false,
            reserve_percent: profile.reserve_percent.value,
            restore_within: None,
        }
    }
}

/// How a version reads for a backup.
pub(crate) fn reads(version: Version) -> Reads {
    match version {
        Version::Exchange2003 | Version::Exchange2007Early | Version::Exchange2007 => {
            Reads::STREAMING
        }
        _ => Reads::COPY,
    }
}

/// A passive copy of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyPlan {
    /// The number of its instance in the plan.
    pub of: usize,
    /// How old a log is before the copy replays it.
    pub lag: Span,
    /// Its name and its files; as many databases as the instance has.
    pub files: InstancePlan,
}

impl Plan {
    /// The most that all caches of the test hold together: those of its instances, and of the
    /// copies that follow them.
    pub fn caches(&self) -> ByteSize {
        let copies = self.passive.iter();
        let copies = copies.map(|copy| self.of_copy(copy).engine.cache_max.get());
        let own = self.engine.cache_max.get();
        ByteSize::bytes(copies.fold(own, u64::saturating_add))
    }

    /// The plan of a server with the files of `copy` alone, an instance's part of the cache, and
    /// the checkpoint depth of a passive copy.
    pub(crate) fn of_copy(&self, copy: &CopyPlan) -> Self {
        let (page, parts) = (self.engine.page.bytes_u64(), self.instances.len().max(1) as u64);
        let part = |size: ByteSize| ByteSize::bytes(size.get().div_euclid(parts * page) * page);
        Self {
            instances: vec![copy.files.clone()],
            passive: Vec::new(),
            faults: Vec::new(),
            copy_to: None,
            hearing: Hearing::default(),
            engine: EnginePlan {
                cache_min: part(self.engine.cache_min),
                cache_max: part(self.engine.cache_max),
                checkpoint_depth: self.version.profile().copy_checkpoint_depth.value,
                ..self.engine
            },
            ..self.clone()
        }
    }

    /// Copies of each database, its own among them: those that `copies` counts, or that follow an
    /// instance, if these are more.
    pub fn copies_of_each(&self) -> u32 {
        let follow = |of| self.passive.iter().filter(|copy| copy.of == of).count();
        let most = (0..self.instances.len()).map(follow).max().unwrap_or(0);
        self.copies.max(1 + u32::try_from(most).expect("few copies"))
    }

    /// A one-hour performance test with the defaults of `version`, in a closed loop of one session
    /// over `instances`. Every field can be changed.
    pub fn new(version: Version, instances: Vec<InstancePlan>) -> Self {
        let profile = version.profile();
        Self {
            kind: TestKind::Performance,
            name: String::new(),
            description: String::new(),
            version,
            duration: Span::seconds(3600),
            warm_up_min: Span::ZERO,
            precondition: 0.0,
            sessions: 1,
            tune: None,
            capacity_percent: None,
            throughput_percent: None,
            session_scope: profile.session_scope.value,
            start_at: None,
            seed: 1,
            target: None,
            mailboxes: None,
            growth: Growth::Balance,
            logs: LOGS,
            copy_to: None,
            restores: true,
            copies: 1,
            passive: Vec::new(),
            engine: EnginePlan::of(profile, instances.len() as u64),
            load: LoadPlan::of(profile),
            limits: Limits::of(profile, TestKind::Performance),
            twin: TwinPlan::default(),
            array_cache: None,
            shards: 1,
            instances,
            faults: Vec::new(),
            precision: None,
            carried: None,
            hearing: Hearing::default(),
            read_files: true,
            renew: false,
            abort_on_fail: false,
            run: RunId(1),
            epoch_ms: 0,
        }
    }

    /// All databases, in the order of their instances.
    pub fn databases(&self) -> impl Iterator<Item = &DatabasePlan> {
        self.instances.iter().flat_map(|plan| &plan.databases)
    }

    /// The number of sessions must be a multiple of this, because it is counted per instance or per
    /// database.
    pub fn session_unit(&self) -> u32 {
        let count = match self.session_scope {
            SessionScope::Server => 1,
            SessionScope::Instance => self.instances.len(),
            SessionScope::Database => self.databases().count(),
        };
        u32::try_from(count).unwrap_or(u32::MAX).max(1)
    }

    /// The interval between samples: 15 s, or less if that would give fewer than ten.
    pub fn sample_interval(&self) -> Span {
        SAMPLE_INTERVAL.min(Span(self.duration.0.div_euclid(SAMPLES_MIN).max(1)))
    }

    /// Length of the collection that is still to be done: at least one sample.
    pub fn to_collect(&self) -> Span {
        let done = self.carried.map_or(Span::ZERO, |carried| carried.length);
        let left = Span(self.duration.0.saturating_sub(done.0));
        left.max(self.sample_interval())
    }

    /// Number of pages in the whole cache.
    pub fn frames(&self) -> u32 {
        frames(self.engine.cache_max, self.engine.page)
    }

    /// Options of the cache that all instances share.
    pub fn cache_options(&self) -> CacheOptions {
        CacheOptions {
            frames_min: frames(self.engine.cache_min, self.engine.page),
            start_percent: self.engine.start_percent,
            stop_percent: self.engine.stop_percent,
            freeing: match self.engine.pacing {
                CheckpointPacing::Burst => Freeing::BURST,
                CheckpointPacing::Trickle => Freeing::TRICKLE,
            },
            recovery_reads: self.engine.recovery_reads.unwrap_or(IN_FLIGHT),
            remains_percent: Some(self.load.shape.compressible_percent),
            ..CacheOptions::new(self.engine.page, self.frames())
        }
    }

    /// The pace of background maintenance, if it is enabled. A new pass begins a day after the
    /// previous one ended.
    pub fn throttle(&self) -> Option<Throttle> {
        let is_scanned = self.engine.background_maintenance && self.kind.has_limits();
        is_scanned.then_some(Throttle {
            batch_bytes: self.engine.maintenance.batch.get(),
            sleep: self.engine.maintenance.sleep,
            ..Throttle::JETSTRESS
        })
    }

    /// Options of instance number `index`.
    ///
    /// # Panics
    /// When there is none.
    pub fn instance_options(&self, index: usize) -> InstanceOptions {
        let engine = &self.engine;
        let plan = &self.instances[index];
        InstanceOptions {
            number: u8::try_from(index).expect("fewer than 256 instances"),
            log_directory: plan.log.clone(),
            databases: plan.databases.iter().map(|d| d.path.clone()).collect(),
            page_size: engine.page,
            log: LogShape::new(engine.log_segment, bytes(engine.log_file)),
            log_buffer_units: log_units(engine.log_buffer),
            lazy_wait: LAZY_WAIT,
            durability: engine.durability,
            checkpoint_depth: engine.checkpoint_depth,
            pacing: match engine.pacing {
                CheckpointPacing::Burst => Pacing::BURST,
                CheckpointPacing::Trickle => Pacing::TRICKLE,
            },
            format_chunk: self.twin.log_format.map(ByteSize::get),
            circular: engine.circular,
            growth_pages: engine.extension_pages,
            run: self.run,
            epoch_ms: self.epoch_ms,
        }
    }
}

/// The log buffer of `profile`; the engine cuts it to one log file.
pub fn log_buffer(profile: &Profile) -> ByteSize {
    ByteSize::bytes(u64::from(profile.log_buffer_units.value) * LOG_BUFFER_UNIT)
}

/// What happens to old logs under `profile`, with circular logging on or off.
pub fn circular(profile: &Profile, on: bool) -> Circular {
    match (on, profile.log_reuse.value) {
        (false, _) => Circular::Off,
        (true, false) => Circular::Remove,
        (true, true) => Circular::Reuse,
    }
}

fn frames(size: ByteSize, page: PageSize) -> u32 {
    u32::try_from(page.pages_in(size)).unwrap_or(u32::MAX)
}

fn log_units(size: ByteSize) -> u32 {
    u32::try_from(size.get().div_euclid(LOG_BUFFER_UNIT)).unwrap_or(u32::MAX)
}

fn bytes(size: ByteSize) -> usize {
    usize::try_from(size.get()).expect("a size in memory")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two instances of one small database each, and a test of one minute.
    pub(crate) fn plan() -> Plan {
        let profile = Version::Exchange2013.profile();
        let instance = |number: usize| InstancePlan {
            name: format!("Instance {number}"),
            log: format!("log{number}").into(),
            databases: vec![DatabasePlan {
                name: format!("DB{number}"),
                path: format!("db/{number}.edb").into(),
                size: ByteSize::mib(4),
            }],
        };
        Plan {
            name: "small".to_owned(),
            duration: Span::seconds(60),
            sessions: 4,
            engine: EnginePlan {
                page: PageSize::KIB_4,
                log_file: ByteSize::kib(256),
                log_segment: 512,
                log_buffer: ByteSize::kib(64),
                cache_min: ByteSize::kib(256),
                cache_max: ByteSize::mib(1),
                checkpoint_depth: ByteSize::mib(1),
                ..EnginePlan::of(profile, 2)
            },
            run: RunId(77),
            epoch_ms: 1_700_000_000_000,
            ..Plan::new(profile.version, vec![instance(1), instance(2)])
        }
    }

    #[test]
    fn short_tests_have_ten_samples_and_long_ones_a_grid_of_fifteen_seconds() {
        let of = |seconds| {
            let duration = Span::seconds(seconds);
            let plan = Plan { duration, ..plan() };
            plan.sample_interval()
        };
        assert_eq!(of(60), Span::seconds(6));
        assert_eq!(of(1), Span::millis(100));
        assert_eq!(of(150), Span::seconds(15));
        assert_eq!(of(7_200), Span::seconds(15));
    }

    #[test]
    fn a_profile_is_the_same_for_every_instance_and_the_cache_is_their_sum() {
        let plan = plan();
        let usual = EnginePlan::of(Version::Exchange2013.profile(), 2);
        assert_eq!(usual.cache_max, ByteSize::mib(512));
        assert_eq!(usual.log_buffer, usual.log_file);
        assert_eq!((plan.frames(), plan.cache_options().frames_min), (256, 64));
        let second = plan.instance_options(1);
        assert_eq!((second.number, second.databases.len()), (1, 1));
        assert_eq!(second.log_directory, PathBuf::from("log2"));
        assert_eq!(second.log, LogShape::new(512, 256 << 10));
    }
}
