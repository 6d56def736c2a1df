//! A backup read while sessions change pages, restored into an empty world and recovered, has the
//! state after some number of changes, including all changes before the end of the read.
//!
//! Reads see half-written pages, the log rolls and is removed behind the checkpoint, and the sink
//! is slow.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use crate::common::pages::{History, PAGES, State, read_state, session};
use crate::common::{SIZE, blank_database, database_path, open, options};
use brunt_ese::backup::{self, Piece, Reads, Sink};
use brunt_ese::content::Bytes;
use brunt_ese::error::{EngineError, PageFault};
use brunt_ese::format::log_file::log_file_name;
use brunt_units::{PageNumber, Span};
use brunt_world::World;
use brunt_world::random::Streams;
use brunt_world_virtual::{Landing, MemoryDevice, Store, VirtualOptions, VirtualWorld};

/// Stores the pieces of a backup.
struct Copy {
    world: World,
    history: History,
    image: Vec<u8>,
    logs: BTreeMap<u32, Vec<u8>>,
    checkpoint: Vec<u8>,
    /// Number of changes when the last page was read.
    changes: usize,
}

impl Copy {
    fn new(world: &World, history: &History) -> Self {
        Self {
            world: world.clone(),
            history: Rc::clone(history),
            image: Vec::new(),
            logs: BTreeMap::new(),
            checkpoint: Vec::new(),
            changes: 0,
        }
    }

    /// The files, for a new world.
    fn restore(&self) -> Store {
        let mut store = Store::new();
        store.put(&database_path(0), &self.image);
        for (generation, bytes) in &self.logs {
            let path = Path::new("/log").join(log_file_name("edb", *generation));
            store.put(&path, bytes);
        }
        store.put(Path::new("/log/edb.chk"), &self.checkpoint);
        store
    }
}

impl Sink<Bytes> for Copy {
    async fn take(&mut self, piece: Piece<'_, Bytes>) -> Result<(), EngineError> {
        match piece {
            Piece::Header(bytes) => {
                for _ in 0..2 {
                    self.image.extend_from_slice(bytes);
                    let end = self.image.len().next_multiple_of(SIZE.bytes());
                    self.image.resize(end, 0);
                }
            }
            Piece::Pages(first, pages) => {
                assert_eq!(self.image.len() as u64, first.offset(SIZE), "in order");
                for page in pages {
                    match page {
                        Some(page) => self.image.extend_from_slice(page),
                        None => self.image.resize(self.image.len() + SIZE.bytes(), 0),
                    }
                }
                self.changes = self.history.borrow().len() - 1;
                self.world.sleep(Span::millis(120)).await;
            }
            Piece::Log { generation, bytes } => {
                self.logs.insert(generation, bytes.to_vec());
                self.world.sleep(Span::millis(50)).await;
            }
            Piece::Checkpoint(bytes) => self.checkpoint = bytes.to_vec(),
        }
        Ok(())
    }
}

fn virtual_world(store: Store, seed: u64) -> VirtualWorld {
    let mut device = MemoryDevice::new(Streams::new(seed).named("device"), 300);
    device.latency = Span::millis(4);
    VirtualWorld::new(VirtualOptions {
        store,
        landing: Landing::Torn,
        devices: vec![Box::new(device)],
        ..VirtualOptions::new(seed)
    })
}

/// Backs up a busy instance. Returns the backup, all states, and the number of reads beyond one per
/// run.
fn back_up(seed: u64, reads: Reads) -> (Copy, Vec<State>, u64) {
    let mut store = Store::new();
    blank_database(&mut store, &database_path(0), PAGES as usize);
    let mut virtual_world = virtual_world(store, seed);
    let (world, machine) = (virtual_world.world.clone(), virtual_world.machine.clone());
    let history: History = Rc::new(RefCell::new(vec![State::new()]));
    let kept = Rc::clone(&history);
    let (copy, again) = virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, 16, options(1, 512)).await.unwrap();
        let sessions: Vec<_> = (0..4)
            .map(|number| {
                let (world, machine) = (world.clone(), machine.clone());
                let work =
                    session(world.clone(), machine, instance.clone(), Rc::clone(&kept), number);
                world.spawner.spawn(work)
            })
            .collect();
        world.sleep(Span::millis(1500)).await;
        let checkpoint = instance.checkpoint().generation;
        let mut copy = Copy::new(&world, &kept);
        backup::read(&instance, 0, reads, &mut copy).await.unwrap();
        assert!(copy.logs.contains_key(&checkpoint.max(1)));
        let moved = instance.checkpoint().generation - checkpoint;
        assert!(moved >= 2, "the log was to be kept behind the checkpoint");
        for session in sessions {
            session.await;
        }
        let runs = u64::from(PAGES).div_ceil(reads.bytes.div_euclid(SIZE.bytes_u64()));
        let count = |meters: &mut brunt_ese::meter::Meters| {
            meters.databases[0].backup.close_interval().count
        };
        let again = instance.cache().meters().with(count) - runs;
        instance.close().await.unwrap();
        (copy, again)
    });
    let states = history.borrow().clone();
    (copy, states, again)
}

#[test]
fn a_backup_taken_at_work_recovers_to_a_state_that_was() {
    let mut reads_again = 0;
    for (seed, outstanding) in (1..=12).zip([1, 3].into_iter().cycle()) {
        let bytes = 2 * SIZE.bytes_u64();
        let reads = Reads { outstanding, bytes };
        let (copy, states, again) = back_up(seed, reads);
        reads_again += again;
        let mut restored = virtual_world(copy.restore(), seed);
        let world = restored.world.clone();
        restored.executor.block_on(async move {
            let (instance, report) = open(&world, 16, options(1, 512)).await.unwrap();
            assert_eq!(report.torn_pages, 0, "every page of a backup is whole");
            instance.close().await.unwrap();
        });
        let state = read_state(&restored.machine.store());
        let found = states.iter().rposition(|known| *known == state);
        let found = found.unwrap_or_else(|| panic!("not a state that ever was: seed {seed}"));
        assert!(found >= copy.changes, "seed {seed}: {found} < {}", copy.changes);
    }
    assert!(reads_again > 0, "no read ever met a write");
}

#[test]
fn a_bad_page_ends_a_backup() {
    let (copy, _, _) = back_up(1, Reads { outstanding: 1, bytes: 4096 });
    let mut store = copy.restore();
    let file = store.find(&database_path(0)).unwrap();
    let mut virtual_world = virtual_world(store.fork(), 1);
    let world = virtual_world.world.clone();
    virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, 16, options(1, 512)).await.unwrap();
        instance.close().await.unwrap();
    });
    // The database is clean. Now damage page 20.
    store = virtual_world.machine.store();
    let mut noise = vec![0; 512];
    Streams::new(1).named("rot").fill(&mut noise);
    store.write(file, PageNumber(20).offset(SIZE) + 1024, &noise);
    let mut rotten = self::virtual_world(store, 2);
    let world = rotten.world.clone();
    rotten.executor.block_on(async move {
        let (instance, _) = open(&world, 16, options(1, 512)).await.unwrap();
        let history: History = Rc::new(RefCell::new(vec![State::new()]));
        let mut copy = Copy::new(&world, &history);
        let error = backup::read(&instance, 0, Reads::STREAMING, &mut copy).await;
        let Err(EngineError::Page { page, fault, .. }) = error else {
            panic!("{error:?}");
        };
        assert_eq!((page, fault), (PageNumber(20), PageFault::Checksum));
    });
}
