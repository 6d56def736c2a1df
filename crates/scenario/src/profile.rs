//! The engine's sizes and the operations on it, from an Exchange version and what a scenario says otherwise.

use brunt_ese::format::log_file::SegmentSize;
use brunt_ese::log::LogShape;
use brunt_units::{ByteSize, PageSize, Span};
use brunt_workload::mix::{Kind, Mix};
use brunt_workload::profile::{CheckpointPacing, Maintenance, Version};

use super::place::{Placed, Refusal};
use super::section::{self, Section};
use super::tree::{Node, Value};

/// The engine's sizes and its operations: those of the version, or what the scenario says instead.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Where the other numbers come from.
    pub version: Version,
    /// Size of a database page.
    pub page: PageSize,
    /// Size of a log file.
    pub log_file: ByteSize,
    /// Log bytes of an instance that may wait in memory.
    pub log_buffer: ByteSize,
    /// Memory for pages of the whole server, taken at the start.
    pub cache_min: ByteSize,
    /// Memory for pages of the whole server, at most.
    pub cache_max: ByteSize,
    /// Log bytes of an instance that recovery may have to replay.
    pub checkpoint_depth: ByteSize,
    /// Whether logs that no recovery needs are removed.
    pub circular_logging: bool,
    /// How dirty pages are let go.
    pub checkpoint_writes: CheckpointPacing,
    /// Whether databases are scanned in the background.
    pub background_maintenance: bool,
    /// How they are.
    pub maintenance: Maintenance,
    /// Shares of operations and of lazy commits.
    pub mix: Mix,
    /// Reads that go to the record that their session touched last, in percent.
    pub reads_again_percent: u32,
    /// Operations that a session does on one instance before it goes to the next.
    pub batch_operations: u32,
    /// Reads in flight at each database during recovery, if the scenario says so. ESE has 8; predictions have what published tests show.
    pub recovery_reads: Option<u32>,
}

pub(super) const KEYS: [&str; 19] = [
    "version",
    "page",
    "log_file",
    "log_buffer",
    "cache_min",
    "cache_max",
    "checkpoint_depth",
    "circular_logging",
    "checkpoint_writes",
    "background_maintenance",
    "maintenance_read",
    "maintenance_sleep",
    "insert_percent",
    "delete_percent",
    "replace_percent",
    "lazy_percent",
    "reads_again_percent",
    "batch_operations",
    "recovery_reads",
];

/// Words for the ways of a checkpoint.
pub(super) const CHECKPOINT_WRITES: [(&str, CheckpointPacing); 2] = [
    ("burst", CheckpointPacing::Burst),
    ("trickle", CheckpointPacing::Trickle),
];

/// Frames below which the engine cannot work: a path of the tree for a few sessions, and pages on their way out.
const FRAMES_MIN: u64 = 16;
const LOG_FILE_MIN: ByteSize = ByteSize::kib(64);
const LOG_FILE_MAX: ByteSize = ByteSize::mib(16);
/// Log files are whole numbers of these.
const LOG_FILE_STEP: u64 = 4096;
const LOG_BUFFER_MIN: ByteSize = ByteSize::kib(16);
/// One read of background maintenance.
const MAINTENANCE_READ_MAX: ByteSize = ByteSize::mib(16);
/// Without a pause a scan of cached pages would let nothing else happen.
const MAINTENANCE_SLEEP_MIN: Span = Span::millis(1);
const BATCH_MAX: u64 = 1_000_000;
/// As many I/Os as ESE ever has outstanding.
const RECOVERY_READS_MAX: u64 = 1_024;
/// What a scan is where the version has none and the scenario wants one.
const MAINTENANCE: Maintenance = Maintenance {
    batch: ByteSize::kib(256),
    sleep: Span::millis(100),
};

/// The log buffer of a profile is counted in these.
const LOG_BUFFER_UNIT: u64 = 512;

/// What scenarios call a version.
pub(super) fn word(version: Version) -> String {
    format!("exchange-{}", version.name())
}

