//! The engine on a mirror: either site is killed or loses power at random moments, and the other
//! one has every acknowledged commit.
//!
//! ```text
//!   tasks replace records with hard commits --> engine --> mirror --> /a, and /b at the other host
//!        asked, acknowledged                                | the cut, by seed
//!                                                           v
//!   the serving site dies      the receiver is promoted, recovers /b in the same world
//!   the receiving site dies    nothing is acknowledged any more; then the first one dies, too, and recovers /a
//!   both lose power            /a and /b, as a loss of power may leave them, each alone
//! ```

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use brunt_ese::content::Bytes;
use brunt_ese::instance::transaction::Commit;
use brunt_ese::instance::{Instance, InstanceOptions};
use brunt_mirror::{Breakage, MirrorState};
use brunt_testkit::records::{content, key};
use brunt_testkit::tiny::{self, TABLE};
use brunt_units::{Span, Time};
use brunt_world::World;
use brunt_world::random::{Stream, Streams};
use brunt_world_virtual::crash::{CrashImages, Sample};
use brunt_world_virtual::{Host, Store};

use crate::sites::{HERE, Sites, THERE, connect};

const SEEDS: u64 = 210;
/// Tasks, and the records of each.
const TASKS: u32 = 4;
const RECORDS: u32 = 12;
const FRAMES: u32 = 24;

/// The newest version of each record that was asked for, and that was acknowledged; 0 without one.
#[derive(Clone, Default)]
struct Oracle(Rc<RefCell<BTreeMap<u32, [u8; 2]>>>);

impl Oracle {
    fn asked(&self, record: u32, version: u8) {
        self.0.borrow_mut().entry(record).or_default()[0] = version;
    }

    fn acknowledged(&self, record: u32, version: u8) {
        self.0.borrow_mut().entry(record).or_default()[1] = version;
    }

    fn acknowledgements(&self) -> u64 {
        let all = self.0.borrow();
        all.values().map(|[_, acknowledged]| u64::from(*acknowledged)).sum()
    }

    /// What `instance` lacks of what was acknowledged, or has beside it.
    async fn compare(&self, instance: &Instance<Bytes>) -> Result<(), String> {
        let all = self.0.borrow().clone();
        for (record, [asked, acknowledged]) in all {
            let read = instance.read(0, TABLE, &key(record)).await;
            let read = read.map_err(|error| error.to_string())?;
            let fits = |version: u8| match (&read, version) {
                (None, 0) => true,
                (Some(bytes), 1..) => *bytes == content(record, version),
                _ => false,
            };
            if !(acknowledged..=asked).any(fits) {
                return Err(format!(
                    "record {record} is in none of its states from {acknowledged} to {asked}"
                ));
            }
        }
        Ok(())
    }
}

fn options(folder: &str) -> InstanceOptions {
    let below = |path: &Path| Path::new(folder).join(path.strip_prefix("/").unwrap());
    let tiny = tiny::options(1, 512);
    InstanceOptions {
        log_directory: below(&tiny.log_directory),
        databases: tiny.databases.iter().map(|path| below(path)).collect(),
        ..tiny
    }
}

/// The same empty database at both sites.
fn two_databases() -> Store {
    let files = tiny::tree_files();
    let bytes = files.get(&tiny::database_path(0)).unwrap();
    let mut store = Store::new();
    for folder in [HERE, THERE] {
        store.put(&options(folder).databases[0], &bytes);
    }
    store
}

async fn open(world: &World, folder: &str) -> Result<Instance<Bytes>, String> {
    let opened = tiny::open(world, FRAMES, options(folder)).await;
    opened.map(|(instance, _)| instance).map_err(|error| error.to_string())
}

/// Replaces records until the host dies.
async fn work(world: World, instance: Instance<Bytes>, oracle: Oracle, task: u32) {
    let mut draw = world.random.named(&format!("task {task}"));
    let mut versions = [0_u8; RECORDS as usize];
    loop {
        let at = usize::try_from(draw.below(RECORDS.into())).unwrap();
        let record = task * RECORDS + u32::try_from(at).unwrap();
        let Some(version) = versions[at].checked_add(1) else {
            continue;
        };
        let (key, content) = (key(record), content(record, version));
        let transaction = instance.begin();
        let changed = match version {
            1 => transaction.insert(0, TABLE, &key, &content).await,
            _ => transaction.replace(0, TABLE, &key, &content).await,
        };
        changed.unwrap();
        oracle.asked(record, version);
        transaction.commit(Commit::Hard).await.unwrap();
        oracle.acknowledged(record, version);
        versions[at] = version;
        if draw.percent(20) {
            world.sleep(Span::micros(draw.below(3_000))).await;
        }
    }
}

/// Opens the engine at the first host through a mirror and lets tasks work there.
async fn begin(world: &World, oracle: &Oracle) -> Result<(), String> {
    let instance = open(world, HERE).await?;
    for task in 0..TASKS {
        let one = work(world.clone(), instance.clone(), oracle.clone(), task);
        drop(world.spawner.spawn(one));
    }
    Ok(())
}

/// Opens the files in `folder` of `world` and compares.
async fn judge(world: &World, folder: &str, oracle: &Oracle) -> Result<(), String> {
    let instance = open(world, folder).await?;
    oracle.compare(&instance).await?;
    instance.close().await.map_err(|error| error.to_string())
}

fn end(host: &Host, draw: &mut Stream) {
    match draw.percent(50) {
        true => host.kill(),
        false => host.lose_power(),
    }
}

/// How long the tasks work.
fn length(draw: &mut Stream) -> Span {
    Span::micros(1 + draw.below(400_000))
}

