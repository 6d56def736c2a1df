//! Measures the engine's I/O, for comparison with fio.
//!
//! ```text
//!   engine_io DIRECTORY BYTES CACHE_BYTES SESSIONS SECONDS BACKEND     BACKEND: auto, registered, unregistered, threads
//! ```
//!
//! Creates a database of about BYTES bytes in DIRECTORY, opens it with a cache of CACHE_BYTES, and
//! runs SESSIONS sessions with the mix of Exchange 2013, one operation after another without a
//! pause. Measuring starts when the cache is full and the checkpoint has moved, and takes SECONDS.
//! Prints one line of JSON.
//!
//! *Mean in flight* follows from Little's law: the sum of the latencies of all database I/Os
//! divided by the time. Log I/O is counted separately. CPU time is that of the whole process,
//! including message generation and counting.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the result is what this program is for"
)]

mod mailbox;

use std::cell::{Cell, RefCell};
use std::process::ExitCode;
use std::rc::Rc;

use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::messages::MessageTable;
use brunt_ese::instance::transaction::Commit;
use brunt_ese::instance::{Circular, Instance};
use brunt_units::{ByteSize, LogPosition, Span};
use brunt_workload::keys::{Population, RECENT};
use brunt_workload::mix::{Commit as Wish, Kind};
use brunt_workload::operations::{Operation, Outcome, Workload};
use brunt_workload::profile::{InstanceChoice, Version};
use brunt_workload::session::PoolShape;
use brunt_world::World;
use brunt_world_real::facts::{ProcessUse, process_use};
use brunt_world_real::{Options, RealWorld};
use mailbox::{Mailbox, Opening, Pads};

/// Maximum warm-up time.
const WARM_UP_MAX: Span = Span::seconds(20);

struct Plan {
    opening: Opening,
    bytes: u64,
    sessions: u32,
    lasts: Span,
    options: Options,
}

fn plan() -> Option<Plan> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [directory, bytes, cache, sessions, seconds, backend] = words.as_slice() else {
        return None;
    };
    Some(Plan {
        opening: Opening {
            directory: directory.into(),
            cache: ByteSize::bytes(cache.parse().ok()?),
            checkpoint_depth: Version::Exchange2013.profile().checkpoint_depth.value,
            circular: Circular::Reuse,
        },
        bytes: bytes.parse().ok()?,
        sessions: sessions.parse().ok()?,
        lasts: Span::seconds(seconds.parse().ok()?),
        options: Options { backend: backend.parse().ok()?, ..Options::default() },
    })
}

/// State shared by all sessions.
struct Work {
    world: World,
    instance: Instance<Bytes>,
    table: MessageTable,
    mailbox: Mailbox,
    workload: RefCell<Workload>,
    pads: RefCell<Vec<Pads>>,
    operations: Cell<u64>,
    ending: Cell<bool>,
}

impl Work {
    async fn session(self: Rc<Self>, number: u32) -> Result<(), EngineError> {
        while !self.ending.get() {
            let operation = self.workload.borrow_mut().next(number);
            let mut pads = self.pads.borrow_mut().pop().unwrap_or_default();
            self.operate(&operation, &mut pads).await?;
            self.pads.borrow_mut().push(pads);
            self.workload.borrow_mut().ended(operation, Outcome::Committed);
            self.operations.set(self.operations.get() + 1);
            self.world.clock.spend(Span::micros(10)).await;
        }
        Ok(())
    }

    async fn operate(&self, operation: &Operation, pads: &mut Pads) -> Result<(), EngineError> {
        let (table, record) = (&self.table, operation.record);
        let id = mailbox::id(record);
        if operation.kind == Kind::Read {
            let found = self.instance.read_message(table, id, false).await?;
            return found.map(drop).ok_or(EngineError::RecordNotFound);
        }
        let transaction = self.instance.begin();
        match operation.kind {
            Kind::Insert => {
                let message = self.mailbox.message(record, 0, pads);
                transaction.insert_message(table, &message).await?;
            }
            Kind::Replace => {
                let message = self.mailbox.message(record, 1, pads);
                transaction.replace_message(table, &message).await?;
            }
            Kind::Delete | Kind::Read => transaction.delete_message(table, id).await?,
        }
        let how = match operation.commit {
            Wish::Hard => Commit::Hard,
            Wish::Lazy => Commit::Lazy,
        };
        transaction.commit(how).await
    }

    /// Waits until the cache is full and the checkpoint has moved.
    async fn warm_up(&self) {
        let (end, start) = (self.world.clock.now() + WARM_UP_MAX, self.instance.checkpoint());
        let is_warm = |moved: LogPosition| {
            let (resident, all) = self.instance.cache().resident();
            moved > start && u64::from(resident) * 100 >= u64::from(all) * 95
        };
        while !is_warm(self.instance.checkpoint()) && self.world.clock.now() < end {
            self.world.sleep(Span::millis(100)).await;
        }
        self.world.sleep(Span::seconds(1)).await;
    }
}

