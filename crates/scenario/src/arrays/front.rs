//! `[array.front]`, `[array.controller]`, `[array.cache]` and `[array.scan]`.

use brunt_array::{
    CacheDesign, ControllerDesign, FlushPolicy, FrontDesign, PathPolicy, ScanDesign, Watermarks,
};
use brunt_units::{ByteSize, Span};

use super::super::keys::{COST, Key, SIZE, SWITCH, Whole, Word, keys};
use super::super::place::Placed;
use super::super::section::{self, Section};
use super::super::tree::Node;

keys! {
    FRONT = "[array.front]";
    /// Sets the time in the host, the latency and the rate of a port.
    TRANSPORT: Transport = "transport", Word(&TRANSPORTS), "`\"none\"`";
    /// Time in the host for a request.
    HOST_STACK: Span = "host_stack", COST, "by transport";
    /// Ports of each controller.
    PORTS: u32 = "ports", Whole(1..=64), "1";
    /// Bytes a second of a port in each direction; 0 for unlimited.
    PORT_RATE: ByteSize = "port_rate", SIZE, "by transport";
    /// One way.
    LATENCY: Span = "latency", COST, "by transport";
    /// Which ports hosts use: those of the owner in turn, those with the shortest queue, or all.
    PATHS: PathPolicy = "paths", Word(&POLICIES), "`\"optimised\"`";
}

keys! {
    CONTROLLER = "[array.controller]";
    /// Controllers.
    COUNT: u32 = "count", Whole(1..=2), "1";
    /// Processor cores of each.
    CORES: u32 = "cores", Whole(1..=256), "1";
    /// Processor time for a read.
    READ: Span = "read", COST, "0";
    /// Processor time for a write.
    WRITE: Span = "write", COST, "0";
    /// Processor time for a request to a drive, and at each end for a message between controllers.
    DEVICE_IO: Span = "device_io", COST, "0";
    /// What a core passes over in a second to checksum data and compute parities; 0 for unlimited.
    MEMORY_RATE: ByteSize = "memory_rate", SIZE, "`\"2500 MB\"`; 0 without the table";
    /// Bytes a second between two controllers; 0 for unlimited.
    LINK_RATE: ByteSize = "link_rate", SIZE, "0";
    /// One way between two controllers.
    LINK_LATENCY: Span = "link_latency", COST, "0";
    /// How long hosts wait when a LUN moves to the other controller.
    FAILOVER: Span = "failover", COST, "0";
}

keys! {
    CACHE = "[array.cache]";
    /// What is kept and written at a time: 512 bytes to 32 KiB.
    CACHE_PAGE: ByteSize = "page", SIZE, "`\"8 KiB\"`";
    /// Room for dirty data; 0 writes through.
    CACHE_WRITE: ByteSize = "write", SIZE, "`\"512 MiB\"`";
    /// Room for everything else, at least.
    CACHE_READ: ByteSize = "read", SIZE, "`\"128 MiB\"`";
    /// Flushing ends when so much of the room is dirty, in percent.
    LOW: u32 = "low", Whole(1..=100), "60";
    /// Flushing begins when so much of the room is dirty, in percent.
    HIGH: u32 = "high", Whole(1..=100), "80";
    /// How fast it flushes between the marks.
    FLUSH: FlushPolicy = "flush", Word(&FLUSHES), "`\"hysteresis\"`";
    /// It also flushes when hosts are idle this long.
    IDLE_AFTER: Span = "idle_after", COST, "`\"2s\"`";
    /// Writes of flushing in flight on a drive, two for each stripe.
    DESTAGES: u32 = "destages_per_drive", Whole(1..=64), "4";
    /// Whether two controllers keep copies of the dirty pages of each other.
    MIRRORED: bool = "mirrored", SWITCH, "`true`";
    /// Read-ahead of sequential readers.
    PREFETCH: ByteSize = "prefetch", SIZE, "`\"512 KiB\"`";
    /// Whether old data stay beside new while there is room, so that parity needs no read.
    KEEP_OLD: bool = "keep_old", SWITCH, "`true`";
}

keys! {
    SCAN = "[array.scan]";
    /// Read at a time.
    UNIT: ByteSize = "unit", SIZE, "`\"256 KiB\"`";
    /// Between two reads; above zero.
    PAUSE: Span = "pause", COST, "`\"100ms\"`";
}

static POLICIES: [(&str, PathPolicy); 3] = [
    ("optimised", PathPolicy::Optimised),
    ("least queue", PathPolicy::LeastQueue),
    ("all", PathPolicy::All),
];
static FLUSHES: [(&str, FlushPolicy); 2] =
    [("hysteresis", FlushPolicy::Hysteresis), ("proportional", FlushPolicy::Proportional)];

/// The rate at which a core passes over data, where a design does not say. Assumed: what one core
/// of a server of 2005 to 2012 reads from memory.
const MEMORY_RATE_USUAL: u64 = 2_500_000_000;

/// What is usual for a transport.
#[derive(Clone, Copy, PartialEq)]
struct Transport {
    host_stack: Span,
    latency: Span,
    bytes_per_s: u64,
}

