//! Crashes at chosen moments, each of which once lost data.

use std::path::Path;

use crate::common::{TABLE, open, options, tree_files};
use brunt_ese::content::Bytes;
use brunt_ese::instance::transaction::Commit;
use brunt_ese::instance::{Instance, InstanceOptions};
use brunt_units::{Span, Time};
use brunt_world::World;
use brunt_world_virtual::crash::{CrashImages, Sample};
use brunt_world_virtual::journal::{Action, Recorded};
use brunt_world_virtual::{Journal, Step, Store, VirtualOptions, VirtualWorld};

const FRAMES: u32 = 24;

/// Checkpoints move as soon as they may; lazy commits wait long.
fn patient() -> InstanceOptions {
    InstanceOptions { lazy_wait: Span::seconds(100), ..options(1, 512) }
}

/// Runs `work` on an open instance; returns its result and the history of the files.
fn live<T: 'static>(work: impl AsyncFnOnce(World, Instance<Bytes>) -> T + 'static) -> (T, Journal) {
    let mut virtual_world =
        VirtualWorld::new(VirtualOptions { store: tree_files(), ..VirtualOptions::new(1) });
    let world = virtual_world.world.clone();
    virtual_world.machine.start_recording();
    let said = virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, FRAMES, patient()).await.unwrap();
        work(world, instance).await
    });
    (said, virtual_world.machine.stop_recording().unwrap())
}

/// Runs `work` on an open instance; returns its result and the files after a power failure at the
/// end, which loses everything that is not durable.
fn crash_after<T: 'static>(
    work: impl AsyncFnOnce(World, Instance<Bytes>) -> T + 'static,
) -> (T, Store) {
    let (said, journal) = live(work);
    let mut images = CrashImages::new(&journal);
    let end = *images.cuts().last().unwrap();
    (said, images.image(end, Sample::Nothing))
}

/// Runs `look` on the recovered `store`.
fn recovered<T: 'static>(
    store: Store,
    look: impl AsyncFnOnce(Instance<Bytes>) -> T + 'static,
) -> T {
    let mut virtual_world = VirtualWorld::new(VirtualOptions { store, ..VirtualOptions::new(1) });
    let world = virtual_world.world.clone();
    virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, FRAMES, patient()).await.unwrap();
        look(instance).await
    })
}

/// Inserts and commits one record.
async fn insert(instance: &Instance<Bytes>, key: u8, commit: Commit) {
    let transaction = instance.begin();
    let inserted = transaction.insert(0, TABLE, &[key], &[key; 700]).await;
    inserted.unwrap();
    transaction.commit(commit).await.unwrap();
}

/// Logs more than the smallest move of a checkpoint.
async fn make_way(instance: &Instance<Bytes>) {
    for key in 100..150 {
        insert(instance, key, Commit::Hard).await;
    }
}

/// Waits until a checkpoint has moved.
async fn checkpoint(world: &World, instance: &Instance<Bytes>) {
    let (begun, former) = (world.clock.now(), instance.checkpoint());
    while instance.checkpoint() == former {
        world.sleep(Span::millis(10)).await;
        assert!(world.clock.now() - begun < Span::seconds(5), "no checkpoint");
    }
}

/// The first half of a transaction was on disk and before the checkpoint, the second half and the
/// lazy commit still in memory. The transaction counted as closed, so the checkpoint passed its
/// first half, and recovery did not know that there was anything to undo.
#[test]
fn a_lazy_commit_in_memory_keeps_its_transaction_undoable() {
    let ((), store) = crash_after(async |world, instance| {
        let transaction = instance.begin();
        transaction.insert(0, TABLE, b"a", &[1; 100]).await.unwrap();
        make_way(&instance).await;
        instance.cache().write_all(0).await.unwrap();
        transaction.insert(0, TABLE, b"b", &[1; 100]).await.unwrap();
        transaction.commit(Commit::Lazy).await.unwrap();
        world.sleep_until(Time::ZERO + Span::seconds(4)).await;
    });
    let (a, b) = recovered(store, async |instance| {
        let read = async |key: &[u8]| instance.read(0, TABLE, key).await.unwrap().is_some();
        (read(b"a").await, read(b"b").await)
    });
    assert_eq!(a, b, "half a transaction");
}

/// The same with a transaction that was undone: the record of that was in memory.
#[test]
fn a_transaction_taken_back_in_memory_stays_undoable() {
    let ((), store) = crash_after(async |world, instance| {
        let transaction = instance.begin();
        transaction.insert(0, TABLE, b"a", &[1; 100]).await.unwrap();
        make_way(&instance).await;
        instance.cache().write_all(0).await.unwrap();
        transaction.take_back().await.unwrap();
        world.sleep_until(Time::ZERO + Span::seconds(4)).await;
    });
    let there =
        recovered(store, async |instance| instance.read(0, TABLE, b"a").await.unwrap().is_some());
    assert!(!there, "a record that nobody committed");
}

/// A file had grown, and the checkpoint passed the log record of that before the file was synced:
/// its pages were all clean, so there was nothing to sync. The space trees then owned pages that
/// the file did not have.
#[test]
fn growth_is_durable_before_the_checkpoint_passes_it() {
    let (pages, store) = crash_after(async |world, instance| {
        make_way(&instance).await;
        instance.cache().write_all(0).await.unwrap();
        instance.cache().sync(0).await.unwrap();
        instance.grow(0, 16).await.unwrap();
        let end = instance.log().tail();
        let reason = brunt_ese::log::FlushReason::Drain;
        instance.log().flushed(end, reason).await.unwrap();
        checkpoint(&world, &instance).await;
        instance.databases()[0].pages.get()
    });
    let there = recovered(store, async |instance| instance.databases()[0].pages.get());
    assert!(there >= pages, "{there} pages of {pages}");
}