async fn measure(world: World, plan: Plan) -> Result<serde_json::Value, EngineError> {
    let mailbox = Mailbox::new(plan.bytes);
    let database = plan.opening.database();
    let created = mailbox::create(&world, &database, &mailbox, plan.bytes).await?;
    let (instance, _) = plan.opening.open(&world).await?;
    let shape = PoolShape {
        sessions: plan.sessions,
        instances: 1,
        batch: 50,
        choice: InstanceChoice::Rotation,
    };
    let population = Population::new(mailbox.mixer(), mailbox.messages());
    let mix = Version::Exchange2013.profile().mix.value;
    let streams = world.random;
    let work = Rc::new(Work {
        table: instance.messages(0).await?,
        workload: RefCell::new(Workload::new(shape, mix, vec![population], RECENT, streams)),
        world: world.clone(),
        instance: instance.clone(),
        mailbox,
        pads: RefCell::default(),
        operations: Cell::new(0),
        ending: Cell::new(false),
    });
    let sessions: Vec<_> = (0..plan.sessions)
        .map(|number| world.spawner.spawn(Rc::clone(&work).session(number)))
        .collect();
    work.warm_up().await;
    let begun = Begun::now(&work);
    world.sleep(plan.lasts).await;
    let mut result = begun.report(&work);
    work.ending.set(true);
    for session in sessions {
        session.await?;
    }
    result["database_bytes"] = created.bytes.into();
    result["sessions"] = plan.sessions.into();
    instance.close().await?;
    Ok(result)
}

/// All counters at the start of measuring.
struct Begun {
    at: brunt_units::Time,
    used: ProcessUse,
    operations: u64,
}

impl Begun {
    fn now(work: &Work) -> Self {
        work.instance.cache().meters().with(|meters| {
            meters.databases[0].reads.close_interval();
            meters.databases[0].writes.close_interval();
            meters.logs[0].writes.close_interval();
            meters.logs[0].format.close_interval();
            meters.logs[0].rolls.close_interval();
            meters.logs[0].roll_waits.close_interval();
            meters.page_fault_stalls.close_interval();
            meters.page_requests.close_interval();
            meters.page_hits.close_interval();
        });
        Self {
            at: work.world.clock.now(),
            used: process_use().unwrap_or_default(),
            operations: work.operations.get(),
        }
    }

    fn report(self, work: &Work) -> serde_json::Value {
        let seconds = (work.world.clock.now() - self.at).as_seconds();
        let used = process_use().unwrap_or_default();
        let operations = work.operations.get() - self.operations;
        let (user, system) = (used.user - self.used.user, used.system - self.used.system);
        work.instance.cache().meters().with(|meters| {
            let [reads, writes] = [
                meters.databases[0].reads.close_interval(),
                meters.databases[0].writes.close_interval(),
            ];
            let stream = &mut meters.logs[0];
            let [log, format] = [stream.writes.close_interval(), stream.format.close_interval()];
            let [rolls, roll_waits] =
                [stream.rolls.close_interval(), stream.roll_waits.close_interval()];
            let latency = |reading: &brunt_stats::Reading| reading.mean.unwrap_or_default();
            let in_flight = |reading: &brunt_stats::Reading| {
                reading.count as f64 * latency(reading).as_seconds() / seconds
            };
            let ios = (reads.count + writes.count) as f64;
            serde_json::json!({
                "seconds": seconds,
                "operations_per_second": operations as f64 / seconds,
                "reads_per_second": reads.count as f64 / seconds,
                "writes_per_second": writes.count as f64 / seconds,
                "read_bytes_mean": reads.bytes as f64 / reads.count as f64,
                "write_bytes_mean": writes.bytes as f64 / writes.count as f64,
                "read_latency_ms_mean": latency(&reads).as_millis(),
                "write_latency_ms_mean": latency(&writes).as_millis(),
                "in_flight_mean": in_flight(&reads) + in_flight(&writes),
                "log_writes_per_second": log.count as f64 / seconds,
                "log_bytes_per_second": log.bytes as f64 / seconds,
                "log_write_latency_ms_mean": latency(&log).as_millis(),
                "log_format_bytes_per_second": format.bytes as f64 / seconds,
                "log_rolls_per_second": rolls.count as f64 / seconds,
                "log_roll_ms_mean": latency(&rolls).as_millis(),
                "log_roll_wait_ms_mean": latency(&roll_waits).as_millis(),
                "page_requests_per_second": meters.page_requests.close_interval() as f64 / seconds,
                "page_hits_per_second": meters.page_hits.close_interval() as f64 / seconds,
                "stalls": meters.page_fault_stalls.close_interval(),
                "user_us_per_io": user.as_seconds() * 1e6 / ios,
                "system_us_per_io": system.as_seconds() * 1e6 / ios,
                "cpu_us_per_io": (user + system).as_seconds() * 1e6 / ios,
                "cpu_busy": (user + system).as_seconds() / seconds,
                "peak_memory_bytes": used.peak_memory.get(),
            })
        })
    }
}

fn main() -> ExitCode {
    let Some(plan) = plan() else {
        eprintln!("engine_io DIRECTORY BYTES CACHE_BYTES SESSIONS SECONDS BACKEND");
        return ExitCode::from(2);
    };
    let mut real = RealWorld::new(&plan.options).expect("a real world");
    let task = measure(real.world.clone(), plan);
    match real.executor.block_on(task) {
        Ok(mut result) => {
            let backend = real.backend();
            result["backend"] = backend.kind.to_string().into();
            result["huge_page_bytes"] = backend.huge_page_bytes.map(ByteSize::get).into();
            println!("{result}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