/// Rates are line rates less their coding; stacks and latencies are assumed.
static TRANSPORTS: [(&str, Transport); 7] = [
    ("none", transport(0, 0, 0)),
    ("fc4", transport(20, 5, 400_000_000)),
    ("fc8", transport(20, 5, 800_000_000)),
    ("fc16", transport(15, 5, 1_600_000_000)),
    ("iscsi1", transport(80, 25, 118_000_000)),
    ("iscsi10", transport(60, 10, 1_180_000_000)),
    ("sas6", transport(15, 2, 2_400_000_000)),
];

const fn transport(stack_us: u64, latency_us: u64, rate: u64) -> Transport {
    let (host_stack, latency) = (Span::micros(stack_us), Span::micros(latency_us));
    Transport { host_stack, latency, bytes_per_s: rate }
}

pub(super) fn count(section: &mut Section, key: &str, usual: u32, most: u64) -> u32 {
    let read = |node: &Node| section::integer(node, 1..=most);
    let number = section.read_or(key, u64::from(usual), read);
    u32::try_from(number.value).expect("in range")
}

/// A rate is written as the size that passes in a second.
fn rate(section: &mut Section, key: &Key<ByteSize>, usual: u64) -> u64 {
    section.get(key, ByteSize::bytes(usual)).value.get()
}

pub(super) fn read_front(array: &mut Section) -> FrontDesign {
    let mut section = Section::of(array.table("front"), &FRONT);
    let usual = section.get(&TRANSPORT, TRANSPORTS[0].1).value;
    FrontDesign {
        host_stack: section.get(&HOST_STACK, usual.host_stack).value,
        ports: section.get(&PORTS, 1).value,
        port_bytes_per_s: rate(&mut section, &PORT_RATE, usual.bytes_per_s),
        latency: section.get(&LATENCY, usual.latency).value,
        paths: section.get(&PATHS, PathPolicy::Optimised).value,
    }
}

pub(super) fn read_controller(array: &mut Section) -> ControllerDesign {
    let usual = ControllerDesign::default();
    // One that is not described takes no time at all.
    let is_written = array.has("controller");
    let memory = if is_written { MEMORY_RATE_USUAL } else { usual.memory_bytes_per_s };
    let mut section = Section::of(array.table("controller"), &CONTROLLER);
    let count = section.get(&COUNT, usual.count).value;
    let between = [LINK_RATE.name, LINK_LATENCY.name, FAILOVER.name];
    if let (1, Some(node)) = (count, between.iter().find_map(|key| section.take(key))) {
        let refusal = node.place.refuse("is for two controllers only");
        section.refuse(refusal.hint("count = 2, or without this key"));
    }
    let (link_bytes_per_s, link_latency, failover) = match count {
        1 => (usual.link_bytes_per_s, usual.link_latency, usual.failover),
        _ => (
            rate(&mut section, &LINK_RATE, usual.link_bytes_per_s),
            section.get(&LINK_LATENCY, usual.link_latency).value,
            section.get(&FAILOVER, usual.failover).value,
        ),
    };
    ControllerDesign {
        count,
        cores: section.get(&CORES, usual.cores).value,
        read: section.get(&READ, usual.read).value,
        write: section.get(&WRITE, usual.write).value,
        device_io: section.get(&DEVICE_IO, usual.device_io).value,
        memory_bytes_per_s: rate(&mut section, &MEMORY_RATE, memory),
        link_bytes_per_s,
        link_latency,
        failover,
    }
}

/// There is no cache without its table.
pub(super) fn read_cache(array: &mut Section) -> Option<CacheDesign> {
    let usual = CacheDesign::default();
    let mut section = Section::of(array.take("cache")?, &CACHE);
    let page = section.get(&CACHE_PAGE, usual.page).value;
    let sink = section.sink().clone();
    let room = |room: Placed<ByteSize>| {
        if room.value.get() > 0 && room.value < page {
            let what = format!("has no room for a page of {page}");
            sink.refuse(room.place.refuse(what).hint("0 B is for no room at all"));
        }
        room.value
    };
    Some(CacheDesign {
        page,
        write: room(section.get(&CACHE_WRITE, usual.write)),
        read: room(section.get(&CACHE_READ, usual.read)),
        marks: Watermarks {
            low: section.get(&LOW, usual.marks.low).value,
            high: section.get(&HIGH, usual.marks.high).value,
            policy: section.get(&FLUSH, FlushPolicy::Hysteresis).value,
        },
        idle_after: section.get(&IDLE_AFTER, usual.idle_after).value,
        destages_per_drive: section.get(&DESTAGES, usual.destages_per_drive).value,
        mirrored: section.get(&MIRRORED, usual.mirrored).value,
        prefetch: section.get(&PREFETCH, usual.prefetch).value,
        keeps_old: section.get(&KEEP_OLD, usual.keeps_old).value,
    })
}

/// There is no media scan without its table.
pub(super) fn read_scan(array: &mut Section) -> Option<ScanDesign> {
    let mut section = Section::of(array.take("scan")?, &SCAN);
    let pause = section.get(&PAUSE, Span::millis(100));
    if pause.value == Span::ZERO {
        section.refuse(pause.place.refuse("a media scan pauses between its reads"));
    }
    let unit = section.get(&UNIT, ByteSize::kib(256)).value;
    Some(ScanDesign { unit, pause: pause.value })
}