/// The serving site dies, and the other one is promoted; `breakage` is what its mirror does wrong.
fn source_dies(seed: u64, breakage: Option<Breakage>) -> Result<u64, String> {
    let mut sites = Sites::new(seed, two_databases());
    let (hosts, outside) = (sites.hosts.clone(), sites.made.world.clone());
    sites.made.executor.block_on(async move {
        let mut draw = Streams::new(seed).named("cut");
        let oracle = Oracle::default();
        let (world, _, receiver) = connect(&hosts, 1).await;
        begin(&world, &oracle).await?;
        match breakage {
            None => outside.sleep(length(&mut draw)).await,
            Some(how) => {
                outside.sleep(Span::millis(50)).await;
                receiver.break_by(how);
                outside.sleep(Span::millis(200)).await;
            }
        }
        end(&hosts[0], &mut draw);
        receiver.promote(2).await.map_err(|error| error.to_string())?;
        if breakage.is_some() && !receiver.has_broken() {
            return Err("nothing was broken".to_owned());
        }
        judge(hosts[1].world(), THERE, &oracle).await?;
        Ok(oracle.acknowledgements())
    })
}

/// The receiving site dies: nothing is acknowledged after that, and the first one has everything.
fn destination_dies(seed: u64) -> Result<u64, String> {
    let mut sites = Sites::new(seed, two_databases());
    let (hosts, outside) = (sites.hosts.clone(), sites.made.world.clone());
    sites.made.executor.block_on(async move {
        let mut draw = Streams::new(seed).named("cut");
        let oracle = Oracle::default();
        let (world, mirror, _) = connect(&hosts, 1).await;
        begin(&world, &oracle).await?;
        outside.sleep(length(&mut draw)).await;
        end(&hosts[1], &mut draw);
        // What the other site had answered may still arrive.
        outside.sleep(Span::millis(5)).await;
        let before = oracle.acknowledgements();
        outside.sleep(Span::millis(500)).await;
        if oracle.acknowledgements() != before {
            return Err("commits were acknowledged that only one site has".to_owned());
        }
        if mirror.unanswered() == 0 && mirror.state() == MirrorState::InStep {
            return Err("nobody can see that the mirror is broken".to_owned());
        }
        end(&hosts[0], &mut draw);
        let again = hosts[0].restart();
        judge(again.world(), HERE, &oracle).await?;
        Ok(before)
    })
}

/// Both sites lose power at one instant, and each recovers alone.
fn both_lose_power(seed: u64) -> Result<u64, String> {
    let mut sites = Sites::new(seed, two_databases());
    let mut draw = Streams::new(seed).named("cut");
    let (hosts, outside) = (sites.hosts.clone(), sites.made.world.clone());
    let (oracle, length) = (Oracle::default(), length(&mut draw));
    let its = oracle.clone();
    sites.made.machine.start_recording();
    sites.made.executor.block_on(async move {
        let (world, ..) = connect(&hosts, 1).await;
        begin(&world, &its).await?;
        outside.sleep(length).await;
        Ok::<_, String>(())
    })?;
    let journal = sites.made.machine.stop_recording().unwrap();
    let mut images = CrashImages::new(&journal);
    let cut = *images.cuts().last().unwrap();
    let image = images.image(cut, Sample::nth(draw.below(1 << 16)));
    for folder in [HERE, THERE] {
        let mut alone = Sites::new(seed, image.fork());
        let (world, oracle) = (alone.made.world.clone(), oracle.clone());
        let judged =
            alone.made.executor.block_on(async move { judge(&world, folder, &oracle).await });
        judged.map_err(|what| format!("{folder}: {what}"))?;
    }
    Ok(oracle.acknowledgements())
}

#[test]
fn the_survivor_has_every_acknowledged_commit() {
    let mut acknowledged = 0;
    for seed in 0..SEEDS {
        let tried = match seed % 3 {
            0 => source_dies(seed, None),
            1 => destination_dies(seed),
            _ => both_lose_power(seed),
        };
        acknowledged += tried.unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
    assert!(acknowledged > 50 * SEEDS, "{acknowledged}");
}

#[test]
fn a_mirror_that_breaks_its_word_is_found() {
    use Breakage::{DropOne, LoseTail, Stale, SwapTwo};
    for seed in 0..8 {
        for how in [DropOne, SwapTwo, Stale, LoseTail] {
            let found = source_dies(seed, Some(how));
            let said = found.expect_err("commits are lost");
            assert_ne!(said, "nothing was broken", "{how:?}, seed {seed}");
        }
    }
}

#[test]
fn time_goes_on_for_reads_when_the_mirror_is_broken() {
    let mut sites = Sites::new(1, two_databases());
    let (hosts, outside) = (sites.hosts.clone(), sites.made.world.clone());
    sites.made.executor.block_on(async move {
        let (world, mirror, _) = connect(&hosts, 1).await;
        let path = options(HERE).databases[0].clone();
        hosts[1].kill();
        outside.sleep(Span::millis(10)).await;
        assert!(matches!(mirror.state(), MirrorState::Broken(_)));
        let file = world.volume.open(&path, brunt_world::OpenMode::Read).await;
        let file = file.unwrap();
        let frame = world.frames.take(4096);
        let read = brunt_world::Io::read(brunt_world::Class::Database, file, 0, frame);
        assert_eq!(world.disk.submit(read).await.result, Ok(()));
        let names: Vec<String> = world.volume.list(&PathBuf::from(HERE)).await.unwrap();
        assert!(names.len() <= 1);
        assert!(world.clock.now() > Time::ZERO);
    });
}
