//! Creates databases, all of them concurrently.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

use brunt_ese::create::{CreateOptions, MessageSource, create_database, making_path};
use brunt_ese::error::EngineError;
use brunt_ese::format::stamp::{Signature, Stamp};
use brunt_run::{Listener, News, Stop};
use brunt_units::{ByteSize, PageNumber, Span};
use brunt_workload::keys::Record;
use brunt_world::World;

use crate::error::RunError;
use crate::phases::places::{self, Decision};
use crate::phases::sizing::{self, Amount, FILL_PERCENT};
use crate::plan::{DatabasePlan, Plan};
use crate::truth::records::{Contents, FOLDERS, IdOrder};

/// The records of a new database, for the engine's bulk load.
struct Source {
    contents: Contents,
    records: u64,
    stop: Stop,
}

impl Source {
    fn record(&self, number: u64) -> Record {
        self.contents.mixer().record(number)
    }

    /// Whether to continue: an interrupted creation ends early, and its file is removed.
    fn wanted(&self) -> bool {
        !self.stop.is_asked()
    }
}

impl MessageSource for Source {
    fn in_id_order(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        let order = IdOrder::new(self.contents.mixer(), 0..self.records, self.records);
        let numbers = order.map(|record| record.number);
        Box::new(numbers.take_while(|_| self.wanted()))
    }

    fn in_folder_order(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        let folder = |folder| (folder..self.records).step_by(step(FOLDERS));
        Box::new((0..FOLDERS).flat_map(folder).take_while(|_| self.wanted()))
    }

    fn keys(&self, number: u64) -> (i64, i32, i64) {
        let record = self.record(number);
        let (folder, received) = (Contents::folder(record), Contents::received(record));
        (Contents::id(record), folder, received)
    }

    fn body_bytes(&self, number: u64) -> usize {
        self.contents.body_length(self.record(number))
    }

    fn subject(&self, number: u64, subject: &mut Vec<u8>) {
        self.contents.fill_subject(self.record(number), 0, subject);
    }

    fn body(&self, number: u64, body: &mut Vec<u8>) {
        self.contents.fill_body(self.record(number), 0, body);
    }

    fn old_content(&self, page: PageNumber, free: &mut [u8]) {
        self.contents.fill_free(page, free);
    }
}

fn step(folders: u64) -> usize {
    usize::try_from(folders).expect("few folders")
}

/// Bytes that all creations have generated so far.
#[derive(Default)]
struct Written {
    by_database: Vec<Cell<u64>>,
}

/// Creates the databases that were decided on, in parallel. Returns the number of bytes.
///
/// When it is stopped or fails, what it has begun is removed.
///
/// # Errors
/// [`RunError::Engine`] for the first database that cannot be created.
pub async fn create(
    world: &World,
    plan: &Plan,
    decisions: &[Decision],
    listener: &dyn Listener,
    stop: &Stop,
) -> Result<ByteSize, RunError> {
    let wanted = wanted(plan, decisions);
    let total: u64 = wanted.iter().map(|database| database.size.get()).sum();
    let total = ByteSize::bytes(total);
    let begun = world.clock.now();
    let written = Rc::new(Written { by_database: wanted.iter().map(|_| Cell::new(0)).collect() });
    let mut tasks = Vec::new();
    for (index, database) in wanted.iter().enumerate() {
        let one = create_one(
            world.clone(),
            (*database).clone(),
            options(world, plan, database, index),
            plan.load.shape,
            Rc::clone(&written),
            index,
            stop.clone(),
        );
        tasks.push(world.spawner.spawn(one));
    }
    while tasks.iter().any(|task| !task.is_done()) {
        world.sleep(LOOK).await;
        let done = written.by_database.iter().map(Cell::get).sum::<u64>();
        let done = ByteSize::bytes(done).min(total);
        listener.tell(world.clock.now(), &News::Creating { done, total });
    }
    let mut failed = None;
    for task in tasks {
        failed = task.await.err().or(failed);
    }
    if failed.is_some() || stop.is_asked() {
        for database in &wanted {
            remove_begun(world, &database.path).await;
        }
    }
    if let Some(error) = failed {
        return Err(error.into());
    }
    let took = world.clock.now() - begun;
    if total > ByteSize::bytes(0) {
        listener.tell(world.clock.now(), &News::Created { total, took });
    }
    Ok(total)
}

/// Removes what creation has begun at `path`, if it is there. A file that somebody else put there
/// meanwhile stays.
async fn remove_begun(world: &World, path: &Path) {
    let making = making_path(path);
    if matches!(places::is_ours(world, path).await, Ok(true)) {
        let _ = world.volume.remove(path).await;
    }
    if matches!(places::is_begun(world, &making, path).await, Ok(true)) {
        let _ = world.volume.remove(&making).await;
    }
}

/// How often progress is checked.
const LOOK: Span = Span::millis(100);

fn wanted<'p>(plan: &'p Plan, decisions: &[Decision]) -> Vec<&'p DatabasePlan> {
    let instances = plan.instances.iter().zip(decisions);
    instances
        .flat_map(|(instance, decision)| {
            let create = decision.create.iter();
            create.map(|index| &instance.databases[*index])
        })
        .collect()
}

fn options(world: &World, plan: &Plan, database: &DatabasePlan, index: usize) -> CreateOptions {
    let Amount { free_pages, .. } =
        sizing::amount(database.size, plan.engine.page, &plan.load.shape);
    let millis = plan.epoch_ms + world.clock.now().0.div_euclid(1_000_000);
    let mut draw = world.random.named(&format!("database signature/{index}"));
    let random = u32::try_from(draw.below(1 << 32)).expect("below 2^32");
    CreateOptions {
        page_size: plan.engine.page,
        fill_percent: FILL_PERCENT,
        free_pages,
        expected_bytes: database.size.get(),
        signature: Signature::ours(random, Stamp::from_unix_millis(millis), plan.run),
    }
}

async fn create_one(
    world: World,
    database: DatabasePlan,
    options: CreateOptions,
    shape: brunt_workload::content::Shape,
    written: Rc<Written>,
    index: usize,
    stop: Stop,
) -> Result<(), EngineError> {
    let amount = sizing::amount(database.size, options.page_size, &shape);
    let source = Source {
        contents: Contents::new(&options.signature, shape),
        records: amount.records,
        stop,
    };
    let path: &Path = &database.path;
    let progress = |bytes: u64| written.by_database[index].set(bytes);
    create_database(&world, path, &options, &source, &progress).await?;
    Ok(())
}