impl Profile {
    /// The sizes under `version` with `instances` log streams; sources stand in [`brunt_workload::profile`].
    pub fn of(version: Version, instances: u64) -> Self {
        let figures = version.profile();
        let each = |size: ByteSize| ByteSize::bytes(size.get() * instances);
        let log_buffer = u64::from(figures.log_buffer_units.value) * LOG_BUFFER_UNIT;
        Self {
            version,
            page: figures.page_size.value,
            log_file: figures.log_file.value,
            log_buffer: ByteSize::bytes(log_buffer),
            cache_min: each(figures.cache_min.value),
            cache_max: each(figures.cache_max.value),
            checkpoint_depth: figures.checkpoint_depth.value,
            circular_logging: figures.circular_logging.value,
            checkpoint_writes: figures.checkpoint_pacing.value,
            background_maintenance: figures.maintenance.value.is_some(),
            maintenance: figures.maintenance.value.unwrap_or(MAINTENANCE),
            mix: figures.mix.value,
            reads_again_percent: figures.reads_again_percent.value,
            batch_operations: figures.batch_operations.value,
            recovery_reads: None,
        }
    }

    /// Reads `[profile]`.
    pub(super) fn read(section: &mut Section, instances: u64) -> Result<Self, Refusal> {
        let version = section.read_or("version", Version::Exchange2013, read_version)?;
        let usual = Self::of(version.value, instances);
        let page = section.read_or("page", usual.page, |node| {
            let size = section::size(node)?;
            PageSize::new(size.get()).map_err(|_| {
                let refusal = node.place.refuse("not a page size");
                refusal.hint("a page has \"4 KiB\", \"8 KiB\", \"16 KiB\" or \"32 KiB\"")
            })
        })?;
        let mut size = |key, usual| section.read_or(key, usual, section::size);
        let log_file = size("log_file", usual.log_file)?;
        let log_buffer = size("log_buffer", usual.log_buffer.min(log_file.value))?;
        let cache_max = size("cache_max", usual.cache_max)?;
        let cache_min = size("cache_min", usual.cache_min.min(cache_max.value))?;
        let checkpoint_depth = size("checkpoint_depth", usual.checkpoint_depth)?;
        let mut switch = |key, usual| section.read_or(key, usual, section::switch);
        let circular_logging = switch("circular_logging", usual.circular_logging)?.value;
        let background_maintenance =
            switch("background_maintenance", usual.background_maintenance)?.value;
        let pacing = section.read_or("checkpoint_writes", usual.checkpoint_writes, |node| {
            section::choice(node, &CHECKPOINT_WRITES)
        })?;
        let batch = u64::from(usual.batch_operations);
        let batch = section.read_or("batch_operations", batch, |node| {
            section::integer(node, 1..=BATCH_MAX)
        })?;
        let again = u64::from(usual.reads_again_percent);
        let again = section.read_or("reads_again_percent", again, |node| {
            section::integer(node, 0..=100)
        })?;
        let recovery_reads = section.read("recovery_reads", |node| {
            section::integer(node, 1..=RECOVERY_READS_MAX)
        })?;
        let profile = Self {
            version: usual.version,
            page: page.value,
            log_file: checked_log_file(&log_file)?,
            log_buffer: within(&log_buffer, LOG_BUFFER_MIN, log_file.value, "one log file")?,
            cache_min: cache_min.value,
            cache_max: cache_max.value,
            checkpoint_depth: checkpoint_depth.value,
            circular_logging,
            checkpoint_writes: pacing.value,
            background_maintenance,
            maintenance: read_maintenance(section, usual.maintenance, page.value)?,
            mix: read_mix(section, usual.mix)?,
            reads_again_percent: u32::try_from(again.value).expect("in range"),
            batch_operations: u32::try_from(batch.value).expect("in range"),
            recovery_reads: recovery_reads
                .map(|reads| u32::try_from(reads.value).expect("in range")),
        };
        profile.check_cache(&cache_min, &cache_max)?;
        check_log_holds(&log_file, page.value)?;
        if checkpoint_depth.value < profile.log_file {
            let what = format!("is less than one log file ({})", profile.log_file);
            return Err(checkpoint_depth.place.refuse(what));
        }
        Ok(profile)
    }

