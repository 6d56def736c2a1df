//! On a real file system, no commit is acknowledged before the durable write that covers it.
//!
//! A tiny engine works on real files, through a recorder that knows at any moment what must survive
//! a loss of power. Every hard commit that returns is checked against that: the surviving files are
//! recovered in the virtual world, and the record must be there.

use std::cell::RefCell;
use std::fs;
use std::rc::Rc;

use brunt_ese::content::Bytes;
use brunt_ese::error::EngineError;
use brunt_ese::instance::transaction::Commit;
use brunt_ese::instance::{Instance, InstanceOptions};
use brunt_ese::log::Durability;
use brunt_testkit::ledger::{Ledger, recorded};
use brunt_testkit::tiny::{SIZE, TABLE, open, options, tree_database_of};
use brunt_testkit::worlds::without_log_write;
use brunt_units::Span;
use brunt_world::{Frames, World};
use brunt_world_real::RealWorld;
use brunt_world_virtual::{Store, VirtualOptions, VirtualWorld};
use tempfile::TempDir;

const SESSIONS: u32 = 3;
const COMMITS: u32 = 40;
const FRAMES: u32 = 32;

/// The result of a run of sessions.
#[derive(Default)]
struct Outcome {
    /// Acknowledged commits.
    acknowledged: Vec<Vec<u8>>,
    /// Acknowledged commits that were not there.
    broken: Vec<String>,
}

/// The engine's files in a folder of the real world.
struct Files {
    folder: TempDir,
    options: InstanceOptions,
    store: Store,
    /// Memory of the worlds that recover, shared: it is allocated from the system only once.
    memory: Frames,
}

impl Files {
    fn new(durability: Durability, segment: usize) -> Self {
        // Not below /tmp: a file system in memory refuses direct I/O, and its syncs mean nothing.
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let log = folder.path().join("log");
        fs::create_dir(&log).unwrap();
        let database = folder.path().join("tiny.edb");
        let mut store = Store::new();
        tree_database_of(SIZE, &mut store, &database);
        let inode = store.find(&database).unwrap();
        let length = usize::try_from(store.length(inode).unwrap()).unwrap();
        let mut bytes = vec![0; length];
        store.read(inode, 0, &mut bytes);
        fs::write(&database, bytes).unwrap();
        let options = InstanceOptions {
            log_directory: log,
            databases: vec![database],
            durability,
            lazy_wait: Span::millis(3),
            ..options(1, segment)
        };
        Self { folder, options, store, memory: Frames::in_memory() }
    }

    /// Runs sessions, with `disk` between the engine and the recorder.
    fn work(&self, disk: impl FnOnce(&World) -> World) -> Outcome {
        let mut made = RealWorld::new(&brunt_world_real::Options::default()).unwrap();
        let (world, ledger) = recorded(&made.world, self.store.fork());
        let (world, options) = (disk(&world), self.options.clone());
        let outcome: Rc<RefCell<Outcome>> = Rc::default();
        let (result, memory) = (Rc::clone(&outcome), self.memory.clone());
        let worked = made.executor.block_on(async move {
            let (instance, _) = open(&world, FRAMES, options.clone()).await?;
            let session = |number| {
                let session = Session {
                    number,
                    instance: instance.clone(),
                    ledger: ledger.clone(),
                    options: options.clone(),
                    outcome: Rc::clone(&result),
                    memory: memory.clone(),
                };
                world.spawner.spawn(session.run())
            };
            let sessions: Vec<_> = (0..SESSIONS).map(session).collect();
            for session in sessions {
                session.await?;
            }
            instance.close().await
        });
        worked.unwrap();
        assert!(self.folder.path().join("tiny.edb").exists());
        outcome.take()
    }
}

struct Session {
    number: u32,
    instance: Instance<Bytes>,
    ledger: Ledger,
    options: InstanceOptions,
    outcome: Rc<RefCell<Outcome>>,
    memory: Frames,
}

impl Session {
    async fn run(self) -> Result<(), EngineError> {
        for turn in 0..COMMITS {
            let key = format!("{:02}/{turn:04}", self.number).into_bytes();
            let transaction = self.instance.begin();
            let data = [self.number.to_le_bytes(), turn.to_le_bytes()].concat();
            let data = data.repeat(20 + turn as usize % 60);
            transaction.insert(0, TABLE, &key, &data).await?;
            let is_hard = turn % 3 != 1;
            let commit = if is_hard { Commit::Hard } else { Commit::Lazy };
            transaction.commit(commit).await?;
            if is_hard {
                self.acknowledged(key);
            }
        }
        Ok(())
    }

    /// Simulates a power loss and checks that everything acknowledged so far is there.
    fn acknowledged(&self, key: Vec<u8>) {
        let mut outcome = self.outcome.borrow_mut();
        outcome.acknowledged.push(key);
        let kept = self.ledger.kept();
        if let Err(what) = holds(kept, &self.options, &outcome.acknowledged, &self.memory) {
            outcome.broken.push(what);
        }
    }
}

/// Checks that these files, after recovery, have all of these keys.
fn holds(
    files: Store,
    options: &InstanceOptions,
    keys: &[Vec<u8>],
    memory: &Frames,
) -> Result<(), String> {
    let mut made = VirtualWorld::new(VirtualOptions {
        store: files,
        frames: memory.clone(),
        ..VirtualOptions::default()
    });
    let (world, options, keys) = (made.world.clone(), options.clone(), keys.to_vec());
    made.executor.block_on(async move {
        let opened = open(&world, FRAMES, options).await;
        let (instance, _) = opened.map_err(|error| format!("cannot be recovered: {error}"))?;
        for key in keys.iter().rev() {
            let found = instance.read(0, TABLE, key).await;
            let found = found.map_err(|error| format!("cannot be read: {error}"))?;
            if found.is_none() {
                let key = String::from_utf8_lossy(key);
                return Err(format!("{key} was acknowledged and is lost"));
            }
        }
        Ok(())
    })
}

#[test]
fn what_was_acknowledged_is_durable() {
    for (durability, segment) in
        [(Durability::WriteThrough, 512), (Durability::WriteThenSync, 4096)]
    {
        let outcome = Files::new(durability, segment).work(World::clone);
        let hard = (0..COMMITS).filter(|turn| turn % 3 != 1).count();
        assert_eq!(outcome.acknowledged.len(), hard * SESSIONS as usize);
        assert_eq!(outcome.broken, Vec::<String>::new(), "{durability:?}");
    }
}

/// Canary: a disk that acknowledges one log write without doing it must be caught.
#[test]
fn one_log_write_that_is_skipped_is_seen() {
    let files = Files::new(Durability::WriteThrough, 512);
    let outcome = files.work(|world| without_log_write(world, 9));
    assert!(!outcome.broken.is_empty());
    assert!(outcome.broken[0].contains("acknowledged and is lost"), "{:?}", outcome.broken[0]);
}
