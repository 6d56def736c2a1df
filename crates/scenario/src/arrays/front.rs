//! `[array.front]`, `[array.controller]`, `[array.cache]` and `[array.scan]`.

use brunt_array::{
    CacheDesign, ControllerDesign, FlushPolicy, FrontDesign, PathPolicy, ScanDesign,
};
use brunt_units::{ByteSize, Span};

use super::super::keys::{BYTES, COST, Maybe, SIZE, SWITCH, Whole, Word, keys};
use super::super::section::Section;

/// A front end while it is read.
pub(crate) struct Front {
    transport: Transport,
    design: FrontDesign,
}

keys! {
    FRONT of Front = "[array.front]";
    /// Sets the time in the host, the latency and the rate of a port.
    transport: Transport = [transport], Word(&TRANSPORTS), "`\"none\"`";
    /// Time in the host for a request.
    host_stack: Span = [design.host_stack], COST, "by transport", |front| front.design.host_stack = front.transport.host_stack;
    /// Ports of each controller.
    ports: u32 = [design.ports], Whole(1..=64), "1";
    /// Bytes a second of a port in each direction; 0 for unlimited.
    port_rate: u64 = [design.port_bytes_per_s], BYTES, "by transport", |front| front.design.port_bytes_per_s = front.transport.bytes_per_s;
    /// One way.
    latency: Span = [design.latency], COST, "by transport", |front| front.design.latency = front.transport.latency;
    /// Which ports hosts use: those of the owner in turn, those with the shortest queue, or all.
    paths: PathPolicy = [design.paths], Word(&POLICIES), "`\"optimised\"`";
}

keys! {
    CONTROLLER of ControllerDesign = "[array.controller]";
    /// Controllers.
    count: u32 = [count], Whole(1..=2), "1";
    /// Bytes a second between two controllers. Without effect yet: models were fitted without it.
    link_rate: Option<u64> = [|of| between(of, of.link_bytes_per_s), |of, rate| of.link_bytes_per_s = rate.unwrap_or_default()], Maybe(BYTES), "0";
    /// One way between two controllers.
    link_latency: Option<Span> = [|of| between(of, of.link_latency), |of, latency| of.link_latency = latency.unwrap_or_default()], Maybe(COST), "0";
    /// How long hosts wait when a LUN moves to the other controller.
    failover: Option<Span> = [|of| between(of, of.failover), |of, wait| of.failover = wait.unwrap_or_default()], Maybe(COST), "0";
    /// Processor cores of each.
    cores: u32 = [cores], Whole(1..=256), "1";
    /// Processor time for a read.
    read: Span = [read], COST, "0";
    /// Processor time for a write.
    write: Span = [write], COST, "0";
    /// Processor time for a request to a drive, and at each end for a message between controllers.
    device_io: Span = [device_io], COST, "0";
    /// What a core passes over in a second to checksum data and compute parities; 0 for unlimited.
    memory_rate: u64 = [memory_bytes_per_s], BYTES, "`\"2500 MB\"`; 0 without the table";
}

keys! {
    CACHE of CacheDesign = "[array.cache]";
    /// What is kept and written at a time: 512 bytes to 32 KiB.
    page: ByteSize = [page], SIZE, "`\"8 KiB\"`";
    /// Room for dirty data; 0 writes through.
    write: ByteSize = [write], SIZE, "`\"512 MiB\"`";
    /// Room for everything else, at least.
    read: ByteSize = [read], SIZE, "`\"128 MiB\"`";
    /// Flushing ends when so much of the room is dirty, in percent.
    low: u32 = [marks.low], Whole(1..=100), "60";
    /// Flushing begins when so much of the room is dirty, in percent.
    high: u32 = [marks.high], Whole(1..=100), "80";
    /// How fast it flushes between the marks.
    flush: FlushPolicy = [marks.policy], Word(&FLUSHES), "`\"hysteresis\"`";
    /// It also flushes when hosts are idle this long.
    idle_after: Span = [idle_after], COST, "`\"2s\"`";
    /// Writes of flushing in flight on a drive, two for each stripe.
    destages_per_drive: u32 = [destages_per_drive], Whole(1..=64), "4";
    /// Whether two controllers keep copies of the dirty pages of each other.
    mirrored: bool = [mirrored], SWITCH, "`true`";
    /// Read-ahead of sequential readers.
    prefetch: ByteSize = [prefetch], SIZE, "`\"512 KiB\"`";
    /// Whether old data stay beside new while there is room, so that parity needs no read.
    keep_old: bool = [keeps_old], SWITCH, "`true`";
}

keys! {
    SCAN of ScanDesign = "[array.scan]";
    /// Read at a time.
    unit: ByteSize = [unit], SIZE, "`\"256 KiB\"`";
    /// Between two reads; above zero.
    pause: Span = [pause], COST, "`\"100ms\"`";
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
pub(crate) struct Transport {
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

/// `value` where there are two controllers.
fn between<T>(design: &ControllerDesign, value: T) -> Option<T> {
    (design.count > 1).then_some(value)
}

pub(super) fn read_front(array: &mut Section) -> FrontDesign {
    let mut front = Front { transport: TRANSPORTS[0].1, design: FrontDesign::default() };
    FRONT.read(array.table("front"), &mut front);
    front.design
}

pub(super) fn read_controller(array: &mut Section) -> ControllerDesign {
    let mut design = ControllerDesign::default();
    // One that is not described takes no time at all.
    if array.has("controller") {
        design.memory_bytes_per_s = MEMORY_RATE_USUAL;
    }
    let section = CONTROLLER.read(array.table("controller"), &mut design);
    let between = ["link_rate", "link_latency", "failover"];
    if let (1, Some(key)) = (design.count, between.iter().find(|key| section.written(key))) {
        let refusal = section.place_of(key).refuse("is for two controllers only");
        section.refuse(refusal.hint("count = 2, or without this key"));
    }
    // Models were fitted, and their errors measured, without a limit between controllers: it takes
    // effect when that is done anew. The kept scenario says what was simulated.
    if design.count > 1 && section.written("link_rate") {
        design.link_bytes_per_s = 0;
        section.keep("link_rate", &ByteSize::bytes(0));
    }
    design
}

/// There is no cache without its table.
pub(super) fn read_cache(array: &mut Section) -> Option<CacheDesign> {
    let mut design = CacheDesign::default();
    let section = CACHE.read(array.take("cache")?, &mut design);
    for (key, room) in [("write", design.write), ("read", design.read)] {
        if room.get() > 0 && room < design.page {
            let what = format!("has no room for a page of {}", design.page);
            let refusal = section.place_of(key).refuse(what);
            section.refuse(refusal.hint("0 B is for no room at all"));
        }
    }
    if let Err(error) = design.check_room() {
        let key = if design.read > design.write { "read" } else { "write" };
        section.refuse(section.place_of(key).refuse(error.to_string()));
    }
    Some(design)
}

/// There is no media scan without its table.
pub(super) fn read_scan(array: &mut Section) -> Option<ScanDesign> {
    let mut design = ScanDesign { unit: ByteSize::kib(256), pause: Span::millis(100) };
    let section = SCAN.read(array.take("scan")?, &mut design);
    if design.pause == Span::ZERO {
        let what = "a media scan pauses between its reads";
        section.refuse(section.place_of("pause").refuse(what));
    }
    Some(design)
}
