//! `[profile]`: the engine's sizes and the operations on it, from an Exchange version and what a
//! scenario says otherwise.

use std::fmt::{self, Write};

use brunt_ese::format::log_file::SegmentSize;
use brunt_ese::instance::Circular;
use brunt_ese::log::LogShape;
use brunt_qualify::plan::{EnginePlan, LoadPlan, circular, log_buffer};
use brunt_units::{ByteSize, PageSize, Span};
use brunt_workload::mix::{Kind, Mix};
use brunt_workload::profile::{CheckpointPacing, Maintenance, Version};

use super::format::{quoted, size, span, word};
use super::kept::Keep;
use super::place::{Cause, Placed, Refusal};
use super::section::{self, Section};
use super::tree::{Node, Value};

/// What `[profile]` says, in the parts that a plan has: figures of the version, or what the
/// scenario says instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Whose figures it has.
    pub version: Version,
    /// The engine's sizes.
    pub engine: EnginePlan,
    /// What the sessions do.
    pub load: LoadPlan,
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
const CHECKPOINT_WRITES: [(&str, CheckpointPacing); 2] =
    [("burst", CheckpointPacing::Burst), ("trickle", CheckpointPacing::Trickle)];

/// Frames below which the engine cannot work: a path of the tree for a few sessions, and pages on
/// their way out.
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
impl Keep for Version {
    fn keep(&self) -> toml::Value {
        name(*self).into()
    }
}

/// What scenarios call a version.
fn name(version: Version) -> String {
    format!("exchange-{}", version.name())
}

impl Profile {
    /// Reads `[profile]` of a scenario with `instances` log streams; beside it, where the size of
    /// the cache was written.
    pub(super) fn read(
        top: &mut Section,
        instances: u64,
    ) -> Result<(Self, Placed<ByteSize>), Refusal> {
        let section = &mut top.section("profile", &KEYS)?;
        let version = section.read_or("version", Version::Exchange2013, read_version)?;
        let figures = version.value.profile();
        let usual = EnginePlan::of(figures, instances);
        let usual_load = LoadPlan::of(figures);
        let page = section.read_or("page", usual.page, |node| {
            let size = section::size(node)?;
            PageSize::new(size.get()).map_err(|_| {
                let refusal = node.place.refuse("not a page size");
                refusal.hint("a page has \"4 KiB\", \"8 KiB\", \"16 KiB\" or \"32 KiB\"")
            })
        })?;
        let mut size = |key, usual| section.read_or(key, usual, section::size);
        let log_file = size("log_file", usual.log_file)?;
        let log_buffer = size("log_buffer", log_buffer(figures).min(log_file.value))?;
        let cache_max = size("cache_max", usual.cache_max)?;
        let cache_min = size("cache_min", usual.cache_min.min(cache_max.value))?;
        let checkpoint_depth = size("checkpoint_depth", usual.checkpoint_depth)?;
        let mut switch = |key, usual| section.read_or(key, usual, section::switch);
        let is_circular = switch("circular_logging", usual.circular != Circular::Off)?.value;
        let background_maintenance =
            switch("background_maintenance", usual.background_maintenance)?.value;
        let pacing = section.choice_or("checkpoint_writes", usual.pacing, &CHECKPOINT_WRITES)?;
        let batch = section.read_or("batch_operations", usual_load.batch.into(), |node| {
            section::integer(node, 1..=BATCH_MAX)
        })?;
        let again = u64::from(usual_load.reads_again_percent);
        let again = section
            .read_or("reads_again_percent", again, |node| section::integer(node, 0..=100))?;
        let recovery_reads = section
            .read("recovery_reads", |node| section::integer(node, 1..=RECOVERY_READS_MAX))?;
        let small = |number: u64| u32::try_from(number).expect("in range");
        let profile = Self {
            version: version.value,
            engine: EnginePlan {
                page: page.value,
                log_file: checked_log_file(&log_file)?,
                log_buffer: within(&log_buffer, LOG_BUFFER_MIN, log_file.value, "one log file")?,
                cache_min: cache_min.value,
                cache_max: cache_max.value,
                checkpoint_depth: checkpoint_depth.value,
                circular: circular(figures, is_circular),
                pacing: pacing.value,
                background_maintenance,
                maintenance: read_maintenance(section, usual.maintenance, page.value)?,
                recovery_reads: recovery_reads.map(|reads| small(reads.value)),
                ..usual
            },
            load: LoadPlan {
                mix: read_mix(section, usual_load.mix)?,
                batch: small(batch.value),
                reads_again_percent: small(again.value),
                ..usual_load
            },
        };
        check_cache(&cache_min, &cache_max, page.value)?;
        check_log_holds(&log_file, page.value)?;
        if checkpoint_depth.value < log_file.value {
            let what = format!("is less than one log file ({})", log_file.value);
            return Err(checkpoint_depth.place.refuse(what));
        }
        Ok((profile, cache_max))
    }

