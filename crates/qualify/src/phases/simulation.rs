//! A test without content: the twin of the engine on modelled storage, in the same phases as any
//! other test.
//!
//! It only leaves out steps that have nothing to do. Databases exist at once and records are not
//! compared. After the test pages are read as a checksum does, to measure the rate, but not judged;
//! of large databases only a part is read. A backup and its restore move as many bytes as with
//! records. A recovery replays what the twin has recorded of its log, and so do passive copies.

use std::cell::Cell;
use std::rc::Rc;

use brunt_report::result::{PhaseName, VerifiedFile};
use brunt_run::{Listener, News, Stop};
use brunt_units::{ByteSize, Span};
use brunt_world::World;

use crate::copies::TwinFollowers;
use crate::error::RunError;
use crate::kinds::Work;
use crate::phases::checksum::Reader;
use crate::phases::run::{Director, Parts, direct};
use crate::phases::test_run::TestRun;
use crate::plan::{DatabasePlan, Plan};
use crate::rules::Ending;
use crate::server::Server;
use crate::truth::verification::Files;

/// Bytes of a checksum read. Source: published checksum tables, 64 KiB.
const CHECKSUM_READ: u64 = 64 << 10;
/// Checksum reads in flight: of a whole server, and the minimum and maximum of one database.
///
/// Fitted: rate times latency in published checksum tables: 69 for each of two databases (EMC
/// CX3-20, 700 users, 2007), 158 for twenty (Dell EqualLogic PS5000XV, 90,000 users, 2008).
const CHECKSUM_IN_FLIGHT: (usize, usize, usize) = (128, 8, 64);
/// Bytes read of all databases of a server: the rate is as steady after these as after all of them,
/// and reading terabytes would take longer than the test before. At least a sixteenth of a gibibyte
/// is read of each database.
const CHECKSUM_SAMPLE: u64 = 16 << 30;
const CHECKSUM_SAMPLE_MIN: u64 = 64 << 20;
/// How often progress is reported.
const TELL: Span = Span::seconds(1);

/// Runs `plan` in `world` without content: on databases of any size, as the [twin](brunt_ese::twin)
/// of the engine. `assume` is called once the databases exist: they were not written, so storage
/// that keeps account of writes must learn of them.
///
/// # Errors
/// [`RunError`] when no test was possible; [`RunError::NotModelled`] for features that need
/// content.
pub async fn simulate(
    world: &World,
    plan: &Plan,
    listener: &dyn Listener,
    stop: &Stop,
    assume: impl FnOnce(),
) -> Result<TestRun, RunError> {
    let alone = Parts::default();
    direct(world, plan, listener, stop, alone, async |director| director.simulate(assume).await)
        .await
}

impl Director<'_> {
    async fn simulate(&self, assume: impl FnOnce()) -> Result<TestRun, RunError> {
        if !self.plan.faults.is_empty() {
            return Err(RunError::NotModelled("a fault"));
        }
        let started = self.now();
        let (world, plan) = (self.world, self.plan);
        let (server, populations) = Server::make(world, plan).await?;
        let followers = Rc::new(TwinFollowers::begin(world, plan, &server).await?);
        server.follow(Rc::<TwinFollowers>::clone(&followers));
        assume();
        let server = Rc::new(server);
        server.name_files(|file, path| self.recorder.name(file, path));
        let mut run = TestRun::new(self.plan, started, &server);
        self.wait_for_start().await;
        match self.plan.kind.work() {
            Work::Load => {
                self.work(&mut run, &server, populations).await;
                run.copies = followers.end(world, plan, self.stop).await;
            }
            Work::BackUp => {
                self.back_up(&mut run, &server).await;
            }
            Work::Replay => {
                self.recover(&mut run, &server, populations).await;
            }
        }
        if run.ending == Ending::Complete && self.plan.read_files {
            self.read_files(&mut run).await?;
        }
        run.hung = self.recorder.hung();
        run.ended = self.now();
        Ok(run)
    }

    /// Reads all databases concurrently, as a checksum does.
    async fn read_files(&self, run: &mut TestRun) -> Result<(), RunError> {
        let (world, begun) = (self.world, self.now());
        self.begin_phase(PhaseName::Checksum);
        let databases = run.last.len().max(1) as u64;
        let reads = CHECKSUM_SAMPLE.div_euclid(databases * CHECKSUM_READ);
        let sample = (reads * CHECKSUM_READ).max(CHECKSUM_SAMPLE_MIN);
        let read_of = |size: &ByteSize| size.get().min(sample);
        let total = ByteSize::bytes(run.last.iter().map(read_of).sum());
        let read = Rc::new(Cell::new(0));
        let databases = self.plan.databases().zip(&run.last);
        let tasks: Vec<_> = databases
            .map(|(database, bytes)| {
                let reader = Reader {
                    bytes: Some(read_of(bytes)),
                    read: Rc::clone(&read),
                    stop: self.stop.clone(),
                    ..Reader::new(world, CHECKSUM_READ, in_flight(self.plan))
                };
                let checksum = checksum(reader, database.clone(), *bytes);
                world.spawner.spawn(checksum)
            })
            .collect();
        while tasks.iter().any(|task| !task.is_done()) {
            world.sleep(TELL).await;
            let done = ByteSize::bytes(read.get());
            self.tell(News::VerifyingFiles { done, total });
        }
        let mut files = Files { read_only: true, ..Files::default() };
        for task in tasks {
            files.files.push(task.await?);
        }
        self.end_phase(run);
        if self.stop.is_asked() {
            run.ending = Ending::Stopped;
            return Ok(());
        }
        run.files = Some(files);
        let took = self.now() - begun;
        self.tell(News::Verified { took, judged: false });
        Ok(())
    }
}

fn in_flight(plan: &Plan) -> usize {
    let (all, least, most) = CHECKSUM_IN_FLIGHT;
    if let Some(reads) = plan.twin.checksum_reads {
        return usize::try_from(reads).expect("few reads");
    }
    all.div_euclid(plan.databases().count()).clamp(least, most)
}

/// Reads a database of `size` from its beginning, up to its share.
async fn checksum(
    reader: Reader,
    database: DatabasePlan,
    size: ByteSize,
) -> Result<VerifiedFile, RunError> {
    let world = reader.world.clone();
    let begun = world.clock.now();
    let read = reader.read(&database.path).await?;
    Ok(VerifiedFile {
        file: database.path.display().to_string(),
        pages_seen: None,
        pages_bad: None,
        pages_correctable: None,
        pages_wrong_number: None,
        bytes: size.get(),
        bytes_read: Some(read),
        seconds: (world.clock.now() - begun).as_seconds(),
    })
}
