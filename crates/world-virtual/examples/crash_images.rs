//! Measures crash images per second: a tiny database and its log, cut everywhere. Prints one line
//! of JSON.
//!
//! `cargo run --release -p brunt-world-virtual --example crash_images`

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measuring program prints and reads the machine's clock"
)]

use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use brunt_world::{Class, Io, OpenMode};
use brunt_world_virtual::crash::{CrashImages, Sample};
use brunt_world_virtual::{Journal, VirtualOptions, VirtualWorld};

const PAGES: usize = 256;
const PAGE_BYTES: usize = 4096;

/// 200 commits: a log page written through, three dirty database pages; a checkpoint syncs every
/// 20.
fn record() -> Journal {
    let mut made = VirtualWorld::new(VirtualOptions::default());
    let (world, machine) = (made.world.clone(), made.machine.clone());
    made.executor.block_on(async move {
        let create = |name| world.volume.open(Path::new(name), OpenMode::CreateNew);
        let database = create("database").await.expect("a new file");
        let log = create("log").await.expect("a new file");
        let whole = Rc::new(world.frames.zeroed(PAGE_BYTES * PAGES));
        let fill = Io::write(Class::Create, database, 0, &whole);
        world.disk.submit(fill).await.result.expect("room");
        machine.start_recording();
        let mut stream = world.random.named("pages");
        let frame = Rc::new(world.frames.zeroed(PAGE_BYTES));
        for commit in 0..200 {
            let through = Io::write_through(Class::Log, log, (commit % 16) * 4096, &frame);
            world.disk.submit(through).await.result.expect("room");
            machine.mark("acknowledged", commit);
            for _ in 0..3 {
                let page =
                    Io::write(Class::Database, database, stream.below(PAGES as u64) * 4096, &frame);
                world.disk.submit(page).await.result.expect("room");
            }
            if commit % 20 == 19 {
                let sync = Io::sync(Class::Database, database);
                world.disk.submit(sync).await.result.expect("a sync");
            }
        }
    });
    made.machine.stop_recording().expect("it was started")
}

fn main() {
    let journal = record();
    let mut images = CrashImages::new(&journal);
    let cuts = images.cuts();
    let (mut count, mut pending, mut bytes) = (0_u64, 0, 0);
    let begin = Instant::now();
    for cut in &cuts {
        for sample in (0..20).map(Sample::nth) {
            let image = images.image(*cut, sample);
            bytes += image.names().filter_map(|(_, file)| image.length(file)).sum::<u64>();
            count += 1;
        }
        pending += images.pending(*cut);
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{{\"images\": {count}, \"cuts\": {}, \"pending_mean\": {:.1}, \"image_bytes_mean\": {:.0}, \"images_per_second\": {:.0}}}",
        cuts.len(),
        pending as f64 / cuts.len() as f64,
        bytes as f64 / count as f64,
        count as f64 / seconds
    );
}