    /// Writes `[profile]`.
    pub(super) fn write(&self, out: &mut String) -> fmt::Result {
        let Self { version, engine, load } = self;
        writeln!(out, "\n[profile]\nversion = {}", quoted(&name(*version)))?;
        let page = ByteSize::bytes(engine.page.bytes_u64());
        for (key, bytes) in [
            ("page", page),
            ("log_file", engine.log_file),
            ("log_buffer", engine.log_buffer),
            ("cache_min", engine.cache_min),
            ("cache_max", engine.cache_max),
            ("checkpoint_depth", engine.checkpoint_depth),
        ] {
            writeln!(out, "{key} = {}", size(bytes))?;
        }
        let is_circular = engine.circular != Circular::Off;
        writeln!(out, "circular_logging = {is_circular}")?;
        let is_scanned = engine.background_maintenance;
        writeln!(out, "background_maintenance = {is_scanned}")?;
        let pacing = word(&CHECKPOINT_WRITES, engine.pacing);
        writeln!(out, "checkpoint_writes = {pacing}")?;
        writeln!(out, "maintenance_read = {}", size(engine.maintenance.batch))?;
        writeln!(out, "maintenance_sleep = {}", span(engine.maintenance.sleep))?;
        for (key, kind) in [
            ("insert_percent", Kind::Insert),
            ("delete_percent", Kind::Delete),
            ("replace_percent", Kind::Replace),
        ] {
            writeln!(out, "{key} = {}", load.mix.percent(kind))?;
        }
        writeln!(out, "lazy_percent = {}", load.mix.lazy_percent())?;
        writeln!(out, "reads_again_percent = {}", load.reads_again_percent)?;
        writeln!(out, "batch_operations = {}", load.batch)?;
        match engine.recovery_reads {
            Some(reads) => writeln!(out, "recovery_reads = {reads}"),
            None => Ok(()),
        }
    }
}

fn check_cache(
    min: &Placed<ByteSize>,
    max: &Placed<ByteSize>,
    page: PageSize,
) -> Result<(), Refusal> {
    let least = ByteSize::bytes(FRAMES_MIN * page.bytes_u64());
    if max.value < least {
        let what = format!("is less than {FRAMES_MIN} pages of {page} ({least})");
        return Err(max.place.refuse(what));
    }
    if min.value > max.value {
        let what = format!("is more than `cache_max` ({})", max.value);
        return Err(min.place.refuse(what));
    }
    Ok(())
}

fn read_maintenance(
    section: &mut Section,
    usual: Maintenance,
    page: PageSize,
) -> Result<Maintenance, Refusal> {
    let batch = section.read_or("maintenance_read", usual.batch, section::size)?;
    let page = ByteSize::bytes(page.bytes_u64());
    let batch = within(&batch, page, MAINTENANCE_READ_MAX, "the most one read can be")?;
    let sleep = section.read_or("maintenance_sleep", usual.sleep, section::span)?;
    if sleep.value < MAINTENANCE_SLEEP_MIN {
        let refusal = sleep.place.refuse("is less than a millisecond");
        return Err(refusal.because(Cause::Value));
    }
    Ok(Maintenance { batch, sleep: sleep.value })
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
    let refusal = log_file.place.refuse(format!("is too small for pages of {page}"));
    Err(refusal.hint(format!("a log file of {} is enough", ByteSize::kib(256))))
}

/// The year alone will do, as a text or a number.
pub(super) fn read_version(node: &Node) -> Result<Version, Refusal> {
    let text = match &node.value {
        Value::Integer(year) => year.to_string(),
        _ => section::text(node)?,
    };
    let short = Version::ALL.into_iter().find(|version| version.name() == text);
    short.map_or_else(|| text.parse(), Ok).map_err(|_| {
        let known = Version::ALL.map(name).join(", ");
        node.place.refuse("unknown version").hint(format!("known are {known}"))
    })
}

fn checked_log_file(size: &Placed<ByteSize>) -> Result<ByteSize, Refusal> {
    within(size, LOG_FILE_MIN, LOG_FILE_MAX, "the most a log file can have")?;
    if size.value.get().is_multiple_of(LOG_FILE_STEP) {
        Ok(size.value)
    } else {
        Err(size.place.refuse(format!("is not a multiple of {LOG_FILE_STEP} bytes")))
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
        return Err(size.place.refuse(format!("is more than {most}, {most_name}")));
    }
    Ok(size.value)
}
