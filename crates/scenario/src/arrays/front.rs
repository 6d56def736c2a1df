//! `[array.front]`, `[array.controller]`, `[array.cache]` and `[array.scan]`.

use brunt_array::{
    CacheDesign, ControllerDesign, FlushPolicy, FrontDesign, PathPolicy, ScanDesign, Watermarks,
};
use brunt_units::{ByteSize, Span};

use super::super::place::Refusal;
use super::super::section::{self, Section};
use super::super::tree::Node;

pub(crate) const FRONT_KEYS: [&str; 6] =
    ["transport", "host_stack", "ports", "port_rate", "latency", "paths"];
pub(crate) const CONTROLLER_KEYS: [&str; 9] = [
    "count",
    "cores",
    "read",
    "write",
    "device_io",
    "memory_rate",
    "link_rate",
    "link_latency",
    "failover",
];
pub(crate) const CACHE_KEYS: [&str; 11] = [
    "page",
    "write",
    "read",
    "low",
    "high",
    "flush",
    "idle_after",
    "destages_per_drive",
    "mirrored",
    "prefetch",
    "keep_old",
];
pub(crate) const SCAN_KEYS: [&str; 2] = ["unit", "pause"];
const PATHS: [(&str, PathPolicy); 3] = [
    ("optimised", PathPolicy::Optimised),
    ("least queue", PathPolicy::LeastQueue),
    ("all", PathPolicy::All),
];
const FLUSHES: [(&str, FlushPolicy); 2] =
    [("hysteresis", FlushPolicy::Hysteresis), ("proportional", FlushPolicy::Proportional)];

/// The rate at which a core passes over data, where a design does not say. Assumed: what one core
/// of a server of 2005 to 2012 reads from memory.
const MEMORY_RATE: u64 = 2_500_000_000;

/// A transport with what is usual for it: host stack, one-way latency, bytes per second.
struct Transport {
    word: &'static str,
    host_stack: Span,
    latency: Span,
    bytes_per_s: u64,
}

/// Rates are line rates less their coding; stacks and latencies are assumed.
const TRANSPORTS: [Transport; 7] = [
    transport("none", 0, 0, 0),
    transport("fc4", 20, 5, 400_000_000),
    transport("fc8", 20, 5, 800_000_000),
    transport("fc16", 15, 5, 1_600_000_000),
    transport("iscsi1", 80, 25, 118_000_000),
    transport("iscsi10", 60, 10, 1_180_000_000),
    transport("sas6", 15, 2, 2_400_000_000),
];

const fn transport(word: &'static str, stack_us: u64, latency_us: u64, rate: u64) -> Transport {
    Transport {
        word,
        host_stack: Span::micros(stack_us),
        latency: Span::micros(latency_us),
        bytes_per_s: rate,
    }
}

/// The table `key` of the array; `None` when it is not there.
fn table(array: &mut Section, key: &str, keys: &[&str]) -> Result<Option<Section>, Refusal> {
    let node = array.take(key);
    node.map(|node| Section::new(node, &format!("[array.{key}]"), keys)).transpose()
}

pub(super) fn count(
    section: &mut Section,
    key: &str,
    usual: u32,
    most: u64,
) -> Result<u32, Refusal> {
    let read = |node: &Node| section::integer(node, 1..=most);
    let number = section.read_or(key, u64::from(usual), read)?;
    Ok(u32::try_from(number.value).expect("in range"))
}

/// A rate is written as the size that passes in a second.
fn rate(section: &mut Section, key: &str, usual: u64) -> Result<u64, Refusal> {
    let usual = ByteSize::bytes(usual);
    Ok(section.read_or(key, usual, section::size)?.value.get())
}

/// A length of time; costs may be less than a millisecond.
pub(crate) fn cost(node: &Node) -> Result<Span, Refusal> {
    if let Ok(text) = section::text(node)
        && let Some(number) = text.trim().strip_suffix("us")
        && let Ok(micros) = number.trim().parse::<f64>()
        && (0.0..1e9).contains(&micros)
    {
        return Ok(Span::from_seconds(micros / 1e6));
    }
    section::span(node).map_err(|refusal| refusal.hint("short times can be written as \"150us\""))
}

fn spend(section: &mut Section, key: &str, usual: Span) -> Result<Span, Refusal> {
    Ok(section.read_or(key, usual, cost)?.value)
}

