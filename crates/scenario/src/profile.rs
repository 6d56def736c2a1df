//! `[profile]`: the engine's sizes and the operations on it, from an Exchange version and what a
//! scenario says otherwise.

use brunt_ese::format::log_file::SegmentSize;
use brunt_ese::instance::Circular;
use brunt_ese::log::LogShape;
use brunt_qualify::plan::{EnginePlan, LoadPlan, circular, log_buffer};
use brunt_units::{ByteSize, PageSize, Span};
use brunt_workload::mix::{Kind, Mix};
use brunt_workload::profile::{CheckpointPacing, Version};

use super::kept::Keep;
use super::keys::{Maybe, PERCENT, SIZE, SWITCH, Whole, Word, keys, own, time};
use super::place::{Place, Placed, Refusal};
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

/// The same while it is read: shares of a mix are checked together.
pub(crate) struct Said {
    version: Version,
    engine: EnginePlan,
    load: LoadPlan,
    /// Inserts, deletes, replaces, and commits that are lazy.
    mix: [u32; 4],
}

keys! {
    PROFILE of Said = "[profile]";
    /// Whose figures the others have.
    version: Version = [version], own(read_version, "`\"exchange-2003\"` to `\"exchange-2019\"`, or the year"), "`\"exchange-2013\"`" is neutral;
    /// A page of a database.
    page: PageSize = [engine.page], own(read_page, "`\"4 KiB\"` to `\"32 KiB\"`"), "by version";
    /// A log file: whole multiples of 4 KiB, 64 KiB to 16 MiB.
    log_file: ByteSize = [engine.log_file], SIZE, "by version";
    /// Log records that wait to be written, 16 KiB to one log file.
    log_buffer: ByteSize = [engine.log_buffer], SIZE, "by version", |said| said.engine.log_buffer = log_buffer(said.version.profile()).min(said.engine.log_file);
    /// The least cache of all databases together.
    cache_min: ByteSize = [engine.cache_min], SIZE, "by version" is neutral;
    /// The most; 16 pages to 1 TiB.
    cache_max: ByteSize = [engine.cache_max], SIZE, "by version";
    /// Logs that a recovery may have to replay; one log file at least.
    checkpoint_depth: ByteSize = [engine.checkpoint_depth], SIZE, "by version";
    /// Whether logs before the checkpoint are removed.
    circular_logging: bool = [|said| said.engine.circular != Circular::Off, |said, is_on| said.engine.circular = circular(said.version.profile(), is_on)], SWITCH, "by version" is neutral;
    /// Whether every page is read and checked in the background.
    background_maintenance: bool = [engine.background_maintenance], SWITCH, "by version";
    /// How a checkpoint writes: all that is due at once, or a little all the time.
    checkpoint_writes: CheckpointPacing = [engine.pacing], Word(&PACINGS), "by version";
    /// What background maintenance reads at a time, one page to 16 MiB.
    maintenance_read: ByteSize = [engine.maintenance.batch], SIZE, "by version";
    /// How long it pauses then, a millisecond at least.
    maintenance_sleep: Span = [engine.maintenance.sleep], time(read_sleep, "time"), "by version";
    /// Inserts among operations; what is left of 100 % reads.
    insert_percent: u32 = [|said| said.mix[0], |said, percent| said.mix[0] = percent], PERCENT, "by version";
    /// Deletes.
    delete_percent: u32 = [|said| said.mix[1], |said, percent| said.mix[1] = percent], PERCENT, "by version";
    /// Replaces.
    replace_percent: u32 = [|said| said.mix[2], |said, percent| said.mix[2] = percent], PERCENT, "by version";
    /// Commits that do not wait for the log.
    lazy_percent: u32 = [|said| said.mix[3], |said, percent| said.mix[3] = percent], PERCENT, "by version";
    /// Reads of the record that the session touched last.
    reads_again_percent: u32 = [load.reads_again_percent], PERCENT, "by version";
    /// Operations of a session in one go.
    batch_operations: u32 = [load.batch], Whole(1..=1_000_000), "by version";
    /// Reads in flight of a database during recovery; ESE never has more outstanding than the most.
    recovery_reads: Option<u32> = [engine.recovery_reads], Maybe(Whole(1..=1_024)), "8; predictions 64" is neutral;
}

/// Words for the ways of a checkpoint.
static PACINGS: [(&str, CheckpointPacing); 2] =
    [("burst", CheckpointPacing::Burst), ("trickle", CheckpointPacing::Trickle)];

/// Frames below which the engine cannot work: a path of the tree for a few sessions, and pages on
/// their way out.
const FRAMES_MIN: u64 = 16;
/// Four times the memory that Exchange 2019 can use (Microsoft, "Exchange Server system
/// requirements": 256 GB).
const CACHE_MAX: ByteSize = ByteSize::gib(1 << 10);
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

impl Said {
    /// What a version says for `instances` log streams.
    fn of(version: Version, instances: u64) -> Self {
        let figures = version.profile();
        let engine = EnginePlan::of(figures, instances);
        Self::with(Profile { version, engine, load: LoadPlan::of(figures) })
    }

