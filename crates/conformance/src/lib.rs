//! The suite that every implementation of the seam must pass: files, memory, crash images and
//! arrays.
//!
//! The suite gets a world with an existing directory that accepts new files, and leaves its files
//! there. It checks only the contracts, not latencies. Crash survival is not checked here: that
//! needs a world that can crash.
//!
//! ```text
//!    for check in conformance::checks() { executor.block_on(check.start(&world, directory)) }
//!    executor.block_on(conformance::run(world, directory))                  the same, all at once
//! ```
//!
//! A violation panics, and the message begins with the check's name.

mod clock;
mod disk;
mod flight;
pub mod net;
mod volume;

use std::future::Future;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;

use brunt_units::Span;

use brunt_world::random::Stream;
use brunt_world::{Class, Completion, FileId, Frame, Io, Op, OpenMode, Segment, Segments, World};

type Running = Pin<Box<dyn Future<Output = ()>>>;

/// One check of a world.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its name, which is also a function name.
    pub name: &'static str,
    start: fn(Probe) -> Running,
}

impl Check {
    /// The check as a future, for the executor of `world`. Its files are in `directory`, with the
    /// check's name as prefix.
    pub fn start(&self, world: &World, directory: &Path) -> impl Future<Output = ()> + 'static {
        (self.start)(Probe {
            world: world.clone(),
            directory: directory.to_path_buf(),
            judge: Judge { check: self.name },
        })
    }
}

/// All checks, in the order in which they build on each other.
pub fn checks() -> Vec<Check> {
    macro_rules! checks {
        ($($part:ident: $($name:ident)*;)*) => {
            vec![$($(Check { name: stringify!($name), start: |probe| Box::pin($part::$name(probe)) },)*)*]
        };
    }
    checks! {
        clock: clock_never_goes_back sleeps_end_in_order spending_lets_others_run
            tasks_are_joined_or_detached;
        volume: open_modes_are_kept names_are_listed_sorted renaming_replaces
            removed_files_live_while_open allocation_reads_as_zero space_is_sane;
        disk: written_bytes_are_read_back pieces_are_gathered_and_scattered sectors_are_written_alone
            writing_past_the_end_extends reading_past_the_end_fails wrong_requests_are_invalid
            handles_of_one_file_agree trimming_spares_the_neighbours;
        flight: many_in_flight_complete_once dropped_tickets_give_frames_back
            dropped_writes_still_happen syncs_pass_writes_in_flight closing_spares_io_in_flight;
    }
}

/// Runs every check, one after the other.
pub async fn run(world: World, directory: PathBuf) {
    for check in checks() {
        check.start(&world, &directory).await;
    }
}

/// Fails a check, in the words of which its name comes first.
#[derive(Clone, Copy)]
struct Judge {
    check: &'static str,
}

impl Judge {
    /// Fails the check with `what` unless `condition` holds.
    #[track_caller]
    fn ensure(&self, condition: bool, what: &str) {
        assert!(condition, "{}: {what}", self.check);
    }

    #[track_caller]
    fn equal<T: PartialEq + std::fmt::Debug>(&self, got: T, expected: T, what: &str) {
        assert!(got == expected, "{}: {what}: got {got:?}, expected {expected:?}", self.check);
    }

    /// The value of a result that must not be an error.
    #[track_caller]
    fn good<T, E: std::fmt::Display>(&self, result: Result<T, E>, what: &str) -> T {
        result.unwrap_or_else(|error| panic!("{}: {what} failed: {error}", self.check))
    }

    /// Retries `condition`, less and less often, until it holds; gives up after sixteen seconds of
    /// the time of `world`.
    async fn eventually(
        &self,
        world: &World,
        what: &str,
        mut condition: impl AsyncFnMut() -> bool,
    ) {
        for power in 0..14 {
            if condition().await {
                return;
            }
            world.sleep(Span::millis(1) * (1 << power)).await;
        }
        panic!("{}: {what} did not come", self.check);
    }
}

/// A world under a check, with the shorthand that checks are written in.
#[derive(Clone)]
struct Probe {
    world: World,
    directory: PathBuf,
    judge: Judge,
}

impl Deref for Probe {
    type Target = Judge;

    fn deref(&self) -> &Judge {
        &self.judge
    }
}

impl Probe {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{}-{name}", self.check))
    }

    fn stream(&self) -> Stream {
        self.world.random.part("conformance").named(self.check)
    }

    async fn open(&self, name: &str, mode: OpenMode) -> FileId {
        let opened = self.world.volume.open(&self.path(name), mode).await;
        self.good(opened, "open")
    }

    async fn create(&self, name: &str) -> FileId {
        self.open(name, OpenMode::CreateNew).await
    }

    async fn close(&self, file: FileId) {
        let closed = self.world.volume.close(file).await;
        self.good(closed, "close");
    }

    async fn length(&self, file: FileId) -> u64 {
        let length = self.world.volume.length(file).await;
        self.good(length, "length")
    }

    /// A frame with random content.
    fn random_frame(&self, length: usize, stream: &mut Stream) -> Frame {
        let mut frame = self.world.frames.take(length);
        stream.fill(&mut frame);
        frame
    }

    /// Submits and waits, and checks the completion's times against the clock.
    async fn submit(&self, op: Op, file: FileId, offset: u64, segments: Segments) -> Completion {
        let io = Io::new(Class::Database, op, file, offset, segments);
        let count = io.segments.len();
        let before = self.world.clock.now();
        let done = self.world.disk.submit(io).await;
        let after = self.world.clock.now();
        self.ensure(before <= done.submitted_at, "submitted before it was");
        self.ensure(done.submitted_at <= done.done_at, "done before submitted");
        self.ensure(done.done_at <= after, "done in the future");
        self.equal(done.segments.len(), count, "segments come back");
        done
    }

    /// Writes the whole of `frame`, which must succeed.
    async fn write(&self, op: Op, file: FileId, offset: u64, frame: &Rc<Frame>) {
        let segments = [Segment::whole(frame)].into_iter().collect();
        let done = self.submit(op, file, offset, segments).await;
        self.good(done.result, "write");
    }

    /// Writes `length` bytes of `fill`.
    async fn write_fill(&self, file: FileId, offset: u64, length: usize, fill: u8) {
        let mut frame = self.world.frames.take(length);
        frame.fill(fill);
        self.write(Op::Write, file, offset, &Rc::new(frame)).await;
    }

    /// Reads `length` bytes, which must succeed, into a frame with other content.
    async fn read(&self, file: FileId, offset: u64, length: usize) -> Frame {
        let mut frame = self.world.frames.take(length);
        frame.fill(0xA5);
        let segments = [Segment::Fill(frame)].into_iter().collect();
        let done = self.submit(Op::Read, file, offset, segments).await;
        self.good(done.result, "read");
        done.into_frame()
    }

    /// Whether `length` bytes from `offset` are all `fill`.
    async fn is_filled(&self, file: FileId, offset: u64, length: usize, fill: u8) -> bool {
        let frame = self.read(file, offset, length).await;
        frame.iter().all(|byte| *byte == fill)
    }

    async fn sync(&self, file: FileId) {
        let done = self.submit(Op::Sync, file, 0, Segments::new()).await;
        self.good(done.result, "sync");
    }

    async fn eventually(&self, what: &str, condition: impl AsyncFnMut() -> bool) {
        self.judge.eventually(&self.world, what, condition).await;
    }
}