pub(super) fn read_front(array: &mut Section) -> Result<FrontDesign, Refusal> {
    let mut section = Section::new(array.table("front"), "[array.front]", &FRONT_KEYS)?;
    let words: [(&str, usize); 7] = std::array::from_fn(|at| (TRANSPORTS[at].word, at));
    let usual = &TRANSPORTS[section.choice_or("transport", 0, &words)?.value];
    let paths = section.choice_or("paths", PATHS[0].1, &PATHS)?;
    Ok(FrontDesign {
        host_stack: spend(&mut section, "host_stack", usual.host_stack)?,
        ports: count(&mut section, "ports", 1, 64)?,
        port_bytes_per_s: rate(&mut section, "port_rate", usual.bytes_per_s)?,
        latency: spend(&mut section, "latency", usual.latency)?,
        paths: paths.value,
    })
}

pub(super) fn read_controller(array: &mut Section) -> Result<ControllerDesign, Refusal> {
    let usual = ControllerDesign::default();
    // One that is not described takes no time at all.
    let is_written = array.has("controller");
    let memory = if is_written { MEMORY_RATE } else { usual.memory_bytes_per_s };
    let mut section =
        Section::new(array.table("controller"), "[array.controller]", &CONTROLLER_KEYS)?;
    let count_of = count(&mut section, "count", usual.count, 2)?;
    let between = ["link_rate", "link_latency", "failover"];
    if let (1, Some(node)) = (count_of, between.iter().find_map(|key| section.take(key))) {
        let refusal = node.place.refuse("is for two controllers only");
        return Err(refusal.hint("count = 2, or without this key"));
    }
    let (link_bytes_per_s, link_latency, failover) = match count_of {
        1 => (usual.link_bytes_per_s, usual.link_latency, usual.failover),
        _ => (
            rate(&mut section, "link_rate", usual.link_bytes_per_s)?,
            spend(&mut section, "link_latency", usual.link_latency)?,
            spend(&mut section, "failover", usual.failover)?,
        ),
    };
    Ok(ControllerDesign {
        count: count_of,
        cores: count(&mut section, "cores", usual.cores, 256)?,
        read: spend(&mut section, "read", usual.read)?,
        write: spend(&mut section, "write", usual.write)?,
        device_io: spend(&mut section, "device_io", usual.device_io)?,
        memory_bytes_per_s: rate(&mut section, "memory_rate", memory)?,
        link_bytes_per_s,
        link_latency,
        failover,
    })
}

pub(super) fn read_cache(array: &mut Section) -> Result<Option<CacheDesign>, Refusal> {
    let usual = CacheDesign::default();
    let Some(mut section) = table(array, "cache", &CACHE_KEYS)? else {
        return Ok(None);
    };
    let size = |section: &mut Section, key: &str, usual: ByteSize| -> Result<ByteSize, Refusal> {
        Ok(section.read_or(key, usual, section::size)?.value)
    };
    let flush = section.choice_or("flush", FLUSHES[0].1, &FLUSHES)?;
    let page = size(&mut section, "page", usual.page)?;
    let room = |section: &mut Section, key: &str, usual: ByteSize| -> Result<ByteSize, Refusal> {
        let room = section.read_or(key, usual, section::size)?;
        match room.value.get() {
            1.. if room.value < page => {
                let what = format!("has no room for a page of {page}");
                Err(room.place.refuse(what).hint("0 B is for no room at all"))
            }
            _ => Ok(room.value),
        }
    };
    Ok(Some(CacheDesign {
        page,
        write: room(&mut section, "write", usual.write)?,
        read: room(&mut section, "read", usual.read)?,
        marks: Watermarks {
            low: count(&mut section, "low", usual.marks.low, 100)?,
            high: count(&mut section, "high", usual.marks.high, 100)?,
            policy: flush.value,
        },
        idle_after: spend(&mut section, "idle_after", usual.idle_after)?,
        destages_per_drive: count(
            &mut section,
            "destages_per_drive",
            usual.destages_per_drive,
            64,
        )?,
        mirrored: section.read_or("mirrored", usual.mirrored, section::switch)?.value,
        prefetch: size(&mut section, "prefetch", usual.prefetch)?,
        keeps_old: section.read_or("keep_old", usual.keeps_old, section::switch)?.value,
    }))
}

pub(super) fn read_scan(array: &mut Section) -> Result<Option<ScanDesign>, Refusal> {
    let Some(mut section) = table(array, "scan", &SCAN_KEYS)? else {
        return Ok(None);
    };
    let pause = section.read_or("pause", Span::millis(100), cost)?;
    if pause.value == Span::ZERO {
        return Err(pause.place.refuse("a media scan pauses between its reads"));
    }
    Ok(Some(ScanDesign {
        unit: section.read_or("unit", ByteSize::kib(256), section::size)?.value,
        pause: pause.value,
    }))
}