    fn with(Profile { version, engine, load }: Profile) -> Self {
        let [insert, delete, replace] =
            [Kind::Insert, Kind::Delete, Kind::Replace].map(|kind| load.mix.percent(kind));
        Self { version, engine, load, mix: [insert, delete, replace, load.mix.lazy_percent()] }
    }
}

impl Profile {
    /// Reads `[profile]` of a scenario with `instances` log streams; beside it, where the size of
    /// the cache was written.
    pub(super) fn read(top: &mut Section, instances: u64) -> (Self, Placed<ByteSize>) {
        let mut section = PROFILE.open(top.table("profile"));
        let (first, others) = PROFILE.keys.split_first().expect("it has keys");
        let mut said = Said::of(Version::Exchange2013, instances);
        first.read(&mut section, &mut said);
        said = Said::of(said.version, instances);
        others.iter().for_each(|key| key.read(&mut section, &mut said));
        let engine = &mut said.engine;
        if !section.written("cache_min") {
            engine.cache_min = engine.cache_min.min(engine.cache_max);
        }
        section.sink().catch(check_engine(&section, engine));
        if let Some(mix) = section.sink().catch(read_mix(&section, said.mix)) {
            said.load.mix = mix;
        }
        let Said { version, engine, load, .. } = said;
        let place = section.place_of("cache_max").clone();
        (Self { version, engine, load }, Placed { value: engine.cache_max, place })
    }

    /// Writes `[profile]`.
    pub(super) fn write(&self, out: &mut String) {
        PROFILE.write(&Said::with(*self), out);
    }
}

/// Whether these sizes can work together.
fn check_engine(section: &Section, engine: &EnginePlan) -> Result<(), Refusal> {
    let refuse = |key: &str, what: String| Err(section.place_of(key).refuse(what));
    let within = |key: &str, size: ByteSize, least: ByteSize, most: ByteSize, most_name: &str| {
        if size < least {
            return refuse(key, format!("is less than {least}"));
        }
        match size > most {
            true => refuse(key, format!("is more than {most}, {most_name}")),
            false => Ok(()),
        }
    };
    let (page, log_file) = (ByteSize::bytes(engine.page.bytes_u64()), engine.log_file);
    within("log_file", log_file, LOG_FILE_MIN, LOG_FILE_MAX, "the most a log file can have")?;
    if !log_file.get().is_multiple_of(LOG_FILE_STEP) {
        return refuse("log_file", format!("is not a multiple of {LOG_FILE_STEP} bytes"));
    }
    within("log_buffer", engine.log_buffer, LOG_BUFFER_MIN, log_file, "one log file")?;
    let batch = engine.maintenance.batch;
    let most_name = "the most one read can be";
    within("maintenance_read", batch, page, MAINTENANCE_READ_MAX, most_name)?;
    let least = ByteSize::bytes(FRAMES_MIN * page.get());
    if engine.cache_max < least {
        let what = format!("is less than {FRAMES_MIN} pages of {} ({least})", engine.page);
        return refuse("cache_max", what);
    }
    if engine.cache_max > CACHE_MAX {
        return refuse("cache_max", format!("is more than {CACHE_MAX}"));
    }
    if engine.cache_min > engine.cache_max {
        let what = format!("is more than `cache_max` ({})", engine.cache_max);
        return refuse("cache_min", what);
    }
    check_log_holds(section.place_of("log_file"), engine)?;
    match engine.checkpoint_depth < log_file {
        true => refuse("checkpoint_depth", format!("is less than one log file ({log_file})")),
        false => Ok(()),
    }
}

fn read_sleep(node: &Node) -> Result<Span, Refusal> {
    match section::span(node)? {
        short if short < MAINTENANCE_SLEEP_MIN => {
            Err(node.place.refuse("is less than a millisecond"))
        }
        sleep => Ok(sleep),
    }
}

fn read_mix(section: &Section, mix: [u32; 4]) -> Result<Mix, Refusal> {
    let [insert, delete, replace, lazy] = mix;
    let keys = ["lazy_percent", "replace_percent", "delete_percent", "insert_percent"];
    let last = keys.into_iter().find(|key| section.written(key)).unwrap_or_default();
    Mix::new(insert, delete, replace, lazy).map_err(|error| {
        let refusal = section.place_of(last).refuse(error.to_string());
        refusal.hint(format!(
            "with what the version and the scenario say: insert {insert} %, delete {delete} %, replace {replace} %; reads are the rest"
        ))
    })
}

/// A log file holds every change of a page, with segments of either size.
fn check_log_holds(log_file: &Place, engine: &EnginePlan) -> Result<(), Refusal> {
    let page = engine.page;
    let bytes = usize::try_from(engine.log_file.get()).unwrap_or(usize::MAX);
    let holds = [512, 4096].iter().all(|segment| {
        let shape =
            SegmentSize::new(*segment).and_then(|segment| LogShape::checked(segment, bytes));
        shape.is_some_and(|shape| shape.holds_changes_of(page))
    });
    if holds {
        return Ok(());
    }
    let refusal = log_file.refuse(format!("is too small for pages of {page}"));
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
