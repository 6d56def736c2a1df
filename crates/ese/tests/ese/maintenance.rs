//! The scan of a database in use: its pace, no false alarms, and detection of bad pages.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::pages::{History, PAGES, State, session};
use crate::common::{SIZE, blank_database, database_path, open, options};
use brunt_ese::cache::Trust;
use brunt_ese::maintenance::Findings;
use brunt_ese::policy::scan::Throttle;
use brunt_units::{PageNumber, Span};
use brunt_world::random::Streams;
use brunt_world_virtual::{Landing, MemoryDevice, Store, VirtualOptions, VirtualWorld};

const THROTTLE: Throttle =
    Throttle { batch_bytes: 32 << 10, sleep: Span::millis(20), interval: Span::millis(200) };

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

/// Runs sessions during a scan, then closes; returns the findings and the files.
fn work(store: Store, seed: u64) -> (Findings, Store) {
    let mut virtual_world = virtual_world(store, seed);
    let (world, machine) = (virtual_world.world.clone(), virtual_world.machine.clone());
    let findings = virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, 16, options(1, 512)).await.unwrap();
        let scan = instance.maintain(0, THROTTLE);
        let history: History = Rc::new(RefCell::new(vec![State::new()]));
        let sessions: Vec<_> = (0..4)
            .map(|number| {
                let (world, machine) = (world.clone(), machine.clone());
                let history = Rc::clone(&history);
                let work = session(world.clone(), machine, instance.clone(), history, number);
                world.spawner.spawn(work)
            })
            .collect();
        for session in sessions {
            session.await;
        }
        instance.close().await.unwrap();
        let at_close = scan.findings();
        world.sleep(Span::seconds(1)).await;
        assert_eq!(scan.findings(), at_close, "it goes on after the end");
        at_close
    });
    (findings, virtual_world.machine.store())
}

fn fresh_store() -> Store {
    let mut store = Store::new();
    // Twenty pages are never used.
    blank_database(&mut store, &database_path(0), PAGES as usize + 20);
    store
}

#[test]
fn pages_in_use_raise_no_alarm() {
    for seed in 1..=8 {
        let (findings, _) = work(fresh_store(), seed);
        assert!(findings.bad.is_empty(), "seed {seed}: {:?}", findings.bad);
        assert!(findings.passes > 4 && findings.judged > 100, "{findings:?}");
        assert!(findings.skipped > 20, "{findings:?}");
        assert!(findings.blank >= 20 * findings.passes, "{findings:?}");
    }
}

#[test]
fn a_bad_page_is_found_and_named_like_by_an_operation() {
    let (_, mut store) = work(fresh_store(), 3);
    let file = store.find(&database_path(0)).unwrap();
    let mut noise = vec![0; 512];
    Streams::new(1).named("rot").fill(&mut noise);
    store.write(file, PageNumber(20).offset(SIZE) + 1024, &noise);
    // A lost first write: the flush map reveals it.
    store.write(file, PageNumber(30).offset(SIZE), &[0; 4096]);
    let mut virtual_world = virtual_world(store, 5);
    let world = virtual_world.world.clone();
    virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, 16, options(1, 512)).await.unwrap();
        let scan = instance.maintain(0, THROTTLE);
        world.sleep(Span::seconds(1)).await;
        let findings = scan.findings();
        let pages: Vec<_> = findings.bad.keys().copied().collect();
        assert_eq!(pages, [PageNumber(20), PageNumber(30)]);
        for (page, error) in &findings.bad {
            let met = instance.cache().fetch(0, *page, Trust::Verified).await;
            assert_eq!(met.err().as_ref(), Some(error));
        }
        assert!(instance.failure().is_none());
        instance.close().await.unwrap();
    });
}

#[test]
fn the_pace_is_one_batch_and_one_pause() {
    let mut store = Store::new();
    blank_database(&mut store, &database_path(0), 2048);
    let mut virtual_world = VirtualWorld::new(VirtualOptions { store, ..VirtualOptions::new(1) });
    let world = virtual_world.world.clone();
    virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, 16, options(1, 512)).await.unwrap();
        let scan = instance.maintain(0, Throttle::JETSTRESS);
        world.sleep(Span::seconds(2)).await;
        let (read, unwritten) = instance.cache().meters().with(|meters| {
            let of = &mut meters.databases[0];
            (of.maintenance.close_interval(), of.blank.close_interval())
        });
        // 262,144 bytes take 362 µs on this device, and the pause is 100 ms.
        assert_eq!((read.count, read.bytes), (20, 20 * 262_144));
        let Findings { blank, skipped, .. } = scan.findings();
        assert_eq!(blank + skipped, 20 * 64);
        // All of it is blank; cached pages are skipped.
        assert_eq!(unwritten, read.bytes);
        instance.close().await.unwrap();
    });
}