/// A process died between the two renames of a roll, and the first was not durable. The next
/// process saw it done and started its own log with only the second. A power failure then replaced
/// the old current file with the new one.
#[test]
fn names_that_a_dead_process_gave_are_durable_before_the_next_roll() {
    let (generation, killed) = crash_after(async |_, instance| {
        insert(&instance, 1, Commit::Hard).await;
        instance.log().tail().generation
    });
    let mut virtual_world =
        VirtualWorld::new(VirtualOptions { store: killed, ..VirtualOptions::new(1) });
    let world = virtual_world.world.clone();
    virtual_world.machine.start_recording();
    virtual_world.executor.block_on(async move {
        let archived = format!("/log/edb{generation:05X}.log");
        let (current, archived) = (Path::new("/log/edb.log"), Path::new(&archived));
        world.volume.rename(current, archived).await.unwrap();
        let (instance, _) = open(&world, FRAMES, patient()).await.unwrap();
        instance.close().await.unwrap();
    });
    let journal = virtual_world.machine.stop_recording().unwrap();
    let mut images = CrashImages::new(&journal);
    for cut in images.cuts() {
        for sample in [Sample::Newest, Sample::AllButOldest] {
            let record = recovered(images.image(cut, sample), async |instance| {
                instance.read(0, TABLE, &[1]).await.unwrap()
            });
            assert!(record.is_some(), "{sample:?} at {cut:?}");
        }
    }
}

/// The power failed between the two copies of the checkpoint. Recovery started at the first and
/// released the logs before it, then wrote the first again. A torn write left the second, which
/// needed those logs.
#[test]
fn the_checkpoint_that_recovery_began_at_stays_until_another_is_durable() {
    let ((), journal) = live(async |world, instance| {
        for _ in 0..3 {
            for key in 0..150 {
                let transaction = instance.begin();
                let key = [key];
                let there = instance.read(0, TABLE, &key).await.unwrap().is_some();
                match there {
                    true => transaction.replace(0, TABLE, &key, &[7; 700]).await,
                    false => transaction.insert(0, TABLE, &key, &[8; 700]).await,
                }
                .unwrap();
                transaction.commit(Commit::Hard).await.unwrap();
            }
            checkpoint(&world, &instance).await;
        }
    });
    let mut images = CrashImages::new(&journal);
    let mut torn_writes = 0;
    for between in checkpoint_writes(&journal).filter_map(|(offset, write)| {
        let first = (offset == 0).then_some(write.completed?)?;
        Some(Step(first.0 + 1))
    }) {
        let journal = opened_and_closed(images.image(between, Sample::Nothing));
        let mut images = CrashImages::new(&journal);
        for (_, write) in checkpoint_writes(&journal) {
            let torn = images.image(Step(write.submitted.0 + 1), Sample::TornEven);
            let record =
                recovered(torn, async |instance| instance.read(0, TABLE, &[1]).await.unwrap());
            assert!(record.is_some(), "{between:?}, {:?}", write.submitted);
            torn_writes += 1;
        }
    }
    assert!(torn_writes > 5, "{torn_writes} torn writes");
}

/// The checkpoint writes, with their offsets.
fn checkpoint_writes(journal: &Journal) -> impl Iterator<Item = (u64, &Recorded)> {
    let last = Step(u32::try_from(journal.moments().len()).unwrap());
    let files = CrashImages::new(journal).image(last, Sample::Everything);
    let checkpoint = files.find(Path::new("/log/edb.chk")).unwrap();
    journal.actions().iter().filter_map(move |write| match write.action {
        Some(Action::Write { file, offset, .. }) if file == checkpoint => Some((offset, write)),
        _ => None,
    })
}

/// What opening an instance on `store` and closing it does to the files.
fn opened_and_closed(store: Store) -> Journal {
    let mut virtual_world = VirtualWorld::new(VirtualOptions { store, ..VirtualOptions::new(1) });
    let world = virtual_world.world.clone();
    virtual_world.machine.start_recording();
    virtual_world.executor.block_on(async move {
        let (instance, _) = open(&world, FRAMES, patient()).await.unwrap();
        instance.close().await.unwrap();
    });
    virtual_world.machine.stop_recording().unwrap()
}

/// While a file was being created, a torn write left less than a block, and the next open took it
/// for a foreign file. So the length of a file is durable before anything is written to it.
#[test]
fn no_file_is_written_before_a_block_of_it_is_durable() {
    let ((), journal) = live(async |_, instance| {
        make_way(&instance).await;
        instance.close().await.unwrap();
    });
    let actions = journal.actions();
    let mut written = 0;
    for write in actions {
        let Some(Action::Write { file, .. }) = &write.action else {
            continue;
        };
        let stood = journal.base().length(*file) >= Some(4096);
        let synced = actions.iter().any(|sync| {
            let of_file = matches!(&sync.action, Some(Action::Sync { file: of }) if of == file);
            let lengthened = actions.iter().any(|length| {
                matches!(&length.action, Some(Action::Length { file: of, to, .. }) if of == file && *to >= 4096)
                    && length.completed.is_some_and(|done| done <= sync.submitted)
            });
            of_file && lengthened && sync.completed.is_some_and(|done| done <= write.submitted)
        });
        assert!(stood || synced, "{:?} at {:?}", file, write.submitted);
        written += 1;
    }
    assert!(written > 50, "{written} writes");
}