    fn check_cache(&self, min: &Placed<ByteSize>, max: &Placed<ByteSize>) -> Result<(), Refusal> {
        let least = ByteSize::bytes(FRAMES_MIN * self.page.bytes_u64());
        if max.value < least {
            let what = format!("is less than {FRAMES_MIN} pages of {} ({least})", self.page);
            return Err(max.place.refuse(what));
        }
        if min.value > max.value {
            let what = format!("is more than `cache_max` ({})", max.value);
            return Err(min.place.refuse(what));
        }
        Ok(())
    }
}

fn read_maintenance(
    section: &mut Section,
    usual: Maintenance,
    page: PageSize,
) -> Result<Maintenance, Refusal> {
    let batch = section.read_or("maintenance_read", usual.batch, section::size)?;
    let page = ByteSize::bytes(page.bytes_u64());
    let batch = within(
        &batch,
        page,
        MAINTENANCE_READ_MAX,
        "the most one read can be",
    )?;
    let sleep = section.read_or("maintenance_sleep", usual.sleep, section::span)?;
    if sleep.value < MAINTENANCE_SLEEP_MIN {
        return Err(sleep.place.refuse("is less than a millisecond"));
    }
    Ok(Maintenance {
        batch,
        sleep: sleep.value,
    })
}

fn read_mix(section: &mut Section, usual: Mix) -> Result<Mix, Refusal> {
    let mut place = section.place().clone();
    let mut percent = |key, usual: u32| {
        let share = section.read(key, |node| section::integer(node, 0..=100))?;
        Ok(share.map_or(usual, |share| {
            place = share.place;
            u32::try_from(share.value).expect("in range")
        }))
    };
    let insert = percent("insert_percent", usual.percent(Kind::Insert))?;
    let delete = percent("delete_percent", usual.percent(Kind::Delete))?;
    let replace = percent("replace_percent", usual.percent(Kind::Replace))?;
    let lazy = percent("lazy_percent", usual.lazy_percent())?;
    Mix::new(insert, delete, replace, lazy).map_err(|error| {
        let refusal = place.refuse(error.to_string());
        refusal.hint(format!(
            "with what the version and the scenario say: insert {insert} %, delete {delete} %, replace {replace} %; reads are the rest"
        ))
    })
}

/// A log file holds every change of a page, with segments of either size.
fn check_log_holds(log_file: &Placed<ByteSize>, page: PageSize) -> Result<(), Refusal> {
    let bytes = usize::try_from(log_file.value.get()).unwrap_or(usize::MAX);
    let holds = [512, 4096].iter().all(|segment| {
        let shape =
            SegmentSize::new(*segment).and_then(|segment| LogShape::checked(segment, bytes));
        shape.is_some_and(|shape| shape.holds_changes_of(page))
    });
    if holds {
        return Ok(());
    }
    let refusal = log_file
        .place
        .refuse(format!("is too small for pages of {page}"));
    Err(refusal.hint(format!("a log file of {} is enough", ByteSize::kib(256))))
}

/// The year alone will do, as a text or a number.
fn read_version(node: &Node) -> Result<Version, Refusal> {
    let text = match &node.value {
        Value::Integer(year) => year.to_string(),
        _ => section::text(node)?,
    };
    let short = Version::ALL
        .into_iter()
        .find(|version| version.name() == text);
    short.map_or_else(|| text.parse(), Ok).map_err(|_| {
        let known = Version::ALL.map(word).join(", ");
        node.place
            .refuse("unknown version")
            .hint(format!("known are {known}"))
    })
}

fn checked_log_file(size: &Placed<ByteSize>) -> Result<ByteSize, Refusal> {
    within(
        size,
        LOG_FILE_MIN,
        LOG_FILE_MAX,
        "the most a log file can have",
    )?;
    if size.value.get().is_multiple_of(LOG_FILE_STEP) {
        Ok(size.value)
    } else {
        Err(size
            .place
            .refuse(format!("is not a multiple of {LOG_FILE_STEP} bytes")))
    }
}

fn within(
    size: &Placed<ByteSize>,
    least: ByteSize,
    most: ByteSize,
    most_name: &str,
) -> Result<ByteSize, Refusal> {
    if size.value < least {
        return Err(size.place.refuse(format!("is less than {least}")));
    }
    if size.value > most {
        return Err(size
            .place
            .refuse(format!("is more than {most}, {most_name}")));
    }
    Ok(size.value)
}
