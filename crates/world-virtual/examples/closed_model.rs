//! Measures the virtual executor: timer events per second of a closed queueing model. Prints one
//! line of JSON.
//!
//! 128 sessions draw one of 192 disks, queue there (first come, first served), are served for an
//! exponentially distributed time with a mean of 5 ms, and draw again. The mean response has a
//! closed form, (128 + 192 - 1) / 192 x 5 ms = 8.307 ms (product-form network with equal visits: an
//! arrival finds the mean queue of the network with one customer less). So the speed is known to be
//! that of a correct answer.
//!
//! Besides the wall clock it prints the processor time of its thread (Linux), because the machine
//! may be shared.
//!
//! `cargo run --release -p brunt-world-virtual --example closed_model [virtual seconds]`

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measuring program prints and reads the machine's clock"
)]

use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

use brunt_units::{Span, Time};
use brunt_world::World;
use brunt_world::sync::Limit;
use brunt_world_virtual::{VirtualOptions, VirtualWorld};

const SESSIONS: u32 = 128;
const DISKS: u64 = 192;
const SERVICE: Span = Span::millis(5);

#[derive(Default)]
struct Totals {
    requests: Cell<u64>,
    response_ns: Cell<u64>,
}

async fn session(world: World, disks: Rc<[Limit]>, totals: Rc<Totals>, number: u32, end: Time) {
    let mut stream = world.random.named(&format!("session/{number}"));
    loop {
        let begin = world.clock.now();
        if begin >= end {
            return;
        }
        let disk = usize::try_from(stream.below(DISKS)).expect("below 192");
        let turn = disks[disk].enter().await;
        world.sleep(stream.exponential(SERVICE)).await;
        drop(turn);
        let response = world.clock.now() - begin;
        totals.requests.set(totals.requests.get() + 1);
        totals.response_ns.set(totals.response_ns.get() + response.0);
    }
}

/// Processor time of this thread in nanoseconds, as the kernel counts it; 0 if unknown.
fn cpu_ns() -> u64 {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = said.split_whitespace().next();
    first.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let end = Time::ZERO + Span::seconds(seconds.unwrap_or(600));
    let mut made = VirtualWorld::new(VirtualOptions::default());
    let world = made.world.clone();
    let totals = Rc::new(Totals::default());
    let sums = Rc::clone(&totals);
    let (begin, cpu_begin) = (Instant::now(), cpu_ns());
    made.executor.block_on(async move {
        let tasks = world.spawner.tasks();
        let disks: Rc<[Limit]> = (0..DISKS).map(|_| Limit::new(tasks, 1)).collect();
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|number| session(world.clone(), Rc::clone(&disks), Rc::clone(&sums), number, end))
            .map(|session| world.spawner.spawn(session))
            .collect();
        for session in sessions {
            session.await;
        }
    });
    let elapsed = begin.elapsed().as_secs_f64();
    let cpu = (cpu_ns() - cpu_begin) as f64 / 1e9;
    let events = made.world.spawner.tasks().timers_set();
    println!(
        "{{\"events\": {events}, \"seconds\": {elapsed:.3}, \"cpu_seconds\": {cpu:.3}, \"events_per_second\": {:.0}, \
         \"events_per_cpu_second\": {:.0}, \
         \"polls_per_second\": {:.0}, \"response_ms_mean\": {:.4}, \"digest\": \"{:016x}\", \"request_digest\": \"{:016x}\"}}",
        events as f64 / elapsed,
        events as f64 / cpu,
        made.executor.polls() as f64 / elapsed,
        totals.response_ns.get() as f64 / totals.requests.get() as f64 / 1e6,
        made.machine.digest().value(),
        made.machine.requests()[0].value()
    );
}
