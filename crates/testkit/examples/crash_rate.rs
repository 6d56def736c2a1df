//! How fast the crash search runs on one small configuration: crash, recover, compare. Prints one
//! line of JSON.
//!
//! A table and its index in a database of 256 pages of 4 KiB, four logs of 64 KiB, a crash at every
//! tenth I/O boundary with one sample of the surviving state. For every fourth crash, all trees and
//! all space are walked, and recovery is interrupted and repeated. `brunt prove` also draws larger
//! pages, long values and full volumes, and is therefore slower.
//!
//! Rates are per second of the thread's processor time (Linux), because the machine may be shared;
//! running the stories is included.
//!
//! `cargo run --release -p brunt-testkit --example crash_rate [crashes]`

#![expect(clippy::print_stdout, reason = "a measuring program prints what it found")]

use brunt_testkit::crash::{Configuration, Coverage, Search, Work};
use brunt_units::ByteSize;
use brunt_world::Frames;

/// Growing in these steps, a database of 24 pages reaches 256.
const GROWTH_PAGES: u32 = 128;
/// Three logs may have to be replayed, and one more is being written.
const CHECKPOINT_DEPTH: ByteSize = ByteSize::kib(3 * 64);

/// Nanoseconds of CPU time of this thread, from the kernel; 0 where unavailable.
fn cpu_ns() -> u64 {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = said.split_whitespace().next();
    first.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn main() {
    let wanted = std::env::args().nth(1);
    let wanted = wanted.map_or(10_000, |text| text.parse().expect("a number of crashes"));
    let frames = Frames::in_memory();
    let mut coverage = Coverage::default();
    let begun = cpu_ns();
    for seed in 1.. {
        let search = Search {
            configuration: Configuration {
                growth_pages: GROWTH_PAGES,
                checkpoint_depth: CHECKPOINT_DEPTH,
                ..Configuration::new(seed, Work::Records)
            },
            every: 10,
            first_sample: seed,
            samples: 1,
            deep_every: 4,
        };
        let found = search.run_on(&frames, &mut coverage);
        found.unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        if coverage.steps >= wanted {
            break;
        }
    }
    let minutes = (cpu_ns() - begun) as f64 / 60e9;
    let rate = |count: u64| (count as f64 / minutes).round();
    println!(
        "{{\"crashes\": {}, \"stories\": {}, \"files\": {}, \"states\": {}, \"ways\": {}, \"recoveries\": {}, \
         \"crashes_in_recovery\": {}, \"walks\": {}, \"cpu_minutes\": {minutes:.3}, \"crashes_per_cpu_minute\": {}, \
         \"states_per_cpu_minute\": {}}}",
        coverage.steps,
        coverage.stories,
        coverage.images(),
        coverage.states(),
        coverage.paths(),
        coverage.recoveries,
        coverage.second_crashes,
        coverage.walks,
        rate(coverage.steps),
        rate(coverage.states()),
    );
}
