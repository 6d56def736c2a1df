//! How fast array models run. Prints one line of JSON.
//!
//! `drive`: one Cheetah 15K.5, random reads of 8 KiB, one at a time. `raid10`: 48 of them in mirror
//! pairs, with cache, two controllers and ports, 384 random requests of 8 KiB at once, two reads
//! per write. A rate is only valid if the result is right: the drive's mean response must be a
//! seek, half a turn, overhead and transfer, and each of the 48 drives must be busy.
//!
//! Besides wall-clock time it prints the processor time of its thread (Linux), because the machine
//! may be shared.
//!
//! `cargo run --release -p brunt-array --example array_rate -- drive|raid10 [virtual seconds]`

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measuring program prints and reads the machine's clock"
)]

use std::time::Instant;

use brunt_array::drive::library;
use brunt_array::{
    Array, ArrayDesign, CacheDesign, ControllerDesign, Extent, Finished, FrontDesign, HostIo,
    Level, PathPolicy, Verb,
};
use brunt_units::{ByteSize, Span, Time};
use brunt_world::random::Streams;

const SECTORS: u64 = 16;

fn drive() -> ArrayDesign {
    let model = library::find("cheetah-15k5-146-fc").expect("it is in the library");
    ArrayDesign::one_group(&model, 1, Level::Raid0)
}

fn raid10() -> ArrayDesign {
    let model = library::find("cheetah-15k5-146-fc").expect("it is in the library");
    let mut design = ArrayDesign::one_group(&model, 48, Level::Raid10);
    design.front = FrontDesign {
        host_stack: Span::micros(20),
        ports: 2,
        port_bytes_per_s: 400_000_000,
        latency: Span::micros(5),
        paths: PathPolicy::Optimised,
    };
    design.controller = ControllerDesign {
        count: 2,
        cores: 4,
        read: Span::micros(100),
        write: Span::micros(150),
        link_bytes_per_s: 800_000_000,
        ..ControllerDesign::default()
    };
    design.cache = Some(CacheDesign {
        write: ByteSize::mib(512),
        read: ByteSize::mib(128),
        ..CacheDesign::default()
    });
    design
}

/// Nanoseconds of CPU time of this thread, from the kernel; 0 where unavailable.
fn cpu_ns() -> u64 {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = said.split_whitespace().next();
    first.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "drive".to_owned());
    let seconds: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(5_000);
    let (design, outstanding, read_percent) = match name.as_str() {
        "raid10" => (raid10(), 384, 67),
        _ => (drive(), 1, 100),
    };
    let streams = Streams::new(1);
    let mut array = Array::new(&design, streams.part("array")).expect("the design is sound");
    let mut stream = streams.named("load");
    let places = array.lun_size(0).get().div_euclid(512 * SECTORS);
    let mut ask = |array: &mut Array, now: Time| {
        let verb = if stream.percent(read_percent) { Verb::Read } else { Verb::Write };
        let extent = Extent::new(stream.below(places) * SECTORS, SECTORS);
        array.submit(now, HostIo { lun: 0, verb, extent, tag: 0 });
    };
    let (begin, cpu_begin) = (Instant::now(), cpu_ns());
    for _ in 0..outstanding {
        ask(&mut array, Time::ZERO);
    }
    let end = Time::ZERO + Span::seconds(seconds);
    let mut done: Vec<Finished> = Vec::new();
    let (mut requests, mut response_ns) = (0_u64, 0_u64);
    while let Some(now) = array.next_at().filter(|at| *at <= end) {
        array.advance(now);
        done.extend(array.finished());
        for one in done.drain(..) {
            requests += 1;
            response_ns += (one.at - one.submitted_at).0;
            ask(&mut array, now);
        }
    }
    let elapsed = begin.elapsed().as_secs_f64();
    let cpu = (cpu_ns() - cpu_begin) as f64 / 1e9;
    let busy = array.drive_stats().iter().map(|drive| drive.utilisation()).fold(1.0, f64::min);
    let device_ios = array.device_ios();
    println!(
        "{{\"requests\": {requests}, \"device_ios\": {device_ios}, \"events\": {}, \"seconds\": {elapsed:.3}, \
         \"cpu_seconds\": {cpu:.3}, \"requests_per_cpu_second\": {:.0}, \"device_ios_per_cpu_second\": {:.0}, \
         \"response_ms_mean\": {:.4}, \"utilisation_min\": {busy:.4}}}",
        array.events(),
        requests as f64 / cpu,
        device_ios as f64 / cpu,
        response_ns as f64 / requests.max(1) as f64 / 1e6,
    );
}
