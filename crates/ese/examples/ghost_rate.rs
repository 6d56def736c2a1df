//! Measures how fast an engine of ghosts is simulated: `cargo run --release -p brunt-ese --example
//! ghost_rate`.
//!
//! 128 sessions work on five databases of a million 32 KiB pages each (160 GiB) with a cache of
//! 32,768 frames (1 GiB). Each operation touches a random page, two of five change it, and every
//! tenth change waits for the log. The device takes 5 ms for a page and 300 µs for a log write.
//! Prints the device requests simulated per second of one core.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a measurement of real time")]

use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;

use brunt_ese::cache::{Cache, CacheOptions, Trust};
use brunt_ese::content::Ghost;
use brunt_ese::format::stamp::RunId;
use brunt_ese::instance::{Circular, Instance, InstanceOptions};
use brunt_ese::log::{Durability, FlushReason, LogShape};
use brunt_ese::meter::MeterBoard;
use brunt_ese::policy::checkpoint::Pacing;
use brunt_units::{ByteSize, PageNumber, PageSize, Span, Time};
use brunt_world::{Class, World};
use brunt_world_virtual::{Delay, Request, VirtualOptions, VirtualWorld};

const DATABASES: u8 = 5;
const PAGES: u32 = 1_000_000;
const SESSIONS: u64 = 128;
const SIMULATED: Span = Span::seconds(60);

fn main() {
    let requests = Rc::new(Cell::new(0_u64));
    let count = Rc::clone(&requests);
    let device = Delay(move |_: Time, request: &Request| {
        count.set(count.get() + 1);
        match request.class {
            Class::Log => Span::micros(300),
            _ => Span::millis(5),
        }
    });
    let mut virtual_world = VirtualWorld::new(VirtualOptions {
        devices: vec![Box::new(device)],
        ..VirtualOptions::new(1)
    });
    let world = virtual_world.world.clone();
    let began = Instant::now();
    let operations = virtual_world.executor.block_on(simulate(world));
    let seconds = began.elapsed().as_secs_f64();
    let requests = requests.get();
    println!("{operations} operations and {requests} requests in {SIMULATED} simulated");
    #[expect(clippy::cast_precision_loss, reason = "a printed figure")]
    let rate = requests as f64 / seconds;
    println!("{seconds:.2} s of one core: {rate:.0} requests per second and core");
}

async fn simulate(world: World) -> u64 {
    let meters = Rc::new(MeterBoard::new(usize::from(DATABASES), 1));
    let cache_options = CacheOptions::new(PageSize::KIB_32, 32_768);
    let cache = Cache::<Ghost>::new(&world, cache_options, meters);
    let instance = Instance::start_blank(&world, &cache, options(), &[PAGES; DATABASES as usize]);
    let instance = instance.await.expect("a new instance");
    let end = world.clock.now() + SIMULATED;
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let work = session(world.clone(), instance.clone(), number, end);
            world.spawner.spawn(work)
        })
        .collect();
    let mut operations = 0;
    for session in sessions {
        operations += session.await;
    }
    instance.shut_down().await.expect("nothing fails here");
    operations
}

async fn session(world: World, instance: Instance<Ghost>, number: u64, end: Time) -> u64 {
    let mut draw = world.random.named(&format!("session/{number}"));
    let (cache, log) = (instance.cache(), instance.log());
    let mut operations = 0;
    while world.clock.now() < end {
        let database = u8::try_from(draw.below(u64::from(DATABASES))).expect("few databases");
        let page = u32::try_from(draw.below(u64::from(PAGES))).expect("below 2^32");
        let page = PageNumber(page).after(1);
        let pin = cache.fetch(database, page, Trust::Verified).await;
        let pin = pin.expect("ghosts are sound");
        if draw.percent(40) {
            log.room().await.expect("nothing fails here");
            let time = cache.time(database).next();
            let appended = log.append(1200);
            cache.changed(database, &[page], appended, time);
            drop(pin);
            if draw.percent(10) {
                let flushed = log.flushed(appended.end, FlushReason::Commit).await;
                flushed.expect("nothing fails here");
            }
        }
        world.clock.spend(Span::micros(50)).await;
        operations += 1;
    }
    operations
}

fn options() -> InstanceOptions {
    InstanceOptions {
        number: 0,
        log_directory: PathBuf::from("/log"),
        databases: (0..DATABASES)
            .map(|number| PathBuf::from(format!("/data/{number}.edb")))
            .collect(),
        page_size: PageSize::KIB_32,
        log: LogShape::new(4096, 1 << 20),
        log_buffer_units: 2048,
        lazy_wait: Span::millis(30),
        durability: Durability::WriteThrough,
        checkpoint_depth: ByteSize::mib(20),
        pacing: Pacing::TRICKLE,
        format_chunk: None,
        circular: Circular::Reuse,
        growth_pages: 256,
        run: RunId(1),
        epoch_ms: 0,
    }
}
