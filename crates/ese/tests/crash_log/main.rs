//! Crash search without trees: cache, log, checkpoint and redo over pages that hold one number each.
//!
//! Every change gets the next number and writes it into one to three pages. Whatever survives a crash, recovery must
//! bring back the state after some number of changes, all of a change or nothing of it, and not fewer than were
//! reported durable.

mod common;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use brunt_ese::content::Bytes;
use brunt_ese::format::page::{ObjectId, Page, PageFlags};
use brunt_ese::instance::Instance;
use brunt_ese::log::{FlushReason, Role};
use brunt_ese::page::Pages;
use brunt_ese::tree::Step;
use brunt_units::{PageNumber, Span};
use brunt_world::random::Streams;
use brunt_world::{Frames, World};
use brunt_world_virtual::crash::{CrashImages, Sample};
use brunt_world_virtual::{Journal, Machine, Store, VirtualOptions, VirtualWorld};
use common::{SIZE, blank_database, database_path, open, options};

const PAGES: u32 = 60;

/// Which page holds which number.
type State = BTreeMap<u32, u64>;

/// The state after each change; the first is before any.
type History = Rc<RefCell<Vec<State>>>;

fn value(number: u64) -> Vec<u8> {
    let mut draw = Streams::new(number).named("value");
    let mut bytes = vec![0; usize::try_from(8 + draw.below(1500)).unwrap()];
    draw.fill(&mut bytes);
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes
}

async fn session(
    world: World,
    machine: Machine,
    instance: Instance<Bytes>,
    history: History,
    session: u64,
) {
    let mut draw = world.random.named(&format!("session/{session}"));
    for _ in 0..60 {
        let pages: Vec<u32> = (0..=draw.below(3))
            .map(|_| u32::try_from(1 + draw.below(u64::from(PAGES))).unwrap())
            .collect();
        let number = instance.change(0, 0, Role::System, |change| {
            let blank = |state: &State, page| !state.contains_key(&page);
            let last = history.borrow().last().unwrap().clone();
            for &page in &pages {
                if blank(&last, page) {
                    change.pages().claimed(PageNumber(page))?;
                } else {
                    change.page(PageNumber(page))?;
                }
            }
            let number = history.borrow().len() as u64;
            let mut next = last;
            for &page in &pages {
                let number_page = PageNumber(page);
                let data = value(number);
                if blank(&next, page) {
                    let mut editor = change.fresh(number_page);
                    editor.format(
                        ObjectId(9),
                        PageFlags::ALWAYS
                            .with(PageFlags::LEAF)
                            .with(PageFlags::ROOT),
                    );
                    editor.insert(0, b"key", &data);
                } else {
                    change.edit(number_page).replace(0, b"key", &data);
                }
                next.insert(page, number);
            }
            history.borrow_mut().push(next);
            Ok(Step::Done(number))
        });
        let number = number.await.unwrap();
        if draw.percent(40) {
            instance
                .log()
                .flushed(instance.log().tail(), FlushReason::Commit)
                .await
                .unwrap();
            machine.mark("durable", number);
        }
        if draw.percent(20) {
            world.sleep(Span::millis(draw.below(700))).await;
        }
    }
}

fn run(seed: u64, segment: usize, frames: &Frames) -> (Journal, Vec<State>) {
    let mut store = Store::new();
    blank_database(&mut store, &database_path(0), PAGES as usize);
    let mut virtual_world = VirtualWorld::new(VirtualOptions {
        store,
        frames: frames.clone(),
        ..VirtualOptions::new(seed)
    });
    let (world, machine) = (virtual_world.world.clone(), virtual_world.machine.clone());
    let history: History = Rc::new(RefCell::new(vec![State::new()]));
    machine.start_recording();
    let kept = Rc::clone(&history);
    virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, 16, options(1, segment)).await.unwrap();
        let sessions: Vec<_> = (0..3)
            .map(|number| {
                let work = session(
                    world.clone(),
                    machine.clone(),
                    instance.clone(),
                    Rc::clone(&kept),
                    number,
                );
                world.spawner.spawn(work)
            })
            .collect();
        for session in sessions {
            session.await;
        }
        instance.close().await.unwrap();
    });
    let journal = virtual_world.machine.stop_recording().unwrap();
    let states = history.borrow().clone();
    (journal, states)
}

/// What a database holds, read from its bytes.
fn read_state(store: &Store) -> State {
    let bytes = store.get(&database_path(0)).unwrap();
    let mut state = State::new();
    for (number, page) in (1..).zip(bytes.chunks_exact(SIZE.bytes()).skip(2)) {
        if page.iter().any(|byte| *byte != 0) {
            let node = Page::new(page, SIZE).node(0).unwrap();
            let version = u64::from_le_bytes(*node.data.first_chunk().unwrap());
            assert_eq!(node.data, value(version), "page {number} is a mixture");
            state.insert(number, version);
        }
    }
    state
}

/// Opens and closes an image; gives what it holds then.
fn recover(store: Store, segment: usize, frames: &Frames) -> State {
    let mut virtual_world = VirtualWorld::new(VirtualOptions {
        store,
        frames: frames.clone(),
        ..VirtualOptions::new(1)
    });
    let world = virtual_world.world.clone();
    virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, 16, options(1, segment))
            .await
            .expect("recovery");
        instance.close().await.expect("closing after recovery");
    });
    read_state(&virtual_world.machine.store())
}

fn search(seed: u64, segment: usize, every: usize, samples: u64) {
    let frames = Frames::in_memory();
    let (journal, states) = run(seed, segment, &frames);
    let mut images = CrashImages::new(&journal);
    let cuts = images.cuts();
    // The directories and the database stand before recording begins, so every cut is fair.
    for cut in cuts.into_iter().step_by(every) {
        let acknowledged = images.marks(cut).map(|mark| mark.number).max().unwrap_or(0);
        for number in 0..samples {
            let sample = Sample::nth(number + seed);
            let image = images.image(cut, sample);
            let what = format!("seed {seed}, cut {cut:?}, {sample:?}, segment {segment}");
            let recovered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                recover(image, segment, &frames)
            }));
            let state = recovered.unwrap_or_else(|_| panic!("recovery failed: {what}"));
            let found = states.iter().rposition(|known| *known == state);
            let found = found.unwrap_or_else(|| panic!("not a state that ever was: {what}"));
            assert!(
                found as u64 >= acknowledged,
                "lost a durable change ({found} < {acknowledged}): {what}"
            );
        }
    }
}

#[test]
fn every_crash_leaves_a_state_that_was() {
    for (seed, segment) in [(1, 512), (2, 4096), (3, 512)] {
        search(seed, segment, 7, 4);
    }
}
