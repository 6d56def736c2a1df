//! Random I/O at a fixed depth, for comparing the real world with fio.
//!
//! ```text
//!   random_io FILE BYTES DEPTH SECONDS BACKEND MEMORY     BACKEND: auto, registered, unregistered, threads
//! ```
//!
//! Frames are reused in a ring of MEMORY bytes. With 0, each frame is reused at once, as in fio,
//! and stays in the processor's caches. A storage engine reads into a cache of many pages, and a
//! device that copies memory, such as a virtual disk, is then slower.
//!
//! Fills FILE with BYTES bytes once (a file of that length is used as it is), then keeps DEPTH
//! requests of 32 KiB in flight for SECONDS: 60 % reads, 40 % writes, at random offsets. Prints one
//! line of JSON. The first tenth of the time is not counted.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

use brunt_units::{Span, Time};
use brunt_world::random::Stream;
use brunt_world::{Class, FileId, Frame, Io, OpenMode, World};
use brunt_world_real::facts::{ProcessUse, process_use};
use brunt_world_real::{Options, RealWorld};

const BLOCK: usize = 32 << 10;
const FILL: usize = 1 << 20;

struct Plan {
    path: PathBuf,
    blocks: u64,
    depth: usize,
    lasts: Span,
    frames: usize,
    options: Options,
}

fn plan() -> Option<Plan> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, bytes, depth, seconds, backend, memory] = words.as_slice() else {
        return None;
    };
    Some(Plan {
        path: path.into(),
        blocks: bytes.parse::<u64>().ok()?.div_euclid(BLOCK as u64),
        depth: depth.parse().ok()?,
        lasts: Span::seconds(seconds.parse().ok()?),
        frames: memory.parse::<usize>().ok()?.div_euclid(BLOCK),
        options: Options { backend: backend.parse().ok()?, ..Options::default() },
    })
}

/// Opens the file, or creates and fills it.
async fn open(world: &World, path: &Path, blocks: u64) -> FileId {
    let bytes = blocks * BLOCK as u64;
    if let Ok(file) = world.volume.open(path, OpenMode::Write).await {
        let length = world.volume.length(file).await;
        assert_eq!(length, Ok(bytes), "{} has another length", path.display());
        return file;
    }
    let file = world.volume.open(path, OpenMode::CreateNew).await;
    let file = file.expect("a new file");
    world.volume.allocate(file, bytes).await.expect("room");
    let mut frame = world.frames.take(FILL);
    world.random.named("content").fill(&mut frame);
    let frame = Rc::new(frame);
    for offset in (0..bytes).step_by(FILL) {
        let write = Io::write(Class::Create, file, offset, &frame);
        world.disk.submit(write).await.result.expect("a write");
    }
    file
}

/// One of DEPTH workers: one I/O after the other until `end`.
async fn work(
    world: World,
    file: FileId,
    plan: Rc<Plan>,
    mut random: Stream,
    ring: Ring,
    counted: Counted,
) {
    let end = world.clock.now() + plan.lasts;
    while world.clock.now() < end {
        let frame = ring.borrow_mut().pop_front();
        let frame = frame.expect("one for each in flight");
        let offset = random.below(plan.blocks) * BLOCK as u64;
        let io = if random.percent(60) {
            Io::read(Class::Database, file, offset, frame)
        } else {
            Io::write(Class::Database, file, offset, &Rc::new(frame))
        };
        let done = world.disk.submit(io).await;
        counted.borrow_mut().push(done.latency());
        done.result.expect("an I/O");
        drop(done.segments);
        ring.borrow_mut().push_back(world.frames.take(BLOCK));
    }
}

/// Frames in order of use.
type Ring = Rc<RefCell<VecDeque<Frame>>>;

/// Latencies of completed I/O since counting began.
type Counted = Rc<RefCell<Vec<Span>>>;

async fn measure(world: World, plan: Rc<Plan>) -> serde_json::Value {
    let file = open(&world, &plan.path, plan.blocks).await;
    let counted = Counted::default();
    let frames = (0..plan.frames.max(plan.depth)).map(|_| world.frames.zeroed(BLOCK));
    let ring: Ring = Rc::new(RefCell::new(frames.collect()));
    let workers: Vec<_> = (0..plan.depth)
        .map(|number| {
            let random = world.random.named(&format!("worker/{number}"));
            let (plan, ring) = (Rc::clone(&plan), Rc::clone(&ring));
            let worker = work(world.clone(), file, plan, random, ring, Rc::clone(&counted));
            world.spawner.spawn(worker)
        })
        .collect();
    world.sleep(Span(plan.lasts.0.div_euclid(10))).await;
    counted.borrow_mut().clear();
    let (began, used): (Time, _) = (world.clock.now(), process_use().unwrap_or_default());
    for worker in workers {
        worker.await;
    }
    let took = world.clock.now() - began;
    report(&mut counted.borrow_mut(), took, used)
}

fn report(latencies: &mut [Span], took: Span, before: ProcessUse) -> serde_json::Value {
    let after = process_use().unwrap_or_default();
    let ios = latencies.len() as f64;
    latencies.sort_unstable();
    let quantile = |percent: usize| {
        let at = (latencies.len() * percent).div_euclid(100);
        latencies.get(at).map(|span| span.as_millis() * 1e3)
    };
    serde_json::json!({
        "iops": ios / took.as_seconds(),
        "user_us_per_io": (after.user - before.user).as_seconds() * 1e6 / ios,
        "system_us_per_io": (after.system - before.system).as_seconds() * 1e6 / ios,
        "latency_p50_us": quantile(50),
        "latency_p99_us": quantile(99),
    })
}

#[expect(clippy::print_stdout, reason = "the result is what this program is for")]
fn main() -> ExitCode {
    let Some(plan) = plan() else {
        eprintln!("random_io FILE BYTES DEPTH SECONDS BACKEND MEMORY");
        return ExitCode::from(2);
    };
    let mut real = match RealWorld::new(&plan.options) {
        Ok(real) => real,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let world = real.world.clone();
    let mut result = real.executor.block_on(measure(world, Rc::new(plan)));
    let backend = real.backend();
    result["backend"] = backend.kind.to_string().into();
    result["direct"] = backend.buffered_files.is_empty().into();
    println!("{result}");
    ExitCode::SUCCESS
}
