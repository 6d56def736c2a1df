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

use super::kept::Keep;
use super::keys::{Key, SIZE, SWITCH, TIME, Whole, Word, keys, own};
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

keys! {
    PROFILE = "[profile]";
    /// Whose figures the others have.
    VERSION: Version = "version", own(read_version, "`\"exchange-2003\"` to `\"exchange-2019\"`, or the year"), "`\"exchange-2013\"`";
    /// A page of a database.
    PAGE: PageSize = "page", own(read_page, "`\"4 KiB\"` to `\"32 KiB\"`"), "by version";
    /// A log file: whole multiples of 4 KiB, 64 KiB to 16 MiB.
    LOG_FILE: ByteSize = "log_file", SIZE, "by version";
    /// Log records that wait to be written, 16 KiB to one log file.
    LOG_BUFFER: ByteSize = "log_buffer", SIZE, "by version";
    /// The least cache of all databases together.
    CACHE_MIN: ByteSize = "cache_min", SIZE, "by version";
    /// The most; 16 pages at least.
    CACHE_MAX: ByteSize = "cache_max", SIZE, "by version";
    /// Logs that a recovery may have to replay; one log file at least.
    CHECKPOINT_DEPTH: ByteSize = "checkpoint_depth", SIZE, "by version";
    /// Whether logs before the checkpoint are removed.
    CIRCULAR: bool = "circular_logging", SWITCH, "by version";
    /// How a checkpoint writes: all that is due at once, or a little all the time.
    CHECKPOINT_WRITES: CheckpointPacing = "checkpoint_writes", Word(&PACINGS), "by version";
    /// Whether every page is read and checked in the background.
    MAINTENANCE: bool = "background_maintenance", SWITCH, "by version";
    /// What that reads at a time, one page to 16 MiB.
    MAINTENANCE_READ: ByteSize = "maintenance_read", SIZE, "by version";
    /// How long it pauses then, a millisecond at least.
    MAINTENANCE_SLEEP: Span = "maintenance_sleep", TIME, "by version";
    /// Inserts among operations; what is left of 100 % reads.
    INSERT: u32 = "insert_percent", PERCENT, "by version";
    /// Deletes.
    DELETE: u32 = "delete_percent", PERCENT, "by version";
    /// Replaces.
    REPLACE: u32 = "replace_percent", PERCENT, "by version";
    /// Commits that do not wait for the log.
    LAZY: u32 = "lazy_percent", PERCENT, "by version";
    /// Reads of the record that the session touched last.
    READS_AGAIN: u32 = "reads_again_percent", PERCENT, "by version";
    /// Operations of a session in one go.
    BATCH: u32 = "batch_operations", Whole(1..=1_000_000), "by version";
    /// Reads in flight of a database during recovery; ESE never has more outstanding than the most.
    RECOVERY_READS: u32 = "recovery_reads", Whole(1..=1_024), "8; predictions 64";
}

const PERCENT: Whole = Whole(0..=100);

/// Words for the ways of a checkpoint.
static PACINGS: [(&str, CheckpointPacing); 2] =
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
        let section = &mut Section::of(top.table("profile"), &PROFILE)?;
        let version = section.get(&VERSION, Version::Exchange2013)?;
        let figures = version.value.profile();
        let usual = EnginePlan::of(figures, instances);
        let usual_load = LoadPlan::of(figures);
        let page = section.get(&PAGE, usual.page)?;
        let log_file = section.get(&LOG_FILE, usual.log_file)?;
        let log_buffer = section.get(&LOG_BUFFER, log_buffer(figures).min(log_file.value))?;
        let cache_max = section.get(&CACHE_MAX, usual.cache_max)?;
        let cache_min = section.get(&CACHE_MIN, usual.cache_min.min(cache_max.value))?;
        let checkpoint_depth = section.get(&CHECKPOINT_DEPTH, usual.checkpoint_depth)?;
        let is_circular = section.get(&CIRCULAR, usual.circular != Circular::Off)?.value;
        let maintenance = section.get(&MAINTENANCE, usual.background_maintenance)?;
        let pacing = section.get(&CHECKPOINT_WRITES, usual.pacing)?;
        let batch = section.get(&BATCH, usual_load.batch)?;
        let again = section.get(&READS_AGAIN, usual_load.reads_again_percent)?;
        let recovery_reads = section.find(&RECOVERY_READS)?;
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
                background_maintenance: maintenance.value,
                maintenance: read_maintenance(section, usual.maintenance, page.value)?,
                recovery_reads: recovery_reads.map(|reads| reads.value),
                ..usual
            },
            load: LoadPlan {
                mix: read_mix(section, usual_load.mix)?,
                batch: batch.value,
                reads_again_percent: again.value,
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
        writeln!(out, "\n{}", PROFILE.title)?;
        VERSION.write(version, out)?;
        PAGE.write(&engine.page, out)?;
        LOG_FILE.write(&engine.log_file, out)?;
        LOG_BUFFER.write(&engine.log_buffer, out)?;
        CACHE_MIN.write(&engine.cache_min, out)?;
        CACHE_MAX.write(&engine.cache_max, out)?;
        CHECKPOINT_DEPTH.write(&engine.checkpoint_depth, out)?;
        CIRCULAR.write(&(engine.circular != Circular::Off), out)?;
        MAINTENANCE.write(&engine.background_maintenance, out)?;
        CHECKPOINT_WRITES.write(&engine.pacing, out)?;
        MAINTENANCE_READ.write(&engine.maintenance.batch, out)?;
        MAINTENANCE_SLEEP.write(&engine.maintenance.sleep, out)?;
        INSERT.write(&load.mix.percent(Kind::Insert), out)?;
        DELETE.write(&load.mix.percent(Kind::Delete), out)?;
        REPLACE.write(&load.mix.percent(Kind::Replace), out)?;
        LAZY.write(&load.mix.lazy_percent(), out)?;
        READS_AGAIN.write(&load.reads_again_percent, out)?;
        BATCH.write(&load.batch, out)?;
        engine.recovery_reads.map_or(Ok(()), |reads| RECOVERY_READS.write(&reads, out))
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
    let batch = section.get(&MAINTENANCE_READ, usual.batch)?;
    let page = ByteSize::bytes(page.bytes_u64());
    let batch = within(&batch, page, MAINTENANCE_READ_MAX, "the most one read can be")?;
    let sleep = section.get(&MAINTENANCE_SLEEP, usual.sleep)?;
    if sleep.value < MAINTENANCE_SLEEP_MIN {
        let refusal = sleep.place.refuse("is less than a millisecond");
        return Err(refusal.because(Cause::Value));
    }
    Ok(Maintenance { batch, sleep: sleep.value })
}

fn read_mix(section: &mut Section, usual: Mix) -> Result<Mix, Refusal> {
    let mut place = section.place().clone();
    let mut percent = |key: &Key<u32>, usual| {
        Ok(match section.find(key)? {
            Some(share) => {
                place = share.place;
                share.value
            }
            None => usual,
        })
    };
    let insert = percent(&INSERT, usual.percent(Kind::Insert))?;
    let delete = percent(&DELETE, usual.percent(Kind::Delete))?;
    let replace = percent(&REPLACE, usual.percent(Kind::Replace))?;
    let lazy = percent(&LAZY, usual.lazy_percent())?;
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

fn read_page(node: &Node) -> Result<PageSize, Refusal> {
    PageSize::new(section::size(node)?.get()).map_err(|_| {
        let refusal = node.place.refuse("not a page size");
        refusal.hint("a page has \"4 KiB\", \"8 KiB\", \"16 KiB\" or \"32 KiB\"")
    })
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
